// SPDX-License-Identifier: Apache-2.0
// One sentence for each way in which a tree and a problem disagree.
#include "ops/epilogue_validation.hpp"

#include <fmt/format.h>

namespace ww::ops {

Result<void> check_epilogue(const GemmProblem& p) {
  if (const char* expected = collective::fault_of(p.epilogue))
    return failure(ErrorCode::invalid, "epilogue", expected, "another");
  const collective::EpilogueStages stages = collective::stages_of(p.epilogue);
  const bool quantises = stages.quantise != EpilogueOp::none;
  if (quantises && p.d != e4m3)
    return failure(ErrorCode::unsupported, "d (type)", "e4m3: the epilogue quantises", name_of(p.d));
  if (stages.swiglu != EpilogueOp::none && p.n % 16 != 0)
    return failure(ErrorCode::unsupported, "n", "a multiple of 16: SwiGLU halves it", fmt::format("{}", p.n));
  return {};
}

Result<void> check_epilogue_tile(const GemmProblem& p, const GemmConfig& c) {
  if (!p.epilogue.has(EpilogueOp::swiglu_halves) || p.n == 0 || p.n == c.tile.n) return {};
  return failure(ErrorCode::unsupported, "epilogue, swiglu_halves",
                 "one tile that owns both halves: N = TILE_N, at most 256, 128 of groups with block scales; or columns "
                 "interleaved, "
                 "as swiglu takes them",
                 fmt::format("N = {}, TILE_N = {}", p.n, c.tile.n));
}

}  // namespace ww::ops
