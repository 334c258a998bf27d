// SPDX-License-Identifier: Apache-2.0
// Turns conflicts into findings: the rule, both parties, their lines, and the text.
#include <fmt/format.h>

#include <bit>
#include <cstring>

#include "emu/check/checker.hpp"
#include "emu/check/source_lines.hpp"
#include "emu/machine.hpp"
#include "emu/memory.hpp"
#include "emu/report.hpp"

namespace ww::emu {

const char* name_of(Access kind) {
  switch (kind) {
    case Access::load_shared: return "ld.shared";
    case Access::store_shared: return "st.shared";
    case Access::atomic_shared: return "atom.shared";
    case Access::stmatrix: return "stmatrix";
    case Access::ldmatrix: return "ldmatrix";
    case Access::load_global: return "ld.global";
    case Access::store_global: return "st.global";
    case Access::atomic_global: return "atom.global";
    case Access::tma_load: return "TMA load (write of shared memory)";
    case Access::store_async: return "st.async (write of shared memory)";
    case Access::tma_load_source: return "TMA load (read of global memory)";
    case Access::tma_store_source: return "TMA store (read of shared memory)";
    case Access::tma_store: return "TMA store (write of global memory)";
    case Access::remote_arrive: return "remote mbarrier arrive";
    case Access::mbarrier: return "mbarrier";
    case Access::tensor_map_replace: return "tensormap.replace";
    case Access::tensor_map_copy: return "tensormap.cp_fenceproxy (read of shared memory)";
    case Access::tensor_map_release: return "tensormap.cp_fenceproxy (write of a tensor map)";
    case Access::tensor_map_use: return "TMA (read of a tensor map in global memory)";
    case Access::plain_load: return "load";
    case Access::plain_store: return "store";
    case Access::registers: return "registers";
    case Access::barrier_wait: return "wait";
    case Access::exit: return "exit";
    case Access::launch_answer: return "clusterlaunchcontrol.try_cancel (write of the answer)";
    case Access::of_machines: break;
  }
  return "";
}

const char* name_of(Access kind, const MachineModel& model) {
  if (kind < Access::of_machines) return name_of(kind);
  for (const AccessText& own : model.accesses)
    if (own.kind == kind) return own.name;
  return "";
}

namespace {

/// Returns the party in one line, and below it what it completes on and the functions that it was called through.
std::string words_of(const FindingParty& party) {
  const std::string indent = "\n            ";
  std::string text = party.operation.empty() ? "operation" : party.operation;
  if (!party.file.empty()) text += fmt::format(" at {}:{}", party.file, party.line);
  if (!party.frames.empty() && !party.frames.front().function.empty()) text += " in " + party.frames.front().function;
  if (party.cta >= 0)
    text += fmt::format(", CTA {}, {}, warp {}, lane {}", party.cta, party.role, party.warp, party.lane);
  for (std::size_t i = 1; i < party.frames.size(); ++i) {  // the instructions themselves are in `operation`
    const SourceFrame& frame = party.frames[i];
    if (is_instruction(frame)) continue;
    text += fmt::format("{}{}:{}{}{}", indent, frame.file, frame.line, frame.function.empty() ? "" : " in ",
                        frame.function);
  }
  if (!party.completion.empty()) text += indent + party.completion;
  return text;
}

std::string words_of(const std::vector<BarrierHistory>& barriers) {
  std::string text;
  for (const BarrierHistory& barrier : barriers) {
    text += fmt::format("    mbarrier at offset 0x{:x} of CTA {}{}{}\n", barrier.offset, barrier.cta,
                        barrier.relation.empty() ? "" : ", ", barrier.relation);
    for (const std::string& event : barrier.events) text += "      " + event + "\n";
  }
  return text;
}

Rule rule_of(const AccessRecord& old, bool old_write, const AccessRecord& mine, bool write) {
  if (old.kind == Access::mbarrier || mine.kind == Access::mbarrier) return Rule::data_race;
  if (write && old.kind == Access::tensor_map_use) return Rule::stale_descriptor;
  if (write && old.kind == Access::tma_store_source) return Rule::unfinished_store;
  const auto counted = [](Access kind) {
    return kind == Access::tma_load || kind == Access::store_async || kind == Access::launch_answer;
  };
  if (counted(mine.kind) && (!old_write || counted(old.kind))) return Rule::stage_reuse;
  return Rule::data_race;
}

std::string what_of(Rule rule, const AccessRecord& old, bool old_write) {
  switch (rule) {
    case Rule::proxy_fence:
      return old_write ? "ordinary writes are not known to the async proxy when it touches them"
                       : "bytes are overwritten by an asynchronous copy without a proxy fence after the ordinary read";
    case Rule::scope:
      return "the two are ordered, but by synchronisation whose scope does not reach from one to the other";
    case Rule::stage_reuse: return "a copy is issued over bytes that may still be in use";
    case Rule::stale_descriptor:
      return "a tensor map is changed while a TMA operation that was issued with it may still have to read it";
    case Rule::unfinished_store:
      return "the source of a bulk store is overwritten before the store is known to have read it";
    default: break;
  }
  if (old.kind == Access::tma_load_source)
    return "global memory is written that a TMA load may still have to read: the writer does not know that the load "
           "has completed on its mbarrier";
  return old.kind == Access::mbarrier
             ? "the bytes of a live mbarrier are touched by something else than mbarrier operations"
             : "two accesses that nothing orders, at least one of them a write";
}

constexpr const char* kNotMorallyStrong =
    "two atomic accesses, at least one of them a write, that nothing orders, and whose scopes do not both hold the "
    "other's thread or that overlap in a part only";

}  // namespace

std::string text_of(const Finding& f) {
  std::string text = fmt::format("{}: {}\n", rule_name(f.rule), f.text);
  if (!f.first.operation.empty()) text += "  first:  " + words_of(f.first) + "\n";
  if (!f.second.operation.empty()) text += "  second: " + words_of(f.second) + "\n";
  if (!f.space.empty())
    text += f.end > f.begin ? fmt::format("  bytes:  [0x{:x}, 0x{:x}) of {}\n", f.begin, f.end, f.space)
                            : fmt::format("  where:  {}\n", f.space);
  if (!f.barrier_history.empty()) text += "  barrier:\n" + f.barrier_history;
  if (!f.advice.empty()) text += fmt::format("  advice: {}\n", f.advice);
  return text;
}

void Checker::report(Rule rule, FindingParty first, FindingParty second, u64 begin, u64 end, std::string space,
                     std::vector<BarrierHistory> barriers, const std::string& what, const char* advice) {
  const auto [known, fresh] =
      known_.try_emplace({static_cast<int>(rule), first.file, first.line, second.file, second.line}, findings_.size());
  if (!fresh) {
    if (known->second >= findings_.size()) return;
    Finding& same = findings_[known->second];
    if (same.end == begin && same.space == space) same.end = end;
    return;
  }
  if (findings_.size() == kMostFindings) return;
  Finding finding;
  finding.rule = rule;
  finding.first = std::move(first);
  finding.second = std::move(second);
  finding.begin = begin;
  finding.end = end;
  finding.space = std::move(space);
  finding.barrier_history = words_of(barriers);
  finding.barriers = std::move(barriers);
  finding.advice = advice ? advice : advice_for(rule, context_->model);
  finding.text = what;  // one sentence; take_result adds the rest of the report
  findings_.push_back(std::move(finding));
}

/// Names the strict rule by which an order does not suffice; empty when none is needed to say so.
std::string Checker::strict_rule_of(Order order, const AccessRecord& old, bool old_write, const Actor& actor) const {
  const auto named = [](StrictRules rule) {
    return fmt::format(" (strict rule {})", kStrictRules[std::countr_zero(rule)].name);
  };
  const bool own = ctas_of_slots_[old.thread] == actor.cta && context_->launch.cluster > 1;
  if (order == Order::narrow && !old_write && (!actor.generic || own)) return named(kRemoteReleaseOfReads);
  if (order == Order::narrow && !actor.generic && actor.issuer && actor.issuer->released_afar &&
      actor.issuer->released_afar->s.at(old.slot) >= old.epoch)
    return named(kRemoteAcquireOfWrites);
  if (order != Order::unfenced) return "";
  const bool fenced = actor.issuer && actor.issuer->at_proxy_fence && old.slot != actor.self &&
                      actor.issuer->at_proxy_fence->executed().at(old.slot) >= old.epoch;
  if (fenced) return named(kReaderSideFence);
  return old_write || actor.kind == Access::launch_answer ? "" : named(kReadBeforeAsyncWrite);
}

void Checker::conflict(Order order, const AccessRecord& old, bool old_write, const Actor& actor, u32 cta, u64 begin,
                       u64 end) {
  const AccessRecord& mine = accesses_[actor.access];
  const bool both_strong = order == Order::unordered && old.strong() && mine.strong();
  const Rule rule = order == Order::narrow || both_strong ? Rule::scope
                    : order == Order::unfenced            ? Rule::proxy_fence
                                                          : rule_of(old, old_write, mine, actor.write);
  std::string space = space_of(cta, begin, end);
  const auto [met, fresh] = met_.try_emplace(
      {static_cast<int>(rule), old.from, old.site.file, old.site.line, mine.from, mine.site.file, mine.site.line},
      findings_.size());
  if (!fresh) {
    if (met->second >= findings_.size()) return;
    Finding& same = findings_[met->second];
    if (same.end == begin && same.space == space) same.end = end;
    return;
  }
  FindingParty first = party(old), second = party(mine);
  const std::tuple key{static_cast<int>(rule), first.file, first.line, second.file, second.line};
  report(rule, std::move(first), std::move(second), begin, end, std::move(space), histories_of(old, mine),
         both_strong ? kNotMorallyStrong : what_of(rule, old, old_write) + strict_rule_of(order, old, old_write, actor),
         conflict_advice(rule, old, old_write, mine, cta));
  if (const auto known = known_.find(key); known != known_.end()) met->second = known->second;
}

void Checker::uninitialised(const Actor& actor, u32 cta, u64 begin, u64 end) {
  std::string space = space_of(cta, begin, end);
  const bool global = cta == kSharedSpaceOfNobody;
  report(Rule::uninitialised_read, global ? launch_party(space + ", as the launch gives it") : shared_memory_party(cta),
         party(accesses_[actor.access]), begin, end, std::move(space), {},
         global ? "global memory is read that neither an earlier launch nor this one has written"
                : "shared memory is read that nothing has written");
}

CheckResult Checker::take_result() {
  CheckResult result;
  complete_early_accesses();
  for (Finding& finding : findings_) finding.text = text_of(finding);
  result.findings = std::move(findings_);
  result.sectors = traffic_.take_sectors();
  result.traffic = traffic_.take();
  result.hooked = hooked_;
  result.unsupported = unsupported_;
  findings_.clear();
  return result;
}

}  // namespace ww::emu
