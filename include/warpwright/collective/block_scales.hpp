// SPDX-License-Identifier: Apache-2.0
// The scales of the block recipe as one math thread needs them: two rows of A for each 64-row unit and one block of B.
// They are read straight from global memory, one k-block ahead of their use, so any strides will do and nothing is staged.
#pragma once

#include "warpwright/arch/global.hpp"
#include "warpwright/arch/math.hpp"
#include "warpwright/collective/gemm_arguments.hpp"

namespace ww::collective {

template <int kUnits> struct ScaleSet {
  float row[kUnits][2];  // scale_a * scale_b of rows r and r + 8 of each unit
};

template <int kUnits> class BlockScales {
 public:
  /// `row`: this thread's first row of unit 0 in the problem; units follow each other by 64. `block_n`: 128-column block.
  WW_DEVICE BlockScales(const GemmArguments& arguments, int row, int block_n)
      : step_a_(arguments.scale_a_k), step_b_(arguments.scale_b_k), left_(arguments.k_blocks) {
    b_ = arguments.scale_b + min(block_n, (arguments.n - 1) / 128) * arguments.scale_b_n;
    WW_UNROLL
    for (int u = 0; u < kUnits; ++u) {
      WW_UNROLL
      for (int half = 0; half < 2; ++half)  // rows past the edge read the last one; their products are never stored
        a_[u][half] = arguments.scale_a + min(row + 64 * u + 8 * half, arguments.m - 1) * arguments.scale_a_row;
    }
    fetch();
  }

  /// The scales of the next k-block, in order; starts fetching those of the one after it.
  // why every call fetches (the last block again at the end): a conditional load is merged through a register move, and that
  // move waits for the load on the spot
  WW_DEVICE ScaleSet<kUnits> next() {
    ScaleSet<kUnits> now;
    WW_UNROLL
    for (int u = 0; u < kUnits; ++u) {
      now.row[u][0] = arch::mul(ahead_a_[u][0], ahead_b_);
      now.row[u][1] = arch::mul(ahead_a_[u][1], ahead_b_);
    }
    const bool more = --left_ > 0;
    b_ += more ? step_b_ : 0;
    WW_UNROLL
    for (int u = 0; u < kUnits; ++u) {
      a_[u][0] += more ? step_a_ : 0;
      a_[u][1] += more ? step_a_ : 0;
    }
    fetch();
    return now;
  }

 private:
  WW_DEVICE void fetch() {
    ahead_b_ = arch::global::load_constant(b_);
    WW_UNROLL
    for (int u = 0; u < kUnits; ++u) {
      ahead_a_[u][0] = arch::global::load_constant(a_[u][0]);
      ahead_a_[u][1] = arch::global::load_constant(a_[u][1]);
    }
  }

  const float* a_[kUnits][2];
  const float* b_;
  i64 step_a_, step_b_;
  int left_;
  float ahead_a_[kUnits][2], ahead_b_;
};

}  // namespace ww::collective
