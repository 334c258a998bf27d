// SPDX-License-Identifier: Apache-2.0
// The words of a finding are the checker's own; this file adds where it was found and how to see it again.
#include "cli/check_report.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "check/command.hpp"
#include "check/target.hpp"
#include "config/config_text.hpp"

namespace ww::cli {
namespace {

constexpr const char* kDevice = "emu:sm90";

Fields party_fields(const FindingParty& p) {
  return {{"cta", p.cta},
          {"warp", p.warp},
          {"lane", p.lane},
          {"role", p.role},
          {"file", p.file},
          {"line", p.line},
          {"inner_file", p.inner_file},
          {"inner_line", p.inner_line},
          {"operation", p.operation}};
}

List party_list(const std::vector<FindingParty>& parties) {
  List list;
  for (const FindingParty& party : parties) list.push_back(party_fields(party));
  return list;
}

Fields finding_fields(const CheckFinding& found) {
  const Finding& f = found.finding;
  return {{"rule", rule_name(f.rule)},
          {"first", party_fields(f.first)},
          {"second", party_fields(f.second)},
          {"parties", party_list(f.parties)},
          {"space", f.space},
          {"begin", f.begin},
          {"end", f.end},
          {"barrier_history", f.barrier_history},
          {"advice", f.advice},
          {"text", f.text},
          {"schedule", name_of(found.replay.schedule.kind)},
          {"seed", found.replay.schedule.seed},
          {"schedules", static_cast<std::uint64_t>(found.schedules)},
          {"replay", found.replay.command},
          {"smallest_replay", found.smallest ? found.smallest->command : ""}};
}

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

List operand_list(const std::vector<OperandTraffic>& operands) {
  List list;
  for (const OperandTraffic& t : operands)
    list.push_back(
        Fields{{"operand", t.name}, {"hbm_read_bytes", t.hbm_read_bytes}, {"hbm_write_bytes", t.hbm_write_bytes}});
  return list;
}

List traffic_list(const std::vector<LineTraffic>& traffic) {
  List list;
  for (const LineTraffic& t : traffic)
    list.push_back(Fields{{"file", t.file},
                          {"line", t.line},
                          {"operation", t.operation},
                          {"accesses", t.accesses},
                          {"shared_bytes", t.shared_bytes},
                          {"l2_bytes", t.l2_bytes},
                          {"hbm_bytes", t.hbm_bytes},
                          {"wavefronts", t.wavefronts},
                          {"ideal_wavefronts", t.ideal},
                          {"multicast_saved_bytes", t.multicast_saved_bytes}});
  return list;
}

/// The first lines of a report, and the same as fields.
struct Heading {
  std::string text;
  Fields fields;
};

Heading heading_of(const CheckTarget& target, const char* math) {
  if (const auto* kernel = std::get_if<KernelCheck>(&target)) {
    const std::string launch = ww::to_text(kernel->launch), source = kernel->source.string();
    return {fmt::format("check {} of {}\n  launch     {}\n", kernel->entry, source, launch),
            {{"source", source}, {"entry", kernel->entry}, {"launch", launch}}};
  }
  const auto operation = campaign::operation_of(target);
  if (!operation) return {};
  const std::string config = ww::to_text((*operation)->inputs().options.config);
  Heading heading{fmt::format("check {}, math {}\n  config     {}\n", (*operation)->title(), math, config),
                  {{"config", config}}};
  for (auto& field : (*operation)->sizes()) heading.fields.push_back(std::move(field));
  return heading;
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
  Heading heading = heading_of(campaign.target, math);
  const char* verdict = name_of(campaign.verdict());
  outcome.text = std::move(heading.text);
  outcome.text += fmt::format("  schedules  {} of {} ({}) in {:.1f} s, {:.3g} a second\n", campaign.schedules_ran,
                              campaign.schedules_asked, kinds_of(options), campaign.seconds, rate);
  outcome.text += fmt::format("  verdict    {}\n", verdict);
  if (!campaign.why_incomplete.empty()) outcome.text += fmt::format("  incomplete {}\n", campaign.why_incomplete);
  List findings;
  for (std::size_t i = 0; i < campaign.findings.size(); ++i) {
    const CheckFinding& found = campaign.findings[i];
    findings.push_back(finding_fields(found));
    outcome.text +=
        fmt::format("\nfinding {} of {}: {}, in {} of {}, first under {}, seed {}\n", i + 1, campaign.findings.size(),
                    rule_name(found.finding.rule), found.schedules, plural(campaign.schedules_ran, "schedule"),
                    name_of(found.replay.schedule.kind), found.replay.schedule.seed);
    outcome.text += indented(found.finding.text);
    outcome.text += "  replay:   " + found.replay.command + "\n";
    if (found.smallest && found.smallest->command != found.replay.command)
      outcome.text += "  smallest: " + found.smallest->command + "\n";
  }
  outcome.json = {{"ok", campaign.verdict() == ww::Verdict::clean},
                  {"verdict", verdict},
                  {"why_incomplete", campaign.why_incomplete},
                  {"interrupted", campaign.stopped},
                  {"schedules", static_cast<std::uint64_t>(campaign.schedules_ran)},
                  {"schedules_asked", static_cast<std::uint64_t>(campaign.schedules_asked)},
                  {"seconds", campaign.seconds},
                  {"schedules_per_second", rate},
                  {"device", kDevice},
                  {"math", math}};
  for (auto& field : heading.fields) outcome.json.push_back(std::move(field));
  outcome.json.emplace_back("findings", std::move(findings));
  if (options.traffic) {
    outcome.text += traffic_text(campaign);
    outcome.json.emplace_back("traffic", traffic_list(campaign.traffic));
    outcome.json.emplace_back("operand_traffic", operand_list(campaign.operands));
  }
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
