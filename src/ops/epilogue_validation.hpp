// SPDX-License-Identifier: Apache-2.0
// Checks that an epilogue fits its problem, and that a config's tile fits the epilogue.
#pragma once

#include "warpwright/config/epilogue_stages.hpp"
#include "warpwright/host/gemm.hpp"
#include "warpwright/host/grouped.hpp"

namespace ww::ops {

/// Checks that the tree of `problem` is complete and that D has the type and number of columns that the tree produces.
Result<void> check_epilogue(const GemmProblem& problem);

/// What a config does not know by itself: whether halves of SwiGLU meet the scales of B where its tiles can have them.
Result<void> check_epilogue_tile(const GemmProblem& problem, const GemmConfig& resolved);

/// Returns the part of a grouped problem that the two checks above read.
inline GemmProblem outputs_of(const GroupedProblem& problem) {
  GemmProblem outputs{.m = problem.total_rows(), .n = problem.n, .d = problem.d};
  outputs.epilogue = problem.epilogue;
  return outputs;
}

/// Returns a type of D for the checks that all products share, which do not know quantised outputs.
inline DType plain_output(const GemmProblem& problem) {
  return config::stages_of(problem.epilogue).quantise == EpilogueOp::none ? problem.d : bf16;
}

}  // namespace ww::ops
