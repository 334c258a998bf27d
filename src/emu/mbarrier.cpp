// SPDX-License-Identifier: Apache-2.0
// The mbarrier's rules: life cycle, arrivals, transaction bytes, phases.
#include "emu/mbarrier.hpp"

#include <fmt/format.h>

#include <cstring>

#include "emu/check/checker.hpp"
#include "emu/machine.hpp"
#include "emu/memory.hpp"

namespace ww::emu {
namespace {

constexpr u32 kMaxCount = u32{MachineTraits::kArrivals};  // of arrivals and, either way, of transaction bytes
constexpr u32 kMarkMagic = 0x7261424D;

struct Mark {
  u32 magic;
  u32 index;
};

void write_mark(Cta& cta, u32 offset, Mark mark) { std::memcpy(cta.shared.get() + offset, &mark, sizeof mark); }

bool passed(const MBarrier& barrier, u32 parity) { return (barrier.phase & 1) != parity; }

MBarrier* find_live(Cta& cta, u32 offset) {
  for (MBarrier& barrier : cta.barriers)
    if (barrier.live && barrier.offset == offset) return &barrier;
  return nullptr;
}

void complete_phase_if_due(Machine& machine, MBarrier& barrier) {
  if (barrier.pending != 0 || barrier.bytes != 0) return;
  ++barrier.phase;
  barrier.pending = barrier.count;
  if (Checker* checker = machine.checker()) checker->mbarrier_completed(barrier);
  machine.wake_all(barrier.waiters);
}

void note_passed(Thread& thread, MBarrier& barrier, u32 awaited, arch::Ordering ordering, arch::Site site) {
  if (Checker* checker = thread.machine->checker()) checker->mbarrier_passed(thread, barrier, awaited, ordering, site);
}

void check_parity(Thread& thread, u32 parity, arch::Site site) {
  if (parity > 1)
    thread.machine->fail({&thread, site}, fmt::format("mbarrier wait: parity {}; expected 0 or 1", parity),
                         Rule::phase_misuse);
}

}  // namespace

MBarrier& barrier_at(Cta& cta, u32 offset, Origin origin) {
  Mark mark;
  std::memcpy(&mark, cta.shared.get() + offset, sizeof mark);
  if (mark.magic == kMarkMagic && mark.index < cta.barriers.size()) {
    MBarrier& barrier = cta.barriers[mark.index];
    if (barrier.live && barrier.offset == offset) return barrier;
  }
  const MBarrier* lost = find_live(cta, offset);
  cta.machine->fail(
      origin,
      lost ? fmt::format("mbarrier at offset 0x{:x} of CTA {}: its memory was overwritten", offset, cta.index)
           : fmt::format("mbarrier at offset 0x{:x} of CTA {} is not initialised", offset, cta.index),
      lost ? Rule::data_race : Rule::phase_misuse, {.barrier = lost ? lost->check_number : ~0u});
}

void mbarrier_init(Thread& thread, u32 address, u32 count, arch::Site site) {
  const SharedPlace place = own_shared_place(thread, address, 8, 8, "mbarrier.init", site);
  Cta& cta = *place.cta;
  if (count < 1 || count > kMaxCount)
    thread.machine->fail({&thread, site}, fmt::format("mbarrier.init: count {}; expected 1 to {}", count, kMaxCount));
  if (const MBarrier* old = find_live(cta, place.offset))
    thread.machine->fail({&thread, site},
                         fmt::format("mbarrier at offset 0x{:x} is initialised again; it is live since line {}",
                                     place.offset, old->site.line),
                         Rule::phase_misuse, {.barrier = old->check_number});
  MBarrier barrier;
  barrier.offset = place.offset;
  barrier.count = barrier.pending = count;
  barrier.site = site;
  barrier.live = true;
  write_mark(cta, place.offset, {kMarkMagic, static_cast<u32>(cta.barriers.size())});
  if (Checker* checker = thread.machine->checker()) checker->mbarrier_initialised(thread, barrier, site);
  cta.barriers.push_back(barrier);
  thread.machine->progress();
}

void mbarrier_invalidate(Thread& thread, u32 address, arch::Site site) {
  const SharedPlace place = own_shared_place(thread, address, 8, 8, "mbarrier.inval", site);
  MBarrier& barrier = barrier_at(*place.cta, place.offset, {&thread, site});
  if (!barrier.waiters.empty())
    thread.machine->fail({&thread, site},
                         fmt::format("mbarrier at offset 0x{:x} is invalidated while threads wait on it", place.offset),
                         Rule::phase_misuse, other_of(barrier.waiters, "wait for the mbarrier"));
  if (Checker* checker = thread.machine->checker()) checker->mbarrier_invalidated(thread, barrier, site);
  barrier.live = false;
  write_mark(*place.cta, place.offset, {~0u, ~0u});
}

void signal_now(Cta& cta, u32 offset, u32 arrivals, i64 expect, i64 arrived, Origin origin, u32 note,
                arch::Ordering ordering) {
  Machine& machine = *cta.machine;
  if (cta.exited())
    machine.fail(origin,
                 fmt::format("signal to the mbarrier at offset 0x{:x} of CTA {}, which has exited", offset, cta.index),
                 Rule::exited_cta, {.cta = &cta});
  MBarrier& barrier = barrier_at(cta, offset, origin);
  machine.progress();
  if (Checker* checker = machine.checker())
    checker->mbarrier_signalled(cta, barrier, arrivals, expect, arrived, origin, note, ordering);
  barrier.bytes += expect - arrived;
  if (barrier.bytes > i64{kMaxCount} || barrier.bytes < -i64{kMaxCount})
    machine.fail(origin,
                 fmt::format("mbarrier at offset 0x{:x} of CTA {}: transaction count {} is out of range", offset,
                             cta.index, barrier.bytes),
                 Rule::transaction_count, {.barrier = barrier.check_number});
  if (arrivals > barrier.pending)
    machine.fail(
        origin,
        fmt::format("mbarrier at offset 0x{:x} of CTA {}: arrival underflow, {} more arrive where {} of {} are pending",
                    offset, cta.index, arrivals, barrier.pending, barrier.count),
        Rule::arrival_underflow, {.barrier = barrier.check_number});
  barrier.pending -= arrivals;
  if (barrier.pending == 0 && barrier.bytes < 0)
    machine.fail(
        origin,
        fmt::format("mbarrier at offset 0x{:x} of CTA {}: {} bytes more than announced, and no arrival is pending",
                    offset, cta.index, -barrier.bytes),
        Rule::transaction_count, {.barrier = barrier.check_number});
  complete_phase_if_due(machine, barrier);
}

void mbarrier_signal(Thread& thread, u32 address, u32 arrivals, u32 bytes, arch::Ordering ordering, arch::Site site) {
  Machine& machine = *thread.machine;
  const SharedPlace place = shared_place(thread, address, 8, 8, site);
  if (place.cta == thread.cta)
    return signal_now(*place.cta, place.offset, arrivals, bytes, 0, {&thread, site}, 0, ordering);
  Operation& operation = machine.new_operation(Operation::Kind::remote_arrive, {&thread, site});
  operation.cta = place.cta;
  operation.barrier = place.offset;
  operation.arrivals = arrivals;
  operation.expect_bytes = bytes;
  ++place.cta->cluster->remote_arrivals;
  if (Checker* checker = machine.checker())
    operation.note = checker->remote_arrive(thread, *place.cta, place.offset, ordering, site);
  machine.submit(operation);
}

bool mbarrier_try_wait(Thread& thread, u32 address, u32 parity, arch::Ordering ordering, arch::Site site) {
  check_parity(thread, parity, site);
  const SharedPlace place = own_shared_place(thread, address, 8, 8, "mbarrier.try_wait", site);
  const auto look = [&] {
    MBarrier& barrier = barrier_at(*place.cta, place.offset, {&thread, site});
    const bool now = passed(barrier, parity);
    if (now) note_passed(thread, barrier, barrier.phase - 1, ordering, site);
    return now;
  };
  const bool now = passed(barrier_at(*place.cta, place.offset, {&thread, site}), parity);
  if (now && !thread.machine->dawdle(8)) return look();
  thread.machine->poll(thread, Wait::mbarrier, site, place.offset, parity);
  return !now && look();
}

void mbarrier_wait(Thread& thread, u32 address, u32 parity, arch::Ordering ordering, arch::Site site) {
  Machine& machine = *thread.machine;
  check_parity(thread, parity, site);
  const SharedPlace place = own_shared_place(thread, address, 8, 8, "mbarrier.try_wait", site);
  MBarrier& first = barrier_at(*place.cta, place.offset, {&thread, site});
  const u32 awaited = passed(first, parity) ? first.phase - 1 : first.phase;
  if (passed(first, parity)) {
    if (!machine.dawdle(16)) return note_passed(thread, first, awaited, ordering, site);
    machine.yield(thread);
  }
  for (;;) {
    // Looked up again each time, because the thread may be late and the phase after the awaited one may have completed.
    MBarrier& barrier = barrier_at(*place.cta, place.offset, {&thread, site});
    if (passed(barrier, parity)) return note_passed(thread, barrier, awaited, ordering, site);
    barrier.waiters.push(thread);
    machine.park(thread, Wait::mbarrier, site, place.offset, parity);
  }
}

}  // namespace ww::emu
