// SPDX-License-Identifier: Apache-2.0
// The scales of the block recipe as one math thread needs them: two rows of A for each 64-row unit and one block of B.
// They are read straight from global memory, one k-block ahead of their use, so any strides will do and nothing is staged.
// next() belongs between commit and wait: ptxas waits for outstanding loads before it starts a wgmma, so only loads that
// are issued behind one have its time to arrive.
#pragma once

#include "warpwright/arch/global.hpp"
#include "warpwright/arch/math.hpp"
#include "warpwright/collective/gemm_params.hpp"

namespace ww::collective {

template <int kUnits> struct ScaleSet {
  float row[kUnits][2];  // scale_a * scale_b of rows r and r + 8 of each unit
};

template <int kUnits> class BlockScales {
 public:
  /// `row`: this thread's first row of unit 0 in the problem; units follow each other by 64. `block_n`: 128-column block.
  WW_DEVICE BlockScales(const GemmParams& params, int row, int block_n)
      : step_a_(params.scale_a_k), step_b_(params.scale_b_k), left_(params.k_blocks) {
    b_ = params.scale_b + min(block_n, (params.n - 1) / 128) * params.scale_b_n;
    WW_UNROLL
    for (int u = 0; u < kUnits; ++u) {
      WW_UNROLL
      for (int half = 0; half < 2; ++half)  // rows past the edge read the last one; their products are never stored
        a_[u][half] = params.scale_a + min(row + 64 * u + 8 * half, params.m - 1) * params.scale_a_row;
    }
  }

  /// The scales of k-block `k` (0, 1, 2, ... in turn); starts fetching those of the one after it.
  WW_DEVICE ScaleSet<kUnits> next(int k) {
    if (k == 0) fetch();
    ScaleSet<kUnits> now;
    WW_UNROLL
    for (int u = 0; u < kUnits; ++u) {
      now.row[u][0] = arch::mul(ahead_a_[u][0], ahead_b_);
      now.row[u][1] = arch::mul(ahead_a_[u][1], ahead_b_);
    }
    fetch();
    return now;
  }

 private:
  WW_DEVICE void fetch() {
    if (left_ == 0) return;
    --left_;
    ahead_b_ = arch::global::load_constant(b_);
    b_ += step_b_;
    WW_UNROLL
    for (int u = 0; u < kUnits; ++u) {
      WW_UNROLL
      for (int half = 0; half < 2; ++half) {
        ahead_a_[u][half] = arch::global::load_constant(a_[u][half]);
        a_[u][half] += step_a_;
      }
    }
  }

  const float* a_[kUnits][2];
  const float* b_;
  i64 step_a_, step_b_;
  int left_;
  float ahead_a_[kUnits][2], ahead_b_;
};

}  // namespace ww::collective
