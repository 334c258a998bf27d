// SPDX-License-Identifier: Apache-2.0
// The words of a finding are the checker's own; this file adds where it was found and how to see it again.
#include "check/report.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace ww::campaign {
namespace {

const char* name_of_verdict(ww::Verdict verdict) {
  return verdict == ww::Verdict::clean ? "clean" : verdict == ww::Verdict::findings ? "findings" : "incomplete";
}

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

Fields finding_fields(const Found& found, const ScheduleRun& schedule, const Replay& replay) {
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
          {"schedule", name_of(schedule.kind)},
          {"seed", schedule.seed},
          {"schedules", static_cast<std::uint64_t>(found.schedules)},
          {"replay", replay.exact},
          {"smallest_replay", replay.smallest}};
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

std::string kinds_of(const std::vector<ScheduleRun>& schedules) {
  std::string text;
  for (EmuSchedule kind : {EmuSchedule::fifo, EmuSchedule::random, EmuSchedule::pct, EmuSchedule::adversarial}) {
    const auto count = std::count_if(schedules.begin(), schedules.end(), [&](const auto& s) { return s.kind == kind; });
    if (count) text += fmt::format("{}{} {}", text.empty() ? "" : ", ", count, name_of(kind));
  }
  return text;
}

std::string plural(std::size_t count, const char* what) {
  return fmt::format("{} {}{}", count, what, count == 1 ? "" : "s");
}

std::string traffic_text(const std::vector<LineTraffic>& traffic, const std::vector<OperandTraffic>& operands) {
  std::string text = fmt::format("\n{:<34} {:>10} {:>13} {:>13} {:>13} {:>10} {:>9} {:>13}\n", "line", "accesses",
                                 "shared bytes", "L2 bytes", "HBM bytes", "wavefronts", "conflicts", "saved bytes");
  for (const LineTraffic& t : traffic)
    text += fmt::format("{:<34} {:>10} {:>13} {:>13} {:>13} {:>10} {:>9} {:>13}  {}\n",
                        fmt::format("{}:{}", t.file, t.line), t.accesses, t.shared_bytes, t.l2_bytes, t.hbm_bytes,
                        t.wavefronts, t.wavefronts > t.ideal ? t.wavefronts - t.ideal : 0, t.multicast_saved_bytes,
                        t.operation);
  text += fmt::format("\n{:<34} {:>14} {:>14}\n", "operand", "HBM read", "HBM written");
  for (const OperandTraffic& t : operands)
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

std::optional<Error> error_of(const Campaign& campaign) {
  switch (campaign.verdict()) {
    case ww::Verdict::clean: return std::nullopt;
    case ww::Verdict::findings:
      return Error{ErrorCode::wrong_result, "", "no finding", plural(campaign.findings.size(), "finding"),
                   fmt::format("check: {} in {}", plural(campaign.findings.size(), "finding"),
                               plural(campaign.ran, "schedule"))};
    case ww::Verdict::incomplete: break;
  }
  return Error{ErrorCode::could_not_finish, "", "a verdict", "incomplete: " + campaign.why_incomplete,
               "check: incomplete: " + campaign.why_incomplete};
}

}  // namespace

Outcome report_campaign(const CheckTarget& target, const std::vector<ScheduleRun>& schedules, const Campaign& campaign,
                        const std::vector<Replay>& replays, bool traffic) {
  Outcome outcome;
  const double rate = campaign.seconds > 0 ? static_cast<double>(campaign.ran) / campaign.seconds : 0;
  outcome.text = target.title();
  outcome.text += fmt::format("  schedules  {} of {} ({}) in {:.1f} s, {:.3g} a second\n", campaign.ran,
                              schedules.size(), kinds_of(schedules), campaign.seconds, rate);
  outcome.text += fmt::format("  verdict    {}\n", name_of_verdict(campaign.verdict()));
  if (!campaign.why_incomplete.empty()) outcome.text += fmt::format("  incomplete {}\n", campaign.why_incomplete);
  List findings;
  for (std::size_t i = 0; i < campaign.findings.size(); ++i) {
    const Found& found = campaign.findings[i];
    const ScheduleRun& schedule = schedules[found.first];
    findings.push_back(finding_fields(found, schedule, replays[i]));
    outcome.text += fmt::format("\nfinding {} of {}: {}, in {} of {}, first under {}\n", i + 1,
                                campaign.findings.size(), rule_name(found.finding.rule), found.schedules,
                                plural(campaign.ran, "schedule"), to_text(schedule));
    outcome.text += indented(found.finding.text);
    outcome.text += "  replay:   " + replays[i].exact + "\n";
    if (replays[i].smallest != replays[i].exact && !replays[i].smallest.empty())
      outcome.text += "  smallest: " + replays[i].smallest + "\n";
  }
  outcome.json = {{"ok", campaign.verdict() == ww::Verdict::clean},
                  {"verdict", name_of_verdict(campaign.verdict())},
                  {"why_incomplete", campaign.why_incomplete},
                  {"schedules", static_cast<std::uint64_t>(campaign.ran)},
                  {"schedules_asked", static_cast<std::uint64_t>(schedules.size())},
                  {"seconds", campaign.seconds},
                  {"schedules_per_second", rate}};
  for (auto& field : target.fields()) outcome.json.push_back(std::move(field));
  outcome.json.emplace_back("findings", std::move(findings));
  if (traffic) {
    outcome.text += traffic_text(campaign.example.traffic, campaign.example.operands);
    outcome.json.emplace_back("traffic", traffic_list(campaign.example.traffic));
    outcome.json.emplace_back("operand_traffic", operand_list(campaign.example.operands));
  }
  outcome.error = error_of(campaign);
  return outcome;
}

}  // namespace ww::campaign
