// SPDX-License-Identifier: Apache-2.0
// The reduction buffers of a cluster: warp w of each peer writes to the shared memory of one CTA what warp w there
// reads.
//   peer:    acquire = wait until the last round has been read -> store -> commit
//   reader:  wait = until the bytes of all peers have arrived -> load from its own shared memory -> release
// The peers write, because a store over DSMEM is posted, while the reader's loads would be one round trip after
// another. They use st.async, whose bytes the barrier counts, so that no writer needs a cluster fence, which takes
// longer than the stores. Every peer takes part in every round, even without data; otherwise its phase could fall
// behind by one or more, or run ahead.
#pragma once

#include "warpwright/arch/common/cluster.hpp"
#include "warpwright/arch/common/mbarrier.hpp"
#include "warpwright/arch/common/warp.hpp"
#include "warpwright/pipeline/pipeline_state.hpp"

namespace ww::pipeline {

/// Peers are numbered from 1 to kPeers.
template <int kPeers, int kWarps> class ExchangePipeline {
 public:
  /// Bytes of shared memory for the barriers: full[kWarps] of the reader, then empty[kWarps] of a peer.
  static constexpr u32 kBytes = 2 * kWarps * arch::kMBarrierBytes;

  /// Role::producer is a peer, Role::consumer the reader.
  WW_DEVICE ExchangePipeline(arch::SharedAddress barriers, int warp, Role role)
      : barriers_(barriers), warp_(warp), state_(role) {}

  /// Initialises the barriers. One thread of each CTA calls it, before make_barriers_visible.
  WW_DEVICE static void initialize(arch::SharedAddress barriers) {
    for (u32 i = 0; i < kWarps; ++i) {
      arch::mbarrier::init({barriers + i * arch::kMBarrierBytes}, 1 + kPeers);
      arch::mbarrier::init({barriers + (kWarps + i) * arch::kMBarrierBytes}, 1);
    }
  }

  /// Waits until the last round has been read, and returns the barrier of rank `taker` that counts the bytes of this
  /// round. All lanes of a peer's warp call it.
  WW_DEVICE arch::MBarrier acquire(u32 taker) const {
    arch::mbarrier::wait(empty(), state_.parity);
    return {arch::cluster::map(full().address, taker)};
  }
  /// Ends the round of a peer. All lanes call it after issuing their stores.
  WW_DEVICE void commit(u32 taker) {
    arch::warp::sync();  // keeps the lanes together; correctness does not need it, because all their bytes are counted
    arch::mbarrier::arrive_remote_if(arch::lane_index() == 0, full(), taker);
    state_.advance();
  }

  /// Waits until `bytes` of all peers together have arrived. All lanes of the reader's warp call it.
  WW_DEVICE void wait(u32 bytes) const {
    if (arch::lane_index() == 0) arch::mbarrier::arrive_expect_tx(full(), bytes);
    arch::mbarrier::wait(full(), state_.parity);
  }
  /// Releases the buffers to the peers, of which peer i has rank first + i * step. All lanes call it after loading.
  WW_DEVICE void release(u32 first, u32 step) {
    arch::warp::sync();                       // one lane's arrival stands for the loads of all 32
    const u32 peer = arch::lane_index() + 1;  // one arrival for each peer
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
