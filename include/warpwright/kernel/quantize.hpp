// SPDX-License-Identifier: Apache-2.0
// Casts a matrix to FP8 with scales of blocks, and transposes it on the way. One read of x, one write of each output.
//   tile of 128 x 128: 16 bytes a load -> registers -> amax (shuffles, then shared memory) -> scale -> q
//                      transposed: four rows of a column are one word in shared memory -> 16 bytes a store
//   only q, blocks of 1 x 128: eight lanes read one block, so that a warp finishes 16 rows by shuffles alone, without
//                      shared memory and without waiting for other warps
// Chunks of 16 bytes in shared memory are permuted, so that neither side has bank conflicts. docs/numerics.md has the
// arithmetic. CTAs are persistent, because with groups each builds the table of the groups first.
#pragma once

#include "warpwright/arch/common/named_barrier.hpp"
#include "warpwright/arch/common/pdl.hpp"
#include "warpwright/arch/common/role.hpp"
#include "warpwright/kernel/quantize_tile.hpp"
#include "warpwright/scheduler/padded_groups.hpp"

namespace ww::kernel {

using config::QuantizeArguments;
using config::QuantizeKind;

template <QuantizeKind kKind> class Quantize {
  using Raw = QuantizeRaw<kKind.x>;
  using To = QuantizeTo<kKind.q>;
  static constexpr int kTile = config::kQuantizeTile;
  static constexpr int kRows = kQuantizeRows;
  static constexpr int kVector = Raw::kVector, kPieces = Raw::kPieces;

 public:
  static constexpr int kThreads = config::kQuantizeThreads;
  static constexpr u32 kWarps = kThreads / arch::kWarpSize;
  static constexpr int kCtas = config::quantize_ctas(kKind);

  WW_DEVICE static void run(const QuantizeArguments& arguments) {
    arch::role("quantizer");
    arch::pdl::launch_dependents();
    arch::pdl::wait();  // global memory is left alone before this line
    if constexpr (kKind.by_warp()) run_strips(arguments);
    else run_tiles(arguments);
  }

 private:
  using Groups = scheduler::PaddedGroups<kThreads>;

  static constexpr int kTopsAt = config::quantize_memory(kKind).tops;
  static constexpr int kInversesAt = config::quantize_memory(kKind).inverses;
  static constexpr int kGroupsAt = config::quantize_memory(kKind).groups;

  struct Tile {
    i32 matrix;     // of the batch
    i32 row, rows;  // of x: the first, and how many there are, of which 128 count; in padding none, or negative
    i32 column;     // of x, the first
    i32 block;      // along M, of the scales of the transpose
    i64 to, pitch;  // element of the transpose that is (column 0 of x, first row of the tile), and its rows' distance
    i32 to_rows;    // elements of each row of the transpose to store from there on, of which 128 count
  };

  /// Warps work alone; a strip of 16 rows is a tile.
  WW_DEVICE static void run_strips(const QuantizeArguments& a) {
    const u32 step = kWarps * arch::grid_size();
    const int first = kRows * static_cast<int>(arch::lane_index() / kLanesOfRow);
    // Tasks go round the CTAs first, so that few of them still occupy every SM.
    for (u32 task = arch::block_index() + arch::grid_size() * arch::warp_index(); task < a.tiles; task += step) {
      const u32 strip = task / a.tiles_k;
      Tile tile{};
      tile.matrix = static_cast<i32>(strip / a.tiles_m);
      tile.row = static_cast<i32>(strip % a.tiles_m) * kStripRows;
      tile.rows = a.m - tile.row;
      tile.column = static_cast<i32>(task % a.tiles_k) * kTile;
      Raw raw;
      load(a, tile, first, raw);
      store_scaled_rows(a, tile, first, raw);
    }
  }

  WW_DEVICE static void run_tiles(const QuantizeArguments& a) {
    const arch::SharedAddress shared = arch::dynamic_shared();
    const bool grouped = a.groups.groups > 0;
    const Groups groups(shared + kGroupsAt, a.groups.groups);
    u32 tiles = a.tiles;
    if (grouped) {
      groups.build(a.groups, a.padding, a.padded_ends);
      tiles = groups.blocks() * a.tiles_k;
    }
    const int first =
        static_cast<int>(arch::warp_index()) * kStripRows + kRows * static_cast<int>(arch::lane_index() / kLanesOfRow);
    u32 turn = 0;
    for (u32 task = arch::block_index(); task < tiles; task += arch::grid_size(), ++turn) {
      const Tile tile = grouped ? tile_of_group(a, groups, task) : tile_of(a, task);
      Raw raw;
      load(a, tile, first, raw);
      if constexpr (kKind.copies()) {
        copy_scale(a, tile);
        arch::named_barrier::sync_cta();  // everybody has read the tile before
        transpose_bytes(tile, first, raw, shared);
      } else if constexpr (kKind.blocks) {
        const float inverse = scale_block(a, tile, raw, shared + kTopsAt + 32 * (turn % 2));
        if constexpr (kKind.rows) {
          WW_UNROLL
          for (int i = 0; i < kRows; ++i) store_row(a, tile, first, i, raw, inverse);
        }
        if constexpr (kKind.transposed)
          transpose(tile, first, raw, shared, [inverse](int) {
            return Inverses{{inverse, inverse, inverse, inverse}};
          });
      } else {
        column_tops(raw, shared + kTopsAt);
        if constexpr (kKind.rows) store_scaled_rows(a, tile, first, raw);
        scale_columns(a, tile, shared);
        transpose(tile, first, raw, shared, [shared](int column) { return load_inverses(shared, column); });
      }
      if constexpr (kKind.transposed) {
        arch::named_barrier::sync_cta();
        store_transposed(a, tile, shared);
      }
    }
  }

  WW_DEVICE static Tile tile_of(const QuantizeArguments& a, u32 task) {
    const u32 row = task / a.tiles_k, block = row % a.tiles_m;
    Tile tile{};
    tile.matrix = static_cast<i32>(row / a.tiles_m);
    tile.row = static_cast<i32>(block) * kTile;
    tile.rows = tile.to_rows = a.m - tile.row;
    tile.column = static_cast<i32>(task % a.tiles_k) * kTile;
    tile.block = static_cast<i32>(block);
    tile.to = tile.matrix * a.batch_transposed + tile.row, tile.pitch = a.ld_transposed;
    return tile;
  }

  WW_DEVICE static Tile tile_of_group(const QuantizeArguments& a, const Groups& groups, u32 task) {
    const u32 block = task / a.tiles_k;
    const typename Groups::Place place = groups.find(block);
    Tile tile{};
    tile.row = place.row, tile.rows = place.rows, tile.to_rows = kTile;
    tile.column = static_cast<i32>(task % a.tiles_k) * kTile;
    tile.block = static_cast<i32>(block);
    tile.to = i64{kTile} * block, tile.pitch = a.ld_transposed;
    if (a.one_by_one != 0) {
      tile.to = i64{kTile} * (i64{a.k} * place.first + (block - place.first));
      tile.pitch = i64{kTile} * place.blocks;
    }
    return tile;
  }

  WW_DEVICE static void load(const QuantizeArguments& a, const Tile& tile, int first, Raw& raw) {
    const i64 at = tile.matrix * a.batch_x + tile.row * a.ldx + tile.column;
    raw.load(static_cast<const char*>(a.x) + at * Raw::kBytes, a.ldx, first, tile.rows, a.k - tile.column,
             a.wide_x != 0);
  }

  /// Quantises rows by 1 x 128.
  WW_DEVICE static void store_scaled_rows(const QuantizeArguments& a, const Tile& tile, int first, const Raw& raw) {
    WW_UNROLL
    for (int i = 0; i < kRows; ++i) {
      u32 top = 0;
      WW_UNROLL
      for (int p = 0; p < kPieces; ++p) {
        WW_UNROLL
        for (int j = 0; j < kVector; ++j) top = max(top, raw.magnitude(p, i, j));
      }
      top = largest_of_lanes<1, kLanesOfRow / 2>(top);
      const QuantizeScale made = quantize_scale<kKind.q>(a, Raw::widen(top));
      if (arch::lane_index() % kLanesOfRow == 0 && first + i < tile.rows) {
        const i64 at = tile.matrix * a.batch_scales + (i64{tile.row} + first + i) * a.scale_m;
        arch::global::store(a.scales + at + tile.column / kTile * a.scale_k, arch::bits_of(made.scale));
      }
      store_row(a, tile, first, i, raw, made.inverse);
    }
  }

  /// Stores row `first` + i of q.
  WW_DEVICE static void store_row(const QuantizeArguments& a, const Tile& tile, int first, int i, const Raw& raw,
                                  float inverse) {
    if (first + i >= tile.rows) return;
    char* const to =
        static_cast<char*>(a.q) + tile.matrix * a.batch_q + (i64{tile.row} + first + i) * a.ldq + tile.column;
    WW_UNROLL
    for (int p = 0; p < kPieces; ++p) {
      const int column = Raw::column(p, 0), there = a.k - tile.column - column;
      if (there <= 0) continue;
      arch::Words<4> bytes{{0, 0, 0, 0}};
      WW_UNROLL
      for (int j = 0; j < kVector; j += 4) {
        bytes.w[j / 4] =
            To::word(arch::mul(raw.value(p, i, j), inverse), arch::mul(raw.value(p, i, j + 1), inverse),
                     arch::mul(raw.value(p, i, j + 2), inverse), arch::mul(raw.value(p, i, j + 3), inverse));
      }
      if (a.wide_q == 0) store_bytes(to + column, bytes, min(there, kVector));
      else if constexpr (kVector == 4) arch::global::store(to + column, bytes.w[0]);
      else arch::global::store2(to + column, {{bytes.w[0], bytes.w[1]}});
    }
  }

  /// Finds the scale of a 128 x 128 block, writes it, and returns its reciprocal. `tops` has a word for each warp.
  WW_DEVICE static float scale_block(const QuantizeArguments& a, const Tile& tile, const Raw& raw,
                                     arch::SharedAddress tops) {
    u32 top = 0;
    WW_UNROLL
    for (int v = 0; v < kPieces * kRows * kVector; ++v)
      top = max(top, raw.magnitude(v / (kRows * kVector), v / kVector % kRows, v % kVector));
    top = largest_of_lanes<1, arch::kWarpSize / 2>(top);
    if (arch::lane_index() == 0) arch::shared::store(tops + 4 * arch::warp_index(), top);
    arch::named_barrier::sync_cta();
    static_assert(kWarps == 8);
    const arch::Words<4> low = arch::shared::load4(tops), high = arch::shared::load4(tops + 16);
    WW_UNROLL
    for (int i = 0; i < 4; ++i) top = max(top, max(low.w[i], high.w[i]));
    const QuantizeScale made = quantize_scale<kKind.q>(a, Raw::widen(top));
    if (arch::thread_index() == 0) put_scales(a, tile, arch::bits_of(made.scale));
    return made.inverse;
  }

  /// Writes the scale of a 128 x 128 block for each output.
  WW_DEVICE static void put_scales(const QuantizeArguments& a, const Tile& tile, u32 scale) {
    const i64 block = tile.row / kTile, block_k = tile.column / kTile;
    if constexpr (kKind.rows)
      arch::global::store(a.scales + tile.matrix * a.batch_scales + block * a.scale_m + block_k * a.scale_k, scale);
    if constexpr (kKind.transposed)
      arch::global::store(a.transposed_scales + tile.matrix * a.batch_transposed_scales +
                              block_k * a.transposed_scale_k + block * a.transposed_scale_m,
                          scale);
  }

  WW_DEVICE static void copy_scale(const QuantizeArguments& a, const Tile& tile) {
    if (a.x_scales == nullptr || arch::thread_index() != 0) return;
    const i64 from = tile.row / kTile * a.scale_m + tile.column / kTile * a.scale_k;
    put_scales(a, tile, arch::global::load(a.x_scales + tile.matrix * a.batch_scales + from));
  }

  /// Leaves the largest magnitudes of this warp's rows in each column in shared memory, (warps, 128).
  WW_DEVICE static void column_tops(const Raw& raw, arch::SharedAddress tops) {
    constexpr int kColumns = kPieces * kVector;  // of a thread, and of the three others with the same columns
    static_assert(kColumns == 16);
    u32 top[kColumns];
    WW_UNROLL
    for (int v = 0; v < kColumns; ++v) {
      top[v] = 0;
      WW_UNROLL
      for (int i = 0; i < kRows; ++i) top[v] = max(top[v], raw.magnitude(v / kVector, i, v % kVector));
    }
    // Each of the four lanes keeps a quarter of the columns: in two exchanges it sends what its partner keeps.
    const u32 lane = arch::lane_index();
    const bool upper = lane / 16 != 0, odd = lane / 8 % 2 != 0;
    u32 half[kColumns / 2];
    WW_UNROLL
    for (int v = 0; v < 8; ++v) {
      const u32 other = arch::warp::shuffle_xor(upper ? top[v] : top[v + 8], 16);
      half[v] = max(upper ? top[v + 8] : top[v], other);
    }
    arch::Words<4> quarter;
    WW_UNROLL
    for (int v = 0; v < 4; ++v) {
      const u32 other = arch::warp::shuffle_xor(odd ? half[v] : half[v + 4], 8);
      quarter.w[v] = max(odd ? half[v + 4] : half[v], other);
    }
    const int from = (upper ? 8 : 0) + (odd ? 4 : 0);
    const u32 column = static_cast<u32>(Raw::column(from / kVector, from % kVector));
    arch::shared::store4(tops + 4 * (kTile * arch::warp_index() + column), quarter);
  }

  /// Finds the scale of each column of the tile, writes it, and leaves its reciprocal in shared memory.
  WW_DEVICE static void scale_columns(const QuantizeArguments& a, const Tile& tile, arch::SharedAddress shared) {
    arch::named_barrier::sync_cta();
    const int column = static_cast<int>(arch::thread_index());
    if (column < kTile) {
      u32 top = 0;
      WW_UNROLL
      for (u32 w = 0; w < kWarps; ++w)
        top = max(top, arch::shared::load(shared + kTopsAt + 4 * (kTile * w + static_cast<u32>(column))));
      QuantizeScale made{1.0f, 1.0f};  // of a tile that is all padding
      if (tile.rows > 0) made = quantize_scale<kKind.q>(a, Raw::widen(top));
      arch::shared::store(shared + kInversesAt + 4 * column, arch::bits_of(made.inverse));
      if (tile.column + column < a.k) {
        const i64 at = tile.matrix * a.batch_transposed_scales + (i64{tile.column} + column) * a.transposed_scale_k;
        arch::global::store(a.transposed_scales + at + tile.block * a.transposed_scale_m, arch::bits_of(made.scale));
      }
    }
    arch::named_barrier::sync_cta();
  }

  /// The reciprocal scales of four columns.
  struct Inverses {
    float of[4];
  };
  WW_DEVICE static Inverses load_inverses(arch::SharedAddress shared, int column) {
    const arch::Words<4> words = arch::shared::load4(shared + kInversesAt + 4 * column);
    return {{arch::float_of(words.w[0]), arch::float_of(words.w[1]), arch::float_of(words.w[2]),
             arch::float_of(words.w[3])}};
  }

  /// Returns the place of 16 rows `chunk` of a column in the transposed tile.
  WW_DEVICE static u32 chunk_at(u32 column, u32 chunk) {
    return kTile * column + 16 * (chunk ^ (column / static_cast<u32>(kVector) % 8));
  }

  /// Stores the word of four rows of a column; rows that are not there become zero bytes, even in a block of NaN.
  WW_DEVICE static void put_word(arch::SharedAddress shared, int column, int first, i32 rows, u32 word) {
    const u32 at = chunk_at(static_cast<u32>(column), static_cast<u32>(first) / 16) + static_cast<u32>(first) % 16;
    const i32 there = rows - first;
    const u32 mask = there >= 4 ? 0xffffffffu : there <= 0 ? 0 : (1u << (8 * there)) - 1;
    arch::shared::store(shared + at, word & mask);
  }

  /// Quantises the columns of this thread and stores them in shared memory. `inverses(column)` has those of four.
  template <class Inverse>
  WW_DEVICE static void transpose(const Tile& tile, int first, const Raw& raw, arch::SharedAddress shared,
                                  Inverse inverses) {
    WW_UNROLL
    for (int v = 0; v < kPieces * kVector; v += 4) {
      const int p = v / kVector;
      const Inverses inverse = inverses(Raw::column(p, v % kVector));
      WW_UNROLL
      for (int k = 0; k < 4; ++k) {
        const int j = v % kVector + k;
        const float by = inverse.of[k];
        put_word(shared, Raw::column(p, j), first, tile.rows,
                 To::word(arch::mul(raw.value(p, 0, j), by), arch::mul(raw.value(p, 1, j), by),
                          arch::mul(raw.value(p, 2, j), by), arch::mul(raw.value(p, 3, j), by)));
      }
    }
  }

  WW_DEVICE static void transpose_bytes(const Tile& tile, int first, const Raw& raw, arch::SharedAddress shared) {
    WW_UNROLL
    for (int j = 0; j < kVector; ++j)
      put_word(shared, Raw::column(0, j), first, tile.rows,
               raw.bits(0, 0, j) | raw.bits(0, 1, j) << 8 | raw.bits(0, 2, j) << 16 | raw.bits(0, 3, j) << 24);
  }

  /// Stores the transposed tile: eight threads for each of its rows.
  WW_DEVICE static void store_transposed(const QuantizeArguments& a, const Tile& tile, arch::SharedAddress shared) {
    WW_UNROLL
    for (u32 turn = 0; turn < kTile * 8 / kThreads; ++turn) {
      const u32 number = arch::thread_index() + kThreads * turn, column = number / 8, chunk = number % 8;
      const i32 there = tile.to_rows - static_cast<i32>(16 * chunk);
      if (tile.column + static_cast<i32>(column) >= a.k || there <= 0) continue;
      const arch::Words<4> bytes = arch::shared::load4(shared + chunk_at(column, chunk));
      char* const to = static_cast<char*>(a.transposed) + tile.to +
                       (i64{tile.column} + static_cast<i32>(column)) * tile.pitch + 16 * chunk;
      if (a.wide_transposed != 0 && there >= 16) arch::global::store4(to, bytes);
      else store_bytes(to, bytes, there);
    }
  }
};

}  // namespace ww::kernel
