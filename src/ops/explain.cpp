// SPDX-License-Identifier: Apache-2.0
// The ranking of select/ in public terms.
#include "warpwright/host/explain.hpp"

#include <algorithm>

#include "ops/gemm_choice.hpp"
#include "ops/operand_checks.hpp"

namespace ww {
namespace {

RankedConfig ranked(const GemmConfig& config, const select::Cost& cost) {
  RankedConfig made{.config = config,
                    .us = cost.total(),
                    .waves = cost.waves,
                    .resident_ctas = cost.resident,
                    .hbm_bytes = cost.hbm_bytes};
  for (int t = 0; t < select::kTerms; ++t)
    if (const auto term = static_cast<select::Term>(t); cost[term] != 0)
      made.terms.push_back({select::name_of(term), select::meaning_of(term), cost[term]});
  return made;
}

Result<Explanation> explain_on(const GemmProblem& problem, const GemmOptions& options, const ops::LaunchTarget& place) {
  WW_TRY(ops::Alternatives all, ops::alternatives(problem, options, place));
  Explanation made{.problem = all.decision.problem,
                   .sms = options.sms > 0 ? std::min(options.sms, place.sms) : place.sms,
                   .emulated = place.emulated};
  made.chosen = ranked(all.decision.config, select::cost_of(made.problem, all.decision.config, made.sms));
  for (const select::Candidate& candidate : all.ranking.candidates)
    made.ranking.push_back(ranked(candidate.config, candidate.cost));
  for (select::Exclusion& exclusion : all.ranking.exclusions)
    made.excluded.push_back({std::move(exclusion.reason), std::move(exclusion.configs)});
  return made;
}

}  // namespace

Result<Explanation> explain(const Device& device, const GemmProblem& problem, const GemmOptions& options) {
  return explain_on(problem, options, {device.info().sms, device.info().emulated});
}

Result<Explanation> explain(const GemmProblem& problem, const GemmOptions& options) {
  return explain_on(problem, options, {ops::kTypicalSms, false});
}

}  // namespace ww
