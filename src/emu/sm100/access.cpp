// SPDX-License-Identifier: Apache-2.0
// tcgen05.ld and tcgen05.st of a warp, their waits, and the fences.
#include <fmt/format.h>

#include <algorithm>

#include "emu/aligned.hpp"
#include "emu/check/checker.hpp"
#include "emu/sm100/engine.hpp"
#include "emu/sm100/model.hpp"
#include "emu/timeline.hpp"

namespace ww::emu::sm100 {
namespace {

TensorThread& state_of(Thread& thread) { return thread.engine.as<TensorThread>(); }
const char* access_name(bool is_store) { return is_store ? "tcgen05.st" : "tcgen05.ld"; }

bool same(const TensorAccess& a, const TensorAccess& b) {
  return a.shape == b.shape && a.repetitions == b.repetitions && a.packed == b.packed && a.split == b.split;
}

/// The lanes and columns from the first to the last that an access touches.
Region region_of(const TensorAccess& form, u32 address) {
  Region region{column_of(address), column_of(address) + static_cast<u32>(form.columns()), {}};
  region.add_lanes(lane_of(address), static_cast<u32>(form.lanes()));
  return region;
}

void widen_in_flight(Thread& thread, const u32* registers, int count) {
  arch::StackHead& head = thread.head();
  const u64 first = reinterpret_cast<u64>(registers);
  head.in_flight_begin = min(head.in_flight_begin, first);
  head.in_flight_end = max(head.in_flight_end, first + 4 * static_cast<u64>(count));
}

}  // namespace

/// Reports what no warp may access; the lanes are its own quarter.
void TensorEngine::check_access(Thread& thread, bool is_store, const TensorAccess& form, u32 address,
                                arch::Site site) const {
  const Origin origin{&thread, site};
  if (!form.exists())
    refuse(origin, fmt::format("{}: .x{} does not exist for this shape", access_name(is_store), form.repetitions));
  if (form.packed && form.shape == arch::TensorShape::lanes16_bits32_split && form.split == 0)
    refuse(origin, fmt::format("{}: split: expected at least 1 column, got 0", access_name(is_store)));
  const u32 own = thread.index / kWarpSize % 4 * kLanesOfWarp, lane = lane_of(address);
  if (lane != own && !(lane == own + 16 && form.lanes() == 16))
    refuse(origin,
           fmt::format("{}: address 0x{:08x} names lane {}; warp {} may access lanes {} to {}, expected lane {}{}",
                       access_name(is_store), address, lane, thread.index / kWarpSize, own, own + kLanesOfWarp - 1, own,
                       form.lanes() == 16 ? fmt::format(" or {}", own + 16) : ""),
           kTensorMemory);
  if (const std::string fault = memory_.fault_of_columns(column_of(address), static_cast<u32>(form.columns()));
      !fault.empty())
    refuse(origin, fmt::format("{}: {}", access_name(is_store), fault), kTensorMemory);
}

TensorEngine::WarpAccess& TensorEngine::deposit(Thread& thread, bool is_store, const TensorAccess& form, u32 address,
                                                arch::Site site) {
  TensorThread& own = state_of(thread);
  WarpQueue& warp = warps_[thread.index / kWarpSize];
  const u32 turn = own.accesses++;
  ++(is_store ? own.stores : own.loads);
  if (turn == warp.accesses.end()) {
    check_access(thread, is_store, form, address, site);
    WarpAccess& fresh = warp.accesses.append();
    fresh.is_store = is_store, fresh.done = false;
    fresh.form = form, fresh.address = address;
    fresh.origin = {&thread, site}, fresh.from = thread.call;
    fresh.deposits = fresh.returned = 0;
    fresh.values.assign(static_cast<std::size_t>(form.registers()) * kLanesOfWarp, kPoisonBits);
  }
  WarpAccess& access = warp.accesses[turn];
  if (access.is_store != is_store || access.address != address || !same(access.form, form))
    refuse({&thread, site},
           fmt::format("{} diverges in its warp: lanes name different accesses", access_name(is_store)),
           Rule::divergent_call, {.origin = access.origin, .operation = access_name(access.is_store)});
  access.deposits |= 1u << thread.lane();
  const TensorUse use{.thread = &thread,
                      .origin = {&thread, site},
                      .from = thread.call,
                      .agent = rules_.agent_of(thread, is_store),
                      .epoch = is_store ? own.stores : own.loads,
                      .of_warp = true};
  rules_.touch(use, rules_, is_store ? TensorAction::store : TensorAction::load, region_of(form, address));
  return access;
}

void TensorEngine::load(Thread& thread, const TensorAccess& form, u32 address, u32* registers, arch::Site site) {
  aligned_call(thread, "tcgen05.ld.sync.aligned", site);
  WarpAccess& access = deposit(thread, false, form, address, site);
  access.registers[thread.lane()] = registers;
  std::fill_n(registers, form.registers(), kPoisonBits);
  widen_in_flight(thread, registers, form.registers());
  if (access.deposits != ~0u) return;
  if (busy()) ++cta_.machine->counters().results_under_mma;
  note_issue(thread, [&] { return busy() ? "tcgen05.ld, under MMAs" : "tcgen05.ld"; });
  queue(warps_[thread.index / kWarpSize]);
}

void TensorEngine::store(Thread& thread, const TensorAccess& form, u32 address, const u32* registers, arch::Site site) {
  aligned_call(thread, "tcgen05.st.sync.aligned", site);
  WarpAccess& access = deposit(thread, true, form, address, site);
  const u32 count = static_cast<u32>(form.registers());
  std::copy_n(registers, count, &access.values[thread.lane() * count]);
  if (access.deposits == ~0u) queue(warps_[thread.index / kWarpSize]);
}

void TensorEngine::queue(WarpQueue& warp) {
  if (warp.queued) return;
  for (u32 turn = warp.accesses.begin(); turn != warp.accesses.end(); ++turn)
    if (!warp.accesses[turn].done && warp.accesses[turn].deposits == ~0u) {
      warp.queued = true;
      return cta_.machine->submit(warp.task);
    }
}

/// Drops the oldest accesses that are executed and, if they are loads, have returned all registers.
void TensorEngine::drop_finished(WarpQueue& warp) {
  while (warp.accesses.begin() != warp.accesses.end()) {
    const WarpAccess& first = warp.accesses[warp.accesses.begin()];
    if (!first.done || !(first.is_store || first.returned == ~0u)) break;
    warp.accesses.drop_first();
  }
}

/// Executes one of the accesses that all lanes have issued; nothing orders them.
void TensorEngine::execute_next(WarpQueue& warp) {
  warp.queued = false;
  WarpAccess* chosen = nullptr;
  for (u32 turn = warp.accesses.begin(); turn != warp.accesses.end(); ++turn) {
    WarpAccess& access = warp.accesses[turn];
    if (access.done || access.deposits != ~0u) continue;
    chosen = &access;
    if (!cta_.machine->fails_spuriously(2)) break;
  }
  WarpAccess& access = *chosen;
  const int count = access.form.registers();
  const u32 lane = lane_of(access.address), column = column_of(access.address);
  for (u32 thread = 0; thread < kLanesOfWarp; ++thread)
    for (int i = 0; i < count; ++i) {
      const Place place = register_place(access.form, static_cast<int>(thread), i);
      const u32 l = lane + static_cast<u32>(place.lane), c = column + static_cast<u32>(place.column), next = c + 1;
      u32& value = access.values[thread * static_cast<u32>(count) + static_cast<u32>(i)];
      if (access.is_store) {
        memory_.at(l, c) = access.form.packed ? value & 0xFFFF : value;
        if (access.form.packed) memory_.at(l, next) = value >> 16;
      } else {
        value = memory_.seen(l, c);
        if (access.form.packed) value = (value & 0xFFFF) | memory_.seen(l, next) << 16;
      }
    }
  access.done = true;
  drop_finished(warp);
  cta_.machine->wake_all(warp.waiters);
  queue(warp);
}

void TensorEngine::wait(Thread& thread, bool stores, arch::Site site) {
  aligned_call(thread, stores ? "tcgen05.wait::st.sync.aligned" : "tcgen05.wait::ld.sync.aligned", site);
  TensorThread& own = state_of(thread);
  WarpQueue& warp = warps_[thread.index / kWarpSize];
  const u32 end = own.accesses;
  const auto missing = [&] {
    for (u32 turn = warp.accesses.begin(); static_cast<i32>(end - turn) > 0; ++turn)
      if (warp.accesses[turn].is_store == stores && !warp.accesses[turn].done) return true;
    return false;
  };
  while (missing()) {
    warp.waiters.push(thread);
    thread.machine->park(thread, Wait::cta_engine, site, static_cast<u32>(stores ? For::stores : For::loads));
  }
  if (stores) own.stores_waited = own.stores;
  else own.loads_waited = own.loads;
  rules_.waited(thread, stores, stores ? own.stores : own.loads);
  if (stores) return;
  thread.head().in_flight_begin = ~u64{0}, thread.head().in_flight_end = 0;
  for (u32 turn = warp.accesses.begin(); static_cast<i32>(end - turn) > 0; ++turn) {
    WarpAccess& access = warp.accesses[turn];
    const u32 lane = 1u << thread.lane(), count = static_cast<u32>(access.form.registers());
    if (access.is_store || (access.returned & lane) != 0) continue;
    access.returned |= lane;
    u32* const registers = access.registers[thread.lane()];
    if (Checker* checker = thread.machine->checker();
        checker && std::any_of(registers, registers + count, [](u32 r) { return r != kPoisonBits; }))
      TensorRules::registers_touched(*checker, thread, access.origin, site, true,
                                     "registers were written between a tcgen05.ld and its wait");
    std::copy_n(&access.values[thread.lane() * count], count, registers);
  }
  drop_finished(warp);
}

void TensorEngine::fence(Thread& thread, bool before, arch::Site) {
  const TensorThread& own = state_of(thread);
  if (before) rules_.fence_before(thread, own.loads_waited, own.stores_waited);
  else rules_.fence_after(thread);
}

u32 TensorEngine::executed_accesses(const Thread& thread) const {
  auto& warp = const_cast<WarpQueue&>(warps_[thread.index / kWarpSize]);
  u32 executed = warp.accesses.begin();
  for (u32 turn = warp.accesses.begin(); turn != warp.accesses.end(); ++turn) executed += warp.accesses[turn].done;
  return executed;
}

void TensorEngine::local_access(Checker& checker, Thread& thread, u64 address, u32 bytes, bool write,
                                arch::Site site) const {
  auto& warp = const_cast<WarpQueue&>(warps_[thread.index / kWarpSize]);
  for (u32 turn = warp.accesses.begin(); turn != warp.accesses.end(); ++turn) {
    const WarpAccess& access = warp.accesses[turn];
    const u32 lane = thread.lane();
    if (access.is_store || (access.deposits >> lane & 1) == 0 || (access.returned >> lane & 1) != 0) continue;
    const u64 first = reinterpret_cast<u64>(access.registers[lane]);
    if (address < first + 4 * static_cast<u64>(access.form.registers()) && address + bytes > first)
      TensorRules::registers_touched(checker, thread, access.origin, site, write,
                                     "registers are touched between a tcgen05.ld and the tcgen05.wait::ld after it");
  }
}

}  // namespace ww::emu::sm100
