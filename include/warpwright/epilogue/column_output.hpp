// SPDX-License-Identifier: Apache-2.0
// A tile of D whose columns are contiguous in memory, stored as (N, M). It has the same order in shared memory, so one
// TMA box takes all columns of 64 rows (FP32: 32).
//   shared tile: panels of 128 bytes of M, (panel rows, COLUMNS) each, 128-byte swizzle; those of a warpgroup together
// 16-bit types are transposed by stmatrix.trans, FP32 element by element. Neither has bank conflicts: eight columns of
// 16 bytes, or four of 32, are 128 different bytes under the swizzle.
#pragma once

#include "warpwright/arch/common/convert.hpp"
#include "warpwright/arch/common/stmatrix.hpp"
#include "warpwright/atom/mma_atom.hpp"
#include "warpwright/atom/sm90_accumulator.hpp"
#include "warpwright/atom/tma_atom.hpp"
#include "warpwright/config/gemm_arguments.hpp"
#include "warpwright/config/sizes.hpp"

namespace ww::epilogue {

using namespace config;

template <GemmConfig kConfig> struct ColumnOutput {
  static constexpr int kTileM = kConfig.tile.m, kColumns = output_columns(kConfig);
  static constexpr int kPanelRows = column_panel_rows(kConfig);      // of D
  static constexpr int kPanels = kWarpgroupRows / kPanelRows;        // of 64 rows
  static constexpr u32 kUnitBytes = kPanels * kColumns * kRowBytes;  // of 64 rows
  using Atom = atom::MmaAtom<kConfig.operands.a, kConfig.tile.n>;
  using Output = atom::Fragment<atom::Sm90Accumulator<kColumns>>;
  using SharedD = atom::SharedColumns<kConfig.operands.d, kColumns>;  // ((rows of a panel, panels), COLUMNS)
  static_assert(SharedD::kPanelRows == kPanelRows);

  /// Writes this warpgroup's 64 rows of sD (TILE_M, COLUMNS) from `first_row` on. All its threads call it.
  WW_DEVICE static void write(const SharedD& sD, int first_row, const Output& acc) {
    if constexpr (kConfig.operands.d == DType::f32) write_words(sD, first_row, acc);
    else write_matrices(sD, first_row, acc);
  }

  /// Stores the 64-row block `unit` of sD (TILE_M, COLUMNS) to its position in `tile` of D. The issuing thread calls
  /// it.
  WW_DEVICE static void issue(const arch::TensorMap& map, const SharedD& sD, TileCoord tile, int mma_block) {
    for (int panel = mma_block * kPanels; panel < (mma_block + 1) * kPanels; ++panel)
      atom::copy(
          atom::TmaStoreAtom{map}, sD.panel(panel),
          atom::Box<stacks_matrices(kConfig)>{tile.m * kTileM + panel * kPanelRows, tile.n * kColumns, tile.batch});
  }

 private:
  WW_DEVICE static u32 pack(float low, float high) {
    return kConfig.operands.d == DType::bf16 ? arch::to_bf16x2(low, high) : arch::to_f16x2(low, high);
  }

  // Values 8j .. 8j + 7 of a warp are four 8 x 8 matrices: rows 0-7 and 8-15 of eight columns, then of the next eight.
  // A lane's address is that of one column of them, because the store transposes.
  WW_DEVICE static void write_matrices(const SharedD& sD, int first_row, const Output& acc) {
    const int lane = static_cast<int>(arch::lane_index());
    const int row = first_row + 16 * static_cast<int>(arch::warp_index() % 4) + 8 * (lane / 8 % 2);
    const int column = 8 * (lane / 16) + lane % 8;
    WW_UNROLL
    for (int j = 0; j < kColumns / 16; ++j)
      arch::stmatrix_transposed(
          sD(row, 16 * j + column),
          arch::Words<4>{{pack(acc[8 * j], acc[8 * j + 1]), pack(acc[8 * j + 2], acc[8 * j + 3]),
                          pack(acc[8 * j + 4], acc[8 * j + 5]), pack(acc[8 * j + 6], acc[8 * j + 7])}});
    if constexpr (kColumns % 16 != 0) {  // the last 8 columns
      constexpr int v = kColumns / 2 - 4;
      arch::stmatrix_transposed(sD(row, kColumns - 8 + lane % 8),
                                arch::Words<2>{{pack(acc[v], acc[v + 1]), pack(acc[v + 2], acc[v + 3])}});
    }
  }

  WW_DEVICE static void write_words(const SharedD& sD, int first_row, const Output& acc) {
    const int thread = static_cast<int>(arch::thread_index() % arch::kWarpgroupSize);
    const int row = first_row + Atom::row(thread, 0), column = Atom::column(thread, 0);
    WW_UNROLL
    for (int v = 0; v < Output::kValues; ++v)
      arch::shared::store(sD(row + 8 * (v / 2 % 2), column + 8 * (v / 4) + v % 2), arch::bits_of(acc[v]));
  }
};

}  // namespace ww::epilogue
