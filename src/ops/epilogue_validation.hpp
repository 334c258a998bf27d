// SPDX-License-Identifier: Apache-2.0
// Whether an epilogue fits its problem, and the config its tile.
#pragma once

#include "warpwright/host/gemm.hpp"
#include "warpwright/host/grouped.hpp"

namespace ww::ops {

/// The tree of `problem` is whole, D has the type that it makes and as many columns as it leaves.
Result<void> check_epilogue(const GemmProblem& problem);

/// What a config does not know by itself: whether halves of SwiGLU meet the scales of B where its tiles can have them.
Result<void> check_epilogue_tile(const GemmProblem& problem, const GemmConfig& resolved);

/// As much of a grouped problem as the two checks above look at.
inline GemmProblem outputs_of(const GroupedProblem& problem) {
  GemmProblem outputs{.m = problem.total_rows(), .n = problem.n, .d = problem.d};
  outputs.epilogue = problem.epilogue;
  return outputs;
}

/// The type of D for the checks that all products share, which know nothing of quantised outputs.
inline DType plain_output(const GemmProblem& problem) {
  return collective::stages_of(problem.epilogue).quantise == EpilogueOp::none ? problem.d : bf16;
}

}  // namespace ww::ops
