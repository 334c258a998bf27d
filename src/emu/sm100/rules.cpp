// SPDX-License-Identifier: Apache-2.0
// Findings about tensor memory.
#include "emu/sm100/rules.hpp"

#include <fmt/format.h>

#include "emu/sm100/model.hpp"

namespace ww::emu::sm100 {
namespace {

constexpr u32 kAgentsOfWarp = 4;  // loads and stores, as their warp knows them and as others do

bool is_write(TensorAction action) {
  return action == TensorAction::store || action == TensorAction::overwrite || action == TensorAction::accumulate ||
         action == TensorAction::copy;
}
bool is_read(TensorAction action) {
  return action == TensorAction::load || action == TensorAction::accumulate || action == TensorAction::read_of_a ||
         action == TensorAction::read_of_scales;
}

const char* name_of(TensorAction action) {
  switch (action) {
    case TensorAction::load: return "tcgen05.ld";
    case TensorAction::store: return "tcgen05.st";
    case TensorAction::overwrite: return "tcgen05.mma (write of D)";
    case TensorAction::accumulate: return "tcgen05.mma (accumulation onto D)";
    case TensorAction::read_of_a: return "tcgen05.mma (read of A in tensor memory)";
    case TensorAction::read_of_scales: return "tcgen05.mma (read of scales)";
    case TensorAction::copy: return "tcgen05.cp (write of tensor memory)";
  }
  return "";
}

}  // namespace

void TensorRules::start(Checker& checker, const Cta& cta) {
  checker_ = &checker;
  cta_ = &cta;
  const u32 warps = static_cast<u32>(cta.warps.size());
  first_agent_ = checker.new_agents(kAgentsOfWarp * warps + 1);
  alloc_agent_ = first_agent_ + kAgentsOfWarp * warps;
  units_.assign(kHalfQuarters * kColumns, Unit{});
  records_.assign(1, Record{});
  after_.assign(cta.threads.size(), ClockRef{});
}

bool TensorRules::knows(const Thread& thread, u32 agent, u32 epoch) const {
  const ClockRef& known = checker_->knowledge(thread);
  return known && known->s.at(agent) >= epoch;
}

TensorRules::Order TensorRules::order(const Record& old, const Record& mine, const Thread& thread,
                                      const TensorRules& issuer) const {
  const bool known = knows(thread, old.agent, old.epoch);
  if (old.of_warp) {
    if (old.warp == thread.warp || !known) return known ? Order::ordered : Order::unordered;
    const ClockRef& after = issuer.after_[thread.index];
    return after && after->s.at(old.fenced) >= old.epoch ? Order::ordered : Order::unfenced;
  }
  if (known) return Order::ordered;
  if (old.thread != thread.check_slot || mine.accumulator == 0) return Order::unordered;
  const bool in_order = old.action == TensorAction::copy || old.accumulator == mine.accumulator;
  return in_order ? Order::ordered : Order::unordered;
}

void TensorRules::touch(const TensorUse& use, const TensorRules& issuer, TensorAction action, const Region& region) {
  if (!checker_) return;
  const Thread& thread = *use.thread;
  if (use.of_warp) {  // lanes that know the same repeat what the first one did
    const ClockRef &known = checker_->knowledge(thread), &after = issuer.after_[thread.index];
    if (last_warp_ == thread.warp && last_agent_ == use.agent && last_epoch_ == use.epoch && last_known_ == known &&
        last_after_ == after)
      return;
    last_warp_ = thread.warp, last_agent_ = use.agent, last_epoch_ = use.epoch;
    last_known_ = known, last_after_ = after;
  }
  const u32 number = static_cast<u32>(records_.size());
  records_.push_back({.action = action,
                      .of_warp = use.of_warp,
                      .agent = use.agent,
                      .epoch = use.epoch,
                      .fenced = use.of_warp ? use.agent + 2 : 0,
                      .thread = thread.check_slot,
                      .warp = thread.warp,
                      .accumulator = use.accumulator,
                      .site = use.origin.site,
                      .from = use.from});
  const Record mine = records_.back();
  bool found = false;
  for (u32 half = 0; half < kHalfQuarters; ++half) {
    const u64 lanes = region.lanes[half / 4] >> half % 4 * kHalfQuarter & 0xFFFF;
    if (lanes == 0) continue;
    Unit before, after;  // of the column before this one
    bool has_before = false;
    for (u32 column = region.first; column < region.last; ++column) {
      Unit& at = unit(half, column);
      if (has_before && at == before) {
        at = after;
        continue;
      }
      before = at;
      found = found || judge(at, mine, thread, issuer, column, half);
      if (is_write(action)) {
        at = {.write = number, .allocated = at.allocated};
      } else {
        u32 place = 0;
        while (place < at.read_count && records_[at.reads[place]].agent != mine.agent) ++place;
        if (place == Unit::kReads) place = 0;
        at.reads[place] = number;
        at.read_count = max(at.read_count, place + 1);
      }
      after = at, has_before = true;
    }
  }
  if (action != TensorAction::load || found) return;
  // Half of the lanes may be those that M = 64 leaves out.
  for (u32 column = region.first; column < region.last; ++column) {
    bool written = false;
    u32 first = kHalfQuarters;
    for (u32 half = kHalfQuarters; half-- > 0;)
      if ((region.lanes[half / 4] >> half % 4 * kHalfQuarter & 0xFFFF) != 0)
        written = written || unit(half, column).write != 0, first = half;
    if (!written && first != kHalfQuarters) return read_of_nothing(mine, column, first);
  }
}

bool TensorRules::judge(const Unit& unit, const Record& mine, const Thread& thread, const TensorRules& issuer,
                        u32 column, u32 half) {
  if (thread.cta == cta_ && !knows(thread, alloc_agent_, unit.allocated)) {
    checker_->report(Rule::data_race, {}, checker_->party(mine.thread, mine.site, name_of(mine.action), mine.from), 0,
                     0, space(column, half), {},
                     "tensor memory is used by a thread that does not know of its allocation",
                     "publish the address that tcgen05.alloc stores by a barrier, and read it behind that");
    return true;
  }
  if (is_write(mine.action))
    for (u32 i = 0; i < unit.read_count; ++i)
      if (const Order verdict = order(records_[unit.reads[i]], mine, thread, issuer); verdict != Order::ordered) {
        conflict(verdict, records_[unit.reads[i]], mine, column, half);
        return true;
      }
  if (unit.write != 0)
    if (const Order verdict = order(records_[unit.write], mine, thread, issuer); verdict != Order::ordered) {
      conflict(verdict, records_[unit.write], mine, column, half);
      return true;
    }
  if (unit.write == 0 && is_read(mine.action) && mine.action != TensorAction::load) {
    read_of_nothing(mine, column, half);
    return true;
  }
  return false;
}

std::string TensorRules::space(u32 column, u32 half) const {
  return fmt::format("tensor memory of CTA {}, column {}, lanes {} to {}", cta_->index, column, half * kHalfQuarter,
                     (half + 1) * kHalfQuarter - 1);
}

void TensorRules::conflict(Order order, const Record& old, const Record& mine, u32 column, u32 half) {
  const bool unfenced = order == Order::unfenced;
  const char* const advice =
      unfenced
          ? "call umma::fence_before() after the wait and before the arrival, and umma::fence_after() after the wait "
            "for it"
      : old.of_warp
          ? "let tcgen05.wait::ld or wait::st complete the access before its warp releases the columns, and wait "
            "for all warps that use them"
      : is_write(old.action) ? "wait for a tcgen05.commit of the thread that issued it, after it"
                             : "wait for a tcgen05.commit after the MMA before its operands are overwritten";
  checker_->report(
      unfenced ? kTensorFence : Rule::data_race, checker_->party(old.thread, old.site, name_of(old.action), old.from),
      checker_->party(mine.thread, mine.site, name_of(mine.action), mine.from), 0, 0, space(column, half), {},
      unfenced ? "two threads use tensor memory one after the other, without tcgen05.fence around their "
                 "synchronisation"
               : "two uses of tensor memory that nothing orders, at least one of them a write",
      advice);
}

void TensorRules::read_of_nothing(const Record& mine, u32 column, u32 half) {
  checker_->report(
      Rule::uninitialised_read, {}, checker_->party(mine.thread, mine.site, name_of(mine.action), mine.from), 0, 0,
      space(column, half), {},
      mine.action == TensorAction::accumulate
          ? "an MMA accumulates onto tensor memory that nothing has written since its allocation"
          : "tensor memory is read that nothing has written since its allocation",
      mine.action == TensorAction::accumulate ? "let the first MMA of an accumulator overwrite it" : nullptr);
}

// --- allocation ---------------------------------------------------------------------------------------------------

void TensorRules::pair_allocates(Thread& thread, const Cta& peer, arch::Site site) const {
  if (!checker_) return;
  const bool passed = cta_->cluster->phase != 0 && !(thread.cluster_arrived && thread.cluster_phase == 0);
  if (passed) return;  // a cluster barrier
  for (const Thread& other : peer.threads)
    if (const ClockRef& known = checker_->knowledge(thread); known && known->executed().at(other.check_slot) != 0)
      return;
  checker_->report(kTensorMemory, {},
                   checker_->party(thread.check_slot, site, "tcgen05.alloc.cta_group::2", thread.call), 0, 0,
                   fmt::format("tensor memory of CTA {}", cta_->index), {},
                   "columns are allocated for a pair by a CTA that does not know that its peer has started",
                   "put a cluster barrier before tcgen05.alloc.cta_group::2");
}

void TensorRules::granted(u32 base, u32 columns, u32 number) {
  if (!checker_) return;
  for (u32 half = 0; half < kHalfQuarters; ++half)
    for (u32 column = base; column < base + columns; ++column) unit(half, column) = {.allocated = number};
}

void TensorRules::allocated(Thread& thread, u32 number) const {
  if (checker_) checker_->learn(thread, alloc_agent_, number);
}

void TensorRules::freed(Thread& thread, const TensorRules& issuer, u32 base, u32 columns, arch::Site site) {
  if (!checker_) return;
  const Record mine{.thread = thread.check_slot, .warp = thread.warp, .site = site, .from = thread.call};
  const auto report = [&](Rule rule, const Record* old, u32 column, u32 half, const char* what, const char* advice) {
    checker_->report(rule,
                     old ? checker_->party(old->thread, old->site, name_of(old->action), old->from) : FindingParty{},
                     checker_->party(thread.check_slot, site, "tcgen05.dealloc", thread.call), 0, 0,
                     space(column, half), {}, what, advice);
  };
  for (u32 half = 0; half < kHalfQuarters; ++half)
    for (u32 column = base; column < base + columns; ++column) {
      const Unit& at = unit(half, column);
      if (!knows(thread, alloc_agent_, at.allocated))
        return report(kTensorMemory, nullptr, column, half,
                      "columns are freed while an allocation of the peer CTA may still be open",
                      "let both CTAs of the pair pass a cluster barrier between tcgen05.alloc and dealloc");
      for (u32 i = 0; i <= at.read_count; ++i) {
        const u32 number = i == 0 ? at.write : at.reads[i - 1];
        if (number == 0) continue;
        const Order verdict = order(records_[number], mine, thread, issuer);
        if (verdict == Order::ordered) continue;
        if (verdict == Order::unfenced)
          return report(kTensorFence, &records_[number], column, half,
                        "columns are freed without tcgen05.fence between their last use and tcgen05.dealloc",
                        "call umma::fence_before() before the synchronisation and umma::fence_after() behind it");
        return report(kTensorMemory, &records_[number], column, half,
                      thread.cta == cta_ ? "columns are freed that may still be in use"
                                         : "columns of a pair are freed while the peer CTA may still use its own",
                      "wait for all uses of the columns, in both CTAs of a pair, before tcgen05.dealloc");
      }
    }
}

// --- loads and stores ---------------------------------------------------------------------------------------------

u32 TensorRules::agent_of(const Thread& thread, bool is_store) const {
  return first_agent_ + kAgentsOfWarp * (thread.index / kLanesOfWarp) + is_store;
}

void TensorRules::waited(Thread& thread, bool stores, u32 count) const {
  if (checker_) checker_->learn(thread, agent_of(thread, stores), count);
}

void TensorRules::fence_before(Thread& thread, u32 loads, u32 stores) const {
  if (!checker_) return;
  checker_->learn(thread, agent_of(thread, false) + 2, loads);
  checker_->learn(thread, agent_of(thread, true) + 2, stores);
}

void TensorRules::fence_after(Thread& thread) {
  if (checker_) after_[thread.index] = checker_->knowledge(thread);
}

void TensorRules::registers_touched(Checker& checker, Thread& thread, Origin issued, arch::Site touched, bool write,
                                    const char* how) {
  checker.report(Rule::accumulator_in_flight, checker.party(thread.check_slot, issued.site, "tcgen05.ld"),
                 checker.party(thread.check_slot, touched, write ? "write of its registers" : "read of its registers"),
                 0, 0, "registers", {}, how);
}

}  // namespace ww::emu::sm100
