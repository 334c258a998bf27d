// SPDX-License-Identifier: Apache-2.0
// Campaigns of the checker. Rules are named as in texts of findings.
#include "check/command.hpp"
#include "check/target.hpp"
#include "facts/facts.hpp"
#include "warpwright/host/config.hpp"

namespace ww::facts {
namespace {

constexpr const char* kDevice = machine_of(kDefaultArch).emulated_device;

List frame_list(const std::vector<SourceFrame>& frames) {
  List list;
  for (const SourceFrame& f : frames)
    list.push_back(Fields{{"file", f.file}, {"line", f.line}, {"function", f.function}});
  return list;
}

List history_list(const std::vector<BarrierHistory>& barriers) {
  List list;
  for (const BarrierHistory& h : barriers) {
    List events;
    for (const std::string& event : h.events) events.push_back(event);
    list.push_back(
        Fields{{"cta", h.cta}, {"offset", h.offset}, {"relation", h.relation}, {"events", std::move(events)}});
  }
  return list;
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
          {"operation", p.operation},
          {"frames", frame_list(p.frames)},
          {"completion", p.completion}};
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
          {"barriers", history_list(f.barriers)},
          {"advice", f.advice},
          {"text", f.text},
          {"schedule", name_of(found.replay.schedule.kind)},
          {"seed", found.replay.schedule.seed},
          {"launch", found.launch},
          {"schedules", static_cast<std::uint64_t>(found.schedules)},
          {"replay", found.replay.command},
          {"smallest_replay", found.smallest ? found.smallest->command : ""}};
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

Fields fields_of(const CheckTarget& target) {
  if (const auto* kernel = std::get_if<KernelCheck>(&target))
    return {{"source", kernel->source.string()}, {"entry", kernel->entry}, {"launch", ww::to_text(kernel->launch)}};
  const auto operation = campaign::operation_of(target);
  if (!operation) return {};
  Fields fields{{"config", ww::to_text((*operation)->inputs().options.config)}};
  for (auto& field : (*operation)->sizes()) fields.push_back(std::move(field));
  return fields;
}

}  // namespace

Fields fields_of(const CheckCampaign& campaign, const CheckOptions& options) {
  const double rate = campaign.seconds > 0 ? static_cast<double>(campaign.schedules_ran) / campaign.seconds : 0;
  Fields fields{{"ok", campaign.verdict() == Verdict::clean},
                {"verdict", name_of(campaign.verdict())},
                {"why_incomplete", campaign.why_incomplete},
                {"interrupted", campaign.stopped},
                {"schedules", static_cast<std::uint64_t>(campaign.schedules_ran)},
                {"schedules_asked", static_cast<std::uint64_t>(campaign.schedules_asked)},
                {"launches", static_cast<std::uint64_t>(campaign.launches_ran)},
                {"sms", campaign.sms},
                {"seconds", campaign.seconds},
                {"schedules_per_second", rate},
                {"device", kDevice},
                {"math", campaign::math_text(options.math)}};
  for (auto& field : fields_of(campaign.target)) fields.push_back(std::move(field));
  List findings;
  for (const CheckFinding& found : campaign.findings) findings.push_back(finding_fields(found));
  fields.emplace_back("findings", std::move(findings));
  if (options.traffic) {
    fields.emplace_back("traffic", traffic_list(campaign.traffic));
    fields.emplace_back("operand_traffic", operand_list(campaign.operands));
  }
  return fields;
}

}  // namespace ww::facts
