// SPDX-License-Identifier: Apache-2.0
// Two CTAs of a cluster: distributed shared memory, remote arrivals, multicast into both.
#pragma once

#include "ring.hpp"
#include "warpwright/arch/common/mbarrier_scope.hpp"

namespace ww::check_test {

/// Every thread writes into the other CTA, arrives, does other work, waits, and reads what the other CTA keeps for
/// it. out[64 block + t] = in[64 other + t] * 2 + own.
WW_KERNEL(check_exchange, 64, Params, p) {
  const u32 t = arch::thread_index(), other = arch::cluster_rank() ^ 1;
  const arch::SharedAddress box = arch::dynamic_shared() + 4 * t;
  const u32 own = arch::global::load(p.in + 64 * arch::block_index() + t);
  arch::cluster::sync();                                      // the other CTA is there
  arch::cluster::store(arch::cluster::map(box, other), own);  // @exchange_write
  arch::shared::store(box + 512, own);
  if (p.is(Edit::dsmem_no_sync)) {
    arch::named_barrier::sync_cta();
  } else if (p.is(Edit::dsmem_relaxed)) {
    arch::cluster::arrive_relaxed();
    arch::cluster::wait();
  } else {
    arch::cluster::arrive();
    arch::shared::store(box + 256, own);  // between arrival and wait
    arch::cluster::wait();
  }
  const u32 received = arch::shared::load(box);                                   // @exchange_read
  const u32 fetched = arch::cluster::load(arch::cluster::map(box + 512, other));  // @exchange_fetch
  arch::global::store(p.out + 64 * arch::block_index() + t, received + fetched + own);
  if (!p.is(Edit::dsmem_no_last_sync)) arch::cluster::sync();
}

/// Thread 0 of each CTA writes a word into the other and signals a barrier there. out[block] = in[other].
WW_KERNEL(check_remote_signal, 32, Params, p) {
  const arch::MBarrier ready{arch::dynamic_shared() + 8};
  const arch::SharedAddress box = arch::dynamic_shared();
  const u32 other = arch::cluster_rank() ^ 1;
  if (arch::thread_index() == 0) arch::mbarrier::init(ready, 1);  // @signal_init
  arch::fence::mbarrier_init();
  if (p.is(Edit::remote_not_initialised)) arch::named_barrier::sync_cta();
  else arch::cluster::sync();
  if (arch::thread_index() == 0) {
    arch::cluster::store(arch::cluster::map(box, other),
                         arch::global::load(p.in + arch::block_index()));  // @signal_write
    const u32 to = p.is(Edit::remote_wrong_cta) ? 0 : other;
    if (p.is(Edit::remote_scope_cta)) arch::mbarrier::arrive_remote(ready, to);
    else arch::mbarrier::arrive_remote_release(ready, to);                      // @signal_arrive
    arch::mbarrier::wait_cluster(ready, 0);                                     // @signal_wait
    arch::global::store(p.out + arch::block_index(), arch::shared::load(box));  // @signal_read
  }
  arch::warp::sync();
  arch::cluster::sync();
}

// --- a ring that both CTAs fill: CTA r loads rows 8 r .. 8 r + 7 of every block for both
// ------------------------------

WW_DEVICE void shared_ring_start(const Params& p, const Ring& ring) {
  if (arch::thread_index() == 0) {
    for (u32 s = 0; s < kRingStages; ++s) {
      arch::mbarrier::init(ring.full(s), 1);                                                   // @multicast_init
      arch::mbarrier::init(ring.empty(s), (p.is(Edit::peer_ignored) ? 1 : 2) * kReaderWarps);  // @multicast_init
    }
    arch::fence::mbarrier_init();
  }
  if (p.is(Edit::multicast_init_not_visible)) arch::named_barrier::sync_cta();
  else arch::cluster::sync();
}

WW_DEVICE void shared_ring_load(const Params& p, const Ring& ring, u32 k) {
  const u32 rank = arch::cluster_rank();
  arch::mbarrier::wait(ring.empty(k), ring.parity(k) ^ 1);      // @multicast_empty_wait
  arch::mbarrier::arrive_expect_tx(ring.full(k), kBlockBytes);  // @multicast_expect
  const u16 mask = static_cast<u16>(p.is(Edit::mask_short) ? 1u << rank : 3u);
  arch::tma::load_multicast_2d(p.map[0], ring.full(k), ring.block(k) + 1024 * rank, mask, 0,
                               static_cast<int>(16 * k + 8 * rank));  // @multicast_load
}

WW_DEVICE u32 shared_ring_read(const Params& p, const Ring& ring, u32 k, u32 sum) {
  arch::mbarrier::wait(ring.full(k), ring.parity(k));                                    // @multicast_full_wait
  sum = sum * 3 + arch::shared::load(ring.block(k) + 16 * (arch::thread_index() - 32));  // @multicast_read
  arch::fence::proxy_async_shared();  // after the reads, before a load overwrites them
  arch::warp::sync();
  const u32 lane = arch::lane_index();
  if (p.is(Edit::peer_ignored)) arch::mbarrier::arrive_if(lane == 0, ring.empty(k));
  else arch::mbarrier::arrive_remote_if(lane < 2, ring.empty(k), lane);  // @multicast_release
  return sum;
}

/// arg[0] blocks. The producer's tail alone keeps a CTA until its peer has made its last arrival.
WW_KERNEL(check_multicast, 160, Params, p) {
  const Ring ring;
  const u32 blocks = static_cast<u32>(p.arg[0]), t = arch::thread_index();
  shared_ring_start(p, ring);
  if (arch::warp_index() != 0) {
    u32 sum = 0;
    for (u32 k = 0; k < blocks; ++k) sum = shared_ring_read(p, ring, k, sum);
    arch::global::store(p.out + 128 * arch::block_index() + t - 32, sum);
  } else if (t == 0) {
    u32 k = 0;
    for (; k < blocks; ++k) shared_ring_load(p, ring, k);
    if (!p.is(Edit::no_tail))
      for (u32 last = k + kRingStages; k < last; ++k) arch::mbarrier::wait(ring.empty(k), ring.parity(k) ^ 1);
  }
}

/// arg[0] tiles of two blocks each; the readers' sums leave through the first stage's memory, so no CTA may load the
/// next tile before both have stored theirs. out[(tile * grid + block) * 128 + t] = sum.
WW_KERNEL(check_shared_epilogue, 160, Params, p) {
  const Ring ring;
  const u32 tiles = static_cast<u32>(p.arg[0]), t = arch::thread_index() - 32;
  shared_ring_start(p, ring);
  for (u32 tile = 0; tile < tiles; ++tile) {
    if (arch::warp_index() != 0) {
      u32 sum = 0;
      for (u32 k = 2 * tile; k < 2 * tile + 2; ++k) sum = shared_ring_read(p, ring, k, sum);
      arch::named_barrier::sync<1>(128);
      arch::shared::store(ring.block(0) + 4 * t, sum);  // @epilogue_write
      arch::fence::proxy_async_shared();
      arch::named_barrier::sync<1>(128);
      if (t == 0) {
        arch::tma::store_1d(
            p.map[1], ring.block(0),
            static_cast<int>((tile * arch::grid_size() + arch::block_index()) * 128));  // @epilogue_store
        arch::tma::commit();
        arch::tma::wait_read<0>();
      }
    } else if (arch::thread_index() == 0) {
      for (u32 k = 2 * tile; k < 2 * tile + 2; ++k) shared_ring_load(p, ring, k);
    }
    arch::warp::sync();
    if (tile + 1 == tiles) break;
    if (p.is(Edit::epilogue_ignores_peer)) arch::named_barrier::sync_cta();
    else arch::cluster::sync();
  }
  arch::cluster::sync();
}

/// CTA 0 multicasts one block; CTA 1 is busy for arg[0] looks before it announces the bytes. out[128 block + t] = a
/// word.
WW_KERNEL(check_late_peer, 128, Params, p) {
  const Ring ring;
  const u32 t = arch::thread_index(), rank = arch::cluster_rank();
  if (t == 0) {
    arch::mbarrier::init(ring.full(0), 1);
    arch::fence::mbarrier_init();
  }
  arch::cluster::sync();
  if (t == 0 && rank == 0) {
    arch::mbarrier::arrive_expect_tx(ring.full(0), kBlockBytes);
    arch::tma::load_multicast_2d(p.map[0], ring.full(0), ring.block(0), 3, 0, 0);  // @late_load
  }
  if (rank == 1) {
    if (p.is(Edit::multicast_after_exit)) return;
    for (i32 look = 0; look < p.arg[0]; ++look)
      if (arch::mbarrier::try_wait(ring.full(0), 0)) break;
    arch::warp::sync();
    if (t == 0) arch::mbarrier::arrive_expect_tx(ring.full(0), kBlockBytes);
  }
  arch::mbarrier::wait(ring.full(0), 0);
  arch::global::store(p.out + 128 * arch::block_index() + t, arch::shared::load(ring.block(0) + 4 * t));
}

}  // namespace ww::check_test
