// SPDX-License-Identifier: Apache-2.0
// The layout of a fragment whose registers are the 8x8 matrices of stmatrix: 64 x kN over the four warps of a
// warpgroup. Thread t holds rows kWarpStep (t/32) + (t%32)/4 and 8 further down, and of every eight columns 2 (t%4) and
// the next one. Value 4 j + 2 i + e is element e of pair j of line i.
// The 16 rows of each warp follow one another, or they alternate with those of the next block: two blocks that take
// turns are 128 rows of which each warp has 32.
//   every 8 columns of a warp's 16 rows are two 8x8 matrices of stmatrix: of line 0, then of line 1
// It is that of Hopper's accumulator, and of 16 lanes of tensor memory that tcgen05.ld.16x256b reads.
#pragma once

#include "warpwright/arch/common/convert.hpp"
#include "warpwright/arch/common/warp.hpp"
#include "warpwright/atom/fragment.hpp"

namespace ww::atom {

template <int kN, int kRowsOfWarp = 16> struct MatrixLines {
  static constexpr int kLineExtent = 64, kAlong = kN;
  static constexpr int kLines = 2, kPairs = kN / 8;
  static constexpr int kLineLanes = 4, kWarpLines = 16;
  static constexpr int kWarpStep = kRowsOfWarp;  // from a warp's first line to the next's
  static constexpr int kBlockStep =
      kWarpStep == kWarpLines ? 64 : kWarpLines;  // from a block's first line to the next's
  static constexpr bool kPairsAlongM = false;

  WW_HOST_DEVICE static constexpr int first_line(int thread) { return thread / 4 % 8 + kWarpStep * (thread / 32); }
  WW_HOST_DEVICE static constexpr int first_along(int thread) { return 2 * (thread % 4); }
  WW_HOST_DEVICE static constexpr int line_offset(int line) { return 8 * line; }
  WW_HOST_DEVICE static constexpr int pair_offset(int pair) { return 8 * pair; }
  WW_HOST_DEVICE static constexpr int value(int line, int pair) { return 4 * pair + 2 * line; }
  WW_HOST_DEVICE static constexpr int line_of(int v) { return v / 2 % 2; }
  WW_HOST_DEVICE static constexpr int pair_of(int v) { return v / 4; }

  /// Exchanges what every thread computed of two successive pairs of a line, one result each, so that it holds a pair
  /// of the tile of half as many columns. Lane q of four holds columns q and 4 + q of eight; it gets 2q and 2q + 1.
  WW_DEVICE static Pair neighbours(float low, float high) {
    const u32 lane = arch::lane_index(), q = lane % 4, from = lane - q + 2 * q % 4;
    const auto at = [](float x, u32 source) { return arch::float_of(arch::warp::shuffle(arch::bits_of(x), source)); };
    const Pair of_low{at(low, from), at(low, from + 1)}, of_high{at(high, from), at(high, from + 1)};
    return q < 2 ? of_low : of_high;
  }
};

}  // namespace ww::atom
