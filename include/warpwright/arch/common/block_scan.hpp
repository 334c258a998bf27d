// SPDX-License-Identifier: Apache-2.0
// Exclusive scan over a group of threads: a whole CTA, or consecutive whole warps of it that share a named barrier.
//   warp: shuffles -> one 32-bit value per warp in the caller's scratch -> barrier -> each warp scans those values
// The operator is associative, op(earlier, later), and need not commute: a sum, a maximum, a "last one set".
// All threads of the group take part. When a scan returns, its scratch may be reused at once.
#pragma once

#include "warpwright/arch/common/named_barrier.hpp"
#include "warpwright/arch/common/shared.hpp"
#include "warpwright/arch/common/warp.hpp"

namespace ww::arch::cta {

struct Scan {
  u32 before;  // over the threads before this one in the group; the identity for the first thread
  u32 total;   // over all threads of the group
};

/// Returns the bytes of scratch for a group of `threads`; the scratch is 4-byte aligned.
WW_HOST_DEVICE constexpr u32 scan_bytes(u32 threads) { return threads / kWarpSize * 4; }

/// Returns the inclusive scan over the lanes of a warp.
template <class Operator> WW_DEVICE u32 warp_scan(u32 value, Operator op) {
  for (u32 step = 1; step < kWarpSize; step *= 2) {
    const u32 below = warp::shuffle_up(value, step);
    if (lane_index() >= step) value = op(below, value);
  }
  return value;
}

/// Scans over a group of kThreads threads that synchronise at barrier kBarrier. `rank` is this thread's index in the
/// group; its lane must be rank % 32.
template <u32 kThreads, int kBarrier, class Operator>
requires(kThreads % kWarpSize == 0 && kThreads >= kWarpSize && kThreads <= kWarpSize * kWarpSize) WW_DEVICE Scan
    exclusive_scan(u32 value, u32 rank, u32 identity, SharedAddress scratch, Operator op) {
  constexpr u32 kWarps = kThreads / kWarpSize;
  const u32 lane = lane_index(), warp_of_group = rank / kWarpSize;
  const u32 inclusive = warp_scan(value, op);
  const u32 left = warp::shuffle_up(inclusive, 1);
  const u32 before = lane == 0 ? identity : left;
  if constexpr (kWarps == 1) return {before, warp::shuffle(inclusive, kWarpSize - 1)};

  if (lane == kWarpSize - 1) shared::store(scratch + 4 * warp_of_group, inclusive);
  named_barrier::sync<kBarrier>(kThreads);
  const u32 of_warp = lane < kWarps ? shared::load(scratch + 4 * lane) : identity;  // lane w holds warp w's total
  const u32 warps = warp_scan(of_warp, op);
  const u32 warps_before = warp::shuffle(warps, (warp_of_group + kWarpSize - 1) % kWarpSize);
  const u32 total = warp::shuffle(warps, kWarps - 1);
  named_barrier::sync<kBarrier>(kThreads);  // all warps have read the scratch, so that the next user may write it
  return {warp_of_group == 0 ? before : op(warps_before, before), total};
}

struct Sum {
  WW_DEVICE u32 operator()(u32 a, u32 b) const { return a + b; }
};
struct Maximum {
  WW_DEVICE u32 operator()(u32 a, u32 b) const { return a > b ? a : b; }
};

/// Computes kCount sums over the lanes of a warp, step by step together, so that their shuffles hide each other's
/// latency.
template <int kCount>
WW_DEVICE void exclusive_sums_in_warp(const u32 (&values)[kCount], u32 (&before)[kCount], u32 (&total)[kCount]) {
  WW_UNROLL
  for (int i = 0; i < kCount; ++i) total[i] = values[i];  // inclusive until the end of the loop
  WW_UNROLL
  for (u32 step = 1; step < kWarpSize; step *= 2) {
    u32 below[kCount];
    WW_UNROLL
    for (int i = 0; i < kCount; ++i) below[i] = warp::shuffle_up(total[i], step);
    WW_UNROLL
    for (int i = 0; i < kCount; ++i) total[i] += lane_index() >= step ? below[i] : 0;
  }
  WW_UNROLL
  for (int i = 0; i < kCount; ++i) {
    before[i] = total[i] - values[i];
    total[i] = warp::shuffle(total[i], kWarpSize - 1);
  }
}

/// Returns the sum modulo 2^32 over the threads before this one, and over all.
template <u32 kThreads, int kBarrier = 0> WW_DEVICE Scan exclusive_sum(u32 value, u32 rank, SharedAddress scratch) {
  return exclusive_scan<kThreads, kBarrier>(value, rank, 0, scratch, Sum{});
}
/// Returns the largest value of the threads before this one (0 for the first), and of all.
template <u32 kThreads, int kBarrier = 0> WW_DEVICE Scan exclusive_max(u32 value, u32 rank, SharedAddress scratch) {
  return exclusive_scan<kThreads, kBarrier>(value, rank, 0, scratch, Maximum{});
}

}  // namespace ww::arch::cta
