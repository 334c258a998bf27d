// SPDX-License-Identifier: Apache-2.0
// The tiles of a GEMM in plain integers: where a box of a matrix begins, and where its copy in shared memory does.
//   TileRow (rows, columns, k)    SharedOperand (rows, K, stage)    SharedPanels (rows, (columns of a panel, panels))
//   SharedColumns ((rows of a panel, panels), columns)
// They support the slices that a mainloop takes of a tensor, in the same notation, and agree with the layouts of
// atom/layouts.hpp (tests/atom). Kernels do not use those layouts directly: seven in eight of a GEMM's functions were
// steps of their algebra, and half of NVRTC's time went into inlining them.
#pragma once

#include "warpwright/arch/common/executor.hpp"
#include "warpwright/core/dtype.hpp"
#include "warpwright/core/machine.hpp"
#include "warpwright/core/underscore.hpp"

namespace ww::atom {

inline constexpr int kSwizzleSpan = MachineTraits::kSwizzleBytes;  // bytes of a row
inline constexpr int kGroupBytes = MachineTraits::kSwizzleAlignment;
inline constexpr int kMnBlock = 64;  // of M or N, and of K
inline constexpr int kMnBlockBytes = kMnBlock * kSwizzleSpan;

// --- of a matrix in global memory --------------------------------------------------------------------
/// Where a box of a matrix begins; with kBatched, in matrix `batch` of several.
template <bool kBatched> struct Box {
  int row, column, batch = 0;
  WW_DEVICE Box rows_from(int rows) const { return {row + rows, column, batch}; }
};

/// The tiles (kRows, kColumns, k) of a matrix from row `row` and column `column` on, indexed along k.
template <int kRows, int kColumns, bool kBatched = false> struct TileRow {
  int row, batch = 0, column = 0;
  WW_DEVICE Box<kBatched> operator()(Underscore, Underscore, int k) const {
    return {row, column + k * kColumns, batch};
  }
};

/// The same of a tile in two halves: the second half of its rows lies `skip` rows further on than the first half ends.
template <int kRows, int kColumns, bool kBatched = false> struct TileHalves { int row, batch = 0, skip = 0; };

// --- in shared memory ----------------------------------------------------------------------------------
/// A tile under the 128-byte swizzle, or whole groups of its rows. Copies and descriptors need only its start.
template <Major kMajor = Major::k> struct SharedTile {
  static constexpr Major major = kMajor;
  arch::SharedAddress address;
  /// Returns the tile from `rows` on: a multiple of 8 for K-major, where a row group begins; for MN-major a multiple of
  /// the elements of 128 bytes, where a block begins.
  WW_DEVICE SharedTile rows_from(int rows) const { return {address + static_cast<u32>(rows * kSwizzleSpan)}; }
};

/// A ring of operand tiles (kRows, 128 bytes of K or 64 k, STAGE). In either major a row takes 128 bytes.
template <int kRows, Major kMajor = Major::k, int kStageRows = kRows> struct SharedOperand {
  static constexpr int rows = kRows;
  arch::SharedAddress base;
  WW_DEVICE SharedTile<kMajor> operator()(Underscore, Underscore, int stage) const {
    return {base + static_cast<u32>(stage * (kStageRows * kSwizzleSpan))};
  }
};

/// An output tile: panels of kPanelBytes of columns, (kRows, panel) each, swizzled so that rows spread over the banks.
template <DType kType, int kRows, int kPanelBytes> struct SharedPanels {
  static constexpr bool kColumnsContiguous = true;  // neighbouring columns are neighbours in memory
  static constexpr int kPanelColumns = kPanelBytes / bytes_of(kType);
  static constexpr u32 kSwizzleMask = kPanelBytes - 16;  // 16-byte chunks: the row's low bits permute them
  arch::SharedAddress base;                              // a multiple of 1024

  WW_DEVICE arch::SharedAddress operator()(int row, int column) const {
    const u32 start = static_cast<u32>(row * kPanelBytes);  // of the row
    const u32 at = static_cast<u32>(column % kPanelColumns * bytes_of(kType));
    const u32 panel = static_cast<u32>(column / kPanelColumns * (kRows * kPanelBytes));
    return base + (panel + start + (at ^ (start >> 3 & kSwizzleMask)));
  }
  /// Returns panel `panel` from row `row`, a multiple of 8, on.
  WW_DEVICE SharedTile<> panel(int row, int panel) const {
    return {base + static_cast<u32>(panel * (kRows * kPanelBytes) + row * kPanelBytes)};
  }
};

/// An output tile whose columns are contiguous: panels of 128 bytes of rows, (panel, kColumns) each, 128-byte swizzle.
template <DType kType, int kColumns> struct SharedColumns {
  static constexpr bool kColumnsContiguous = false;  // neighbouring rows are
  static constexpr int kPanelRows = kSwizzleSpan / bytes_of(kType);
  arch::SharedAddress base;  // a multiple of 1024

  WW_DEVICE arch::SharedAddress operator()(int row, int column) const {
    const u32 start = static_cast<u32>(column * kSwizzleSpan);
    const u32 at = static_cast<u32>(row % kPanelRows * bytes_of(kType));
    return panel(row / kPanelRows).address + (start + (at ^ (start >> 3 & 0x70)));
  }
  WW_DEVICE SharedTile<Major::mn> panel(int panel) const {
    return {base + static_cast<u32>(panel * (kColumns * kSwizzleSpan))};
  }
};

// --- slices --------------------------------------------------------------------------------------------
/// Returns the rows of slice `slice` of kSharers: (R, K, rest) -> (R / kSharers, K, rest). It works on both sides of a
/// copy.
template <int kSharers, int kRows, int kColumns, bool kBatched>
WW_DEVICE TileRow<kRows / kSharers, kColumns, kBatched> tma_partition(const TileRow<kRows, kColumns, kBatched>& tile,
                                                                      int slice) {
  static_assert(kRows % kSharers == 0, "tma_partition: expected rows that the sharing CTAs can split evenly");
  return {tile.row + slice * (kRows / kSharers), tile.batch, tile.column};
}
template <int kSharers, int kRows, int kColumns, bool kBatched>
WW_DEVICE TileRow<kRows / kSharers, kColumns, kBatched> tma_partition(const TileHalves<kRows, kColumns, kBatched>& tile,
                                                                      int slice) {
  static_assert(kSharers % 2 == 0 && kRows % kSharers == 0, "tma_partition: expected slices within a half each");
  return {tile.row + slice * (kRows / kSharers) + (slice >= kSharers / 2 ? tile.skip : 0), tile.batch};
}
template <int kSharers, int kRows, Major kMajor, int kStageRows>
WW_DEVICE SharedOperand<kRows / kSharers, kMajor, kStageRows> tma_partition(
    const SharedOperand<kRows, kMajor, kStageRows>& tile, int slice) {
  static_assert(kRows % kSharers == 0, "tma_partition: expected rows that the sharing CTAs can split evenly");
  return {tile.base + static_cast<u32>(slice * (kRows / kSharers) * kSwizzleSpan)};
}

}  // namespace ww::atom
