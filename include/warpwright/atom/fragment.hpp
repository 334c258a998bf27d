// SPDX-License-Identifier: Apache-2.0
// Fragment: the FP32 values of an output tile that one thread holds in registers. Its layout says which row and column
// of the tile each value is. Epilogues are written over a fragment, so that they name no MMA instruction.
//
// In every layout a thread's values are pairs of neighbours along a few lines of the tile:
//   line 0:  pair 0, pair 1, ...         values value(0, 0), value(0, 0) + 1; value(0, 1), ...
//   line 1:  pair 0, pair 1, ...
// A line is a row of the tile. In the layout Transposed it is a column, and pairs run along M.
// An AccumulatorLayout has static constexpr members; `thread` is the index in the warpgroup:
//   Storage                    class of the registers, which has kValues and operator[]
//   Resized<kN>                the same layout with kN columns
//   kLineExtent, kAlong        extents of the tile: the number of lines, and their length
//   kLines, kPairs             lines of a thread, and pairs of one of its lines
//   kLineLanes, kWarpLines     lanes that share a line (neighbours, a power of two), and lines of a warp
//   kWarpStep, kBlockStep      lines from the first of one warp, or of one fragment of a tile, to that of the next
//   kPairsAlongM               false, unless lines are columns
//   first_line, first_along    (thread) -> its first element
//   line_offset, pair_offset   (line), (pair) -> distance from there
//   value, line_of, pair_of    (line, pair) -> its first value, and the inverse
//   neighbours                 (low, high) -> Pair: see there
// Offsets do not depend on the thread, so that loops over values are unrolled to constant offsets from one address.
#pragma once

#include "warpwright/arch/common/executor.hpp"
#include "warpwright/core/numbers.hpp"

namespace ww::atom {

/// Two neighbouring elements of a line.
struct Pair {
  float x, y;
};

/// The layout of the transposed tile: its rows are L's columns.
template <class L> struct Transposed : L { static constexpr bool kPairsAlongM = true; };

template <class L> struct Fragment : L::Storage {
  using Layout = L;
  static constexpr int kLines = L::kLines, kPairs = L::kPairs, kValues = 2 * kLines * kPairs;
  static constexpr bool kPairsAlongM = L::kPairsAlongM;
  static constexpr int kRows = kPairsAlongM ? L::kAlong : L::kLineExtent;
  static constexpr int kColumns = kPairsAlongM ? L::kLineExtent : L::kAlong;
  static_assert(kValues == L::Storage::kValues, "Fragment: expected a layout of all registers");

  /// Returns the row of the tile of `thread`'s first value. Others are row_offset(v) further down.
  WW_HOST_DEVICE static constexpr int first_row(int thread) {
    return kPairsAlongM ? L::first_along(thread) : L::first_line(thread);
  }
  WW_HOST_DEVICE static constexpr int first_column(int thread) {
    return kPairsAlongM ? L::first_line(thread) : L::first_along(thread);
  }
  WW_HOST_DEVICE static constexpr int row_offset(int v) { return kPairsAlongM ? along_offset(v) : line_offset(v); }
  WW_HOST_DEVICE static constexpr int column_offset(int v) { return kPairsAlongM ? line_offset(v) : along_offset(v); }
  WW_HOST_DEVICE static constexpr int row(int thread, int v) { return first_row(thread) + row_offset(v); }
  WW_HOST_DEVICE static constexpr int column(int thread, int v) { return first_column(thread) + column_offset(v); }

 private:
  WW_HOST_DEVICE static constexpr int line_offset(int v) { return L::line_offset(L::line_of(v)); }
  WW_HOST_DEVICE static constexpr int along_offset(int v) { return L::pair_offset(L::pair_of(v)) + v % 2; }
};

/// Visits kCount pairs of each line from pair `first` on: visit(line, pair, x, y) with int, int, float&, float&, where
/// `pair` counts from `first`. Pairs at the same place of their lines follow one another.
// A closure's parameters have explicit types, because NVRTC takes a generic lambda for a host function.
template <int kCount, class F, class Visit> WW_DEVICE void for_each_pair(F& fragment, int first, const Visit& visit) {
  WW_UNROLL
  for (int pair = 0; pair < kCount; ++pair) {
    WW_UNROLL
    for (int line = 0; line < F::kLines; ++line) {
      const int v = F::Layout::value(line, first + pair);
      visit(line, pair, fragment[v], fragment[v + 1]);
    }
  }
}
/// Visits every element: visit(row, column, x) with int, int, float&, both counted from the thread's first element.
template <class F, class Visit> WW_DEVICE void for_each_element(F& fragment, const Visit& visit) {
  WW_UNROLL
  for (int v = 0; v < F::kValues; ++v) visit(F::row_offset(v), F::column_offset(v), fragment[v]);
}
/// Visits the elements of kCount pairs of one line, from pair `first` on: visit(along, x) with int, float&. `along`
/// counts from the thread's first element.
template <int kCount, class F, class Visit>
WW_DEVICE void for_each_of_line(F& fragment, int line, int first, const Visit& visit) {
  WW_UNROLL
  for (int pair = first; pair < first + kCount; ++pair) {
    const int v = F::Layout::value(line, pair);
    visit(F::Layout::pair_offset(pair), fragment[v]);
    visit(F::Layout::pair_offset(pair) + 1, fragment[v + 1]);
  }
}

}  // namespace ww::atom
