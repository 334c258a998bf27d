// SPDX-License-Identifier: Apache-2.0
// The plain alternative to the tensor core's sum: d = fma(a[k], b[k], d) in FP32, k ascending, one rounding a step.
// Machines widen operands in their own way; the order of the sum is here.
#pragma once

namespace ww::emu {

inline constexpr int kChainColumns = 8;

/// Adds the products of one row with eight columns, b[k][column], to `sum`.
// Inlined into a function of each target, which decides how the compiler multiplies.
__attribute__((always_inline)) inline void chain_row(const float* a, const float (*b)[kChainColumns], int depth,
                                                     float* sum) {
  for (int k = 0; k < depth; ++k) {
#pragma GCC unroll 8
    for (int column = 0; column < kChainColumns; ++column)
      sum[column] = __builtin_fmaf(a[k], b[k][column], sum[column]);
  }
}

}  // namespace ww::emu
