// SPDX-License-Identifier: Apache-2.0
// The collective operations of a warp; all 32 lanes take part in each.
// PTX ISA: elect.sync, bar.warp.sync, shfl.sync, vote.sync.
#pragma once

#include "warpwright/arch/common/special.hpp"

namespace ww::arch::warp {

inline constexpr u32 kAllLanes = 0xffffffffu;

#if defined(__CUDACC__)
inline namespace ptx {
/// Returns true in exactly one lane, which the hardware chooses.
WW_DEVICE bool elect() {
  u32 elected;
  asm volatile(
      "{\n.reg .pred p;\n"
      "elect.sync _|p, 0xffffffff;\n"
      "selp.u32 %0, 1, 0, p;\n}"
      : "=r"(elected));
  return elected != 0;
}
/// Synchronises the lanes of `mask`; memory that they wrote before is visible to each of them after.
WW_DEVICE void sync(u32 mask = kAllLanes) { asm volatile("bar.warp.sync %0;" ::"r"(mask) : "memory"); }
WW_DEVICE u32 shuffle(u32 value, u32 lane) {
  u32 r;
  asm volatile("shfl.sync.idx.b32 %0, %1, %2, 0x1f, 0xffffffff;" : "=r"(r) : "r"(value), "r"(lane));
  return r;
}
WW_DEVICE u32 shuffle_up(u32 value, u32 delta) {
  u32 r;
  asm volatile("shfl.sync.up.b32 %0, %1, %2, 0x0, 0xffffffff;" : "=r"(r) : "r"(value), "r"(delta));
  return r;
}
WW_DEVICE u32 shuffle_down(u32 value, u32 delta) {
  u32 r;
  asm volatile("shfl.sync.down.b32 %0, %1, %2, 0x1f, 0xffffffff;" : "=r"(r) : "r"(value), "r"(delta));
  return r;
}
WW_DEVICE u32 shuffle_xor(u32 value, u32 lane_mask) {
  u32 r;
  asm volatile("shfl.sync.bfly.b32 %0, %1, %2, 0x1f, 0xffffffff;" : "=r"(r) : "r"(value), "r"(lane_mask));
  return r;
}
WW_DEVICE u32 ballot(bool predicate) {
  u32 r;
  asm volatile("{\n.reg .pred p;\nsetp.ne.u32 p, %1, 0;\nvote.sync.ballot.b32 %0, p, 0xffffffff;\n}"
               : "=r"(r)
               : "r"(static_cast<u32>(predicate)));
  return r;
}
WW_DEVICE bool any(bool predicate) { return ballot(predicate) != 0; }
WW_DEVICE bool all(bool predicate) { return ballot(predicate) == kAllLanes; }
}  // namespace ptx
#else
inline namespace emu {
WW_DEVICE bool elect(WW_SITE_ONLY) { return table->elect(site); }
WW_DEVICE void sync(u32 mask = kAllLanes WW_SITE) { table->sync_warp(mask, site); }
WW_DEVICE u32 shuffle(u32 value, u32 lane WW_SITE) { return table->shuffle(value, lane, ShuffleMode::index, site); }
WW_DEVICE u32 shuffle_up(u32 value, u32 delta WW_SITE) { return table->shuffle(value, delta, ShuffleMode::up, site); }
WW_DEVICE u32 shuffle_down(u32 value, u32 delta WW_SITE) {
  return table->shuffle(value, delta, ShuffleMode::down, site);
}
WW_DEVICE u32 shuffle_xor(u32 value, u32 lane_mask WW_SITE) {
  return table->shuffle(value, lane_mask, ShuffleMode::butterfly, site);
}
WW_DEVICE u32 ballot(bool predicate WW_SITE) { return table->vote(predicate, VoteMode::ballot, site); }
WW_DEVICE bool any(bool predicate WW_SITE) { return table->vote(predicate, VoteMode::any, site) != 0; }
WW_DEVICE bool all(bool predicate WW_SITE) { return table->vote(predicate, VoteMode::all, site) != 0; }
}  // namespace emu
#endif

/// Returns the `value` of lane 0 in every lane, which tells the compiler that it is warp-uniform.
WW_DEVICE u32 uniform(u32 value) { return shuffle(value, 0); }

/// Returns the sum over the warp in every lane.
WW_DEVICE u32 reduce_add(u32 value) {
  for (u32 step = kWarpSize / 2; step > 0; step /= 2) value += shuffle_xor(value, step);
  return value;
}

/// Returns the inclusive prefix sum over the lanes.
WW_DEVICE u32 scan_add(u32 value) {
  for (u32 step = 1; step < kWarpSize; step *= 2) {
    const u32 below = shuffle_up(value, step);
    if (lane_index() >= step) value += below;
  }
  return value;
}

}  // namespace ww::arch::warp
