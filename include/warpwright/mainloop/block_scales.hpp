// SPDX-License-Identifier: Apache-2.0
// Loads the scales of the block recipes for the consumer threads. Two warps of the producer warpgroup read scale_a and
// scale_b of a k-block from global memory and store what the consumers need into the stage.
//   1x128 x 128x128:  (blocks of 128 columns, TILE_M) floats, fl(scale_a[row] * scale_b[block])
//   1x128 x 1x128:    TILE_M floats of A, then TILE_N of B; the consumers multiply them
//   128x128 x 1x128:  (blocks of 128 rows, TILE_N) floats, fl(scale_a[block] * scale_b[column]); swap-AB
// Ordinary loads support any strides. They are issued for several k-blocks at once and run ahead by the depth of the
// ring, so that no consumer waits for global memory, whose latency next to full-speed TMA is about two k-blocks. With
// the loads in the consumer warps an H200 lost a third of its speed (CUDA 13.0, 2026-11-20).
#pragma once

#include "warpwright/arch/common/convert.hpp"
#include "warpwright/arch/common/global.hpp"
#include "warpwright/arch/common/math.hpp"
#include "warpwright/config/sizes.hpp"
#include "warpwright/pipeline/tma_pipeline.hpp"

namespace ww::mainloop {

using namespace config;

/// The scales of rows r and r + 8 of each MMA_M block, for each scale of B that the tile meets.
template <int kMmaBlocks, int kBlocks> struct ScaleSet { float row[kMmaBlocks][kBlocks][2]; };
/// Empty for recipes whose scales all vary by column.
template <int kMmaBlocks> struct ScaleSet<kMmaBlocks, 0> {};

/// The block scales of one tile: a[r * a_row + k * a_k] for its row r (or r-th block of 128 rows) and k-block k, and
/// b[i * b_n + k * b_k] of B.
struct TileScales {
  const float* a;  // of the tile's first row, or of the 128 rows that contain it
  const float* b;  // of the tile's first column, or of the 128 columns that contain it
  i64 a_row, a_k, b_k;
  i32 rows;  // or blocks of rows; rows past these use the last scale, and their products are never stored
  i32 k_blocks;
  i64 b_n = 0;
  i32 b_count = 1;  // columns, or blocks of columns, from b on; columns past these use the last scale
};
/// Where halves are paired: the columns of B between the gates of a tile and its ups, too.
struct HalvesScales : TileScales {
  i32 skip;
};

/// Scales of two neighbouring columns.
struct ColumnScales {
  float s[2];
};
/// The scales of the tile's columns in the stage.
struct StageColumns {
  arch::SharedAddress at;
  WW_DEVICE ColumnScales pair(int column) const {
    const arch::Words<2> words = arch::shared::load2(at + 4 * column);
    return {{arch::float_of(words.w[0]), arch::float_of(words.w[1])}};
  }
};
/// The scales of the tile's columns in the caller's memory, for kernels without scale warps; kScaled: times one of A.
template <bool kScaled> struct GlobalColumns {
  const float* b;  // of the k-block
  i64 b_n;
  i32 count;
  float a = 1.0f;
  WW_DEVICE ColumnScales pair(int column) const { return {{one(column), one(column + 1)}}; }
  WW_DEVICE float one(int column) const {
    const float of_b = arch::global::load_constant(b + min(column, count - 1) * b_n);
    return kScaled ? arch::mul(a, of_b) : of_b;
  }
};
/// The same where columns from kHalf on are the ups of SwiGLU's halves.
template <bool kScaled, int kHalf> struct GlobalHalves {
  GlobalColumns<kScaled> columns;
  i32 skip;
  WW_DEVICE ColumnScales pair(int column) const { return columns.pair(column + (column >= kHalf ? skip : 0)); }
};

template <int kTileM, int kTileN, ScaleForm kForm, bool kHalves = false> struct BlockScales {
  static constexpr bool kOfRows = kForm != ScaleForm::columns;  // A has a scale for each row
  static constexpr bool kOfColumns = kForm != ScaleForm::rows;  // B has one for each column
  static constexpr int kBlocks = kForm == ScaleForm::both ? 1   // 128-row or 128-column blocks that a tile may meet
                                 : kOfRows                ? scale_blocks_of_b(kTileN, kHalves)
                                                          : scale_blocks(kTileM);
  static constexpr int kSlotBytes = 4 * scale_floats(kForm, kTileM, kTileN, kHalves);
  static constexpr int kColumnsAt =
      kForm == ScaleForm::both ? 4 * kTileM : 0;  // byte offset within a slot of the scales of columns
  static constexpr int kWarps = 2;
  static constexpr int kLanes = kWarps * static_cast<int>(arch::kWarpSize);
  // Loads of one lane: i, i + kLanes, ...; or all blocks.
  static constexpr int kOfA = kOfRows ? kTileM / kLanes : kBlocks;
  static constexpr int kOfB = kOfColumns ? ceil_div(kTileN, kLanes) : kBlocks;
  // k-blocks loaded together, as many as the producer's registers allow.
  static constexpr int kBatch = kOfB > 1 ? max(1, 12 / (kOfA + kOfB)) : kOfA == 1 ? 6 : 8 / kOfA;
  using Scales = conditional_t<kHalves, HalvesScales, TileScales>;
  template <int kMmaBlocks> using Set = ScaleSet<kMmaBlocks, kOfRows ? kBlocks : 0>;

  WW_DEVICE static arch::SharedAddress slot(arch::SharedAddress slots, u32 stage) { return slots + stage * kSlotBytes; }
  /// Returns the column scales of a stage. `row` is the tile's, counted from where the first scale of A begins.
  WW_DEVICE static StageColumns columns(arch::SharedAddress slots, pipeline::Stage stage, int row) {
    return {slot(slots, stage.index) + (kColumnsAt + 4 * kTileN * block_of_row(row))};
  }
  WW_DEVICE static auto global_columns(const Scales& scales, int row, int k) {
    const float a =
        kOfRows ? 1.0f : arch::global::load_constant(start_of_a(scales, 0, block_of_row(row)) + k * scales.a_k);
    const GlobalColumns<!kOfRows> columns{scales.b + k * scales.b_k, scales.b_n, scales.b_count, a};
    if constexpr (kHalves) return GlobalHalves<!kOfRows, kTileN / 2>{columns, scales.skip};
    else return columns;
  }

  /// Loads the scales of all k-blocks of a tile. All lanes of scale warp `warp` (0 or 1) call it.
  template <class Pipeline>
  WW_DEVICE static void load(const Scales& scales, arch::SharedAddress slots, Pipeline& pipeline, u32 warp) {
    const u32 first = warp * arch::kWarpSize + arch::lane_index();  // row of the tile, or column
    // The pointers advance, because computing products of k and a stride for all loads at once spills in the producer's
    // 56 registers.
    const float* a[kOfA];
    const float* b[kOfB];
    WW_UNROLL
    for (int r = 0; r < kOfA; ++r) a[r] = start_of_a(scales, first, r);
    WW_UNROLL
    for (int j = 0; j < kOfB; ++j) b[j] = start_of_b(scales, first, j);
    for (int k0 = 0; k0 < scales.k_blocks; k0 += kBatch) {
      // The products are computed later, so that every load is in flight before the first product waits for one.
      float of_a[kBatch][kOfA], of_b[kBatch][kOfB];
      WW_UNROLL
      for (int i = 0; i < kBatch; ++i) {
        const bool more = k0 + i + 1 < scales.k_blocks;  // past the end, the last block's are loaded again
        WW_UNROLL
        for (int j = 0; j < kOfB; ++j) {
          of_b[i][j] = arch::global::load_constant(b[j]);
          b[j] += more ? scales.b_k : 0;
        }
        WW_UNROLL
        for (int r = 0; r < kOfA; ++r) {
          of_a[i][r] = arch::global::load_constant(a[r]);
          a[r] += more ? scales.a_k : 0;
        }
      }
      WW_UNROLL
      for (int i = 0; i < kBatch; ++i) {
        if (k0 + i >= scales.k_blocks) break;
        const pipeline::Stage stage = pipeline.storer_acquire();
        store(slot(slots, stage.index), first, of_a[i], of_b[i]);
        pipeline.storer_commit(stage);
      }
    }
  }

  /// Loads the scales of k-block k for a consumer thread's rows, from `row` of the tile on, in kernels without scale
  /// warps.
  template <int kMmaBlocks> WW_DEVICE static Set<kMmaBlocks> read_global(const Scales& scales, int row, int k) {
    Set<kMmaBlocks> read;
    if constexpr (kOfRows) {
      float b[kBlocks];
      WW_UNROLL
      for (int j = 0; j < kBlocks; ++j)
        b[j] = kOfColumns ? 1.0f : arch::global::load_constant(start_of_b(scales, 0, j) + k * scales.b_k);
      WW_UNROLL
      for (int u = 0; u < kMmaBlocks; ++u) {
        WW_UNROLL
        for (int half = 0; half < 2; ++half) {
          const int r = min(row + 64 * u + 8 * half, scales.rows - 1);
          const float a = arch::global::load_constant(scales.a + r * scales.a_row + k * scales.a_k);
          WW_UNROLL
          for (int j = 0; j < kBlocks; ++j) read.row[u][j][half] = kOfColumns ? a : arch::mul(a, b[j]);
        }
      }
    }
    return read;
  }

  /// Reads the scales of a consumer thread's rows, from `row` of the tile on.
  template <int kMmaBlocks>
  WW_DEVICE static Set<kMmaBlocks> read(arch::SharedAddress slots, pipeline::Stage stage, int row) {
    Set<kMmaBlocks> scales;
    if constexpr (kOfRows) {
      WW_UNROLL
      for (int u = 0; u < kMmaBlocks; ++u) {
        WW_UNROLL
        for (int j = 0; j < kBlocks; ++j) {
          WW_UNROLL
          for (int half = 0; half < 2; ++half)
            scales.row[u][j][half] = arch::float_of(
                arch::shared::load(slot(slots + 4 * row, stage.index) + 4 * (j * kTileM + 64 * u + 8 * half)));
        }
      }
    }
    return scales;
  }

 private:
  WW_DEVICE static int block_of_row(int row) { return kOfRows || kBlocks == 1 ? 0 : row / kScaleBlock; }

  // Returns the address of the r-th scale of A that lane `lane` loads first: of its r-th row, or of the tile's r-th
  // block of rows.
  WW_DEVICE static const float* start_of_a(const Scales& scales, u32 lane, int r) {
    if constexpr (kOfRows) return scales.a + min(static_cast<int>(lane) + kLanes * r, scales.rows - 1) * scales.a_row;
    else if constexpr (kBlocks > 1) return scales.a + min(r, scales.rows - 1) * scales.a_row;
    else return scales.a;
  }
  // Does the same for B and columns.
  WW_DEVICE static const float* start_of_b(const Scales& scales, u32 lane, int j) {
    if constexpr (kOfColumns && kHalves) {
      const int column = static_cast<int>(lane) + kLanes * j;
      return scales.b + min(column + (column >= kTileN / 2 ? scales.skip : 0), scales.b_count - 1) * scales.b_n;
    } else if constexpr (kOfColumns)
      return scales.b + min(static_cast<int>(lane) + kLanes * j, scales.b_count - 1) * scales.b_n;
    else if constexpr (kBlocks > 1) return scales.b + min(j, scales.b_count - 1) * scales.b_n;
    else return scales.b;
  }

  WW_DEVICE static void store(arch::SharedAddress slot, u32 first, const float (&a)[kOfA], const float (&b)[kOfB]) {
    if constexpr (kOfRows) {
      WW_UNROLL
      for (int r = 0; r < kOfA; ++r) {
        WW_UNROLL
        for (int j = 0; j < kBlocks; ++j)
          arch::shared::store(slot + 4 * (j * kTileM + first + kLanes * r),
                              arch::bits_of(kOfColumns ? a[r] : arch::mul(a[r], b[j])));
      }
    }
    if constexpr (kOfColumns) {
      WW_UNROLL
      for (int j = 0; j < kOfB; ++j) {
        if (kTileN % kLanes != 0 && static_cast<int>(first) + kLanes * j >= kTileN) continue;
        WW_UNROLL
        for (int r = 0; r < (kOfRows ? 1 : kBlocks); ++r)
          arch::shared::store(slot + (kColumnsAt + 4 * (r * kTileN + static_cast<int>(first) + kLanes * j)),
                              arch::bits_of(kOfRows ? b[j] : arch::mul(a[r], b[j])));
      }
    }
  }
};

}  // namespace ww::mainloop
