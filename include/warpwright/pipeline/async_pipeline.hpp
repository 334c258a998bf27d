// SPDX-License-Identifier: Apache-2.0
// The ring between one thread that writes small records to shared memory and the warps that read them (CUTLASS:
// PipelineAsync).
//   producer:  acquire = wait until every consumer warp has read the stage -> store -> commit
//   consumer:  wait = until the record is there -> load -> release = this warp has read it
// It uses ordinary stores and loads, which the barriers order. In a cluster the producer, a warp of CTA 0, stores the
// record in every CTA by st.async. The full barrier there counts its bytes once one consumer thread of that CTA has
// announced them. So consumers wait in their own shared memory and release to CTA 0.
#pragma once

#include "warpwright/arch/common/cluster.hpp"
#include "warpwright/arch/common/mbarrier.hpp"
#include "warpwright/arch/common/shared.hpp"
#include "warpwright/arch/common/warp.hpp"
#include "warpwright/pipeline/arrivals.hpp"
#include "warpwright/pipeline/stage_ring.hpp"

namespace ww::pipeline {

/// The consumers are kConsumerWarps of each of kCtas CTAs.
template <int kStages, int kConsumerWarps, int kCtas = 1> class AsyncPipeline : StageRing<kStages> {
  using Ring = StageRing<kStages>;
  using Ring::barriers_, Ring::empty, Ring::full, Ring::state_;

 public:
  using Ring::kBytes, Ring::producer_try_acquire, Ring::consumer_try_wait;

  WW_DEVICE AsyncPipeline(arch::SharedAddress barriers, Role role) : Ring(barriers, role) {}

  /// Initialises the barriers. One thread of the CTA calls it, before make_barriers_visible.
  WW_DEVICE static void initialize(arch::SharedAddress barriers) {
    Ring::initialize(barriers, 1, kConsumerWarps * kCtas);
  }

  /// Waits until everyone has read the next stage, and returns it. Called by the producer thread.
  WW_DEVICE u32 producer_acquire(WaitToken token = {}) {
    if (!token.done) arch::mbarrier::wait(empty(barriers_, state_.index), state_.parity);
    return state_.index;
  }
  /// Publishes the record of the acquired stage. Called by the producer thread after storing it.
  WW_DEVICE void producer_commit() {
    arch::mbarrier::arrive(full(barriers_, state_.index));
    state_.advance();
  }

  /// Makes `word` the record at offset `record` in every CTA. All lanes of a producing warp of CTA 0 call it.
  WW_DEVICE void producer_broadcast(arch::SharedAddress record, u32 word) {
    arch::warp::sync();  // otherwise the ring could advance past a lane that has not yet seen this stage free
    const u32 lane = arch::lane_index();
    if constexpr (kCtas == 1) {
      if (lane == 0) arch::shared::store(record, word);
      arch::mbarrier::arrive_if(lane == 0, full(barriers_, state_.index));
    } else {
      const u32 rank = min<u32>(lane, kCtas - 1);
      arch::cluster::store_async_if(lane < kCtas, arch::cluster::map(record, rank), word,
                                    {arch::cluster::map(full(barriers_, state_.index).address, rank)});
    }
    state_.advance();
  }

  /// Announces the 4 bytes that the next stage will get. In a cluster, one consumer thread of each CTA calls it before
  /// it waits.
  WW_DEVICE void consumer_announce() const {
    if constexpr (kCtas > 1) arch::mbarrier::arrive_expect_tx(full(barriers_, state_.index), 4);
  }
  /// Waits until the next stage is written, and returns it. Called by consumer threads.
  WW_DEVICE u32 consumer_wait(WaitToken token = {}) {
    if (!token.done) arch::mbarrier::wait(full(barriers_, state_.index), state_.parity);
    return state_.index;
  }
  /// Releases the stage. All lanes of a consumer warp call it after reading.
  WW_DEVICE void consumer_release() {
    arch::warp::sync();  // the arrival of one lane stands for the reads of all 32
    release_if(arch::lane_index() == 0);
  }
  /// Releases the stage in one thread that reads for its warp.
  WW_DEVICE void consumer_release_alone() { release_if(true); }

 private:
  WW_DEVICE void release_if(bool arrives) {
    if constexpr (kCtas == 1) arch::mbarrier::arrive_if(arrives, empty(barriers_, state_.index));
    else arch::mbarrier::arrive_remote_if(arrives, empty(barriers_, state_.index), 0);
    state_.advance();
  }
};

}  // namespace ww::pipeline
