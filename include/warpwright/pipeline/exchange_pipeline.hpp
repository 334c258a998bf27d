// SPDX-License-Identifier: Apache-2.0
// How warp w of one CTA takes what warps w of its peers have written to their own shared memory.
//   peer:   acquire = wait until the last round has been read -> store in its own buffer -> commit
//   taker:  for each peer: wait = until it is there -> load over DSMEM -> release; then advance
// One buffer for each warp of a peer; every peer takes part in every round, with or without something to give.
#pragma once

#include "warpwright/arch/cluster.hpp"
#include "warpwright/arch/fence.hpp"
#include "warpwright/arch/mbarrier.hpp"
#include "warpwright/arch/warp.hpp"
#include "warpwright/pipeline/pipeline_state.hpp"

namespace ww::pipeline {

/// Peers are numbered from 1 to kPeers.
template <int kPeers, int kWarps> class ExchangePipeline {
 public:
  /// Bytes of shared memory for the barriers: of the taker full[kPeers][kWarps], of a peer empty[kWarps].
  static constexpr u32 kBytes = (kPeers + 1) * kWarps * arch::kMBarrierBytes;

  /// Role::producer is a peer, Role::consumer the taker.
  WW_DEVICE ExchangePipeline(arch::SharedAddress barriers, int warp, Role role)
      : barriers_(barriers), warp_(warp), state_(role) {}

  /// By one thread of each CTA, before make_barriers_visible.
  WW_DEVICE static void initialize(arch::SharedAddress barriers) {
    for (u32 i = 0; i < (kPeers + 1) * kWarps; ++i) arch::mbarrier::init({barriers + i * arch::kMBarrierBytes}, 1);
  }

  /// All lanes of a peer's warp.
  WW_DEVICE void acquire() const {
    arch::mbarrier::wait(empty(), state_.parity);
    arch::fence::acq_rel_cluster();
  }
  /// All lanes, when all have stored. `peer` is this one's number, `taker` the rank of the CTA that takes.
  WW_DEVICE void commit(int peer, u32 taker) {
    signal(full(peer), taker);
    state_.advance();
  }

  /// All lanes of the taker's warp.
  WW_DEVICE void wait(int peer) const {
    arch::mbarrier::wait(full(peer), state_.parity);
    arch::fence::acq_rel_cluster();
  }
  /// All lanes, when all have loaded what the peer of this rank gave.
  WW_DEVICE void release(u32 rank) const { signal(empty(), rank); }
  /// When all peers have been waited for and released.
  WW_DEVICE void advance() { state_.advance(); }

 private:
  WW_DEVICE void signal(arch::MBarrier barrier, u32 rank) const {
    arch::warp::sync();              // why: one lane speaks for the accesses of all 32 ...
    arch::fence::acq_rel_cluster();  // ... in all of the cluster
    arch::mbarrier::arrive_remote_if(arch::lane_index() == 0, barrier, rank);
  }
  WW_DEVICE arch::MBarrier full(int peer) const {
    return {barriers_ + static_cast<u32>((peer - 1) * kWarps + warp_) * arch::kMBarrierBytes};
  }
  WW_DEVICE arch::MBarrier empty() const {
    return {barriers_ + static_cast<u32>(kPeers * kWarps + warp_) * arch::kMBarrierBytes};
  }

  arch::SharedAddress barriers_;
  int warp_;
  PipelineState<1> state_;
};

}  // namespace ww::pipeline
