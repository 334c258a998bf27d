// SPDX-License-Identifier: Apache-2.0
// From accumulators of a token tile to rows of D: scale, evaluate the tree, convert, transpose through shared memory,
// store 16 bytes at a time.
//   16-bit outputs: each consumer warp writes its 16 rows or columns to its own staging buffer, reads whole 16-byte
//   chunks
//                   back, and stores those of rows that belong to the tile; warps never wait for each other
//   float outputs:  straight from registers
// Stores are predicated: rows past the tile's last belong to another group, or to none, and stay unchanged.
#pragma once

#include "warpwright/arch/common/convert.hpp"
#include "warpwright/arch/common/global.hpp"
#include "warpwright/arch/common/math.hpp"
#include "warpwright/arch/common/stmatrix.hpp"
#include "warpwright/config/shared_memory.hpp"
#include "warpwright/epilogue/token_tree.hpp"
#include "warpwright/mainloop/sm90/ragged_mainloop.hpp"

namespace ww::epilogue {

using namespace config;

template <GemmConfig kConfig> struct RaggedEpilogue {
  using Mainloop = mainloop::RaggedMainloop<kConfig>;
  static constexpr DType kOut = kConfig.operands.d;
  static constexpr int kPart = Mainloop::kPart;
  static constexpr EpilogueTree kTree = kConfig.epilogue;
  using Output = storage_t<kOut>;

  /// Stores acc as this warpgroup's columns of the tile's rows of D. All its threads call it.
  template <TokenWidth kWidth, class Accumulator, int kMmaBlocks>
  WW_DEVICE static void store(const GroupedArguments& arguments, arch::SharedAddress base, int consumer_warpgroup,
                              Accumulator (&acc)[kMmaBlocks], const TokenTile& tile) {
    const int first_column = tile.tile_n * Mainloop::kWeights + consumer_warpgroup * kPart;
    if constexpr (kTree.empty()) {
      write<kWidth, true>(arguments, base, acc, tile, first_column);
    } else {
      WW_UNROLL
      for (int u = 0; u < kMmaBlocks; ++u) scale<kWidth>(arguments, acc[u], tile, first_column, u);
      apply_tree<kConfig, kWidth>(arguments, acc, tile, first_column);
      write<kWidth, false>(arguments, base, acc, tile, first_column);
    }
  }

  /// Stores the tree over zeros for K = 0, whatever the scales are, eight tokens at a time. All threads of a consumer
  /// warpgroup call it.
  WW_DEVICE static void store_tree_of_zeros(const GroupedArguments& arguments, arch::SharedAddress base,
                                            int consumer_warpgroup, const TokenTile& tile) {
    constexpr TokenWidth kWidth = token_shape(0);
    using Shape = typename Mainloop::template Shape<kWidth>;
    const int first_column = tile.tile_n * Mainloop::kWeights + consumer_warpgroup * kPart;
    WW_NO_UNROLL
    for (int done = 0; done < tile.rows; done += kWidth.width) {
      const TokenTile part{tile.group, tile.row + done, min(kWidth.width, tile.rows - done), tile.tile_n};
      typename Shape::Accumulator acc[Shape::kMmaBlocks] = {};
      apply_tree<kConfig, kWidth>(arguments, acc, part, first_column);
      write<kWidth, false>(arguments, base, acc, part, first_column);
    }
  }

  /// Stores zeros for K = 0 to this warpgroup's columns of the tile's rows. All its threads call it.
  WW_DEVICE static void store_zeros(const GroupedArguments& arguments, int consumer_warpgroup, const TokenTile& tile) {
    constexpr int kPieces = kPart * bytes_of(kOut) / 16;  // of a row
    const int first_column = tile.tile_n * Mainloop::kWeights + consumer_warpgroup * kPart;
    for (int i = static_cast<int>(arch::thread_index() % arch::kWarpgroupSize); i < tile.rows * kPieces;
         i += arch::kWarpgroupSize) {
      const int column = first_column + i % kPieces * (16 / bytes_of(kOut));
      arch::global::store4_if(column < arguments.n, address(arguments, tile.row + i / kPieces, column), {{0, 0, 0, 0}});
    }
  }

  template <TokenWidth kWidth, class Accumulator> WW_DEVICE static int token_of(int thread, int mma_block, int v) {
    if constexpr (kWidth.swapped) return atom::MmaAtom<kConfig.operands.a, 2 * Accumulator::kValues>::column(thread, v);
    else
      return mma_block * kWarpgroupRows + atom::MmaAtom<kConfig.operands.a, 2 * Accumulator::kValues>::row(thread, v);
  }
  template <TokenWidth kWidth, class Accumulator> WW_DEVICE static int column_of(int thread, int mma_block, int v) {
    if constexpr (kWidth.swapped)
      return mma_block * kWarpgroupRows + atom::MmaAtom<kConfig.operands.a, 2 * Accumulator::kValues>::row(thread, v);
    else return atom::MmaAtom<kConfig.operands.a, 2 * Accumulator::kValues>::column(thread, v);
  }

  /// Multiplies acc by fl(scale_a scale_b) for the tensor and row-column recipes. Others need nothing here.
  // It works block by block and two columns at a time, because more scales and addresses at once spill beside 128
  // accumulators.
  template <TokenWidth kWidth, class Accumulator>
  WW_DEVICE static void scale(const GroupedArguments& arguments, Accumulator& acc, const TokenTile& tile,
                              int first_column, int u) {
    if constexpr (kConfig.operands.scale == Scale::tensor) {
      const float s = arch::mul(arch::global::load_constant(arguments.scale_a + tile.group * arguments.scale_a_group),
                                arch::global::load_constant(arguments.scale_b + tile.group * arguments.scale_b_group));
      WW_UNROLL
      for (int v = 0; v < Accumulator::kValues; ++v) acc[v] = arch::mul(acc[v], s);
    } else if constexpr (kConfig.operands.scale == Scale::row_column) {
      using Atom = atom::MmaAtom<kConfig.operands.a, 2 * Accumulator::kValues>;
      const int thread = static_cast<int>(arch::thread_index() % arch::kWarpgroupSize);
      const float* const b = arguments.scale_b + tile.group * arguments.scale_b_group;
      const auto of_token = [&](int token) -> float {
        return arch::global::load_constant(arguments.scale_a + tile.group * arguments.scale_a_group +
                                           (tile.row + min(token, tile.rows - 1)) * arguments.scale_a_row);
      };
      const auto of_column = [&](int column) -> float {
        return arch::global::load_constant(b + min(first_column + column, arguments.n - 1) * arguments.scale_b_n);
      };
      const int row = u * kWarpgroupRows + Atom::row(thread, 0);  // rows r and r + 8 of the MMA
      const float rows[2] = {kWidth.swapped ? of_column(row) : of_token(row),
                             kWidth.swapped ? of_column(row + 8) : of_token(row + 8)};
      WW_UNROLL
      for (int v = 0; v < Accumulator::kValues; v += 4) {  // two columns
        const int at = Atom::column(thread, v);
        const float columns[2] = {kWidth.swapped ? of_token(at) : of_column(at),
                                  kWidth.swapped ? of_token(at + 1) : of_column(at + 1)};
        WW_UNROLL
        for (int i = 0; i < 4; ++i) acc[v + i] = arch::mul(acc[v + i], arch::mul(rows[i / 2], columns[i % 2]));
      }
    }
  }

  WW_DEVICE static u32 pack(float low, float high) {
    if constexpr (kOut == DType::bf16) return arch::to_bf16x2(low, high);
    else return arch::to_f16x2(low, high);
  }

 private:
  // Without a tree the scales are applied here, so that an MMA_M block's accumulators are finished before the next
  // block's scales are loaded.
  template <TokenWidth kWidth, bool kScales, class Accumulator, int kMmaBlocks>
  WW_DEVICE static void write(const GroupedArguments& arguments, arch::SharedAddress base,
                              Accumulator (&acc)[kMmaBlocks], const TokenTile& tile, int first_column) {
    const arch::SharedAddress staging =
        base +
        (Mainloop::kShared.staging + (arch::warp_index() - arch::kWarpgroupSize / arch::kWarpSize) * kStagingBytes);
    WW_UNROLL
    for (int u = 0; u < kMmaBlocks; ++u) {
      if constexpr (kScales) scale<kWidth>(arguments, acc[u], tile, first_column, u);
      if constexpr (kOut == DType::f32) {
        store_words<kWidth>(arguments, acc[u], tile, first_column, u);
      } else if constexpr (kWidth.swapped) {
        store_columns(arguments, staging, acc[u], tile, first_column + u * kWarpgroupRows);
      } else {
        store_rows(arguments, staging, acc[u], tile, first_column, u * kWarpgroupRows);
      }
    }
  }

  WW_DEVICE static Output* address(const GroupedArguments& arguments, int row, int column) {
    return static_cast<Output*>(arguments.d_rows) + row * arguments.ldd + column;
  }

  // Swapped: stores this warp's 16 weights of an MMA_M block, 32 tokens at a time. A staging row is a token, 32 bytes
  // at a pitch of 48.
  template <class Accumulator>
  WW_DEVICE static void store_columns(const GroupedArguments& arguments, arch::SharedAddress staging,
                                      const Accumulator& acc, const TokenTile& tile, int unit_column) {
    constexpr int kTokens = 2 * Accumulator::kValues, kPitch = 48, kPass = 32;
    const int lane = static_cast<int>(arch::lane_index());
    const int column = unit_column + 16 * static_cast<int>(arch::warp_index() % 4);
    WW_UNROLL
    for (int first = 0; first < kTokens; first += kPass) {
      constexpr int kGroup =
          8;  // tokens of a matrix; matrices 0, 1 are weights 0-7, 8-15, matrices 2, 3 the next tokens
      const int in_pass = min(kPass, kTokens - first);
      arch::warp::sync();  // the preceding pass has been read
      WW_UNROLL
      for (int t = 0; t < kPass; t += 2 * kGroup) {
        if (t >= in_pass) break;
        const int v = (first + t) / 2;
        const arch::SharedAddress row = staging + ((t + lane / 16 * kGroup + lane % 8) * kPitch + lane / 8 % 2 * 16);
        if (t + kGroup < in_pass)
          arch::stmatrix_transposed(row, arch::Words<4>{{pack(acc[v], acc[v + 1]), pack(acc[v + 2], acc[v + 3]),
                                                         pack(acc[v + 4], acc[v + 5]), pack(acc[v + 6], acc[v + 7])}});
        else arch::stmatrix_transposed(row, arch::Words<2>{{pack(acc[v], acc[v + 1]), pack(acc[v + 2], acc[v + 3])}});
      }
      arch::warp::sync();
      WW_UNROLL
      for (int i = 0; i < kPass * 2 / static_cast<int>(arch::kWarpSize); ++i) {
        const int piece = lane + i * static_cast<int>(arch::kWarpSize);  // token piece / 2, weights 8 (piece % 2) ..
        const int token = first + piece / 2, at = column + piece % 2 * 8;
        if (token >= kTokens) continue;
        arch::global::store4_if(token < tile.rows && at < arguments.n, address(arguments, tile.row + token, at),
                                arch::shared::load4(staging + (piece / 2 * kPitch + piece % 2 * 16)));
      }
    }
  }

  // Normal: stores this warp's 16 tokens of an MMA_M block, 64 columns at a time. A staging row is a token, 128 bytes
  // at a pitch of 144.
  template <class Accumulator>
  WW_DEVICE static void store_rows(const GroupedArguments& arguments, arch::SharedAddress staging,
                                   const Accumulator& acc, const TokenTile& tile, int first_column, int unit_row) {
    constexpr int kColumns = 2 * Accumulator::kValues, kPitch = 144, kPass = 64;
    static_assert(kColumns % kPass == 0);
    const int lane = static_cast<int>(arch::lane_index());
    const int token = unit_row + 16 * static_cast<int>(arch::warp_index() % 4);
    WW_UNROLL
    for (int first = 0; first < kColumns; first += kPass) {
      arch::warp::sync();  // the preceding pass has been read
      WW_UNROLL
      for (int j = 0; j < kPass; j += 16) {  // matrices 0, 1 are tokens 0-7, 8-15 of columns 0-7; 2, 3 of columns 8-15
        const int v = (first + j) / 2;
        arch::stmatrix(staging + (lane % 16 * kPitch + (j + lane / 16 * 8) * 2),
                       arch::Words<4>{{pack(acc[v], acc[v + 1]), pack(acc[v + 2], acc[v + 3]),
                                       pack(acc[v + 4], acc[v + 5]), pack(acc[v + 6], acc[v + 7])}});
      }
      arch::warp::sync();
      WW_UNROLL
      for (int i = 0; i < 16 * kPass * 2 / 16 / static_cast<int>(arch::kWarpSize); ++i) {
        const int piece = lane + i * static_cast<int>(arch::kWarpSize);  // token piece / 8, columns 8 (piece % 8) ..
        const int row = token + piece / 8, at = first_column + first + piece % 8 * 8;
        arch::global::store4_if(row < tile.rows && at < arguments.n, address(arguments, tile.row + row, at),
                                arch::shared::load4(staging + (piece / 8 * kPitch + piece % 8 * 16)));
      }
    }
  }

  template <TokenWidth kWidth, class Accumulator>
  WW_DEVICE static void store_words(const GroupedArguments& arguments, const Accumulator& acc, const TokenTile& tile,
                                    int first_column, int mma_block) {
    constexpr int kStep = 8;  // of the MMA, in rows and columns, from values 0, 1 to 2, 3 and to 4, 5
    const int thread = static_cast<int>(arch::thread_index() % arch::kWarpgroupSize);
    const int token = token_of<kWidth, Accumulator>(thread, mma_block, 0);
    const int column = first_column + column_of<kWidth, Accumulator>(thread, mma_block, 0);
    // Addresses step from one base, because a separate address for each value spills.
    Output* const first = address(arguments, tile.row + token, column);
    WW_UNROLL
    for (int v = 0; v < Accumulator::kValues; v += 4) {
      WW_UNROLL
      for (int i = 0; i < 4; ++i) {
        const int near = i % 2 + v / 4 * kStep, far = i / 2 * kStep;
        const int tokens = kWidth.swapped ? near : far, columns = kWidth.swapped ? far : near;
        arch::global::store_if(token + tokens < tile.rows && column + columns < arguments.n,
                               first + tokens * arguments.ldd + columns, arch::bits_of(acc[v + i]));
      }
    }
  }
};

}  // namespace ww::epilogue
