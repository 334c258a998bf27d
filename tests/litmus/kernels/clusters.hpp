// SPDX-License-Identifier: Apache-2.0
// Mbarriers, cluster barriers and distributed shared memory: which scope an arrival and a wait need, st.async, and
// what the completion of a copy tells.
#pragma once

#include "threads.hpp"

namespace ww::litmus {

// --- mbarriers in one CTA ------------------------------------------------------------------------------------------

// litmus mbarrier_local: clean; ptx 8.8, 8.9.4
//   P0 cta 0: st s0.d 1; mbarrier.arrive.release.cta s0.m
//   P1 cta 0: mbarrier.wait.acquire.cta s0.m; ld s0.d
LITMUS(mbarrier_local) {
  start(1);
  P(0, 0) st(S(0), 1), arch::mbarrier::arrive(M(0));
  P(0, 32) arch::mbarrier::wait(M(0), 0), ld(S(0));
}

// litmus mbarrier_late_store: data-race; ptx 8.8
//   P0 cta 0: mbarrier.arrive.release.cta s0.m; st s0.d 1
//   P1 cta 0: mbarrier.wait.acquire.cta s0.m; ld s0.d
LITMUS(mbarrier_late_store) {
  start(1);
  P(0, 0) arch::mbarrier::arrive(M(0)), st(S(0), 1);
  P(0, 32) arch::mbarrier::wait(M(0), 0), ld(S(0));
}

// litmus mbarrier_two_arrivals: clean; ptx 8.8, 8.9.2; threads=96
//   P0 cta 0: st s0.d 1; mbarrier.arrive.release.cta s0.m
//   P1 cta 0: st s0.e 1; mbarrier.arrive.release.cta s0.m
//   P2 cta 0: mbarrier.wait.acquire.cta s0.m; ld s0.d; ld s0.e
LITMUS(mbarrier_two_arrivals) {
  start(2);
  P(0, 0) st(S(0), 1), arch::mbarrier::arrive(M(0));
  P(0, 32) st(S(1), 1), arch::mbarrier::arrive(M(0));
  P(0, 64) arch::mbarrier::wait(M(0), 0), ld(S(0)), ld(S(1));
}

// --- mbarriers and distributed shared memory -----------------------------------------------------------------------

// litmus remote_cluster_both: clean; ptx 8.5, 8.8, 8.9.4; grid=2 cluster=2
//   P0 cta 0: st s1.d 1; mbarrier.arrive.release.cluster s1.m
//   P1 cta 1: mbarrier.wait.acquire.cluster s1.m; ld s1.d
LITMUS(remote_cluster_both) {
  start(1);
  P(0, 0) rst(R(0, 1), 1), arch::mbarrier::arrive_remote_release(M(0), 1);
  P(1, 0) arch::mbarrier::wait_cluster(M(0), 0), ld(S(0));
  finish();
}

// litmus remote_default_arrive: scope; ptx 8.5, 8.7; grid=2 cluster=2
//   P0 cta 0: st s1.d 1; mbarrier.arrive.release.cta s1.m
//   P1 cta 1: mbarrier.wait.acquire.cluster s1.m; ld s1.d
LITMUS(remote_default_arrive) {
  start(1);
  P(0, 0) rst(R(0, 1), 1), arch::mbarrier::arrive_remote(M(0), 1);
  P(1, 0) arch::mbarrier::wait_cluster(M(0), 0), ld(S(0));
  finish();
}

// litmus remote_default_wait: scope; ptx 8.5, 8.7; grid=2 cluster=2
//   P0 cta 0: st s1.d 1; mbarrier.arrive.release.cluster s1.m
//   P1 cta 1: mbarrier.wait.acquire.cta s1.m; ld s1.d
LITMUS(remote_default_wait) {
  start(1);
  P(0, 0) rst(R(0, 1), 1), arch::mbarrier::arrive_remote_release(M(0), 1);
  P(1, 0) arch::mbarrier::wait(M(0), 0), ld(S(0));
  finish();
}

// litmus remote_fence_and_default_wait: scope; ptx 8.7, 8.9.2; grid=2 cluster=2
//   P0 cta 0: st s1.d 1; mbarrier.arrive.release.cluster s1.m
//   P1 cta 1: mbarrier.wait.acquire.cta s1.m; fence.acq_rel.cluster; ld s1.d
//   note: the fence is wide enough, but the wait and the arrival themselves are not morally strong
LITMUS(remote_fence_and_default_wait) {
  start(1);
  P(0, 0) rst(R(0, 1), 1), arch::mbarrier::arrive_remote_release(M(0), 1);
  P(1, 0) arch::mbarrier::wait(M(0), 0), fence<cluster>(), ld(S(0));
  finish();
}

// litmus remote_own_data: scope; ptx 8.5, 8.7; grid=2 cluster=2
//   P0 cta 0: st d 1; mbarrier.arrive.release.cta s1.m
//   P1 cta 1: mbarrier.wait.acquire.cta s1.m; ld d
//   note: the data is in global memory
LITMUS(remote_own_data) {
  start(1);
  P(0, 0) st(p.d, 1), arch::mbarrier::arrive_remote(M(0), 1);
  P(1, 0) arch::mbarrier::wait(M(0), 0), ld(p.d);
  finish();
}

// litmus remote_wait_then_barrier: clean; ptx 8.9.5; grid=2 cluster=2
//   P0 cta 0: st s1.d 1; mbarrier.arrive.release.cluster s1.m
//   P1 cta 1: mbarrier.wait.acquire.cluster s1.m; bar.sync 0
//   P2 cta 1: bar.sync 0; ld s1.d
LITMUS(remote_wait_then_barrier) {
  start(1);
  P(0, 0) rst(R(0, 1), 1), arch::mbarrier::arrive_remote_release(M(0), 1);
  P(1, 0) arch::mbarrier::wait_cluster(M(0), 0);
  bar();
  P(1, 32) ld(S(0));
  finish();
}

// --- cluster barriers ----------------------------------------------------------------------------------------------

// litmus cluster_barrier: clean; ptx 8.9.4; grid=2 cluster=2
//   P0 cta 0: st s1.d 1; cluster.arrive 0; cluster.wait 0
//   P1 cta 1: cluster.arrive 0; cluster.wait 0; ld s1.d
LITMUS(cluster_barrier) {
  start();
  P(0, 0) rst(R(0, 1), 1);
  meet();
  P(1, 0) ld(S(0));
}

// litmus cluster_barrier_remote_read: clean; ptx 8.9.4; grid=2 cluster=2
//   P0 cta 0: st s0.d 1; cluster.arrive 0; cluster.wait 0
//   P1 cta 1: cluster.arrive 0; cluster.wait 0; ld s0.d
LITMUS(cluster_barrier_remote_read) {
  start();
  P(0, 0) st(S(0), 1);
  meet();
  P(1, 0) rld(R(0, 0));
  finish();
}

// litmus cluster_barrier_relaxed: data-race; ptx barrier.cluster; grid=2 cluster=2
//   P0 cta 0: st s1.d 1; cluster.arrive.relaxed 0; cluster.wait 0
//   P1 cta 1: cluster.arrive.relaxed 0; cluster.wait 0; ld s1.d
LITMUS(cluster_barrier_relaxed) {
  start();
  P(0, 0) rst(R(0, 1), 1);
  arch::warp::sync();
  arch::cluster::arrive_relaxed();
  arch::cluster::wait();
  P(1, 0) ld(S(0));
  finish();
}

// litmus cluster_barrier_fence_relaxed: clean; ptx barrier.cluster, 8.8; grid=2 cluster=2
//   P0 cta 0: st s1.d 1; fence.acq_rel.cluster; cluster.arrive.relaxed 0; cluster.wait 0
//   P1 cta 1: cluster.arrive.relaxed 0; cluster.wait 0; ld s1.d
LITMUS(cluster_barrier_fence_relaxed) {
  start();
  P(0, 0) rst(R(0, 1), 1), fence<cluster>();
  arch::warp::sync();
  arch::cluster::arrive_relaxed();
  arch::cluster::wait();
  P(1, 0) ld(S(0));
  finish();
}

// litmus cluster_barrier_late_store: data-race; ptx 8.9.4; grid=2 cluster=2
//   P0 cta 0: cluster.arrive 0; st s1.d 1; cluster.wait 0
//   P1 cta 1: cluster.arrive 0; cluster.wait 0; ld s1.d
LITMUS(cluster_barrier_late_store) {
  start();
  arch::cluster::arrive();
  P(0, 0) rst(R(0, 1), 1);
  arch::cluster::wait();
  P(1, 0) ld(S(0));
  finish();
}

// litmus cta_barrier_across_cluster: data-race; ptx 8.9.4; grid=2 cluster=2
//   P0 cta 0: st s1.d 1; bar.sync 0
//   P1 cta 1: bar.sync 1; ld s1.d
LITMUS(cta_barrier_across_cluster) {
  start();
  P(0, 0) rst(R(0, 1), 1);
  bar();
  P(1, 0) ld(S(0));
  finish();
}

// litmus remote_after_exit: exited-cta; ptx mapa; grid=2 cluster=2
//   T0 cta 0: st s1.d 1
//   T1 cta 1: exits
LITMUS(remote_after_exit) {
  start();
  if (arch::block_index() == 1) return;
  for (u32 look = 0; look < 40; ++look) arch::warp::sync();  // lets CTA 1 exit in most schedules
  P(0, 0) rst(R(0, 1), 1);
}

// --- st.async: its bytes and nothing else --------------------------------------------------------------------------

// litmus store_async_value: clean; ptx 8.9.1.1, st.async; grid=2 cluster=2
//   P0 cta 1: mbarrier.arrive.release.cta s1.m; mbarrier.wait.acquire.cta s1.m; ld s1.d
//   P1 cta 0: st.async s1.d 1 s1.m
LITMUS(store_async_value) {
  start(1);
  P(1, 0) arch::mbarrier::arrive_expect_tx(M(0), 4);
  P(0, 0) arch::cluster::store_async_if(true, R(0, 1), 1, {arch::cluster::map(M(0).address, 1)});
  P(1, 0) arch::mbarrier::wait(M(0), 0), ld(S(0));
  finish();
}

// litmus store_async_no_wait: data-race; ptx 8.9.1.1, st.async; grid=2 cluster=2
//   P0 cta 1: mbarrier.arrive.release.cta s1.m; ld s1.d; mbarrier.wait.acquire.cta s1.m
//   P1 cta 0: st.async s1.d 1 s1.m
//   also: stage-reuse
LITMUS(store_async_no_wait) {
  start(1);
  P(1, 0) arch::mbarrier::arrive_expect_tx(M(0), 4), ld(S(0));
  P(0, 0) arch::cluster::store_async_if(true, R(0, 1), 1, {arch::cluster::map(M(0).address, 1)});
  P(1, 0) arch::mbarrier::wait(M(0), 0);
  finish();
}

// litmus store_async_is_no_release: data-race; ptx 8.9.1.1; grid=2 cluster=2
//   P0 cta 1: mbarrier.arrive.release.cta s1.m; mbarrier.wait.acquire.cluster s1.m; ld s1.e
//   P1 cta 0: st s1.e 1; st.async s1.d 1 s1.m
//   note: the completion orders the bytes of the st.async, not what its thread did before
LITMUS(store_async_is_no_release) {
  start(1);
  P(1, 0) arch::mbarrier::arrive_expect_tx(M(0), 4);
  P(0, 0) {
    rst(R(1, 1), 1);
    arch::cluster::store_async_if(true, R(0, 1), 1, {arch::cluster::map(M(0).address, 1)});
  }
  P(1, 0) arch::mbarrier::wait_cluster(M(0), 0), ld(S(1));
  finish();
}

}  // namespace ww::litmus
