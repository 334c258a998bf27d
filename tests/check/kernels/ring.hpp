// SPDX-License-Identifier: Apache-2.0
// One TMA thread fills a ring of two stages, four warps read it with ordinary loads.
//   arg[0] blocks of 16 rows x 128 bytes   arg[1] how consumers wait and release, RingForm
// out[thread] = sum over blocks of 3^(blocks left) * word. The proxy needs no fence: loads, arrive, then TMA
// overwrites.
#pragma once

#include "params.hpp"

namespace ww::check_test {

enum RingForm : i32 { kPlainWait, kTryWait, kEveryLaneArrives, kOneLaneWaits, kSplitExpect };

inline constexpr u32 kRingStages = 2, kBlockBytes = 2048, kReaderWarps = 4;
inline constexpr u32 kRingBytes = kRingStages * kBlockBytes + 2 * kRingStages * arch::kMBarrierBytes;

struct Ring {
  arch::SharedAddress base = arch::dynamic_shared();
  WW_DEVICE arch::SharedAddress block(u32 k) const { return base + k % kRingStages * kBlockBytes; }
  WW_DEVICE arch::MBarrier full(u32 k) const { return {base + (kRingStages * kBlockBytes + 8 * (k % kRingStages))}; }
  WW_DEVICE arch::MBarrier empty(u32 k) const { return {full(k).address + 8 * kRingStages}; }
  WW_DEVICE static u32 parity(u32 k) { return k / kRingStages & 1; }
};

WW_DEVICE void ring_initialize(const Params& p, const Ring& ring) {
  const u32 arrivals = p.arg[1] == kEveryLaneArrives ? 32 * kReaderWarps : kReaderWarps;
  for (u32 s = 0; s < kRingStages; ++s) {
    arch::mbarrier::init(ring.full(s), p.is(Edit::full_count_long) ? 2 : 1);  // @ring_init
    arch::mbarrier::init(ring.empty(s),
                         arrivals - p.is(Edit::empty_count_short) + p.is(Edit::empty_count_long));  // @ring_init
  }
  arch::fence::mbarrier_init();
}

WW_DEVICE void ring_produce(const Params& p, const Ring& ring) {
  const u32 blocks = static_cast<u32>(p.arg[0]) - p.is(Edit::producer_one_less);
  for (u32 k = 0; k < blocks; ++k) {
    const u32 parity = ring.parity(k) ^ (p.is(Edit::producer_parity) ? 0u : 1u);
    if (!p.is(Edit::no_empty_wait)) arch::mbarrier::wait(ring.empty(k), parity);  // @ring_empty_wait
    u32 bytes = kBlockBytes - 16 * p.is(Edit::expect_short) + 16 * p.is(Edit::expect_long);
    if (p.arg[1] == kSplitExpect) {
      arch::mbarrier::expect_tx(ring.full(k), 512);
      bytes -= 512;
    }
    arch::mbarrier::arrive_expect_tx(ring.full(k), bytes);               // @ring_expect
    if (p.is(Edit::arrive_twice)) arch::mbarrier::arrive(ring.full(k));  // @ring_arrive_twice
    const u32 off = (p.is(Edit::box_out_of_shared) ? kRingBytes : 0u) + (p.is(Edit::box_misaligned) ? 64u : 0u);
    arch::tma::load_2d(p.map[0], ring.full(k), ring.block(k) + off, p.is(Edit::coordinate_off_16) ? 4 : 0,
                       static_cast<int>(16 * k));  // @ring_load
  }
}

WW_DEVICE void ring_wait(const Params& p, arch::MBarrier full, u32 parity) {
  if (p.arg[1] == kTryWait) {
    while (!arch::mbarrier::try_wait(full, parity)) {
    }
  } else if (p.arg[1] == kOneLaneWaits) {
    if (arch::lane_index() == 7) arch::mbarrier::wait(full, parity);
    arch::warp::sync();
  } else {
    arch::mbarrier::wait(full, parity);  // @ring_full_wait
  }
}

WW_DEVICE void ring_release(const Params& p, arch::MBarrier empty) {
  if (p.arg[1] == kEveryLaneArrives) return arch::mbarrier::arrive(empty);
  if (!p.is(Edit::ring_no_syncwarp)) arch::warp::sync();
  if (arch::lane_index() == 0) arch::mbarrier::arrive(empty);  // @ring_release
}

WW_DEVICE void ring_consume(const Params& p, const Ring& ring) {
  const u32 blocks = static_cast<u32>(p.arg[0]) - p.is(Edit::consumer_one_less);
  const u32 t = arch::thread_index() - 32;
  u32 sum = 0;
  for (u32 k = 0; k < blocks; ++k) {
    const bool skips = p.is(Edit::no_full_wait) || (p.is(Edit::round_not_waited) && k / kRingStages == 1);
    if (!skips) ring_wait(p, ring.full(k), ring.parity(k) ^ (p.is(Edit::consumer_parity) ? 1u : 0u));
    if (p.is(Edit::release_before_read)) ring_release(p, ring.empty(k));
    sum = sum * 3 + arch::shared::load(ring.block(k) + 16 * t);  // @ring_read
    arch::fence::proxy_async_shared();                           // after the reads, before a load overwrites them
    if (!p.is(Edit::release_before_read)) ring_release(p, ring.empty(k));
    if (p.is(Edit::reinit_in_use) && k == 1 && t == 0) arch::mbarrier::init(ring.full(0), 1);  // @ring_reinit
  }
  arch::global::store(p.out + t, sum);
}

WW_KERNEL(check_ring, 160, Params, p) {
  const Ring ring;
  if (arch::thread_index() == 0) ring_initialize(p, ring);
  if (!p.is(Edit::init_not_visible)) arch::named_barrier::sync_cta();
  if (arch::warp_index() != 0) ring_consume(p, ring);
  else if (arch::thread_index() == 0) ring_produce(p, ring);
}

}  // namespace ww::check_test
