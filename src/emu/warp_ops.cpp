// SPDX-License-Identifier: Apache-2.0
// elect, __syncwarp, shuffle, vote.
#include "emu/warp_ops.hpp"

#include "emu/warp_meeting.hpp"

namespace ww::emu {
namespace {

WarpMeeting& sync_of(Warp& warp, u32 mask) {
  for (WarpMeeting& sync : warp.syncs)
    if (sync.mask == mask) return sync;
  warp.syncs.emplace_back().mask = mask;
  return warp.syncs.back();
}

}  // namespace

bool elect(Thread& thread) {
  const u64 warp = u64{thread.cta->index} * 64 + thread.index / kWarpSize;
  return thread.lane() == mix(thread.machine->seed() + warp * 0x9E3779B97F4A7C15ull) % kWarpSize;
}

void sync_warp(Thread& thread, u32 mask, arch::Site site) {
  Machine& machine = *thread.machine;
  const u32 bit = 1u << thread.lane();
  if (!(mask & bit))
    machine.fail({&thread, site},
                 fmt::format("syncwarp over lanes 0x{:08x} by lane {}, which is not one of them", mask, thread.lane()),
                 Rule::divergent_call);
  WarpMeeting* sync = &sync_of(*thread.warp, mask);
  sync->arrived |= bit;
  machine.meets(thread);
  const std::ptrdiff_t place = sync - thread.warp->syncs.data();
  const u32 round = sync->round, which = static_cast<u32>(place);
  Checker* const checker = machine.checker();
  if (checker) checker->warp_meets(thread, which, sync->arrived == mask);
  if (sync->arrived == mask) {
    if (checker && mask == ~0u) expect_none_skipped(thread, "bar.warp.sync", site);
    sync->arrived = 0;
    ++sync->round;
    machine.wake_all(sync->waiters);
    if (checker) checker->warp_parted(thread, which, round);
    return;
  }
  while (sync->round == round) {
    sync->waiters.push(thread);
    machine.park(thread, Wait::warp, site, mask);
    sync = &thread.warp->syncs[static_cast<std::size_t>(place)];  // another mask may have made the list grow
  }
  if (checker) checker->warp_parted(thread, which, round);
}

u32 shuffle(Thread& thread, u32 value, u32 lane_or_delta, arch::ShuffleMode mode, arch::Site site) {
  const u32 half = meet(thread, 1 + static_cast<u32>(mode), value, site, [](u32) {});
  const u32 lane = thread.lane();
  u32 from = lane;
  switch (mode) {
    case arch::ShuffleMode::index: from = lane_or_delta % kWarpSize; break;
    case arch::ShuffleMode::up: from = lane_or_delta <= lane ? lane - lane_or_delta : lane; break;
    case arch::ShuffleMode::down: from = lane + lane_or_delta < kWarpSize ? lane + lane_or_delta : lane; break;
    case arch::ShuffleMode::butterfly: from = (lane ^ lane_or_delta) % kWarpSize; break;
  }
  return thread.warp->values[half][from];
}

u32 vote(Thread& thread, bool predicate, arch::VoteMode mode, arch::Site site) {
  const u32 half = meet(thread, 16 + static_cast<u32>(mode), predicate, site, [](u32) {});
  u32 ballot = 0;
  for (u32 lane = 0; lane < kWarpSize; ++lane) ballot |= thread.warp->values[half][lane] << lane;
  switch (mode) {
    case arch::VoteMode::ballot: return ballot;
    case arch::VoteMode::any: return ballot != 0;
    case arch::VoteMode::all: return ballot == ~0u;
  }
  return 0;
}

}  // namespace ww::emu
