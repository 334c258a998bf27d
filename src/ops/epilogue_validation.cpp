// SPDX-License-Identifier: Apache-2.0
// Refuses trees that contradict their problem, with one sentence per reason.
#include "ops/epilogue_validation.hpp"

#include <fmt/format.h>

#include "warpwright/config/faults.hpp"
#include "warpwright/config/sizes.hpp"

namespace ww::ops {

Result<void> check_epilogue(const GemmProblem& p) {
  if (const char* expected = config::fault_of(p.epilogue))
    return failure(ErrorCode::invalid, "epilogue", expected, "another");
  const config::EpilogueStages stages = config::stages_of(p.epilogue);
  if (stages.quantise != EpilogueOp::none && !config::makes_type(stages.quantise, p.d))
    return failure(ErrorCode::unsupported, "d (type)",
                   stages.quantise == EpilogueOp::quantise_nv   ? "e2m1: the epilogue quantises to nv"
                   : stages.quantise == EpilogueOp::quantise_mx ? "e4m3, e5m2 or e2m1: the epilogue quantises to mx"
                                                                : "e4m3 or e5m2: the epilogue quantises",
                   name_of(p.d));
  if (stages.swiglu != EpilogueOp::none && p.n % 16 != 0)
    return failure(ErrorCode::unsupported, "n", "a multiple of 16: SwiGLU halves it", fmt::format("{}", p.n));
  return {};
}

Result<void> check_epilogue_tile(const GemmProblem& p, const GemmConfig& c) {
  if (config::fits_halves(c, p.n)) return {};
  if (config::scales_in_mma(c))
    return failure(ErrorCode::unsupported, "n",
                   fmt::format("a multiple of {} for {} with SwiGLU of halves and scales of mx and nv",
                               config::unit_of_halves(c), c.sm100.pair ? "a pair" : "one CTA"),
                   fmt::format("{}", p.n));
  return failure(ErrorCode::unsupported, "epilogue, swiglu_halves",
                 "a TILE_N that divides N and 256: each half of a tile within 128 columns that share a scale",
                 fmt::format("N = {}, TILE_N = {}", p.n, c.tile.n));
}

}  // namespace ww::ops
