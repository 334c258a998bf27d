// SPDX-License-Identifier: Apache-2.0
// The queues of MMAs, copies and commits: issue, the order of execution, arrivals.
#include "emu/sm100/engine.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "emu/check/checker.hpp"
#include "emu/mbarrier.hpp"
#include "emu/memory.hpp"
#include "emu/sm100/model.hpp"
#include "emu/sm100/operands.hpp"
#include "emu/timeline.hpp"
#include "emu/tma_engine.hpp"

namespace ww::emu::sm100 {

TensorEngine& engine_of(Thread& thread, arch::Site site) {
  Engine* const engine = thread.cta->engine.get();
  if (!engine || engine->kind != &TensorEngine::kKind) [[unlikely]]
    thread.machine->fail({&thread, site}, "tcgen05 on a machine that does not have it");
  return static_cast<TensorEngine&>(*engine);
}

TensorEngine::TensorEngine(Cta& cta) : Engine(&kKind), cta_(cta) {}

void TensorEngine::reset() {
  memory_.reset();
  rules_ = {};
  group_ = {};
  relinquished_ = false;
  least_columns_ = last_request_ = 0;
  requests_.clear(), freed_.clear();
  allocators_ = {};
  issuers_.clear();
  arrivals_.clear();
  warps_.clear();
  warps_.resize(cta_.warps.size());
  for (u32 w = 0; w < warps_.size(); ++w) {
    Operation& task = warps_[w].task;
    task.kind = Operation::Kind::engine, task.engine = this, task.cta = &cta_;
    task.group = static_cast<u32>(Task::warp), task.shared = w;
  }
  mmas_in_flight_ = arrivals_in_flight_ = 0;
}

bool TensorEngine::computes() const { return cta_.machine->context().options.math != EmuMath::off; }

void TensorEngine::refuse(Origin origin, std::string what, Rule rule, Counterpart other) const {
  cta_.machine->fail(origin, std::move(what), rule, other);
}

TensorEngine::Ctas TensorEngine::ctas_of(Thread& thread, arch::CtaGroup group, const char* instruction,
                                         arch::Site site) {
  const Origin origin{&thread, site};
  if (group_ == arch::CtaGroup{}) group_ = group;
  if (group != group_)
    refuse(origin,
           fmt::format("{} has .cta_group::{}, and earlier tcgen05 instructions of the CTA have .cta_group::{}; "
                       "a kernel uses one of them",
                       instruction, arch::ctas_of(group), arch::ctas_of(group_)));
  if (group == arch::CtaGroup::one) return {{&cta_, nullptr}};
  const auto& ctas = cta_.cluster->ctas;
  if (ctas.size() % 2 != 0)
    refuse(origin,
           fmt::format("{}.cta_group::2 in a cluster of {} CTAs; expected an even number, because ranks r and r "
                       "^ 1 are a pair",
                       instruction, ctas.size()));
  return {{ctas[cta_.rank & ~1u].get(), ctas[cta_.rank | 1u].get()}};
}

// --- issue --------------------------------------------------------------------------------------------------------

TensorEngine::Issuer& TensorEngine::issuer_of(Thread& thread) {
  for (const auto& issuer : issuers_)
    if (issuer->thread == &thread) return *issuer;
  Issuer& issuer = *issuers_.emplace_back(std::make_unique<Issuer>());
  issuer.thread = &thread;
  issuer.task.kind = Operation::Kind::engine, issuer.task.engine = this, issuer.task.cta = &cta_;
  issuer.task.group = static_cast<u32>(Task::issuer), issuer.task.shared = static_cast<u32>(issuers_.size() - 1);
  if (Checker* checker = thread.machine->checker())
    issuer.agent = checker->new_agents(1 + static_cast<u32>(cta_.cluster->ctas.size()));
  return issuer;
}

void TensorEngine::queue(Issuer& issuer) {
  if (issuer.queued || issuer.entries.empty()) return;
  issuer.queued = true;
  cta_.machine->submit(issuer.task);
}

void TensorEngine::mma(Thread& thread, const arch::UmmaCall& call, arch::Site site) {
  Entry entry{
      .kind = Entry::Kind::mma, .group = call.group, .origin = {&thread, site}, .from = thread.call, .call = call};
  const Ctas ctas = ctas_of(thread, call.group, "tcgen05.mma", site);
  check_mma(entry, ctas);
  if (call.disabled_lanes) std::copy_n(call.disabled_lanes, 4 * ctas.count(), entry.disabled);
  Issuer& issuer = issuer_of(thread);
  entry.number = ++issuer.issued;
  const Region d = accumulator_region(entry.extent(), call.d);
  for (int i = 0; i < ctas.count(); ++i) {
    entry.flights[i] = of(*ctas.at[i]).memory_.takes_off(d);
    ++of(*ctas.at[i]).mmas_in_flight_;
  }
  note_issue(thread, [&] { return "tcgen05.mma"; });
  if (thread.machine->checker() || !computes()) judge_mma(thread, entry, ctas, issuer.agent);
  issuer.entries.push_back(std::move(entry));
  thread.machine->progress();
  queue(issuer);
}

void TensorEngine::copy(Thread& thread, arch::CtaGroup group, arch::CopyShape shape, arch::CopyUnpack unpack,
                        u32 address, u64 descriptor, arch::Site site) {
  Entry entry{.kind = Entry::Kind::copy, .group = group, .origin = {&thread, site}, .from = thread.call};
  entry.shape = shape, entry.unpack = unpack, entry.address = address, entry.descriptor = descriptor;
  const Ctas ctas = ctas_of(thread, group, "tcgen05.cp", site);
  const u32 columns = static_cast<u32>(columns_of(shape));
  if (lane_of(address) != 0)
    refuse(entry.origin,
           fmt::format("tcgen05.cp: address 0x{:08x} names lane {}; expected lane 0", address, lane_of(address)),
           kTensorMemory);
  if (const std::string fault = copy_fault(descriptor); !fault.empty()) refuse(entry.origin, "tcgen05.cp: " + fault);
  Issuer& issuer = issuer_of(thread);
  entry.number = ++issuer.issued;
  for (int i = 0; i < ctas.count(); ++i) {
    check_columns(entry, *ctas.at[i], column_of(address), columns, "tcgen05.cp");
    entry.flights[i] = of(*ctas.at[i]).memory_.takes_off(copy_region(shape, address));
  }
  if (thread.machine->checker() || !computes()) judge_copy(thread, entry, ctas, issuer.agent);
  ++thread.machine->counters().mma_copies;
  note_issue(thread, [&] { return "tcgen05.cp"; });
  issuer.entries.push_back(std::move(entry));
  thread.machine->progress();
  queue(issuer);
}

void TensorEngine::commit(Thread& thread, arch::CtaGroup group, u32 barrier, u32 multicast, arch::Site site) {
  const Origin origin{&thread, site};
  ctas_of(thread, group, "tcgen05.commit", site);
  const SharedPlace place = shared_place(thread, barrier, 8, 8, site);
  const auto& ctas = cta_.cluster->ctas;
  const u32 named = multicast_mask(thread, multicast, "tcgen05.commit", site);
  Issuer& issuer = issuer_of(thread);
  note_issue(thread, [&] { return "tcgen05.commit" + multicast_words(named); });
  Entry entry{.kind = Entry::Kind::commit, .number = ++issuer.issued, .group = group, .origin = origin};
  const u32 mask = named != 0 ? named : 1u << place.cta->rank;
  for (const auto& target : ctas) {
    if ((mask >> target->rank & 1) == 0) continue;
    barrier_at(*target, place.offset, origin);  // reports a barrier that is not there
    u32 index = 0;
    while (index < arrivals_.size() && !arrivals_[index].idle) ++index;
    if (index == arrivals_.size()) arrivals_.emplace_back();
    Arrival& arrival = arrivals_[index];
    arrival.idle = false;
    arrival.target = target.get();
    Operation& task = arrival.task;
    task.kind = Operation::Kind::engine, task.engine = this, task.cta = &cta_, task.origin = origin;
    task.group = static_cast<u32>(Task::arrival), task.shared = index, task.barrier = place.offset;
    if (Checker* checker = thread.machine->checker())
      task.note = checker->engine_arrives(thread, *target, place.offset, issuer.agent, entry.number, site);
    entry.arrivals.push_back(index);
    ++arrivals_in_flight_;
  }
  issuer.entries.push_back(std::move(entry));
  thread.machine->progress();
  queue(issuer);
}

// --- execution ----------------------------------------------------------------------------------------------------

/// PTX orders these of one thread: MMAs of one accumulator and shape, copies before later MMAs, all before a commit.
bool TensorEngine::may_execute(const Issuer& issuer, std::size_t at) const {
  const Entry& entry = issuer.entries[at];
  if (entry.done) return false;
  for (std::size_t i = 0; i < at; ++i) {
    const Entry& earlier = issuer.entries[i];
    if (earlier.done || earlier.kind == Entry::Kind::commit) continue;
    if (entry.kind == Entry::Kind::commit) return false;
    if (entry.kind == Entry::Kind::copy) continue;
    if (earlier.kind == Entry::Kind::copy || same_accumulator(earlier, entry)) return false;
  }
  return true;
}

void TensorEngine::execute_next(Issuer& issuer) {
  constexpr std::size_t kReach = 24;  // entries that an instruction may overtake
  issuer.queued = false;
  std::size_t chosen = 0;
  for (std::size_t i = 0; i < std::min(issuer.entries.size(), kReach); ++i) {
    if (!may_execute(issuer, i)) continue;
    chosen = i;
    if (!cta_.machine->fails_spuriously(2)) break;
  }
  Entry& entry = issuer.entries[chosen];
  execute(entry);
  entry.done = true;
  while (!issuer.entries.empty() && issuer.entries.front().done) issuer.entries.pop_front();
  queue(issuer);
}

void TensorEngine::execute(Entry& entry) {
  if (entry.kind == Entry::Kind::commit) {
    for (const u32 index : entry.arrivals) cta_.machine->submit(arrivals_[index].task);
    return;
  }
  Ctas ctas{{&cta_, nullptr}};
  if (entry.group == arch::CtaGroup::pair)
    ctas = {{cta_.cluster->ctas[cta_.rank & ~1u].get(), cta_.cluster->ctas[cta_.rank | 1u].get()}};
  for (Cta* cta : ctas.at)
    if (cta && cta->exited())
      refuse(entry.origin,
             fmt::format("{} with the memory of CTA {} (cluster rank {}), which has exited", name_of(entry.kind),
                         cta->index, cta->rank),
             Rule::exited_cta, {.cta = cta});
  if (entry.kind == Entry::Kind::mma) {
    if (computes()) compute(entry, ctas);
    else clear(entry, ctas);
    count_reads(entry, ctas);
    ++cta_.machine->counters().mmas;
    for (int i = 0; i < ctas.count(); ++i) --of(*ctas.at[i]).mmas_in_flight_;
  } else if (computes()) {
    for (int i = 0; i < ctas.count(); ++i) copy_rows(entry, *ctas.at[i]);
  }
  for (int i = 0; i < ctas.count(); ++i) {
    of(*ctas.at[i]).memory_.landed(entry.flights[i]);
    note_effect(*ctas.at[i], "tensor core", [&] { return fmt::format("{} is complete", name_of(entry.kind)); });
  }
}

void TensorEngine::land(Arrival& arrival) {
  arrival.idle = true;
  --arrivals_in_flight_;
  note_effect(*arrival.target, "tensor core", [&] { return "tcgen05.commit arrives"; });
  signal_now(*arrival.target, arrival.task.barrier, 1, 0, 0, arrival.task.origin, arrival.task.note);
}

void TensorEngine::execute(Operation& operation) {
  switch (static_cast<Task>(operation.group)) {
    case Task::issuer: return execute_next(*issuers_[operation.shared]);
    case Task::warp: return execute_next(warps_[operation.shared]);
    case Task::arrival: return land(arrivals_[operation.shared]);
  }
}

const char* TensorEngine::name_of(Entry::Kind kind) {
  return kind == Entry::Kind::mma ? "tcgen05.mma" : kind == Entry::Kind::copy ? "tcgen05.cp" : "tcgen05.commit";
}

std::string TensorEngine::waits_on(const Thread& thread) const {
  const auto& own = const_cast<Thread&>(thread).engine.as<TensorThread>();
  switch (static_cast<For>(thread.wait_a)) {
    case For::columns:
      return fmt::format("tcgen05.alloc of {} columns: {} of {} are free", thread.wait_b, memory_.free_columns(),
                         kColumns);
    case For::pair_columns:
      return fmt::format(
          "tcgen05.alloc.cta_group::2 of {} columns: {} of {} are free, and a warp of the peer CTA has to "
          "allocate too",
          thread.wait_b, memory_.free_columns(), kColumns);
    case For::pair_dealloc: return "tcgen05.dealloc.cta_group::2: no warp of the peer CTA has come";
    case For::loads:
    case For::stores:
      return fmt::format(
          "tcgen05.wait::{}: {} of its {} tcgen05.ld and st of the warp are executed; the others have not "
          "been issued by all 32 lanes",
          static_cast<For>(thread.wait_a) == For::loads ? "ld" : "st", executed_accesses(thread), own.accesses);
  }
  return {};
}

}  // namespace ww::emu::sm100
