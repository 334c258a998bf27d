// SPDX-License-Identifier: Apache-2.0
// Patterns of published kernels, each with the mistakes that were made in them:
//   items    a ring of records that a whole warp writes and whole warps read
//   slot     one slot in global memory, handed over and back by flags and fences alone
//   inplace  a tile in global memory that TMA loads and threads then overwrite
//   reuse    a stage that threads read and TMA then overwrites
//   handed   words that one CTA stores and another loads by TMA
//   tally    counters that all CTAs add to; the last CTA reads them and puts the arrival count back
//   pass     a flag that a CTA without data of its own passes on
//   branches two halves of every warp that meet at the same named barrier
//   signal   words for the other CTA of the cluster, and a release at its mbarrier
#pragma once

#include "params.hpp"
#include "warpwright/arch/common/mbarrier_scope.hpp"
#include "warpwright/arch/common/strong.hpp"

namespace ww::check_test {

inline constexpr u32 kItemSlots = 2, kItemReaders = 2;

/// Warp 0 sends arg[0] records of 32 words to two warps. out[32 reader + lane] = sum of 5^(left) * neighbour's word.
WW_KERNEL(check_items, 96, Params, p) {
  const arch::SharedAddress records = arch::dynamic_shared();
  const auto full = [=](u32 s) { return arch::MBarrier{records + (kItemSlots * 128 + 8 * s)}; };
  const auto empty = [=](u32 s) { return arch::MBarrier{records + (kItemSlots * 136 + 8 * s)}; };
  const u32 lane = arch::lane_index(), rounds = static_cast<u32>(p.arg[0]);
  if (arch::thread_index() == 0)
    for (u32 s = 0; s < kItemSlots; ++s) {
      arch::mbarrier::init(full(s), 1);
      arch::mbarrier::init(empty(s), kItemReaders);
    }
  arch::named_barrier::sync_cta();
  u32 sum = 0;
  for (u32 round = 0; round < rounds; ++round) {
    const u32 s = round % kItemSlots, parity = round / kItemSlots & 1;
    const arch::SharedAddress record = records + 128 * s;
    if (arch::warp_index() == 0) {
      arch::mbarrier::wait(empty(s), parity ^ 1);
      arch::shared::store(record + 4 * lane, arch::global::load(p.in + 32 * round + lane));  // @items_write
      if (p.is(Edit::items_shuffle_written)) static_cast<void>(arch::warp::shuffle_xor(lane, 1));
      else arch::warp::sync();
      if (lane == 0) arch::mbarrier::arrive(full(s));
    } else {
      arch::mbarrier::wait(full(s), parity);
      sum = sum * 5 + arch::shared::load(record + 4 * ((lane + 1) % 32));  // @items_read
      if (p.is(Edit::items_vote_read)) static_cast<void>(arch::warp::any(lane == 3));
      else arch::warp::sync();
      if (lane == 0) arch::mbarrier::arrive(empty(s));
    }
  }
  if (arch::warp_index() != 0) arch::global::store(p.out + arch::thread_index() - 32, sum);
}

enum SlotForm : i32 { kVolatileFlags, kRelaxedFlags, kWideFenceFirst, kSharedFlags };

/// One slot of 64 words, two flags with the number of rounds that were written and read; arg[0] rounds, arg[1] the
/// form of the flags. CTA 0 writes, CTA 1 reads; with kSharedFlags two pairs of warps of one CTA, and the slot and the
/// flags are in shared memory. out[0], out[32] flags, out[64 + t] the slot, out[128 + t] = sum of 5^(left) * word.
struct Slot {
  const Params& p;
  bool shared = p.arg[1] == kSharedFlags;
  arch::SharedAddress base = arch::dynamic_shared();

