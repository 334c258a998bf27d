// SPDX-License-Identifier: Apache-2.0
// A dense problem as its kernel sees it: under swap-AB, with A and B exchanged.
#pragma once

#include "warpwright/config/swap_ab.hpp"
#include "warpwright/host/gemm.hpp"

namespace ww::select {

/// Returns D^T = B A^T: M and N, A and B, their scales and strides are exchanged; D stays where it is. `problem` has
/// explicit strides.
inline GemmProblem exchanged(const GemmProblem& problem) {
  GemmProblem p = problem;
  p.m = problem.n, p.n = problem.m;
  p.a = problem.b, p.b = problem.a;
  p.lda = problem.ldb, p.ldb = problem.lda;
  p.scale = config::exchanged(problem.scale);
  p.scale_a_row = problem.scale_b_n, p.scale_a_k = problem.scale_b_k;
  p.scale_b_n = problem.scale_a_row, p.scale_b_k = problem.scale_a_k;
  p.a_major = problem.b_major, p.b_major = problem.a_major;
  p.d_layout = config::exchanged(problem.d_layout);
  p.batch_a = problem.batch_b, p.batch_b = problem.batch_a;
  p.batch_scale_a = problem.batch_scale_b, p.batch_scale_b = problem.batch_scale_a;
  p.epilogue = config::exchanged(problem.epilogue);
  return p;
}

/// Returns the problem as the kernel sees it (transposed under swap-AB); the counterpart of kernel_config().
inline GemmProblem kernel_problem(const GemmProblem& problem, const GemmConfig& config) {
  return config::swaps(config) ? exchanged(problem) : problem;
}

}  // namespace ww::select
