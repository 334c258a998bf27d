// SPDX-License-Identifier: Apache-2.0
// Asynchronous operations between issue and completion: sources that are overwritten, groups that are not waited for,
// multicast, tensor maps, and reads of what nobody wrote.
#pragma once

#include "threads.hpp"

namespace ww::litmus {

// --- sources and destinations in use -------------------------------------------------------------------------------

// litmus load_source_overwritten: data-race; ptx 8.9.1.1
//   P0 cta 0: mbarrier.arrive.release.cta s0.m; tma.load s0.t t s0.m; bar.sync 0; mbarrier.wait.acquire.cta s0.m
//   P1 cta 0: bar.sync 0; st t 1
LITMUS(load_source_overwritten) {
  start(1);
  P(0, 0) load_tile(p);
  bar();
  P(0, 32) st(p.tile, 1);
  P(0, 0) arch::mbarrier::wait(M(0), 0);
}

// litmus load_source_after_wait: clean; ptx 8.9.1.1, async proxy
//   P0 cta 0: mbarrier.arrive.release.cta s0.m; tma.load s0.t t s0.m; mbarrier.wait.acquire.cta s0.m; bar.sync 0
//   P1 cta 0: bar.sync 0; st t 1
LITMUS(load_source_after_wait) {
  start(1);
  P(0, 0) load_tile(p), arch::mbarrier::wait(M(0), 0);
  bar();
  P(0, 32) st(p.tile, 1);
}

// litmus load_source_overwritten_by_store: data-race; ptx 8.9.1.1
//   P0 cta 0: mbarrier.arrive.release.cta s0.m; tma.load s0.t t s0.m; tma.store t s0.u; wait_group;
//     mbarrier.wait.acquire.cta s0.m
//   note: both are asynchronous, and nothing orders them
LITMUS(load_source_overwritten_by_store) {
  start(1);
  P(0, 0) {
    load_tile(p), store_tile_from(p, U());
    arch::tma::wait<0>(), arch::mbarrier::wait(M(0), 0);
  }
}

// litmus load_source_other_cta: data-race; ptx 8.9.1.1, 8.9.5; grid=2
//   P0 cta 0: mbarrier.arrive.release.cta s0.m; tma.load s0.t t s0.m; st.release.gpu f 1; mbarrier.wait.acquire.cta
//     s0.m
//   P1 cta 1: await ld.acquire.gpu f = 1; st t 1
LITMUS(load_source_other_cta) {
  start(1);
  P(0, 0) load_tile(p), st_release<gpu>(p.f, 1), arch::mbarrier::wait(M(0), 0);
  P(1, 0) AWAIT(ld_acquire<gpu>(p.f) == 1), st(p.tile, 1);
}

// litmus completion_is_no_release: data-race; ptx 8.9.1.1
//   P0 cta 0: mbarrier.arrive.release.cta s0.m; st d 1; tma.load s0.t t s0.m
//   P1 cta 0: mbarrier.wait.acquire.cta s0.m; ld d
//   note: the completion orders the bytes of the copy, not what the issuer did before
LITMUS(completion_is_no_release) {
  start(1);
  P(0, 0) {
    arch::mbarrier::arrive_expect_tx(M(0), kTileBytes);
    st(p.d, 1);
    arch::tma::load_2d(p.map, M(0), T(), 0, 0);
  }
  P(0, 32) arch::mbarrier::wait(M(0), 0), ld(p.d);
}

// litmus store_source_overwritten: unfinished-store; ptx cp.async.bulk.wait_group
//   P0 cta 0: tma.store t s0.t; st s0.t 1; wait_group
LITMUS(store_source_overwritten) {
  start();
  P(0, 0) store_tile(p), st(T(), 1), arch::tma::wait<0>();
}

// litmus store_source_after_wait_read: clean; ptx cp.async.bulk.wait_group
//   P0 cta 0: tma.store t s0.t; wait_group.read; st s0.t 1; wait_group
LITMUS(store_source_after_wait_read) {
  start();
  P(0, 0) store_tile(p), arch::tma::wait_read<0>(), st(T(), 1), arch::tma::wait<0>();
}

// litmus store_source_other_thread: unfinished-store; ptx cp.async.bulk.wait_group
//   P0 cta 0: tma.store t s0.t; bar.sync 0; wait_group
//   P1 cta 0: bar.sync 0; st s0.t 1
LITMUS(store_source_other_thread) {
  start();
  P(0, 0) store_tile(p);
  bar();
  P(0, 32) st(T(), 1);
  P(0, 0) arch::tma::wait<0>();
}

// litmus store_wait_by_other_thread: unfinished-store; ptx cp.async.bulk.wait_group
//   T0: tma.store t, s0.t; commit; bar.sync 0
//   T1: bar.sync 0; cp.async.bulk.wait_group 0; st s0.t 1
//   T2: bar.sync 0; the issuer ends without a wait
//   note: groups belong to the thread that issued them
LITMUS(store_wait_by_other_thread) {
  start();
  P(0, 0) store_tile(p);
  bar();
  P(0, 32) arch::tma::wait<0>(), st(T(), 1);
}

// litmus store_read_back: clean; ptx cp.async.bulk.wait_group, async proxy
//   P0 cta 0: tma.store t s0.t; wait_group; ld t
LITMUS(store_read_back) {
  start();
  P(0, 0) store_tile(p), arch::tma::wait<0>(), ld(p.tile);
}

// litmus store_read_back_early: data-race; ptx cp.async.bulk.wait_group
//   P0 cta 0: tma.store t s0.t; wait_group.read; ld t; wait_group
//   note: .read tells of the source only
LITMUS(store_read_back_early) {
  start();
  P(0, 0) store_tile(p), arch::tma::wait_read<0>(), ld(p.tile), arch::tma::wait<0>();
}

// litmus store_then_flag: clean; ptx cp.async.bulk.wait_group, 8.9.5; grid=2
//   P0 cta 0: tma.store t s0.t; wait_group; st.release.gpu f 1
//   P1 cta 1: await ld.acquire.gpu f = 1; ld t
LITMUS(store_then_flag) {
  start();
  P(0, 0) store_tile(p), arch::tma::wait<0>(), st_release<gpu>(p.f, 1);
  P(1, 0) AWAIT(ld_acquire<gpu>(p.f) == 1), ld(p.tile);
}

// litmus store_then_flag_early: data-race; ptx cp.async.bulk.wait_group; grid=2
//   P0 cta 0: tma.store t s0.t; st.release.gpu f 1; wait_group
//   P1 cta 1: await ld.acquire.gpu f = 1; ld t
LITMUS(store_then_flag_early) {
  start();
  P(0, 0) store_tile(p), st_release<gpu>(p.f, 1), arch::tma::wait<0>();
  P(1, 0) AWAIT(ld_acquire<gpu>(p.f) == 1), ld(p.tile);
}

// litmus store_unfinished_at_exit: unfinished-store; ptx cp.async.bulk.wait_group
//   T0: tma.store t, s0.t; commit; exits
LITMUS(store_unfinished_at_exit) {
  start();
  P(0, 0) store_tile(p);
}

// litmus store_not_committed: unfinished-store; ptx cp.async.bulk.commit_group
//   T0: tma.store t, s0.t; cp.async.bulk.wait_group.read 0; st s0.t 1; commit; cp.async.bulk.wait_group 0
LITMUS(store_not_committed) {
  start();
  P(0, 0) {
    arch::tma::store_2d(p.map, T(), 0, 0);
    arch::tma::wait_read<0>(), st(T(), 1);
    arch::tma::commit(), arch::tma::wait<0>();
  }
}

// --- wgmma ---------------------------------------------------------------------------------------------------------

// litmus wgmma_operand_overwritten: data-race; ptx wgmma.wait_group; threads=128
//   P0 cta 0: wgmma s0.t; st s0.t 1; wgmma.wait
LITMUS(wgmma_operand_overwritten) {
  start_filled();
  multiply([] {
    if (arch::thread_index() == 0) st(T(), 1);
  });
}

// litmus wgmma_operand_other_warp: data-race; ptx wgmma.wait_group; threads=128
//   P0 cta 0: wgmma s0.t; wgmma.wait
//   P1 cta 0: st s0.t 1
//   note: P0 is warp 0; warp 1 has waited for its own part of the instruction only
LITMUS(wgmma_operand_other_warp) {
  start_filled();
  multiply();
  P(0, 32) st(T() + 4096, 1);
}

// litmus wgmma_accumulator_early: accumulator-in-flight; ptx wgmma.wait_group; threads=128
//   T0: wgmma; reads an accumulator; wgmma.wait_group
LITMUS(wgmma_accumulator_early) {
  start_filled();
  read_early(p);
}

// --- multicast -----------------------------------------------------------------------------------------------------

// litmus multicast: clean; ptx 8.9.1.1, cp.async.bulk.tensor; grid=2 cluster=2
//   T0 cta 0: tma.load.multicast s0.t, s1.t, of CTAs 0 and 1
//   T1 cta 0, 1: wait for the CTA's own barrier; ld own t
//   note: the bytes are ordered by a wait of CTA scope (assumption 2)
LITMUS(multicast) {
  start(1);
  if (arch::thread_index() == 0) arch::mbarrier::arrive_expect_tx(M(0), kTileBytes);
  P(0, 0) arch::tma::load_multicast_2d(p.map, M(0), T(), 3, 0, 0);
  if (arch::thread_index() == 32) arch::mbarrier::wait(M(0), 0), ld(T());
  finish();
}

// litmus multicast_peer_reads_on: stage-reuse; ptx 8.7.1; grid=2 cluster=2
//   T0 cta 1: ld s1.t
//   T1 cta 0: tma.load.multicast s0.t, s1.t, without having heard of CTA 1
//   also: data-race
LITMUS(multicast_peer_reads_on) {
  start(1);
  if (arch::thread_index() == 0) arch::mbarrier::arrive_expect_tx(M(0), kTileBytes);
  P(1, 32) ld(T());
  P(0, 0) arch::tma::load_multicast_2d(p.map, M(0), T(), 3, 0, 0);
  if (arch::thread_index() == 0) arch::mbarrier::wait(M(0), 0);
  finish();
}

// litmus multicast_peer_released: clean; ptx 8.6, 8.9.5; grid=2 cluster=2
//   T0 cta 1: ld s1.t; fence.proxy.async.shared; mbarrier.arrive.release.cluster s0.empty
//   T1 cta 0: mbarrier.wait.acquire.cluster s0.empty; tma.load.multicast s0.t, s1.t
LITMUS(multicast_peer_released) {
  start(1);
  if (arch::thread_index() == 0) arch::mbarrier::arrive_expect_tx(M(0), kTileBytes);
  P(1, 32) ld(T()), arch::fence::proxy_async_shared(), arch::mbarrier::arrive_remote_release(M(1), 0);
  P(0, 0) arch::mbarrier::wait_cluster(M(1), 0), arch::tma::load_multicast_2d(p.map, M(0), T(), 3, 0, 0);
  if (arch::thread_index() == 0) arch::mbarrier::wait(M(0), 0);
  finish();
}

// litmus multicast_peer_released_cta: clean; strict remote-release-of-reads (off); ptx 8.5, 8.7; grid=2 cluster=2
//   T0 cta 1: ld s1.t; fence.proxy.async.shared; mbarrier.arrive.release.cta s0.empty
//   T1 cta 0: mbarrier.wait.acquire.cta s0.empty; tma.load.multicast s0.t, s1.t
//   note: the scopes are too narrow by the letter; every multicast pipeline does it for reads
LITMUS(multicast_peer_released_cta) {
  start(1);
  if (arch::thread_index() == 0) arch::mbarrier::arrive_expect_tx(M(0), kTileBytes);
  P(1, 32) ld(T()), arch::fence::proxy_async_shared(), arch::mbarrier::arrive_remote(M(1), 0);
  P(0, 0) arch::mbarrier::wait(M(1), 0), arch::tma::load_multicast_2d(p.map, M(0), T(), 3, 0, 0);
  if (arch::thread_index() == 0) arch::mbarrier::wait(M(0), 0);
  finish();
}

// litmus multicast_peer_wrote_released: clean; ptx 8.6, 8.9.5; grid=2 cluster=2
//   T0 cta 1: st s1.t; fence.proxy.async.shared; mbarrier.arrive.release.cluster s0.empty
//   T1 cta 0: mbarrier.wait.acquire.cluster s0.empty; tma.load.multicast s0.t, s1.t
LITMUS(multicast_peer_wrote_released) {
  start(1);
  if (arch::thread_index() == 0) arch::mbarrier::arrive_expect_tx(M(0), kTileBytes);
  P(1, 32) st(T(), 1), arch::fence::proxy_async_shared(), arch::mbarrier::arrive_remote_release(M(1), 0);
  P(0, 0) arch::mbarrier::wait_cluster(M(1), 0), arch::tma::load_multicast_2d(p.map, M(0), T(), 3, 0, 0);
  if (arch::thread_index() == 0) arch::mbarrier::wait(M(0), 0);
  finish();
}

// litmus multicast_peer_wrote_waited_cta: clean; strict remote-acquire-of-writes (off); ptx 8.5, 8.7; grid=2 cluster=2
//   T0 cta 1: st s1.t; fence.proxy.async.shared; mbarrier.arrive.release.cluster s0.empty
//   T1 cta 0: mbarrier.wait.acquire.cta s0.empty; tma.load.multicast s0.t, s1.t
//   note: the wait's scope is too narrow by the letter; a generic access after it would be reported
LITMUS(multicast_peer_wrote_waited_cta) {
  start(1);
  if (arch::thread_index() == 0) arch::mbarrier::arrive_expect_tx(M(0), kTileBytes);
  P(1, 32) st(T(), 1), arch::fence::proxy_async_shared(), arch::mbarrier::arrive_remote_release(M(1), 0);
  P(0, 0) arch::mbarrier::wait(M(1), 0), arch::tma::load_multicast_2d(p.map, M(0), T(), 3, 0, 0);
  if (arch::thread_index() == 0) arch::mbarrier::wait(M(0), 0);
  finish();
}

// litmus peer_returns_release_of_reads: clean; strict remote-release-of-reads (off); ptx 8.5, 8.7; grid=2 cluster=2
//   T0 cta 0: ld s0.d; mbarrier.arrive.release.cta s1.m
//   T1 cta 1: mbarrier.wait.acquire.cta s1.m; mbarrier.arrive.release.cta s0.m
//   T2 cta 0: mbarrier.wait.acquire.cta s0.m; st s0.d 1
//   note: where peers do not share loads, a peer's arrival of the next round may complete a phase before the own one
LITMUS(peer_returns_release_of_reads) {
  start(1);
  P(0, 0) ld(S(0)), arch::mbarrier::arrive_remote(M(0), 1);
  P(1, 0) arch::mbarrier::wait(M(0), 0), arch::mbarrier::arrive_remote(M(0), 0);
  P(0, 32) arch::mbarrier::wait(M(0), 0), st(S(0), 1);
  finish();
}

// litmus peer_returns_release_of_write: scope; ptx 8.5, 8.7; grid=2 cluster=2
//   T0 cta 0: st s0.d 1; mbarrier.arrive.release.cta s1.m
//   T1 cta 1: mbarrier.wait.acquire.cta s1.m; mbarrier.arrive.release.cta s0.m
//   T2 cta 0: mbarrier.wait.acquire.cta s0.m; ld s0.d
LITMUS(peer_returns_release_of_write) {
  start(1);
  P(0, 0) st(S(0), 1), arch::mbarrier::arrive_remote(M(0), 1);
  P(1, 0) arch::mbarrier::wait(M(0), 0), arch::mbarrier::arrive_remote(M(0), 0);
  P(0, 32) arch::mbarrier::wait(M(0), 0), ld(S(0));
  finish();
}

// litmus multicast_source_after_any_wait: clean; ptx 8.9.1.1; grid=2 cluster=2
//   T0 cta 0: tma.load.multicast s0.t, s1.t <- t; wait s0.m; st t
//   note: the source has been read when the barrier of any destination tells of the copy
LITMUS(multicast_source_after_any_wait) {
  start(1);
  if (arch::thread_index() == 0) arch::mbarrier::arrive_expect_tx(M(0), kTileBytes);
  P(0, 0) {
    arch::tma::load_multicast_2d(p.map, M(0), T(), 3, 0, 0);
    arch::mbarrier::wait(M(0), 0), st(p.tile, 1);
  }
  P(1, 0) arch::mbarrier::wait(M(0), 0);
  finish();
}

// --- tensor maps ---------------------------------------------------------------------------------------------------

// litmus map_parameter: clean; ptx 8.9.4 (API synchronization)
//   T0: tma.load through a map that is a kernel parameter
LITMUS(map_parameter) {
  start(1);
  P(0, 0) load_tile(p), arch::mbarrier::wait(M(0), 0), ld(T());
}

// litmus map_resident: clean; ptx 8.9.4 (API synchronization), fence.proxy.tensormap
//   T0: fence.proxy.tensormap::generic.acquire.gpu [map]; tma.load through a map in global memory
LITMUS(map_resident) {
  start(1);
  P(0, 0) {
    arch::tensor_map::acquire(*p.global_map);
    arch::mbarrier::arrive_expect_tx(M(0), kTileBytes);
    arch::tma::load_2d(*p.global_map, M(0), T(), 0, 0);
    arch::mbarrier::wait(M(0), 0);
  }
}

// litmus map_resident_no_acquire: stale-descriptor; ptx 8.9.4 (API synchronization), fence.proxy.tensormap
//   T0: tma.load through a map in global memory that the launch has not acquired
LITMUS(map_resident_no_acquire) {
  start(1);
  P(0, 0) {
    arch::mbarrier::arrive_expect_tx(M(0), kTileBytes);
    arch::tma::load_2d(*p.global_map, M(0), T(), 0, 0);
    arch::mbarrier::wait(M(0), 0);
  }
}

// litmus map_changed: clean; ptx tensormap.cp_fenceproxy, fence.proxy.tensormap
//   T0 warp 0: replace in a copy; bar.warp.sync; tensormap.cp_fenceproxy.release.gpu [map]; bar.sync 0
//   T1 thread 32: bar.sync 0; fence.proxy.tensormap::generic.acquire.gpu [map]; tma.load
LITMUS(map_changed) { change_and_load(p, true, true); }

// litmus map_changed_no_acquire: stale-descriptor; ptx fence.proxy.tensormap
//   T0 warp 0: replace in a copy; bar.warp.sync; tensormap.cp_fenceproxy.release.gpu [map]; bar.sync 0
//   T1 thread 32: bar.sync 0; tma.load
LITMUS(map_changed_no_acquire) { change_and_load(p, true, false); }

// litmus map_changed_plainly: stale-descriptor; ptx 8.6, fence.proxy.tensormap
//   T0 warp 0: st [map]; bar.sync 0
//   T1 thread 32: bar.sync 0; fence.proxy.tensormap::generic.acquire.gpu [map]; tma.load
LITMUS(map_changed_plainly) { change_and_load(p, false, true); }

// --- bytes that nobody wrote ---------------------------------------------------------------------------------------

// litmus uninitialised_shared: uninitialised-read; ptx 8.2.6
//   T0: ld s0.x, which nobody wrote
LITMUS(uninitialised_shared) { P(0, 0) ld(S(0)); }

// litmus uninitialised_part: uninitialised-read; ptx 8.2.6
//   T0: st.u32 s0.x; ld.v2.u32 s0.x
LITMUS(uninitialised_part) { P(0, 0) st(S(0), 1), arch::shared::load2(S(0)); }

// litmus uninitialised_global: uninitialised-read; ptx 8.2.6
//   T0: ld x, of a workspace that the launch says nobody wrote
LITMUS(uninitialised_global) { P(0, 0) ld(p.noise); }

// litmus uninitialised_global_written: clean; ptx 8.2.6
//   T0: st x; ld x, of the same workspace
LITMUS(uninitialised_global_written) { P(0, 0) st(p.noise, 1), ld(p.noise); }

// litmus uninitialised_async_source: uninitialised-read; ptx 8.2.6
//   T0: tma.store of a box in shared memory of which nobody wrote a part
LITMUS(uninitialised_async_source) {
  P(0, 0) st(T(), 1), arch::fence::proxy_async_shared(), store_tile(p), arch::tma::wait<0>();
}

// litmus uninitialised_accumulator: uninitialised-read; ptx 8.2.6, wgmma.mma_async; threads=128
//   T0: wgmma with scale-d = 1 into registers that nobody set
LITMUS(uninitialised_accumulator) {
  start_filled();
  multiply([] {}, true);
}

}  // namespace ww::litmus