  WW_DEVICE void publish(u32 flag, u32 value, bool fenced) const {
    if (shared) {
      if (fenced) arch::fence::acq_rel_cta();
      arch::shared::atomic_add(base + 4 * flag, 1);
      return;
    }
    if (fenced && p.is(Edit::slot_release_cta)) {
      arch::fence::acq_rel_cta();
    } else if (fenced) {
      arch::fence::acq_rel_gpu();
      if (p.arg[1] == kWideFenceFirst) arch::fence::acq_rel_cta();  // the wider fence still releases
    }
    if (p.arg[1] == kVolatileFlags) *static_cast<volatile u32*>(p.out + 32 * flag) = value;  // @slot_flag
    else arch::global::store_relaxed<arch::Scope::gpu>(p.out + 32 * flag, value);            // @slot_flag
  }
  WW_DEVICE void await(u32 flag, u32 value, bool fenced) const {
    if (shared) {
      while (arch::shared::load_relaxed<arch::Scope::cta>(base + 4 * flag) != value) continue;
      if (fenced) arch::fence::acq_rel_cta();
    } else {
      if (p.arg[1] == kVolatileFlags)
        while (*static_cast<const volatile u32*>(p.out + 32 * flag) != value) continue;
      else
        while (arch::global::load_relaxed<arch::Scope::gpu>(p.out + 32 * flag) != value) continue;
      if (fenced) arch::fence::acq_rel_gpu();
    }
  }
  WW_DEVICE void meet(bool writes) const {
    if (writes) arch::named_barrier::sync<1>(64);
    else arch::named_barrier::sync<2>(64);
  }
};

WW_KERNEL(check_slot, 128, Params, p) {
  const Slot slot{p};
  const u32 t = arch::thread_index() % 64;
  const bool writes = slot.shared ? arch::thread_index() < 64 : arch::block_index() == 0;
  if (slot.shared && arch::thread_index() < 2) arch::shared::store(slot.base + 4 * arch::thread_index(), 0);
  arch::named_barrier::sync_cta();
  if (!slot.shared && arch::thread_index() >= 64) return;
  u32 sum = 0;
  for (u32 round = 1; round <= static_cast<u32>(p.arg[0]); ++round) {
    if (writes) {
      if (t == 0 && !p.is(Edit::slot_not_drained)) slot.await(1, round - 1, true);
      slot.meet(writes);
      const u32 word = arch::global::load(p.in + 64 * (round - 1) + t);
      if (slot.shared) arch::shared::store(slot.base + 256 + 4 * t, word);  // @slot_write
      else arch::global::store(p.out + 64 + t, word);                       // @slot_write
      slot.meet(writes);
      if (t == 0) slot.publish(0, round, !p.is(Edit::slot_no_release_fence));
    } else {
      if (t == 0) slot.await(0, round, !p.is(Edit::slot_no_acquire_fence));
      slot.meet(writes);
      sum = sum * 5 + (slot.shared ? arch::shared::load(slot.base + 256 + 4 * t)  // @slot_read
                                   : arch::global::load(p.out + 64 + t));         // @slot_read
      slot.meet(writes);
      if (t == 0) slot.publish(1, round, true);
    }
  }
  if (!writes) arch::global::store(p.out + 128 + t, sum);
}

inline constexpr u32 kPatternTileWords = 512;  // 16 rows of 32 words

/// TMA loads a tile of the output; threads triple it in place. out[w] = 3 * out[w].
WW_KERNEL(check_inplace, 128, Params, p) {
  const arch::SharedAddress tile = arch::dynamic_shared();
  const arch::MBarrier full{tile + 4 * kPatternTileWords};
  const u32 t = arch::thread_index();
  if (t == 0) arch::mbarrier::init(full, 1);
  arch::fence::mbarrier_init();
  arch::named_barrier::sync_cta();
  if (t == 0) {
    arch::mbarrier::arrive_expect_tx(full, 4 * kPatternTileWords);
    arch::tma::load_2d(p.map[0], full, tile, 0, 0);  // @inplace_load
  }
  arch::named_barrier::sync_cta();
  if (p.is(Edit::drained_early))
    for (u32 w = t; w < kPatternTileWords; w += 128) arch::global::store(p.out + w, 3 * w);  // @inplace_store
  arch::mbarrier::wait(full, 0);
  for (u32 w = t; w < kPatternTileWords; w += 128)
    arch::global::store(p.out + w, 3 * arch::shared::load(tile + 4 * w));  // @inplace_store
}

/// A stage that threads read is loaded anew (DeepEP #642). out[t] = sum of 3^(left) * word over arg[0] tiles.
WW_KERNEL(check_reuse, 160, Params, p) {
  const arch::SharedAddress tile = arch::dynamic_shared();
  const arch::MBarrier full{tile + 4 * kPatternTileWords}, empty{full.address + 8};
  const u32 t = arch::thread_index();
  if (t == 0) {
    arch::mbarrier::init(full, 1);
    arch::mbarrier::init(empty, 4);
  }
  arch::fence::mbarrier_init();
  arch::named_barrier::sync_cta();
  u32 sum = 0;
  for (u32 k = 0; k < static_cast<u32>(p.arg[0]); ++k) {
    if (t >= 128) {
      if (t != 128) return;
      arch::mbarrier::wait(empty, (k & 1) ^ 1);
      arch::mbarrier::arrive_expect_tx(full, 4 * kPatternTileWords);
      arch::tma::load_2d(p.map[0], full, tile, 0, static_cast<int>(16 * k));  // @reuse_load
    } else {
      arch::mbarrier::wait(full, k & 1);
      sum = sum * 3 + arch::shared::load(tile + 4 * t);  // @reuse_read
      if (!p.is(Edit::reused_no_fence)) arch::fence::proxy_async_shared();
      arch::warp::sync();
      if (arch::lane_index() == 0) arch::mbarrier::arrive(empty);
    }
  }
  if (t < 128) arch::global::store(p.out + t, sum);
}

/// CTA 0 stores a tile and raises a flag; CTA 1 loads it by TMA. out[w] = in[w] * 3, out[512] the flag, out[528 + w] =
/// out[w] + 1.
WW_KERNEL(check_handed, 128, Params, p) {
  const arch::SharedAddress tile = arch::dynamic_shared();
  const arch::MBarrier full{tile + 4 * kPatternTileWords};
  const u32 t = arch::thread_index();
  if (arch::block_index() == 0) {
    for (u32 w = t; w < kPatternTileWords; w += 128)
      arch::global::store(p.out + w, arch::global::load(p.in + w) * 3);  // @handed_store
    if (p.is(Edit::handed_fence_of_shared)) arch::fence::proxy_async_shared();
    else if (!p.is(Edit::handed_no_fence)) arch::fence::proxy_async();
    arch::named_barrier::sync_cta();
    if (t == 0) arch::global::store_release(p.out + kPatternTileWords, 1);
    return;
  }
  if (t == 0) arch::mbarrier::init(full, 1);
  arch::fence::mbarrier_init();
  arch::named_barrier::sync_cta();
  if (t == 0) {
    arch::global::wait_global(p.out + kPatternTileWords, [](u32 flag) { return flag == 1; });
    arch::fence::proxy_async();
    arch::mbarrier::arrive_expect_tx(full, 4 * kPatternTileWords);
    arch::tma::load_2d(p.map[0], full, tile, 0, 0);  // @handed_load
  }
  arch::mbarrier::wait(full, 0);
  for (u32 w = t; w < kPatternTileWords; w += 128)
    arch::global::store(p.out + 528 + w, arch::shared::load(tile + 4 * w) + 1);
}

/// Every CTA adds its words to 8 counters by atomics and counts its arrival; the last copies the counters and puts the
/// arrival count back to zero. out[0] arrivals, out[16 + i] counters, out[32 + i] the copies. arg[0]: the count alone.
WW_KERNEL(check_tally, 64, Params, p) {
  const u32 t = arch::thread_index(), word = arch::global::load(p.in + 64 * arch::block_index() + t);
  if (p.is(Edit::tally_cleared) && arch::block_index() == 0 && t < 8)
    arch::global::store(p.out + 16 + t, 0);                               // @tally_clear
  if (p.arg[0] == 0) arch::global::atomic_add(p.out + 16 + word % 8, 1);  // @tally_add
  arch::named_barrier::sync_cta();
  u32 before = 0;
  if (t == 0) {
    before = p.is(Edit::tally_not_put_back) ? arch::global::atomic_add(p.out, 1)           // @tally_count
                                            : arch::global::atomic_add_acq_rel(p.out, 1);  // @tally_count
    arch::shared::store(arch::dynamic_shared(), before);
  }
  arch::named_barrier::sync_cta();
  const bool last = arch::shared::load(arch::dynamic_shared()) == arch::grid_size() - 1;
  if (p.arg[0] == 0 && (last || p.is(Edit::tally_read)) && t < 8)
    arch::global::store(p.out + 32 + 8 * (last ? 0 : 1 + arch::block_index()) + t,
                        arch::global::load(p.out + 16 + t));  // @tally_read
  if (last && t == 0) arch::global::store(p.out, 0);          // @tally_reset
}

/// CTA 0 writes 64 words and raises flag 1; CTA 1 waits for it and raises flag 2; CTA 2 waits for that and copies the
/// words. arg[0]: CTA 1 waits relaxed, with a fence. out[0], out[1] flags, out[64 + t] = in[t], out[128 + t] = in[t].
WW_KERNEL(check_pass, 64, Params, p) {
  const u32 t = arch::thread_index();
  if (arch::block_index() == 0) {
    arch::global::store(p.out + 64 + t, arch::global::load(p.in + t));  // @pass_write
    arch::named_barrier::sync_cta();
    if (t == 0) arch::global::store_release(p.out, 1);
  } else if (arch::block_index() == 1) {
    if (t != 0) return;
    if (p.arg[0] != 0 || p.is(Edit::pass_relaxed)) {
      while (arch::global::load_relaxed<arch::Scope::gpu>(p.out) == 0) continue;
      if (p.arg[0] != 0 && !p.is(Edit::pass_unfenced)) arch::fence::acq_rel_gpu();
    } else {
      while (arch::global::load_acquire(p.out) == 0) continue;
    }
    arch::global::store_release(p.out + 1, 1);
  } else {
    if (t == 0) arch::global::wait_global(p.out + 1, [](u32 flag) { return flag == 1; });
    arch::named_barrier::sync_cta();
    arch::global::store(p.out + 128 + t, arch::global::load(p.out + 64 + t));  // @pass_read
  }
}

/// The lanes of every warp take two branches and meet at a named barrier behind them. out[t] = in[127 - t].
WW_KERNEL(check_branches, 128, Params, p) {
  const u32 t = arch::thread_index();
  const arch::SharedAddress words = arch::dynamic_shared();
  u32 value = arch::global::load(p.in + t);
  if (p.is(Edit::half_warps_meet)) {
    if (arch::lane_index() < 16) {
      arch::shared::store(words + 4 * t, value);
      arch::named_barrier::sync<1>(128);  // @branches_sync
    } else {
      arch::shared::store(words + 4 * t, value ^ 0);
      arch::named_barrier::sync<1>(128);  // @branches_sync
    }
  } else {
    if (arch::lane_index() < 16) arch::shared::store(words + 4 * t, value);
    else arch::shared::store(words + 4 * t, value ^ 0);
    arch::named_barrier::sync<1>(128);
  }
  arch::global::store(p.out + t, arch::shared::load(words + 4 * (127 - t)));
}

/// Each CTA of a pair stores 32 words into the other's shared memory; the arrival there releases them at cluster scope.
/// out[32 block + lane] = in[32 other + lane].
WW_KERNEL(check_signal, 32, Params, p) {
  const arch::SharedAddress box = arch::dynamic_shared();
  const arch::MBarrier ready{box + 128};
  const u32 lane = arch::lane_index(), other = arch::cluster_rank() ^ 1;
  if (lane == 0) arch::mbarrier::init(ready, 1);
  arch::fence::mbarrier_init();
  arch::warp::sync();
  arch::cluster::sync();
  arch::cluster::store(arch::cluster::map(box + 4 * lane, other),
                       arch::global::load(p.in + 32 * arch::block_index() + lane));  // @pair_write
  arch::warp::sync();
  if (lane == 0) arch::mbarrier::arrive_remote_release(ready, other);
  if (p.is(Edit::signal_acquire_cta)) arch::mbarrier::wait(ready, 0);  // @pair_wait
  else arch::mbarrier::wait_cluster(ready, 0);
  arch::global::store(p.out + 32 * arch::block_index() + lane, arch::shared::load(box + 4 * lane));  // @pair_read
  arch::warp::sync();
  arch::cluster::sync();
}

}  // namespace ww::check_test
