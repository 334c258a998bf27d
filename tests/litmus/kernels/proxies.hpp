// SPDX-License-Identifier: Apache-2.0
// Accesses of the generic and of the async proxy to the same bytes: the fence, its place, its space, its thread.
#pragma once

#include "threads.hpp"

namespace ww::litmus {

// --- generic write, then an asynchronous read: TMA store -----------------------------------------------------------

// litmus write_then_tma_store: clean; ptx 8.6, fence.proxy.async
//   P0 cta 0: st s0.t 1; fence.proxy.async.shared; bar.sync 0
//   P1 cta 0: bar.sync 0; tma.store t s0.t; wait_group
LITMUS(write_then_tma_store) {
  start();
  P(0, 0) st(T(), 1), arch::fence::proxy_async_shared();
  bar();
  P(0, 32) store_tile(p), arch::tma::wait<0>();
}

// litmus write_then_tma_store_no_fence: proxy-fence; ptx 8.6, fence.proxy.async
//   P0 cta 0: st s0.t 1; bar.sync 0
//   P1 cta 0: bar.sync 0; tma.store t s0.t; wait_group
LITMUS(write_then_tma_store_no_fence) {
  start();
  P(0, 0) st(T(), 1);
  bar();
  P(0, 32) store_tile(p), arch::tma::wait<0>();
}

// litmus write_then_tma_store_early_fence: proxy-fence; ptx 8.6, fence.proxy.async
//   P0 cta 0: fence.proxy.async.shared; st s0.t 1; bar.sync 0
//   P1 cta 0: bar.sync 0; tma.store t s0.t; wait_group
LITMUS(write_then_tma_store_early_fence) {
  start();
  P(0, 0) arch::fence::proxy_async_shared(), st(T(), 1);
  bar();
  P(0, 32) store_tile(p), arch::tma::wait<0>();
}

// litmus write_then_tma_store_reader_fence: proxy-fence; strict reader-side-fence; ptx 8.6, 8.9.5
//   P0 cta 0: st s0.t 1; bar.sync 0
//   P1 cta 0: bar.sync 0; fence.proxy.async.shared; tma.store t s0.t; wait_group
LITMUS(write_then_tma_store_reader_fence) {
  start();
  P(0, 0) st(T(), 1);
  bar();
  P(0, 32) arch::fence::proxy_async_shared(), store_tile(p), arch::tma::wait<0>();
}

// litmus write_then_tma_store_one_thread: clean; ptx 8.6, fence.proxy.async
//   P0 cta 0: st s0.t 1; fence.proxy.async.shared; tma.store t s0.t; wait_group
LITMUS(write_then_tma_store_one_thread) {
  start();
  P(0, 0) st(T(), 1), arch::fence::proxy_async_shared(), store_tile(p), arch::tma::wait<0>();
}

// litmus write_then_tma_store_one_thread_no_fence: proxy-fence; ptx 8.6, fence.proxy.async
//   P0 cta 0: st s0.t 1; tma.store t s0.t; wait_group
LITMUS(write_then_tma_store_one_thread_no_fence) {
  start();
  P(0, 0) st(T(), 1), store_tile(p), arch::tma::wait<0>();
}

// litmus write_then_tma_store_no_barrier: data-race; ptx 8.7.1
//   P0 cta 0: st s0.t 1; fence.proxy.async.shared
//   P1 cta 0: tma.store t s0.t; wait_group
//   also: unfinished-store
LITMUS(write_then_tma_store_no_barrier) {
  start();
  P(0, 0) st(T(), 1), arch::fence::proxy_async_shared();
  P(0, 32) store_tile(p), arch::tma::wait<0>();
}

// litmus write_then_tma_store_acq_rel_fence: proxy-fence; ptx 8.6
//   P0 cta 0: st s0.t 1; fence.acq_rel.gpu; bar.sync 0
//   P1 cta 0: bar.sync 0; tma.store t s0.t; wait_group
//   note: a fence of the generic proxy is no proxy fence
LITMUS(write_then_tma_store_acq_rel_fence) {
  start();
  P(0, 0) st(T(), 1), fence<gpu>();
  bar();
  P(0, 32) store_tile(p), arch::tma::wait<0>();
}

// litmus write_then_tma_store_mbarrier: clean; ptx 8.6, 8.9.5
//   P0 cta 0: st s0.t 1; fence.proxy.async.shared; mbarrier.arrive.release.cta s0.m
//   P1 cta 0: mbarrier.wait.acquire.cta s0.m; tma.store t s0.t; wait_group
LITMUS(write_then_tma_store_mbarrier) {
  start(1);
  P(0, 0) st(T(), 1), arch::fence::proxy_async_shared(), arch::mbarrier::arrive(M(0));
  P(0, 32) arch::mbarrier::wait(M(0), 0), store_tile(p), arch::tma::wait<0>();
}

// litmus remote_write_then_tma_store: clean; ptx 8.6, fence.proxy.async; grid=2 cluster=2
//   P0 cta 0: st s1.t 1; fence.proxy.async; cluster.arrive 0; cluster.wait 0
//   P1 cta 1: cluster.arrive 0; cluster.wait 0; tma.store t s1.t; wait_group
LITMUS(remote_write_then_tma_store) {
  start();
  P(0, 0) rst(arch::cluster::map(T(), 1), 1), arch::fence::proxy_async();
  meet();
  P(1, 0) store_tile(p), arch::tma::wait<0>();
}

// litmus remote_write_then_tma_store_cta_fence: proxy-fence; ptx 8.6, fence.proxy.async; grid=2 cluster=2
//   P0 cta 0: st s1.t 1; fence.proxy.async.shared; cluster.arrive 0; cluster.wait 0
//   P1 cta 1: cluster.arrive 0; cluster.wait 0; tma.store t s1.t; wait_group
//   note: .shared::cta covers the shared memory of its own CTA
LITMUS(remote_write_then_tma_store_cta_fence) {
  start();
  P(0, 0) rst(arch::cluster::map(T(), 1), 1), arch::fence::proxy_async_shared();
  meet();
  P(1, 0) store_tile(p), arch::tma::wait<0>();
}

// --- generic write, then an asynchronous read: wgmma ---------------------------------------------------------------

// litmus write_then_wgmma: clean; ptx 8.6, wgmma async proxy; threads=128
//   P0 cta 0: st s0.t 1; fence.proxy.async.shared; bar.sync 0
//   P1 cta 0: bar.sync 0; wgmma s0.t; wgmma.wait
LITMUS(write_then_wgmma) {
  fill();
  arch::fence::proxy_async_shared();
  bar();
  multiply();
}

// litmus write_then_wgmma_no_fence: proxy-fence; ptx 8.6, wgmma async proxy; threads=128
//   P0 cta 0: st s0.t 1; bar.sync 0
//   P1 cta 0: bar.sync 0; wgmma s0.t; wgmma.wait
LITMUS(write_then_wgmma_no_fence) {
  fill();
  bar();
  multiply();
}

// litmus write_then_wgmma_reader_fence: proxy-fence; strict reader-side-fence; ptx 8.6, 8.9.5; threads=128
//   P0 cta 0: st s0.t 1; bar.sync 0
//   P1 cta 0: bar.sync 0; fence.proxy.async.shared; wgmma s0.t; wgmma.wait
LITMUS(write_then_wgmma_reader_fence) {
  fill();
  bar();
  arch::fence::proxy_async_shared();
  multiply();
}

// --- generic write, then an asynchronous read: the source of a TMA load, in global memory --------------------------

// litmus global_write_then_tma_load: clean; ptx 8.6, fence.proxy.async
//   P0 cta 0: st t 1; fence.proxy.async; mbarrier.arrive.release.cta s0.m; tma.load s0.t t s0.m;
//     mbarrier.wait.acquire.cta s0.m; ld s0.t
LITMUS(global_write_then_tma_load) {
  start(1);
  P(0, 0) st(p.tile, 1), arch::fence::proxy_async(), load_tile(p), arch::mbarrier::wait(M(0), 0), ld(T());
}

// litmus global_write_then_tma_load_no_fence: proxy-fence; ptx 8.6, fence.proxy.async
//   P0 cta 0: st t 1; mbarrier.arrive.release.cta s0.m; tma.load s0.t t s0.m; mbarrier.wait.acquire.cta s0.m; ld s0.t
LITMUS(global_write_then_tma_load_no_fence) {
  start(1);
  P(0, 0) st(p.tile, 1), load_tile(p), arch::mbarrier::wait(M(0), 0), ld(T());
}

// litmus global_write_then_tma_load_shared_fence: proxy-fence; ptx 8.6, fence.proxy.async
//   P0 cta 0: st t 1; fence.proxy.async.shared; mbarrier.arrive.release.cta s0.m; tma.load s0.t t s0.m;
//     mbarrier.wait.acquire.cta s0.m; ld s0.t
//   note: the fence covers shared memory only
LITMUS(global_write_then_tma_load_shared_fence) {
  start(1);
  P(0, 0) {
    st(p.tile, 1), arch::fence::proxy_async_shared(), load_tile(p);
    arch::mbarrier::wait(M(0), 0), ld(T());
  }
}

// litmus global_write_then_tma_load_global_fence: clean; ptx 8.6, fence.proxy.async
//   P0 cta 0: st t 1; fence.proxy.async.global; mbarrier.arrive.release.cta s0.m; tma.load s0.t t s0.m;
//     mbarrier.wait.acquire.cta s0.m; ld s0.t
LITMUS(global_write_then_tma_load_global_fence) {
  start(1);
  P(0, 0) {
    st(p.tile, 1), arch::fence::proxy_async_global(), load_tile(p);
    arch::mbarrier::wait(M(0), 0), ld(T());
  }
}

// litmus write_then_tma_store_global_fence: proxy-fence; ptx 8.6, fence.proxy.async
//   P0 cta 0: st s0.t 1; fence.proxy.async.global; tma.store t s0.t; wait_group
//   note: the fence covers global memory only
LITMUS(write_then_tma_store_global_fence) {
  start();
  P(0, 0) st(T(), 1), arch::fence::proxy_async_global(), store_tile(p), arch::tma::wait<0>();
}

// litmus global_write_other_cta: clean; ptx 8.6, 8.9.5; grid=2
//   P0 cta 0: st t 1; fence.proxy.async; st.release.gpu f 1
//   P1 cta 1: await ld.acquire.gpu f = 1; mbarrier.arrive.release.cta s1.m; tma.load s1.t t s1.m;
//     mbarrier.wait.acquire.cta s1.m; ld s1.t
LITMUS(global_write_other_cta) {
  start(1);
  P(0, 0) st(p.tile, 1), arch::fence::proxy_async(), st_release<gpu>(p.f, 1);
  P(1, 0) AWAIT(ld_acquire<gpu>(p.f) == 1), load_tile(p), arch::mbarrier::wait(M(0), 0), ld(T());
}

// litmus global_write_other_cta_reader_fence: proxy-fence; strict reader-side-fence; ptx 8.6, 8.9.5; grid=2
//   P0 cta 0: st t 1; st.release.gpu f 1
//   P1 cta 1: await ld.acquire.gpu f = 1; fence.proxy.async; mbarrier.arrive.release.cta s1.m; tma.load s1.t t
//     s1.m; mbarrier.wait.acquire.cta s1.m; ld s1.t
LITMUS(global_write_other_cta_reader_fence) {
  start(1);
  P(0, 0) st(p.tile, 1), st_release<gpu>(p.f, 1);
  P(1, 0) {
    AWAIT(ld_acquire<gpu>(p.f) == 1), arch::fence::proxy_async(), load_tile(p);
    arch::mbarrier::wait(M(0), 0), ld(T());
  }
}

// --- an asynchronous write over what threads wrote or read ---------------------------------------------------------

// litmus write_then_tma_load_over: clean; ptx 8.6, fence.proxy.async
//   P0 cta 0: st s0.t 1; fence.proxy.async.shared; bar.sync 0
//   P1 cta 0: bar.sync 0; mbarrier.arrive.release.cta s0.m; tma.load s0.t t s0.m; mbarrier.wait.acquire.cta s0.m
LITMUS(write_then_tma_load_over) {
  start(1);
  P(0, 0) st(T(), 1), arch::fence::proxy_async_shared();
  bar();
  P(0, 32) load_tile(p), arch::mbarrier::wait(M(0), 0);
}

// litmus write_then_tma_load_over_no_fence: proxy-fence; ptx 8.6, fence.proxy.async
//   P0 cta 0: st s0.t 1; bar.sync 0
//   P1 cta 0: bar.sync 0; mbarrier.arrive.release.cta s0.m; tma.load s0.t t s0.m; mbarrier.wait.acquire.cta s0.m
LITMUS(write_then_tma_load_over_no_fence) {
  start(1);
  P(0, 0) st(T(), 1);
  bar();
  P(0, 32) load_tile(p), arch::mbarrier::wait(M(0), 0);
}

// litmus read_then_tma_load: clean; ptx 8.6, fence.proxy.async
//   P0 cta 0: ld s0.t; fence.proxy.async.shared; mbarrier.arrive.release.cta s0.empty
//   P1 cta 0: mbarrier.wait.acquire.cta s0.empty; mbarrier.arrive.release.cta s0.m; tma.load s0.t t s0.m;
//     mbarrier.wait.acquire.cta s0.m
LITMUS(read_then_tma_load) {
  start(1);
  P(0, 0) ld(T()), arch::fence::proxy_async_shared(), arch::mbarrier::arrive(M(1));
  P(0, 32) arch::mbarrier::wait(M(1), 0), load_tile(p), arch::mbarrier::wait(M(0), 0);
}

// litmus read_then_tma_load_no_fence: proxy-fence; strict read-before-async-write; ptx 8.6, 8.9.5
//   P0 cta 0: ld s0.t; mbarrier.arrive.release.cta s0.empty
//   P1 cta 0: mbarrier.wait.acquire.cta s0.empty; mbarrier.arrive.release.cta s0.m; tma.load s0.t t s0.m;
//     mbarrier.wait.acquire.cta s0.m
LITMUS(read_then_tma_load_no_fence) {
  start(1);
  P(0, 0) ld(T()), arch::mbarrier::arrive(M(1));
  P(0, 32) arch::mbarrier::wait(M(1), 0), load_tile(p), arch::mbarrier::wait(M(0), 0);
}

// litmus read_then_tma_load_issuer_fence: proxy-fence; strict reader-side-fence; ptx 8.6, 8.9.5
//   P0 cta 0: ld s0.t; mbarrier.arrive.release.cta s0.empty
//   P1 cta 0: mbarrier.wait.acquire.cta s0.empty; fence.proxy.async.shared; mbarrier.arrive.release.cta s0.m;
//     tma.load s0.t t s0.m; mbarrier.wait.acquire.cta s0.m
//   note: the form of DeepEP #642
LITMUS(read_then_tma_load_issuer_fence) {
  start(1);
  P(0, 0) ld(T()), arch::mbarrier::arrive(M(1));
  P(0, 32) {
    arch::mbarrier::wait(M(1), 0), arch::fence::proxy_async_shared(), load_tile(p);
    arch::mbarrier::wait(M(0), 0);
  }
}

// litmus read_then_tma_load_unordered: stage-reuse; ptx 8.7.1
//   P0 cta 0: ld s0.t
//   P1 cta 0: mbarrier.arrive.release.cta s0.m; tma.load s0.t t s0.m; mbarrier.wait.acquire.cta s0.m
//   also: data-race
LITMUS(read_then_tma_load_unordered) {
  start(1);
  P(0, 0) ld(T());
  P(0, 32) load_tile(p), arch::mbarrier::wait(M(0), 0);
}

// litmus ring_read_no_fence: proxy-fence; strict read-before-async-write; ptx 8.6, 8.9.5
//   T0 thread 0: tma.load s0.t, full; wait empty; tma.load s0.t, full
//   T1 warp 1: wait full; ld s0.t; bar.warp.sync; lane 0: mbarrier.arrive empty; wait full
LITMUS(ring_read_no_fence) {
  start(1);
  P(0, 0) {
    load_tile(p);
    arch::mbarrier::wait(M(1), 0);
    load_tile(p);
  }
  if (arch::warp_index() == 1) {
    arch::mbarrier::wait(M(0), 0);
    ld(T() + 4 * arch::lane_index());
    arch::warp::sync();
    if (arch::lane_index() == 0) arch::mbarrier::arrive(M(1));
    arch::mbarrier::wait(M(0), 1);
  }
}

// litmus ring_read_fence: clean; ptx 8.6, fence.proxy.async
//   T0 thread 0: tma.load s0.t, full; wait empty; tma.load s0.t, full
//   T1 warp 1: wait full; ld s0.t; fence.proxy.async.shared; bar.warp.sync; lane 0: mbarrier.arrive empty; wait full
LITMUS(ring_read_fence) {
  start(1);
  P(0, 0) {
    load_tile(p);
    arch::mbarrier::wait(M(1), 0);
    load_tile(p);
  }
  if (arch::warp_index() == 1) {
    arch::mbarrier::wait(M(0), 0);
    ld(T() + 4 * arch::lane_index());
    arch::fence::proxy_async_shared();
    arch::warp::sync();
    if (arch::lane_index() == 0) arch::mbarrier::arrive(M(1));
    arch::mbarrier::wait(M(0), 1);
  }
}

// litmus ring_read_one_lane_fences: proxy-fence; strict read-before-async-write; ptx 8.6, 8.9.5
//   T0 thread 0: tma.load s0.t, full; wait empty; tma.load s0.t, full
//   T1 warp 1: wait full; ld s0.t; bar.warp.sync; lane 0: fence.proxy.async.shared, mbarrier.arrive empty; wait full
//   note: a fence counts for the accesses of its own thread; strict rule reader-side-fence otherwise
LITMUS(ring_read_one_lane_fences) {
  start(1);
  P(0, 0) {
    load_tile(p);
    arch::mbarrier::wait(M(1), 0);
    load_tile(p);
  }
  if (arch::warp_index() == 1) {
    arch::mbarrier::wait(M(0), 0);
    ld(T() + 4 * arch::lane_index());
    arch::warp::sync();
    if (arch::lane_index() == 0) arch::fence::proxy_async_shared(), arch::mbarrier::arrive(M(1));
    arch::mbarrier::wait(M(0), 1);
  }
}

// litmus global_read_then_tma_store: clean; ptx 8.6, fence.proxy.async
//   P0 cta 0: ld t; fence.proxy.async; bar.sync 0
//   P1 cta 0: bar.sync 0; tma.store t s0.t; wait_group
LITMUS(global_read_then_tma_store) {
  start();
  P(0, 0) ld(p.tile), arch::fence::proxy_async();
  bar();
  P(0, 32) store_tile(p), arch::tma::wait<0>();
}

// litmus global_read_then_tma_store_shared_fence: clean; ptx 8.6, fence.proxy.async
//   P0 cta 0: ld t; fence.proxy.async.shared; bar.sync 0
//   P1 cta 0: bar.sync 0; tma.store t s0.t; wait_group
//   note: assumption 5
LITMUS(global_read_then_tma_store_shared_fence) {
  start();
  P(0, 0) ld(p.tile), arch::fence::proxy_async_shared();
  bar();
  P(0, 32) store_tile(p), arch::tma::wait<0>();
}

// litmus global_read_then_tma_store_no_fence: proxy-fence; strict read-before-async-write; ptx 8.6, 8.9.5
//   P0 cta 0: ld t; bar.sync 0
//   P1 cta 0: bar.sync 0; tma.store t s0.t; wait_group
LITMUS(global_read_then_tma_store_no_fence) {
  start();
  P(0, 0) ld(p.tile);
  bar();
  P(0, 32) store_tile(p), arch::tma::wait<0>();
}

// litmus global_write_then_tma_store_over: proxy-fence; ptx 8.6, fence.proxy.async
//   P0 cta 0: st t 1; bar.sync 0
//   P1 cta 0: bar.sync 0; tma.store t s0.t; wait_group
LITMUS(global_write_then_tma_store_over) {
  start();
  P(0, 0) st(p.tile, 1);
  bar();
  P(0, 32) store_tile(p), arch::tma::wait<0>();
}

// --- an asynchronous access, then a generic one: the completion suffices -------------------------------------------

// litmus tma_load_then_read: clean; ptx 8.9.1.1, async proxy
//   P0 cta 0: mbarrier.arrive.release.cta s0.m; tma.load s0.t t s0.m
//   P1 cta 0: mbarrier.wait.acquire.cta s0.m; ld s0.t
LITMUS(tma_load_then_read) {
  start(1);
  P(0, 0) load_tile(p);
  P(0, 32) arch::mbarrier::wait(M(0), 0), ld(T());
}

// litmus tma_load_read_early: data-race; ptx 8.9.1.1
//   P0 cta 0: mbarrier.arrive.release.cta s0.m; tma.load s0.t t s0.m; ld s0.t; mbarrier.wait.acquire.cta s0.m
LITMUS(tma_load_read_early) {
  start(1);
  P(0, 0) load_tile(p), ld(T()), arch::mbarrier::wait(M(0), 0);
}

// litmus tma_load_then_tma_store: clean; ptx 8.9.1.1, async proxy
//   P0 cta 0: mbarrier.arrive.release.cta s0.m; tma.load s0.t t s0.m; mbarrier.wait.acquire.cta s0.m; tma.store u
//     s0.t; wait_group
LITMUS(tma_load_then_tma_store) {
  start(1);
  P(0, 0) load_tile(p), arch::mbarrier::wait(M(0), 0), store_tile(p, 8), arch::tma::wait<0>();
}

// litmus tma_load_then_wgmma: clean; ptx 8.9.1.1, async proxy; threads=128
//   P0 cta 0: mbarrier.arrive.release.cta s0.m; tma.load s0.t t s0.m
//   P1 cta 0: mbarrier.wait.acquire.cta s0.m; wgmma s0.t; wgmma.wait
LITMUS(tma_load_then_wgmma) {
  start_filled(1);
  P(0, 0) load_tile(p);
  arch::mbarrier::wait(M(0), 0);
  multiply();
}

// litmus tma_load_then_wgmma_early: data-race; ptx 8.9.1.1; threads=128
//   P0 cta 0: mbarrier.arrive.release.cta s0.m; tma.load s0.t t s0.m
//   P1 cta 0: wgmma s0.t; wgmma.wait; mbarrier.wait.acquire.cta s0.m
//   also: stage-reuse
LITMUS(tma_load_then_wgmma_early) {
  start_filled(1);
  P(0, 0) load_tile(p);
  multiply();
  arch::mbarrier::wait(M(0), 0);
}

// litmus wgmma_then_tma_load: clean; ptx wgmma.wait_group, 8.9.5; threads=128
//   P0 cta 0: wgmma s0.t; wgmma.wait; bar.sync 0
//   P1 cta 0: bar.sync 0; mbarrier.arrive.release.cta s0.m; tma.load s0.t t s0.m; mbarrier.wait.acquire.cta s0.m
LITMUS(wgmma_then_tma_load) {
  start_filled(1);
  multiply();
  bar();
  P(0, 0) load_tile(p), arch::mbarrier::wait(M(0), 0);
}

// litmus wgmma_then_write: clean; ptx wgmma.wait_group, async proxy; threads=128
//   P0 cta 0: wgmma s0.t; wgmma.wait; bar.sync 0
//   P1 cta 0: bar.sync 0; st s0.t 1
LITMUS(wgmma_then_write) {
  start_filled();
  multiply();
  bar();
  P(0, 0) st(T(), 1);
}

}  // namespace ww::litmus
