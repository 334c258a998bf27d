// SPDX-License-Identifier: Apache-2.0
// How warps w of the peers of a CTA write to its shared memory what its warp w reads there.
//   peer:   acquire = wait until the last round has been read -> store -> commit
//   taker:  wait = until the bytes of all peers are there -> load from its own shared memory -> release
// why the peers write and not the taker reads: a store over DSMEM is posted, a load is a round trip, and the taker
// would make one after the other. why st.async: the barrier counts its bytes, so that no writer needs a fence of the
// cluster, which takes longer than the stores. Every peer takes part in every round, with or without something to give:
// one that stayed away could fall behind by a phase and more, or run ahead of one.
#pragma once

#include "warpwright/arch/cluster.hpp"
#include "warpwright/arch/mbarrier.hpp"
#include "warpwright/arch/warp.hpp"
#include "warpwright/pipeline/pipeline_state.hpp"

namespace ww::pipeline {

/// Peers are numbered from 1 to kPeers.
template <int kPeers, int kWarps> class ExchangePipeline {
 public:
  /// Bytes of shared memory for the barriers: of the taker full[kWarps], of a peer empty[kWarps].
  static constexpr u32 kBytes = 2 * kWarps * arch::kMBarrierBytes;

  /// Role::producer is a peer, Role::consumer the taker.
  WW_DEVICE ExchangePipeline(arch::SharedAddress barriers, int warp, Role role)
      : barriers_(barriers), warp_(warp), state_(role) {}

  /// By one thread of each CTA, before make_barriers_visible.
  WW_DEVICE static void initialize(arch::SharedAddress barriers) {
    for (u32 i = 0; i < kWarps; ++i) {
      arch::mbarrier::init({barriers + i * arch::kMBarrierBytes}, 1 + kPeers);
      arch::mbarrier::init({barriers + (kWarps + i) * arch::kMBarrierBytes}, 1);
    }
  }

  /// All lanes of a peer's warp: the barrier of `taker`, a rank, which counts the bytes of this round.
  WW_DEVICE arch::MBarrier acquire(u32 taker) const {
    arch::mbarrier::wait(empty(), state_.parity);
    return {arch::cluster::map(full().address, taker)};
  }
  /// All lanes, when all stores are issued.
  WW_DEVICE void commit(u32 taker) {
    arch::warp::sync();  // why: lanes go on together; none is overtaken without it, as all their bytes count
    arch::mbarrier::arrive_remote_if(arch::lane_index() == 0, full(), taker);
    state_.advance();
  }

  /// All lanes of the taker's warp: `bytes` of all peers together are there.
  WW_DEVICE void wait(u32 bytes) const {
    if (arch::lane_index() == 0) arch::mbarrier::arrive_expect_tx(full(), bytes);
    arch::mbarrier::wait(full(), state_.parity);
  }
  /// All lanes, when all have loaded what the peers gave: peer i has rank first + i * step.
  WW_DEVICE void release(u32 first, u32 step) {
    arch::warp::sync();                       // why: one lane speaks for the loads of all 32
    const u32 peer = arch::lane_index() + 1;  // one arrival each
    arch::mbarrier::arrive_remote_if(peer <= kPeers, empty(), first + min<u32>(peer, kPeers) * step);
    state_.advance();
  }

 private:
  WW_DEVICE arch::MBarrier full() const { return {barriers_ + static_cast<u32>(warp_) * arch::kMBarrierBytes}; }
  WW_DEVICE arch::MBarrier empty() const {
    return {barriers_ + static_cast<u32>(kWarps + warp_) * arch::kMBarrierBytes};
  }

  arch::SharedAddress barriers_;
  int warp_;
  PipelineState<1> state_;
};

}  // namespace ww::pipeline
