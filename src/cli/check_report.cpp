// SPDX-License-Identifier: Apache-2.0
// The words of a finding are the checker's own; this file adds where it was found and how to see it again.
#include "cli/check_report.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "check/command.hpp"
#include "check/target.hpp"
#include "config/config_text.hpp"
#include "facts/facts.hpp"

namespace ww::cli {
namespace {

/// Every line of `text` two columns further in, with a line break at its end.
std::string indented(const std::string& text) {
  std::string out;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    out += end == at ? "\n" : "  " + text.substr(at, end - at) + "\n";
    at = end + 1;
  }
  return out;
}

/// "1 fifo, 67 random, 66 pct, 66 adversarial": of all that were asked for.
std::string kinds_of(const CheckOptions& options) {
  if (options.only) return fmt::format("{} {}", options.schedules, name_of(*options.only));
  std::string text = fmt::format("1 {}", name_of(EmuSchedule::fifo));
  std::size_t left = options.schedules - 1;
  for (std::size_t turn = 3; turn > 0; --turn) {
    const EmuSchedule kinds[] = {EmuSchedule::adversarial, EmuSchedule::pct, EmuSchedule::random};
    const std::size_t count = (left + turn - 1) / turn;
    left -= count;
    if (count > 0) text += fmt::format(", {} {}", count, name_of(kinds[turn - 1]));
  }
  return text;
}

std::string plural(std::size_t count, const char* what) {
  return fmt::format("{} {}{}", count, what, count == 1 ? "" : "s");
}

std::string traffic_text(const CheckCampaign& campaign) {
  std::string text = fmt::format("\n{:<34} {:>10} {:>13} {:>13} {:>13} {:>10} {:>9} {:>13}\n", "line", "accesses",
                                 "shared bytes", "L2 bytes", "HBM bytes", "wavefronts", "conflicts", "saved bytes");
  for (const LineTraffic& t : campaign.traffic)
    text += fmt::format("{:<34} {:>10} {:>13} {:>13} {:>13} {:>10} {:>9} {:>13}  {}\n",
                        fmt::format("{}:{}", t.file, t.line), t.accesses, t.shared_bytes, t.l2_bytes, t.hbm_bytes,
                        t.wavefronts, t.wavefronts > t.ideal ? t.wavefronts - t.ideal : 0, t.multicast_saved_bytes,
                        t.operation);
  text += fmt::format("\n{:<34} {:>14} {:>14}\n", "operand", "HBM read", "HBM written");
  for (const OperandTraffic& t : campaign.operands)
    text += fmt::format("{:<34} {:>14} {:>14}\n", t.name, t.hbm_read_bytes, t.hbm_write_bytes);
  return text;
}

/// The first lines of a report.
std::string heading_of(const CheckTarget& target, const char* math) {
  if (const auto* kernel = std::get_if<KernelCheck>(&target))
    return fmt::format("check {} of {}\n  launch     {}\n", kernel->entry, kernel->source.string(),
                       ww::to_text(kernel->launch));
  const auto operation = campaign::operation_of(target);
  if (!operation) return {};
  return fmt::format("check {}, math {}\n  config     {}\n", (*operation)->title(), math,
                     ww::to_text((*operation)->inputs().options.config));
}

std::optional<Error> error_of(const CheckCampaign& campaign) {
  switch (campaign.verdict()) {
    case ww::Verdict::clean: return std::nullopt;
    case ww::Verdict::findings:
      return Error{ErrorCode::wrong_result, "", "no finding", plural(campaign.findings.size(), "finding"),
                   fmt::format("check: {} in {}", plural(campaign.findings.size(), "finding"),
                               plural(campaign.schedules_ran, "schedule"))};
    case ww::Verdict::incomplete: break;
  }
  // The reason stands in the report.
  return Error{ErrorCode::could_not_finish, "", "a verdict", "incomplete", "check: incomplete"};
}

}  // namespace

Outcome report_campaign(const CheckCampaign& campaign, const CheckOptions& options) {
  Outcome outcome;
  const char* math = campaign::math_text(options.math);
  const double rate = campaign.seconds > 0 ? static_cast<double>(campaign.schedules_ran) / campaign.seconds : 0;
  const char* verdict = name_of(campaign.verdict());
  outcome.text = heading_of(campaign.target, math);
  outcome.text += fmt::format("  schedules  {} of {} ({}) in {:.1f} s, {:.3g} a second\n", campaign.schedules_ran,
                              campaign.schedules_asked, kinds_of(options), campaign.seconds, rate);
  if (campaign.launches_ran > campaign.schedules_ran)
    outcome.text += fmt::format("  launches   {}\n", campaign.launches_ran);
  outcome.text += fmt::format("  verdict    {}\n", verdict);
  if (!campaign.why_incomplete.empty()) outcome.text += fmt::format("  incomplete {}\n", campaign.why_incomplete);
  for (std::size_t i = 0; i < campaign.findings.size(); ++i) {
    const CheckFinding& found = campaign.findings[i];
    outcome.text +=
        fmt::format("\nfinding {} of {}: {}, in {} of {}, first under {}, seed {}{}\n", i + 1, campaign.findings.size(),
                    rule_name(found.finding.rule), found.schedules, plural(campaign.schedules_ran, "schedule"),
                    name_of(found.replay.schedule.kind), found.replay.schedule.seed,
                    found.launch > 1 ? fmt::format(", launch {}", found.launch) : "");
    outcome.text += indented(found.finding.text);
    outcome.text += "  replay:   " + found.replay.command + "\n";
    if (found.smallest && found.smallest->command != found.replay.command)
      outcome.text += "  smallest: " + found.smallest->command + "\n";
  }
  outcome.json = facts::fields_of(campaign, options);
  if (options.traffic) outcome.text += traffic_text(campaign);
  outcome.error = error_of(campaign);
  return outcome;
}

Outcome report_incomplete(const Error& error) {
  Outcome outcome;
  outcome.text = "check\n  verdict    incomplete\n  incomplete " + error.message + "\n";
  outcome.json = {
      {"ok", false}, {"verdict", "incomplete"}, {"why_incomplete", error.message}, {"schedules", std::uint64_t{0}}};
  outcome.error = Error{ErrorCode::could_not_finish, error.argument, error.expected, error.actual, "check: incomplete"};
  return outcome;
}

}  // namespace ww::cli
