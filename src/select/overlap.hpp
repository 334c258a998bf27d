// SPDX-License-Identifier: Apache-2.0
// Whether launches may start before their predecessors have ended (programmatic dependent launch), if the caller does
// not say. An overlapping launch saves about half a microsecond. But its CTAs start wherever the preceding launch
// leaves an SM, in any order. Those that share rows of an operand are then no longer neighbours, whose reads L2 would
// answer together, and few CTAs, it seems, are spread less evenly. That costs up to a quarter of the time where memory
// or L2 is the limit.
#pragma once

#include "select/cost_model.hpp"
#include "warpwright/host/gemm.hpp"
#include "warpwright/host/grouped.hpp"

namespace ww::select {

/// Returns whether launches of `config` for `problem`, on `sms` SMs, should overlap. `cost` is the model's without it.
bool overlap_pays(const GemmProblem& problem, const GemmConfig& config, int sms, const Cost& cost);
bool overlap_pays(const GemmProblem& problem, const GemmConfig& config, int sms);
bool overlap_pays(const GroupedProblem& problem, const GemmConfig& config, int sms);

inline bool overlaps(Pdl asked, bool pays) { return asked == Pdl::on || (asked == Pdl::automatic && pays); }

}  // namespace ww::select
