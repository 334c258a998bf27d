// SPDX-License-Identifier: Apache-2.0
// Barriers of a CTA and of a warp, shuffles and votes (which order no memory), and aligned execution.
#pragma once

#include "threads.hpp"

namespace ww::litmus {

// litmus bar_sync: clean; ptx 8.9.4
//   P0 cta 0: st s0.d 1; bar.sync 0
//   P1 cta 0: bar.sync 0; ld s0.d
LITMUS(bar_sync) {
  start();
  P(0, 0) st(S(0), 1);
  bar();
  P(0, 32) ld(S(0));
}

// litmus bar_none: data-race; ptx 8.7.1
//   P0 cta 0: st s0.d 1
//   P1 cta 0: ld s0.d
LITMUS(bar_none) {
  start();
  P(0, 0) st(S(0), 1);
  P(0, 32) ld(S(0));
}

// litmus bar_global: clean; ptx 8.9.4
//   P0 cta 0: st d 1; bar.sync 0
//   P1 cta 0: bar.sync 0; ld d
LITMUS(bar_global) {
  P(0, 0) st(p.d, 1);
  bar();
  P(0, 32) ld(p.d);
}

// litmus bar_other_cta: data-race; ptx 8.9.4; grid=2
//   P0 cta 0: st d 1; bar.sync 0
//   P1 cta 1: bar.sync 1; ld d
//   note: each CTA has barriers of its own (written as 0 and 1 here)
LITMUS(bar_other_cta) {
  P(0, 0) st(p.d, 1);
  bar();
  P(1, 0) ld(p.d);
}

// litmus bar_arrive: clean; ptx 8.9.4
//   P0 cta 0: st s0.d 1; bar.arrive 1
//   P1 cta 0: bar.sync 1; ld s0.d
LITMUS(bar_arrive) {
  start();
  P(0, 0) st(S(0), 1);
  if (arch::warp_index() == 0) arch::named_barrier::arrive<1>(64);
  else arch::named_barrier::sync<1>(64);
  P(0, 32) ld(S(0));
}

// litmus bar_arrive_reads: data-race; ptx 8.9.4
//   P0 cta 0: bar.arrive 1; ld s0.d
//   P1 cta 0: st s0.d 1; bar.sync 1
LITMUS(bar_arrive_reads) {
  start();
  P(0, 32) st(S(0), 1);
  if (arch::warp_index() == 0) arch::named_barrier::arrive<1>(64);
  else arch::named_barrier::sync<1>(64);
  P(0, 0) ld(S(0));
}

// litmus bar_late_store: data-race; ptx 8.9.4
//   P0 cta 0: bar.arrive 1; st s0.d 1
//   P1 cta 0: bar.sync 1; ld s0.d
LITMUS(bar_late_store) {
  start();
  if (arch::warp_index() == 0) arch::named_barrier::arrive<1>(64);
  else arch::named_barrier::sync<1>(64);
  P(0, 0) st(S(0), 1);
  P(0, 32) ld(S(0));
}

// litmus bar_third_warp: data-race; ptx 8.9.4; threads=96
//   P0 cta 0: st s0.d 1; bar.sync 1
//   P1 cta 0: bar.sync 1
//   P2 cta 0: ld s0.d
LITMUS(bar_third_warp) {
  start();
  P(0, 0) st(S(0), 1);
  if (arch::warp_index() < 2) arch::named_barrier::sync<1>(64);
  P(0, 64) ld(S(0));
}

// litmus warp_sync: clean; ptx bar.warp.sync
//   P0 cta 0: st s0.d 1; bar.warp.sync 0
//   P1 cta 0: bar.warp.sync 0; ld s0.d
LITMUS(warp_sync) {
  start();
  P(0, 0) st(S(0), 1);
  arch::warp::sync();
  P(0, 1) ld(S(0));
}

// litmus warp_sync_mask: data-race; ptx bar.warp.sync
//   P0 cta 0: st s0.d 1; bar.warp.sync 0
//   P1 cta 0: bar.warp.sync 0
//   P2 cta 0: ld s0.d
//   note: P2 is a lane outside the mask
LITMUS(warp_sync_mask) {
  start();
  P(0, 0) st(S(0), 1);
  if (arch::thread_index() < 16) arch::warp::sync(0xffffu);
  P(0, 20) ld(S(0));
}

// litmus warp_sync_two_masks: clean; ptx bar.warp.sync
//   P0 cta 0: st s0.d 1; bar.warp.sync 0
//   P1 cta 0: bar.warp.sync 0; bar.warp.sync 1
//   P2 cta 0: bar.warp.sync 1; ld s0.d
LITMUS(warp_sync_two_masks) {
  start();
  P(0, 0) st(S(0), 1);
  if (arch::thread_index() < 2) arch::warp::sync(0x3u);
  if (arch::thread_index() == 1 || arch::thread_index() == 2) arch::warp::sync(0x6u);
  P(0, 2) ld(S(0));
}

// litmus warp_sync_other_warp: data-race; ptx bar.warp.sync
//   P0 cta 0: st s0.d 1; bar.warp.sync 0
//   P1 cta 0: bar.warp.sync 1; ld s0.d
LITMUS(warp_sync_other_warp) {
  start();
  P(0, 0) st(S(0), 1);
  arch::warp::sync();
  P(0, 32) ld(S(0));
}

// litmus shuffle_orders_nothing: data-race; ptx shfl.sync
//   P0 cta 0: st s0.d 1; shfl.sync 0
//   P1 cta 0: shfl.sync 0; ld s0.d
LITMUS(shuffle_orders_nothing) {
  start();
  P(0, 0) st(S(0), 1);
  arch::warp::shuffle_xor(arch::thread_index(), 1);
  P(0, 1) ld(S(0));
}

// litmus vote_orders_nothing: data-race; ptx vote.sync
//   P0 cta 0: st s0.d 1; vote.sync 0
//   P1 cta 0: vote.sync 0; ld s0.d
LITMUS(vote_orders_nothing) {
  start();
  P(0, 0) st(S(0), 1);
  arch::warp::any(true);
  P(0, 1) ld(S(0));
}

// litmus elect_orders_nothing: data-race; ptx elect.sync
//   P0 cta 0: st s0.d 1; elect.sync 0
//   P1 cta 0: elect.sync 0; ld s0.d
LITMUS(elect_orders_nothing) {
  start();
  P(0, 0) st(S(0), 1);
  arch::warp::elect();
  P(0, 1) ld(S(0));
}

// litmus shuffle_write_after_read: data-race; ptx shfl.sync
//   P0 cta 0: ld s0.d; shfl.sync 0
//   P1 cta 0: shfl.sync 0; st s0.d 1
LITMUS(shuffle_write_after_read) {
  start();
  P(0, 0) ld(S(0));
  arch::warp::shuffle(arch::thread_index(), 0);
  P(0, 1) st(S(0), 1);
}

// litmus shuffle_then_warp_sync: clean; ptx bar.warp.sync
//   P0 cta 0: st s0.d 1; shfl.sync 0; bar.warp.sync 0
//   P1 cta 0: shfl.sync 0; bar.warp.sync 0; ld s0.d
LITMUS(shuffle_then_warp_sync) {
  start();
  P(0, 0) st(S(0), 1);
  arch::warp::shuffle(arch::thread_index(), 0);
  arch::warp::sync();
  P(0, 1) ld(S(0));
}

// litmus shuffle_before_arrive: data-race; ptx shfl.sync, 8.9.4
//   T0 all lanes of warp 0: st s0.d[lane]; shfl.sync
//   T1 lane 0 of warp 0: mbarrier.arrive s0.m
//   T2 warp 1: mbarrier.wait s0.m; ld s0.d[lane]
LITMUS(shuffle_before_arrive) {
  start(1);
  if (arch::warp_index() == 0) {
    st(L(arch::lane_index()), 1);
    arch::warp::shuffle(arch::thread_index(), 0);
    if (arch::lane_index() == 0) arch::mbarrier::arrive(M(0));
  } else {
    arch::mbarrier::wait(M(0), 0);
    ld(L(arch::lane_index()));
  }
}

// litmus elected_arrive_without_sync: data-race; ptx 8.9.4
//   T0 all lanes of warp 0: st s0.d[lane]
//   T1 lane 0 of warp 0: mbarrier.arrive s0.m
//   T2 warp 1: mbarrier.wait s0.m; ld s0.d[lane]
LITMUS(elected_arrive_without_sync) {
  start(1);
  if (arch::warp_index() == 0) {
    st(L(arch::lane_index()), 1);
    if (arch::lane_index() == 0) arch::mbarrier::arrive(M(0));
  } else {
    arch::mbarrier::wait(M(0), 0);
    ld(L(arch::lane_index()));
  }
}

// litmus elected_arrive_after_sync: clean; ptx bar.warp.sync, 8.9.5
//   T0 all lanes of warp 0: st s0.d[lane]; bar.warp.sync
//   T1 lane 0 of warp 0: mbarrier.arrive s0.m
//   T2 warp 1: mbarrier.wait s0.m; ld s0.d[lane]
LITMUS(elected_arrive_after_sync) {
  start(1);
  if (arch::warp_index() == 0) {
    st(L(arch::lane_index()), 1);
    arch::warp::sync();
    if (arch::lane_index() == 0) arch::mbarrier::arrive(M(0));
  } else {
    arch::mbarrier::wait(M(0), 0);
    ld(L(arch::lane_index()));
  }
}

// litmus aligned_half_warps: divergent-call; ptx bar.sync
//   T0 lanes 0 to 15 of warp 0: bar.sync 0 in one branch
//   T1 lanes 16 to 31 of warp 0: bar.sync 0 in the other branch
//   T2 warp 1: bar.sync 0
LITMUS(aligned_half_warps) {
  P(0, 32) st(p.d, 1);
  if (arch::thread_index() < 16) arch::named_barrier::sync_cta();
  else if (arch::thread_index() < 32) arch::named_barrier::sync_cta();
  else arch::named_barrier::sync_cta();
}

// litmus aligned_whole_warps: clean; ptx bar.sync
//   T0 warp 0: bar.sync 0 in one branch
//   T1 warp 1: bar.sync 0 in the other branch
LITMUS(aligned_whole_warps) {
  P(0, 32) st(p.d, 1);
  if (arch::warp_index() == 0) arch::named_barrier::sync_cta();
  else arch::named_barrier::sync_cta();
}

// litmus aligned_half_arrives: divergent-call; ptx bar.arrive
//   T0 lanes 0 to 15 of warp 0: bar.arrive 1 in one branch
//   T1 lanes 16 to 31 of warp 0: bar.arrive 1 in the other branch
//   T2 warp 1: bar.sync 1
LITMUS(aligned_half_arrives) {
  P(0, 32) st(p.d, 1);
  if (arch::thread_index() < 16) arch::named_barrier::arrive<1>(64);
  else if (arch::thread_index() < 32) arch::named_barrier::arrive<1>(64);
  else arch::named_barrier::sync<1>(64);
}

// litmus aligned_cluster_half_warps: divergent-call; ptx barrier.cluster; grid=2 cluster=2
//   T0 lanes 0 to 15 of each warp: barrier.cluster.arrive.aligned in one branch
//   T1 the other lanes: barrier.cluster.arrive.aligned in the other branch
//   T2 all: barrier.cluster.wait
LITMUS(aligned_cluster_half_warps) {
  P(0, 32) st(p.d, 1);
  if (arch::lane_index() < 16) arch::cluster::arrive();
  else arch::cluster::arrive();
  arch::cluster::wait();
}

}  // namespace ww::litmus
