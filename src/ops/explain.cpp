// SPDX-License-Identifier: Apache-2.0
// The ranking of select/ in public terms, and for groups of K the configs that their kernels can have.
#include "warpwright/host/explain.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "ops/gemm_choice.hpp"
#include "ops/group_choice.hpp"
#include "ops/grouped_validation.hpp"
#include "ops/operand_checks.hpp"
#include "select/common_shapes.hpp"
#include "select/grouped_configs.hpp"
#include "select/grouped_ranking.hpp"

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

/// Returns what a reader must know of times that no measurement supports.
const char* caveat(const Explanation& made) { return made.measured ? "" : " (unmeasured: published rates)"; }
std::string device_text(const Explanation& made) {
  return fmt::format("{} {}{}", std::string_view(made.modelled_for) == "H200" ? "an" : "a", made.modelled_for,
                     caveat(made));
}

/// Says that the chosen config serves more problems than the fastest, whose time the model cannot tell from its own.
std::string common(double indistinct) {
  return fmt::format("a kernel that serves more problems than others within {:.2g} % of the least modelled time",
                     100 * indistinct);
}

/// Why the chosen one of a ranking: one sentence.
std::string because(const Explanation& made) {
  if (made.emulated && made.ranking.front().config != made.chosen.config)
    return fmt::format("the emulated device chooses among {}; times are modelled for {} with as many SMs",
                       made.measured ? "the configs whose modules are shipped" : "a few configs by the waves of tiles",
                       device_text(made));
  const auto largest = std::max_element(made.chosen.terms.begin(), made.chosen.terms.end(),
                                        [](const CostTerm& a, const CostTerm& b) { return a.us < b.us; });
  const bool least = std::all_of(made.ranking.begin(), made.ranking.end(),
                                 [&](const RankedConfig& other) { return made.chosen.us <= other.us; });
  return fmt::format("{} of {} configs; most of it is {}{}",
                     least ? std::string("the least modelled time") : common(select::kIndistinct), made.ranking.size(),
                     largest == made.chosen.terms.end() ? "nothing" : largest->meaning, caveat(made));
}

/// Says what the tuning file of the device says.
void follow(const ops::Tuned& tuned, Explanation& made) {
  made.tuned = tuned.config.has_value();
  made.tuning = tuned.note;
  if (made.tuned) made.because = tuned.note;
}

int resident_sms(const GemmOptions& options, const ops::LaunchTarget& target) {
  return options.sms > 0 ? std::min(options.sms, target.sms) : target.sms;
}

Explanation explanation_for(const GemmOptions& options, const ops::LaunchTarget& target) {
  const select::MachineRates& rates = select::rates_of(target.arch);
  return {.sms = resident_sms(options, target),
          .emulated = target.emulated,
          .modelled_for = rates.name,
          .measured = rates.measured};
}

Result<Explanation> explain_on(const GemmProblem& problem, const GemmOptions& options,
                               const ops::LaunchTarget& target) {
  WW_TRY(ops::Alternatives all, ops::alternatives(problem, options, target));
  Explanation made = explanation_for(options, target);
  made.chosen = ranked(all.decision.config, select::cost_of(all.decision.problem, all.decision.config, made.sms));
  for (const select::Candidate& candidate : all.ranking.candidates)
    made.ranking.push_back(ranked(candidate.config, candidate.cost));
  for (select::Exclusion& exclusion : all.ranking.exclusions)
    made.excluded.push_back({std::move(exclusion.reason), std::move(exclusion.configs)});
  made.because = because(made);
  follow(all.decision.tuned, made);
  return made;
}

/// `config` is a candidate, or excluded for the reason of `checked`.
void sort_in(const GemmConfig& config, const Result<void>& checked, Explanation& made) {
  if (config == made.chosen.config) return;
  if (checked) {
    for (const RankedConfig& other : made.ranking)
      if (other.config == config) return;
    made.ranking.push_back({.config = config});
    return;
  }
  const std::string &argument = checked.error().argument, prefix = "config, ";
  const std::string field = argument.starts_with(prefix) ? argument.substr(prefix.size()) : argument;
  const std::string reason = fmt::format("{}: expected {}", field, checked.error().expected);
  for (ExcludedConfigs& excluded : made.excluded) {
    if (excluded.reason != reason) continue;
    excluded.configs.push_back(config);
    return;
  }
  made.excluded.push_back({reason, {config}});
}

