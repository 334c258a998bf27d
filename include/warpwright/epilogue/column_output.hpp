// SPDX-License-Identifier: Apache-2.0
// A tile of D whose columns are contiguous in memory, stored as (N, M). It has the same order in shared memory, so one
// TMA box takes all columns of 64 rows (FP32: 32).
//   shared tile: panels of 128 bytes of M, (panel rows, COLUMNS) each, 128-byte swizzle; those of a warpgroup together
// There are no bank conflicts: eight columns of 16 bytes, or four of 32, are 128 different bytes under the swizzle.
#pragma once

#include "warpwright/atom/tma_atom.hpp"
#include "warpwright/config/config_parameter.hpp"
#include "warpwright/config/gemm_arguments.hpp"
#include "warpwright/config/sizes.hpp"

namespace ww::epilogue {

using namespace config;

template <ConfigParameter kConfig> struct ColumnOutput {
  static constexpr int kTileM = kConfig.tile.m, kColumns = output_columns(kConfig);
  static constexpr int kPanelRows = column_panel_rows(kConfig);      // of D
  static constexpr int kPanels = kWarpgroupRows / kPanelRows;        // of 64 rows
  static constexpr u32 kUnitBytes = kPanels * kColumns * kRowBytes;  // of 64 rows
  using SharedD =
      atom::SharedColumns<stored_type(kConfig.operands.d), kColumns>;  // ((rows of a panel, panels), COLUMNS)
  static_assert(SharedD::kPanelRows == kPanelRows);

  /// Stores the 64-row block `unit` of sD (TILE_M, COLUMNS) to its position in `tile` of D. The issuing thread calls
  /// it.
  WW_DEVICE static void issue(const arch::TensorMap& map, const SharedD& sD, TileCoord tile, int mma_block) {
    for (int panel = mma_block * kPanels; panel < (mma_block + 1) * kPanels; ++panel)
      atom::copy(
          atom::TmaStoreAtom{map}, sD.panel(panel),
          atom::Box<stacks_matrices(kConfig)>{tile.m * kTileM + panel * kPanelRows, tile.n * kColumns, tile.batch});
  }
};

}  // namespace ww::epilogue
