// SPDX-License-Identifier: Apache-2.0
// `warpwright configs` and `warpwright explain`: the choice of a config for an operation, without running it.
// Without --device both speak of an H200 with all its SMs; with it, of what a plan on that device would take.
#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "cli/operation_request.hpp"
#include "config/config_text.hpp"
#include "facts/facts.hpp"
#include "warpwright/config/swap_ab.hpp"

namespace ww::cli {
namespace {

struct Selection {
  Explanation all;
  std::size_t top = 0;
};

Result<Selection> make_selection(const OperationRequest& asked, const Flags& flags, int top) {
  Selection s;
  if (flags.top) {
    WW_TRY(const std::int64_t count, parse_integer(*flags.top, "--top", 0, 1'000'000));
    top = static_cast<int>(count);
  }
  s.top = static_cast<std::size_t>(top);
  std::optional<Device> device;
  if (flags.tuning && !flags.device)
    return failure(ErrorCode::invalid, "--tuning", "--device beside it: a tuning file speaks of one device",
                   "no --device");
  if (flags.device) {
    WW_TRY(device, Device::open(*flags.device, asked.request.device_options));
  }
  WW_TRY(s.all, asked.operation->explain(device ? &*device : nullptr));
  return s;
}

bool has_times(const Selection& s) { return !s.all.chosen.terms.empty(); }

std::string title(const OperationRequest& asked, const Selection& s, const char* verb) {
  return fmt::format("{} {}, {} SMs{}{}\n", verb, asked.operation->title(), s.all.sms,
                     s.all.emulated ? " emulated" : "",
                     asked.operation->inputs().options.batch_invariant ? ", batch-invariant" : "");
}

Fields problem_fields(const OperationRequest& asked, const Selection& s) {
  Fields fields{{"ok", true}};
  for (auto& field : asked.operation->sizes()) fields.push_back(std::move(field));
  fields.emplace_back("sms", s.all.sms);
  fields.emplace_back("emulated", s.all.emulated);
  fields.emplace_back("modelled_for", s.all.modelled_for);
  fields.emplace_back("measured", s.all.measured);
  fields.emplace_back("tuned", s.all.tuned);
  if (!s.all.tuning.empty()) fields.emplace_back("tuning", s.all.tuning);
  fields.emplace_back("batch_invariant", asked.operation->inputs().options.batch_invariant);
  return fields;
}

std::string sentence(const ExcludedConfigs& e) {
  return fmt::format("{} config{}, such as {}", e.configs.size(), e.configs.size() == 1 ? "" : "s",
                     to_text(e.configs.front()));
}

/// The largest differences between two costs, as "+1.2 for epilogues that nothing hides, -0.3 for ...".
std::string difference(const RankedConfig& winner, const RankedConfig& other) {
  std::vector<std::pair<double, std::string>> parts;
  std::map<std::string, double> of_winner;
  for (const CostTerm& term : winner.terms) of_winner[term.meaning] = term.us;
  for (const CostTerm& term : other.terms) {
    parts.emplace_back(term.us - of_winner[term.meaning], term.meaning);
    of_winner.erase(term.meaning);
  }
  for (const auto& [meaning, us] : of_winner) parts.emplace_back(-us, meaning);
  std::erase_if(parts, [](const auto& part) { return std::abs(part.first) <= 0.005; });
  std::stable_sort(parts.begin(), parts.end(),
                   [](const auto& a, const auto& b) { return std::abs(a.first) > std::abs(b.first); });
  std::string text;
  for (std::size_t i = 0; i < std::min<std::size_t>(parts.size(), 3); ++i)
    text += fmt::format("{}{:+.2f} for {}", i == 0 ? "" : ", ", parts[i].first, parts[i].second);
  return text.empty() ? "the same in every term; the first of the list is taken" : text;
}

/// Whose rows are the tile's, in words.
std::string tile_meaning(const GemmConfig& c) {
  return config::swaps(c) ? fmt::format("on: a tile is {} rows of B x {} of A, and D^T is what the kernel computes",
                                        c.tile.m, c.tile.n)
                          : fmt::format("off: a tile is {} rows of A x {} of B", c.tile.m, c.tile.n);
}

/// Of which device the times are, and what they rest on.
std::string modelled_text(const Explanation& all) {
  return all.measured
             ? fmt::format("microseconds are modelled for an {}; ", all.modelled_for)
             : fmt::format("microseconds are modelled for a {}, unmeasured: published rates; ", all.modelled_for);
}

/// The modelled time of the chosen config and its terms.
std::string times_text(const Explanation& all) {
  const RankedConfig& chosen = all.chosen;
  std::string text = fmt::format("  swap-AB    {}\n", tile_meaning(chosen.config));
  text += fmt::format("  time       {:.1f} us modelled{}, {} wave{} of {} CTAs\n", chosen.us,
                      all.measured ? "" : " (unmeasured: published rates)", chosen.waves, chosen.waves == 1 ? "" : "s",
                      chosen.resident_ctas);
  for (const CostTerm& term : chosen.terms)
    text += fmt::format("    {:>9.2f}  {:<14} {}\n", term.us, term.name, term.meaning);
  return text;
}

}  // namespace

Result<Outcome> show_configs(OperationRequest asked, const Flags& flags) {
  WW_TRY(const Selection s, make_selection(asked, flags, 20));
  const std::vector<RankedConfig>& candidates = s.all.ranking;
  const std::size_t shown = s.top == 0 ? candidates.size() : std::min(s.top, candidates.size());
  Outcome outcome;
  outcome.text = title(asked, s, "configs") + fmt::format("  {:>4} {:>9}  config\n", "rank", has_times(s) ? "us" : "");
  List list;
  for (std::size_t i = 0; i < shown; ++i) {
    const std::string us = has_times(s) ? fmt::format("{:.1f}", candidates[i].us) : "";
    outcome.text += fmt::format("  {:>4} {:>9}  {}\n", i + 1, us, to_text(candidates[i].config));
    list.push_back(facts::fields_of(candidates[i]));
  }
  const auto chosen = std::find_if(candidates.begin(), candidates.end(),
                                   [&](const RankedConfig& c) { return c.config == s.all.chosen.config; });
  const std::string taken = chosen == candidates.begin() ? "the first is what auto takes"
                            : chosen == candidates.end()
                                ? fmt::format("auto takes {}", to_text(s.all.chosen.config))
                                : fmt::format("auto takes number {}", chosen - candidates.begin() + 1);
  outcome.text += fmt::format("  {} of {} shown; {}{}\n", shown, candidates.size(),
                              has_times(s) ? modelled_text(s.all) : "", taken);
  outcome.json = problem_fields(asked, s);
  outcome.json.emplace_back("chosen", to_text(s.all.chosen.config));
  outcome.json.emplace_back("count", static_cast<std::int64_t>(candidates.size()));
  outcome.json.emplace_back("configs", list);
  outcome.json.emplace_back("excluded", facts::list_of(s.all.excluded));
  return outcome;
}

Result<Outcome> explain_choice(OperationRequest asked, const Flags& flags) {
  WW_TRY(const Selection s, make_selection(asked, flags, 3));
  const RankedConfig& chosen = s.all.chosen;
  Outcome outcome;
  outcome.text = title(asked, s, "explain") + fmt::format("  chosen     {}\n", to_text(chosen.config));
  outcome.text += fmt::format("  because    {}\n", s.all.because);
  if (!s.all.tuned && !s.all.tuning.empty()) outcome.text += fmt::format("  tuning     {}\n", s.all.tuning);
  if (has_times(s)) outcome.text += times_text(s.all);
  List next;
  for (const RankedConfig& other : s.all.ranking) {
    if (other.config == chosen.config || next.size() >= s.top) continue;
    outcome.text += fmt::format("  not        {}\n", to_text(other.config));
    Fields fields = facts::fields_of(other);
    if (has_times(s)) {
      const std::string why = difference(chosen, other);
      outcome.text += fmt::format("             {:.1f} us, {:+.2f}: {}\n", other.us, other.us - chosen.us, why);
      fields.emplace_back("why", why);
    }
    next.push_back(std::move(fields));
  }
  for (const ExcludedConfigs& e : s.all.excluded)
    outcome.text += fmt::format("  excluded   {}: {}\n", e.reason, sentence(e));
  outcome.json = problem_fields(asked, s);
  outcome.json.emplace_back("chosen", facts::fields_of(chosen));
  outcome.json.emplace_back("because", s.all.because);
  outcome.json.emplace_back("swap_ab", config::swaps(chosen.config));
  outcome.json.emplace_back("next", next);
  outcome.json.emplace_back("excluded", facts::list_of(s.all.excluded));
  return outcome;
}

}  // namespace ww::cli
