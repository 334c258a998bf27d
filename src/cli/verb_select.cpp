// SPDX-License-Identifier: Apache-2.0
// `warpwright configs gemm` and `warpwright explain gemm`: the choice for a problem, without running it.
// Without --device both speak of an H200 with all its SMs; with it, of what a plan on that device would take.
#include <fmt/format.h>

#include <algorithm>

#include "cli/gemm_request.hpp"
#include "config/config_text.hpp"
#include "ops/gemm_choice.hpp"
#include "ops/operand_checks.hpp"
#include "warpwright/config/swap_ab.hpp"

namespace ww::cli {
namespace {

using select::Candidate;
using select::Cost;
using select::Exclusion;
using select::Term;

struct Selection {
  GemmRequest request;
  ops::LaunchTarget place;
  ops::Alternatives all;
  std::size_t top = 0;
};

Result<Selection> make_selection(const Flags& flags, int top) {
  Selection s;
  WW_TRY(s.request, make_request(flags));
  if (flags.top) {
    WW_TRY(const std::int64_t count, parse_integer(*flags.top, "--top", 0, 1'000'000));
    top = static_cast<int>(count);
  }
  s.top = static_cast<std::size_t>(top);
  s.place = {ops::kTypicalSms, false};
  if (flags.device) {
    WW_TRY(const Device device, Device::open(*flags.device, s.request.device_options));
    s.place = {device.info().sms, device.info().emulated};
  }
  WW_TRY(s.all, ops::alternatives(s.request.problem, s.request.options, s.place));
  return s;
}

int sms_of(const Selection& s) {
  const int asked = s.request.options.sms;
  return asked > 0 ? std::min(asked, s.place.sms) : s.place.sms;
}

std::string title(const Selection& s, const char* verb) {
  const GemmProblem& p = s.request.problem;
  return fmt::format("{} gemm {}{} x {} x {}, {} -> {}, scale {}, {} SMs{}{}\n", verb,
                     p.batch == 1 ? "" : fmt::format("{} of ", p.batch), p.m, p.n, p.k, name_of(p.a), name_of(p.d),
                     name_of(p.scale), sms_of(s), s.place.emulated ? " emulated" : "",
                     s.request.options.batch_invariant ? ", batch-invariant" : "");
}

Fields problem_fields(const Selection& s) {
  const GemmProblem& p = s.request.problem;
  return {{"ok", true},
          {"m", p.m},
          {"n", p.n},
          {"k", p.k},
          {"batch", p.batch},
          {"sms", sms_of(s)},
          {"emulated", s.place.emulated},
          {"batch_invariant", s.request.options.batch_invariant}};
}

Fields cost_fields(const GemmConfig& config, const Cost& cost) {
  Fields terms;
  for (int t = 0; t < select::kTerms; ++t)
    if (cost.us[t] > 0) terms.emplace_back(name_of(Term(t)), cost.us[t]);
  return {{"config", to_text(config)},      {"us", cost.total()},          {"waves", cost.waves},
          {"resident_ctas", cost.resident}, {"hbm_bytes", cost.hbm_bytes}, {"terms", terms}};
}

std::string sentence(const Exclusion& e) {
  return fmt::format("{} config{}, such as {}", e.configs.size(), e.configs.size() == 1 ? "" : "s",
                     to_text(e.configs.front()));
}

List exclusion_list(const Selection& s) {
  List list;
  for (const Exclusion& e : s.all.ranking.exclusions)
    list.push_back(Fields{{"reason", e.reason},
                          {"count", static_cast<std::int64_t>(e.configs.size())},
                          {"example", to_text(e.configs.front())}});
  return list;
}

std::size_t shown(const Selection& s) {
  const std::size_t all = s.all.ranking.candidates.size();
  return s.top == 0 ? all : std::min(s.top, all);
}

/// The largest differences between two costs, as " +1.2 epilogues that nothing hides, -0.3 ...".
std::string difference(const Cost& winner, const Cost& other) {
  std::vector<std::pair<double, Term>> parts;
  for (int t = 0; t < select::kTerms; ++t)
    if (const double us = other.us[t] - winner.us[t]; us > 0.005 || us < -0.005) parts.emplace_back(us, Term(t));
  std::stable_sort(parts.begin(), parts.end(),
                   [](const auto& a, const auto& b) { return std::abs(a.first) > std::abs(b.first); });
  std::string text;
  for (std::size_t i = 0; i < std::min<std::size_t>(parts.size(), 3); ++i)
    text += fmt::format("{}{:+.2f} for {}", i == 0 ? "" : ", ", parts[i].first, meaning_of(parts[i].second));
  return text.empty() ? "the same in every term; the first of the list is taken" : text;
}

/// Why the winner: one sentence.
std::string because(const Selection& s, const Cost& cost) {
  const GemmConfig& c = s.all.decision.config;
  if (s.place.emulated && s.all.ranking.candidates.front().config != c)
    return "an emulated device takes it from the short list whose modules ship; times are those of an H200 with as "
           "many SMs";
  const auto largest = std::max_element(cost.us.begin(), cost.us.end());
  return fmt::format("the least modelled time of {} configs; most of it is {}", s.all.ranking.candidates.size(),
                     meaning_of(Term(largest - cost.us.begin())));
}

/// Whose rows are the tile's, in words.
std::string tile_meaning(const GemmConfig& c) {
  return collective::swaps(c) ? fmt::format("on: a tile is {} rows of B x {} of A, and D^T is what the kernel computes",
                                            c.tile.m, c.tile.n)
                              : fmt::format("off: a tile is {} rows of A x {} of B", c.tile.m, c.tile.n);
}

}  // namespace

Result<Outcome> run_configs_gemm(const Flags& flags) {
  WW_TRY(const Selection s, make_selection(flags, 20));
  const std::vector<Candidate>& candidates = s.all.ranking.candidates;
  Outcome outcome;
  outcome.text = title(s, "configs") + fmt::format("  {:>4} {:>9}  config\n", "rank", "us");
  List list;
  for (std::size_t i = 0; i < shown(s); ++i) {
    outcome.text +=
        fmt::format("  {:>4} {:>9.1f}  {}\n", i + 1, candidates[i].cost.total(), to_text(candidates[i].config));
    list.push_back(cost_fields(candidates[i].config, candidates[i].cost));
  }
  outcome.text += fmt::format("  {} of {} shown; microseconds are modelled for an H200\n", shown(s), candidates.size());
  outcome.json = problem_fields(s);
  outcome.json.emplace_back("chosen", to_text(s.all.decision.config));
  outcome.json.emplace_back("count", static_cast<std::int64_t>(candidates.size()));
  outcome.json.emplace_back("configs", list);
  outcome.json.emplace_back("excluded", exclusion_list(s));
  return outcome;
}

Result<Outcome> run_explain_gemm(const Flags& flags) {
  WW_TRY(const Selection s, make_selection(flags, 3));
  const GemmConfig& chosen = s.all.decision.config;
  const std::vector<Candidate>& candidates = s.all.ranking.candidates;
  const Cost cost = select::cost_of(s.all.decision.problem, chosen, sms_of(s));
  Outcome outcome;
  outcome.text = title(s, "explain") + fmt::format("  chosen     {}\n", to_text(chosen));
  outcome.text += fmt::format("  because    {}\n", because(s, cost));
  outcome.text += fmt::format("  swap-AB    {}\n", tile_meaning(chosen));
  outcome.text += fmt::format("  time       {:.1f} us modelled, {} wave{} of {} CTAs\n", cost.total(), cost.waves,
                              cost.waves == 1 ? "" : "s", cost.resident);
  for (int t = 0; t < select::kTerms; ++t)
    if (cost.us[t] > 0)
      outcome.text += fmt::format("    {:>9.2f}  {:<14} {}\n", cost.us[t], name_of(Term(t)), meaning_of(Term(t)));
  List next;
  for (const Candidate& other : candidates) {
    if (other.config == chosen || next.size() >= s.top) continue;
    const std::string why = difference(cost, other.cost);
    outcome.text += fmt::format("  not        {}\n             {:.1f} us, {:+.2f}: {}\n", to_text(other.config),
                                other.cost.total(), other.cost.total() - cost.total(), why);
    Fields fields = cost_fields(other.config, other.cost);
    fields.emplace_back("why", why);
    next.push_back(std::move(fields));
  }
  for (const Exclusion& e : s.all.ranking.exclusions)
    outcome.text += fmt::format("  excluded   {}: {}\n", e.reason, sentence(e));
  outcome.json = problem_fields(s);
  outcome.json.emplace_back("chosen", cost_fields(chosen, cost));
  outcome.json.emplace_back("because", because(s, cost));
  outcome.json.emplace_back("swap_ab", collective::swaps(chosen));
  outcome.json.emplace_back("next", next);
  outcome.json.emplace_back("excluded", exclusion_list(s));
  return outcome;
}

}  // namespace ww::cli
