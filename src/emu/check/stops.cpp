// SPDX-License-Identifier: Apache-2.0
// Findings of events that stop a run: an operation that the machine refuses, a deadlock, a livelock.
#include <fmt/format.h>

#include "emu/aligned.hpp"
#include "emu/check/checker.hpp"
#include "emu/check/source_lines.hpp"
#include "emu/machine.hpp"
#include "emu/report.hpp"

namespace ww::emu {
namespace {

/// Returns the name of the instruction that the party called, or `otherwise`.
std::string instruction_of(const FindingParty& party, const char* otherwise) {
  for (const SourceFrame& frame : party.frames)
    if (is_instruction(frame) && !frame.function.empty()) return frame.function;
  return otherwise;
}

}  // namespace

FindingParty Checker::counterpart(Rule rule, Origin origin, const Counterpart& other) const {
  if (other.origin.thread) {
    const Thread& thread = *other.origin.thread;
    const bool there = thread.wait != Wait::none && thread.wait != Wait::exited;
    return party(thread.check_slot, other.origin.site, other.operation ? other.operation : "operation",
                 there ? thread.call : nullptr);
  }
  if (other.barrier < barriers_.size()) {
    const BarrierState& barrier = barriers_[other.barrier];
    if (rule == Rule::phase_misuse)
      return party(barrier.init_thread, barrier.init_site, "mbarrier.init", barrier.init_from);
    return last_change_of(barrier, origin);
  }
  if (other.cta) return exit_party(other.cta->check_index);
  if (other.global) return operands_party();
  if (!origin.thread) return launch_party("launch");
  if (rule == Rule::unfinished_store)
    for (const Thread& thread : origin.thread->cta->threads)
      if (const ThreadState* issuer = state_of(thread.check_slot); issuer && issuer->stores > issuer->stores_read)
        return store_party(*issuer);
  if (rule == Rule::invalid_operation) return launch_party("launch");
  if (rule == Rule::register_budget) return launch_party("registers of the launch, the same number for each thread");
  return shared_memory_party(origin.thread->cta->check_index);
}

void Checker::stopped(Rule rule, Origin origin, const std::string& what, const Counterpart& other) {
  if (rule == Rule::unsupported) {
    unsupported_ = what;
    return;
  }
  FindingParty who;
  if (origin.thread) {
    // An asynchronous operation takes effect while its thread does something else.
    const bool now = current_thread == origin.thread;
    who = party(origin.thread->check_slot, origin.site, {}, now ? origin.thread->call : nullptr);
    who.operation = instruction_of(who, now ? "operation" : "asynchronous operation");
  } else {
    who = launch_party("launch");
  }
  FindingParty first = counterpart(rule, origin, other);
  report(rule, std::move(first), std::move(who), 0, 0, "", history_of(other.barrier), what,
         stop_advice(rule, origin, other, what));
}

/// Returns what a waiting thread waits for in vain: the latest change of its mbarrier, the last write of the word that
/// it polls, a thread that waits elsewhere, or one that has exited.
FindingParty Checker::missing_party(const Thread& waiting, const std::vector<std::unique_ptr<Cluster>>& clusters) {
  if (waiting.wait == Wait::mbarrier)
    for (const MBarrier& barrier : waiting.cta->barriers)
      if (barrier.live && barrier.offset == waiting.wait_a) return last_change_of(barriers_[barrier.check_number], {});
  if (waiting.wait == Wait::polling || waiting.wait == Wait::polling_shared) {
    const bool global = waiting.wait == Wait::polling;
    const u32 rank = waiting.wait_a >> arch::kSharedRankShift, offset = waiting.wait_a & arch::kSharedOffsetMask;
    if (global) return last_write_of(u64{waiting.wait_b} << 32 | waiting.wait_a, operands_party());
    CtaState& memory = state(*waiting.cta->cluster->ctas[rank]);
    Granule& granule = memory.shadow[offset / kGranule];
    const ShadowEntry* entries = memory.overflow.entries(granule);
    for (u32 i = granule.count; i-- > 0;)
      if (entries[i].write && (entries[i].bytes >> offset % kGranule & 1)) return party(accesses_[entries[i].access]);
    return shared_memory_party(memory.cta->check_index);
  }
  const auto waits_elsewhere = [&](const Thread& thread) {
    return thread.wait != Wait::exited && (thread.wait != waiting.wait || thread.wait_a != waiting.wait_a);
  };
  const u32 warp = waiting.index - waiting.lane();
  for (u32 lane = 0; lane < kWarpSize; ++lane)
    if (const Thread& own = waiting.cta->threads[warp + lane]; waits_elsewhere(own))
      return party(own.check_slot, own.site, waits_on(own), own.call);
  const Thread* gone = nullptr;
  for (const auto& cluster : clusters)
    for (const auto& cta : cluster->ctas)
      for (const Thread& thread : cta->threads) {
        if (waits_elsewhere(thread)) return party(thread.check_slot, thread.site, waits_on(thread), thread.call);
        if (thread.wait == Wait::exited && !gone) gone = &thread;
      }
  if (gone) return party(gone->check_slot, {}, "exit of a thread", nullptr);
  return launch_party("launch, all of whose threads wait");
}

FindingParty Checker::last_write_of(u64 address, FindingParty otherwise) {
  Granule& granule = global_.at(address);
  const ShadowEntry* entries = global_overflow_.entries(granule);
  for (u32 i = granule.count; i-- > 0;)
    if (entries[i].write && (entries[i].bytes >> address % kGranule & 1)) return party(accesses_[entries[i].access]);
  return otherwise;
}

void Checker::expect_zero_counters() {
  for (const runtime::MemoryRange& range : context_->launch.memory) {
    if (!range.counters || range.base == nullptr) continue;
    const u32* const words = static_cast<const u32*>(range.base);
    const u64 count = range.bytes / sizeof(u32);
    u64 first = 0, wrong = 0;
    for (u64 i = count; i-- > 0;)
      if (words[i] != 0) first = i, ++wrong;
    if (wrong == 0) continue;
    u64 begin = reinterpret_cast<u64>(words + first), end = begin + sizeof(u32);
    FindingParty writer = last_write_of(begin, operands_party());
    std::string space = space_of(kSharedSpaceOfNobody, begin, end);
    report(Rule::wrong_value, std::move(writer), launch_party("end of the launch, which must leave zeros there"), begin,
           end, std::move(space), {},
           fmt::format("{} of the {} counters and flags of operand {} are not zero after the launch, the first is {}",
                       wrong, count, range.name, words[first]),
           "put back every flag and counter of the workspace before the launch ends");
  }
}

void Checker::stuck(Rule rule, Origin origin, const std::string& text,
                    const std::vector<std::unique_ptr<Cluster>>& clusters) {
  const bool nothing_moves = rule == Rule::deadlock;
  std::vector<BarrierHistory> histories;
  std::string bytes;
  const Thread* waiting = nullptr;
  constexpr std::size_t kMostHistories = 8;
  std::vector<FindingParty> parties;
  std::set<u32> told;
  for (const auto& cluster : clusters)
    for (const auto& cta : cluster->ctas) {
      for (u32 warp = 0; warp < cta->warps.size(); ++warp)
        if (Thread* const gone = lane_that_exited_before(*cta, warp)) report_skipped(*gone, "exit of the thread", {});
      for (const Thread& thread : cta->threads) {
        if (thread.wait == Wait::exited || thread.wait == Wait::none) continue;
        parties.push_back(party(thread.check_slot, thread.site, waits_on(thread), thread.call));
        // Lanes that wait for others of their warp wait for the cause: one that waits for something else.
        const bool nearer = !waiting || (waiting->wait == Wait::warp && thread.wait != Wait::warp);
        if (origin.thread ? origin.thread == &thread : nearer) waiting = &thread;
        if (nothing_moves && thread.wait == Wait::registers) rule = Rule::register_budget;
        if (thread.wait != Wait::mbarrier) continue;
        for (const MBarrier& barrier : cta->barriers) {
          if (!barrier.live || barrier.offset != thread.wait_a || !told.insert(barrier.check_number).second) continue;
          if (histories.size() < kMostHistories) histories.push_back(one_history(barrier.check_number, {}));
          if (nothing_moves && barrier.pending == 0 && barrier.bytes > 0) {
            rule = Rule::transaction_count;
            bytes += fmt::format("mbarrier at offset 0x{:x} of CTA {}: {} bytes were announced that no copy delivers\n",
                                 barrier.offset, cta->index, barrier.bytes);
          }
        }
      }
    }
  u64 begin = 0, end = 0;
  std::string space;
  if (origin.thread && origin.thread->wait == Wait::polling) {
    begin = u64{origin.thread->wait_b} << 32 | origin.thread->wait_a;
    end = begin + 4;
    space = space_of(kSharedSpaceOfNobody, begin, end);
  } else if (origin.thread && origin.thread->wait == Wait::polling_shared) {
    begin = origin.thread->wait_a & arch::kSharedOffsetMask;
    end = begin + 4;
    const u32 rank = origin.thread->wait_a >> arch::kSharedRankShift;
    space = space_of(origin.thread->cta->cluster->ctas[rank]->check_index, begin, end);
  }
  const std::size_t before = findings_.size();
  FindingParty first, who;
  if (waiting) {
    first = missing_party(*waiting, clusters);
    who = party(waiting->check_slot, waiting->site, waits_on(*waiting), waiting->call);
  }
  // A finding begins with the name of its rule, and so does the text of a run that stopped.
  const std::string name = fmt::format("{}: ", rule_name(rule));
  const bool named = bytes.empty() && text.compare(0, name.size(), name) == 0;
  report(rule, std::move(first), std::move(who), begin, end, std::move(space), std::move(histories),
         bytes + text.substr(named ? name.size() : 0),
         stuck_advice(rule, waiting, !parted_warps_report(clusters).empty()));
  if (findings_.size() > before) findings_.back().parties = std::move(parties);
}

}  // namespace ww::emu