/// Why this config: the model for sizes that it assumes, or rules on the same averages. `by_model`: `auto` takes it.
std::string because(const GroupedProblem& p, const Explanation& made, bool by_model) {
  // Of masked groups the host knows the room for rows, not how many there are.
  const std::string sizes = !p.expected_sizes.empty() ? fmt::format("the expected sizes of {} groups", p.groups)
                            : p.encoding == GroupEncoding::masked
                                ? fmt::format("{} groups with room for {} rows each", p.groups, p.rows)
                                : fmt::format("{} rows in {} groups, {} per group on average", p.total_rows(), p.groups,
                                              p.total_rows() / std::max<std::int64_t>(p.groups, 1));
  const auto faster = std::count_if(made.ranking.begin(), made.ranking.end(),
                                    [&](const RankedConfig& other) { return other.us < made.chosen.us; });
  if (!made.measured || faster == 0 || by_model)
    return fmt::format(
        "{} of {} configs for {}{}",
        made.measured && faster > 0 ? common(select::kIndistinctGroups) : std::string("the least modelled time"),
        made.ranking.size(), sizes, caveat(made));
  return fmt::format("{}; {}; number {} of {} by modelled time",
                     made.emulated ? "the emulated device chooses among the configs whose modules are shipped"
                                   : "the request leaves no choice among those of the list",
                     sizes, faster + 1, made.ranking.size());
}

/// The configs of the family by modelled time, and those that this problem or these options exclude.
Result<Explanation> explain_on(const GroupedProblem& problem, const GemmOptions& options,
                               const ops::LaunchTarget& target) {
  WW_TRY(const ops::GroupedDecision decision, ops::decide(problem, options, target));
  const GroupedProblem& p = decision.problem;
  Explanation made = explanation_for(options, target);
  const select::GroupedRequest request = ops::grouped_request(options, target.sms);
  made.chosen = ranked(decision.config, select::cost_of(p, select::assumed_sizes(p), decision.config, made.sms));
  select::Ranking all = select::rank(p, request);
  for (const select::Candidate& candidate : all.candidates)
    if (candidate.config != made.chosen.config) made.ranking.push_back(ranked(candidate.config, candidate.cost));
  std::stable_sort(made.ranking.begin(), made.ranking.end(),
                   [](const RankedConfig& a, const RankedConfig& b) { return a.us < b.us; });
  const bool by_model = !all.candidates.empty() && all.candidates.front().config == made.chosen.config;
  made.ranking.insert(std::find_if(made.ranking.begin(), made.ranking.end(),
                                   [&](const RankedConfig& r) { return by_model || r.us > made.chosen.us; }),
                      made.chosen);
  for (select::Exclusion& exclusion : all.exclusions)
    made.excluded.push_back({std::move(exclusion.reason), std::move(exclusion.configs)});
  made.because = because(p, made, by_model);
  follow(decision.tuned, made);
  return made;
}

/// The tiles that a product of groups of K may have, beside those that were asked for.
Result<Explanation> explain_on(const KGroupedProblem& problem, const GemmOptions& options,
                               const ops::LaunchTarget& target) {
  WW_TRY(const ops::KGroupedDecision decision, ops::decide(problem, options, target));
  Explanation made = explanation_for(options, target);
  made.chosen.config = decision.config;
  made.ranking.push_back(made.chosen);
  made.because =
      fmt::format("the tiles of a dense product with a D of {} x {}: a group's K is taken to be as long as that of one",
                  problem.m, problem.n);
  follow(decision.tuned, made);
  for (const GemmConfig& config : ops::k_grouped_configs(decision.batch, decision.config.k_groups.packing, options))
    sort_in(config, ops::check_k_grouped(config, problem.groups), made);
  return made;
}

}  // namespace

Result<Explanation> explain(const Device& device, const GemmProblem& problem, const GemmOptions& asked) {
  WW_TRY(const GemmOptions options, ops::for_arch(asked, device.info().arch));
  return explain_on(problem, options, ops::target_of(device));
}
Result<Explanation> explain(const GemmProblem& problem, const GemmOptions& options) {
  return explain_on(problem, options, ops::typical_target(options));
}
Result<Explanation> explain(const Device& device, const GroupedProblem& problem, const GemmOptions& asked) {
  WW_TRY(const GemmOptions options, ops::for_arch(asked, device.info().arch));
  return explain_on(problem, options, ops::target_of(device));
}
Result<Explanation> explain(const GroupedProblem& problem, const GemmOptions& options) {
  return explain_on(problem, options, ops::typical_target(options));
}
Result<Explanation> explain(const Device& device, const KGroupedProblem& problem, const GemmOptions& asked) {
  WW_TRY(const GemmOptions options, ops::for_arch(asked, device.info().arch));
  return explain_on(problem, options, ops::target_of(device));
}
Result<Explanation> explain(const KGroupedProblem& problem, const GemmOptions& options) {
  return explain_on(problem, options, ops::typical_target(options));
}

}  // namespace ww
