// SPDX-License-Identifier: Apache-2.0
// From accumulators of a token tile to rows of D: scale, evaluate the tree, convert, transpose through shared memory,
// store 16 bytes at a time.
//   16-bit outputs: each consumer warp writes its 16 rows or columns to its own staging buffer, reads whole 16-byte
//                   chunks back, and stores those of rows that belong to the tile; warps never wait for each other
//   float outputs:  straight from registers
// Stores are predicated: rows past the tile's last belong to another group, or to none, and stay unchanged.
// Fragments are (tokens, weights): of Transposed where weights are the M side of the MMA.
#pragma once

#include "warpwright/arch/common/global.hpp"
#include "warpwright/atom/fragment_store.hpp"
#include "warpwright/config/config_parameter.hpp"
#include "warpwright/config/shared_memory.hpp"
#include "warpwright/config/sizes.hpp"
#include "warpwright/epilogue/scale.hpp"
#include "warpwright/epilogue/token_tree.hpp"

namespace ww::epilogue {

template <ConfigParameter kConfig> struct RaggedEpilogue {
  static constexpr DType kOut = kConfig.operands.d;
  static constexpr int kPart = kConfig.tile.n / kConfig.sm90.consumer_warpgroups;  // columns of a consumer warpgroup
  static constexpr EpilogueTree kTree = kConfig.epilogue;
  using Output = storage_t<kOut>;

  /// Returns the first column of D that a consumer warpgroup owns.
  WW_DEVICE static int column_of(int consumer_warpgroup, const TokenTile& tile) {
    return tile.tile_n * kConfig.tile.n + consumer_warpgroup * kPart;
  }

  /// Stores acc as this warpgroup's columns of the tile's rows of D. All its threads call it.
  template <class F, int kMmaBlocks>
  WW_DEVICE static void store(const GroupedArguments& arguments, arch::SharedAddress base, int consumer_warpgroup,
                              F (&acc)[kMmaBlocks], const TokenTile& tile) {
    const int first_column = column_of(consumer_warpgroup, tile);
    if constexpr (kTree.empty()) {
      write<true>(arguments, base, acc, tile, first_column);
    } else {
      WW_UNROLL
      for (int u = 0; u < kMmaBlocks; ++u) scale(arguments, acc[u], tile, first_column, u);
      apply_tree<kTree>(arguments, acc, tile, first_column);
      write<false>(arguments, base, acc, tile, first_column);
    }
  }

  /// Stores the tree over zeros for K = 0, whatever the scales are, in kMmaBlocks fragments F at a time. All threads of
  /// a consumer warpgroup call it.
  template <class F, int kMmaBlocks>
  WW_DEVICE static void store_tree_of_zeros(const GroupedArguments& arguments, arch::SharedAddress base,
                                            int consumer_warpgroup, const TokenTile& tile) {
    static_assert(F::kPairsAlongM);  // the fragments are side by side
    const int first_column = column_of(consumer_warpgroup, tile);
    WW_NO_UNROLL
    for (int done = 0; done < tile.rows; done += F::kRows) {
      const TokenTile part{tile.group, tile.row + done, min(F::kRows, tile.rows - done), tile.tile_n};
      F acc[kMmaBlocks] = {};
      apply_tree<kTree>(arguments, acc, part, first_column);
      write<false>(arguments, base, acc, part, first_column);
    }
  }

  /// Stores zeros for K = 0 to this warpgroup's columns of the tile's rows. All its threads call it.
  WW_DEVICE static void store_zeros(const GroupedArguments& arguments, int consumer_warpgroup, const TokenTile& tile) {
    constexpr int kPieces = kPart * bytes_of(kOut) / 16;  // of a row
    const int first_column = column_of(consumer_warpgroup, tile);
    for (int i = static_cast<int>(arch::thread_index() % arch::kWarpgroupSize); i < tile.rows * kPieces;
         i += arch::kWarpgroupSize) {
      const int column = first_column + i % kPieces * (16 / bytes_of(kOut));
      arch::global::store4_if(column < arguments.n, address(arguments, tile.row + i / kPieces, column), {{0, 0, 0, 0}});
    }
  }

  /// Multiplies acc, fragment `u`, by fl(scale_a scale_b) for the tensor and row-column recipes. Others need nothing
  /// here.
  // It works block by block and two columns at a time, because more scales and addresses at once spill beside 128
  // accumulators.
  template <class F>
  WW_DEVICE static void scale(const GroupedArguments& arguments, F& acc, const TokenTile& tile, int first_column,
                              int u) {
    const float* const a = arguments.scale_a + tile.group * arguments.scale_a_group;
    const float* const b = arguments.scale_b + tile.group * arguments.scale_b_group;
    if constexpr (kConfig.operands.scale == Scale::tensor) {
      multiply<1>(&acc, arch::mul(arch::global::load_constant(a), arch::global::load_constant(b)));
    } else if constexpr (kConfig.operands.scale == Scale::row_column) {
      const auto of_token = [&](int token) -> float {
        return arch::global::load_constant(a + (tile.row + min(token, tile.rows - 1)) * arguments.scale_a_row);
      };
      const auto of_column = [&](int column) -> float {
        return arch::global::load_constant(b + min(first_column + column, arguments.n - 1) * arguments.scale_b_n);
      };
      const int thread = static_cast<int>(arch::thread_index() % arch::kWarpgroupSize), first_line = kWarpgroupRows * u;
      multiply<1>(
          &acc, thread,
          [&](int line) { return F::kPairsAlongM ? of_column(first_line + line) : of_token(first_line + line); },
          [&](int at) {
            return F::kPairsAlongM ? Pair{of_token(at), of_token(at + 1)} : Pair{of_column(at), of_column(at + 1)};
          });
    }
  }

 private:
  // Without a tree the scales are applied here, so that an MMA_M block's accumulators are finished before the next
  // block's scales are loaded.
  template <bool kScales, class F, int kMmaBlocks>
  WW_DEVICE static void write(const GroupedArguments& arguments, arch::SharedAddress base, F (&acc)[kMmaBlocks],
                              const TokenTile& tile, int first_column) {
    constexpr u32 kFirst = grouped_shared_plan(kConfig).staging;
    const arch::SharedAddress staging =
        base + (kFirst + (arch::warp_index() - arch::kWarpgroupSize / arch::kWarpSize) * kStagingBytes);
    WW_UNROLL
    for (int u = 0; u < kMmaBlocks; ++u) {
      if constexpr (kScales) scale(arguments, acc[u], tile, first_column, u);
      if constexpr (kOut == DType::f32) store_words(arguments, acc[u], tile, first_column, u);
      else store_pieces(arguments, staging, acc[u], tile, first_column, u);
    }
  }

  WW_DEVICE static Output* address(const GroupedArguments& arguments, int row, int column) {
    return static_cast<Output*>(arguments.d_rows) + row * arguments.ldd + column;
  }

  // Stores this warp's 16 lines of fragment `u` in passes along them: 16 tokens x 64 columns or, transposed, 32 tokens
  // x 16 columns. A staging row is a token, padded by 16 bytes so that rows spread over the banks.
  template <class F>
  WW_DEVICE static void store_pieces(const GroupedArguments& arguments, arch::SharedAddress staging, const F& acc,
                                     const TokenTile& tile, int first_column, int u) {
    using L = typename F::Layout;
    constexpr bool kSwapped = F::kPairsAlongM;
    constexpr int kPass = kSwapped ? 32 : 64;  // elements of a line
    constexpr int kRows = kSwapped ? kPass : L::kWarpLines, kColumns = kSwapped ? L::kWarpLines : kPass;
    constexpr int kPieces = kColumns * bytes_of(kOut) / 16, kPitch = kColumns * bytes_of(kOut) + 16;
    static_assert(kRows * kPitch <= kStagingBytes && (kSwapped || L::kAlong % kPass == 0));
    const int lane = static_cast<int>(arch::lane_index());
    const int line = kWarpgroupRows * u + L::kWarpLines * static_cast<int>(arch::warp_index() % 4);
    WW_UNROLL
    for (int first = 0; first < L::kAlong; first += kPass) {
      arch::warp::sync();  // the preceding pass has been read
      atom::store_matrices<kOut, kSwapped, kPass>(acc, first / 8, L::kAlong - first, [&](int of_warp, int along) {
        return staging + (kSwapped ? along * kPitch + of_warp * 2 : of_warp * kPitch + along * 2);
      });
      arch::warp::sync();
      WW_UNROLL
      for (int i = 0; i < kRows * kPieces / static_cast<int>(arch::kWarpSize); ++i) {
        const int piece = lane + i * static_cast<int>(arch::kWarpSize);  // row piece / kPieces, columns 8 (piece % ...)
        const int row = (kSwapped ? first : line) + piece / kPieces;
        const int column = first_column + (kSwapped ? line : first) + piece % kPieces * 8;
        if (kSwapped && row >= F::kRows) continue;
        arch::global::store4_if(row < tile.rows && column < arguments.n, address(arguments, tile.row + row, column),
                                arch::shared::load4(staging + (piece / kPieces * kPitch + piece % kPieces * 16)));
      }
    }
  }

  template <class F>
  WW_DEVICE static void store_words(const GroupedArguments& arguments, const F& acc, const TokenTile& tile,
                                    int first_column, int u) {
    const int thread = static_cast<int>(arch::thread_index() % arch::kWarpgroupSize), block = kWarpgroupRows * u;
    const int token = F::first_row(thread) + (F::kPairsAlongM ? 0 : block);
    const int column = first_column + F::first_column(thread) + (F::kPairsAlongM ? block : 0);
    // Addresses step from one base, because a separate address for each value spills.
    Output* const first = address(arguments, tile.row + token, column);
    atom::for_each_element(acc, [&](int tokens, int columns, float x) {
      arch::global::store_if(token + tokens < tile.rows && column + columns < arguments.n,
                             first + tokens * arguments.ldd + columns, arch::bits_of(x));
    });
  }
};

}  // namespace ww::epilogue
