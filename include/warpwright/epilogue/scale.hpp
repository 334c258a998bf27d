// SPDX-License-Identifier: Apache-2.0
// Scales that are applied once per output, after all of K: one for the tile, or one for each row and each column.
#pragma once

#include "warpwright/arch/common/math.hpp"
#include "warpwright/atom/fragment.hpp"

namespace ww::epilogue {

/// Multiplies every value of kMmaBlocks fragments by `factor`.
template <int kMmaBlocks, class F> WW_DEVICE void multiply(F* acc, float factor) {
  WW_UNROLL
  for (int u = 0; u < kMmaBlocks; ++u) {
    WW_UNROLL
    for (int v = 0; v < F::kValues; ++v) acc[u][v] = arch::mul(acc[u][v], factor);
  }
}

/// Multiplies every value by the product of its line's factor and its own along the line. of_line(line) takes the line
/// among those of kMmaBlocks fragments; of_pair(along) returns the factors of two neighbours, as a Pair.
template <int kMmaBlocks, class F, class OfLine, class OfPair>
WW_DEVICE void multiply(F* acc, int thread, const OfLine& of_line, const OfPair& of_pair) {
  using L = typename F::Layout;
  float lines[kMmaBlocks][F::kLines];
  WW_UNROLL
  for (int u = 0; u < kMmaBlocks; ++u) {
    WW_UNROLL
    for (int i = 0; i < F::kLines; ++i)
      lines[u][i] = of_line(L::first_line(thread) + L::kLineExtent * u + L::line_offset(i));
  }
  WW_UNROLL
  for (int pair = 0; pair < F::kPairs; ++pair) {
    const atom::Pair along = of_pair(L::first_along(thread) + L::pair_offset(pair));
    WW_UNROLL
    for (int u = 0; u < kMmaBlocks; ++u) {
      WW_UNROLL
      for (int i = 0; i < F::kLines; ++i) {
        float &x = acc[u][L::value(i, pair)], &y = acc[u][L::value(i, pair) + 1];
        x = arch::mul(x, arch::mul(lines[u][i], along.x));
        y = arch::mul(y, arch::mul(lines[u][i], along.y));
      }
    }
  }
}

}  // namespace ww::epilogue
