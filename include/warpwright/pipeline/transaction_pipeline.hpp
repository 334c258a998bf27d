// SPDX-License-Identifier: Apache-2.0
// The ring between threads that fill a stage together, by asynchronous copies and by ordinary stores, and the warps
// that read it (CUTLASS: PipelineTransactionAsync).
//   producer:  acquire = wait until every consumer warp has read the stage
//              expect  = announce bytes that copies of this thread will bring; before they are issued
//              commit  = this producer has announced and stored all of its part
//   consumer:  wait = until all producers have committed and all announced bytes have landed; release as usual
// In a TmaPipeline one thread announces the whole stage; here each of kProducers announces its own part.
#pragma once

#include "warpwright/arch/common/mbarrier.hpp"
#include "warpwright/arch/common/warp.hpp"
#include "warpwright/pipeline/pipeline_state.hpp"
#include "warpwright/pipeline/tma_pipeline.hpp"

namespace ww::pipeline {

template <int kStages, int kProducers, int kConsumerWarps> class TransactionPipeline {
 public:
  /// Bytes of shared memory for the barriers: full[kStages], then empty[kStages].
  static constexpr u32 kBytes = 2 * kStages * arch::kMBarrierBytes;

  WW_DEVICE TransactionPipeline(arch::SharedAddress barriers, Role role) : barriers_(barriers), state_(role) {}

  /// Initialises the barriers. One thread of the CTA calls it, before make_barriers_visible.
  WW_DEVICE static void initialize(arch::SharedAddress barriers) {
    for (u32 stage = 0; stage < kStages; ++stage) {
      arch::mbarrier::init(full(barriers, stage), kProducers);
      arch::mbarrier::init(empty(barriers, stage), kConsumerWarps);
    }
  }

  /// Returns whether the next stage is free. Each of kProducers threads calls it; the token is for producer_acquire.
  WW_DEVICE WaitToken producer_try_acquire() const {
    return {arch::mbarrier::try_wait(empty(barriers_, state_.index), state_.parity)};
  }
  /// Waits until the next stage is free, and returns it. Each of kProducers threads calls it.
  WW_DEVICE Stage producer_acquire(WaitToken token = {}) const {
    if (!token.done) arch::mbarrier::wait(empty(barriers_, state_.index), state_.parity);
    return {state_.index, full(barriers_, state_.index)};
  }
  /// Announces `bytes` more. The same thread calls it any number of times before its commit.
  WW_DEVICE void producer_expect(Stage stage, u32 bytes) const { arch::mbarrier::expect_tx(stage.full, bytes); }
  /// Commits this producer's part of a stage. The same thread calls it once a stage.
  WW_DEVICE void producer_commit(Stage stage) {
    arch::mbarrier::arrive(stage.full);
    state_.advance();
  }

  /// Returns whether the next stage is filled. Called by consumer threads; the token is for consumer_wait.
  WW_DEVICE WaitToken consumer_try_wait() const {
    return {arch::mbarrier::try_wait(full(barriers_, state_.index), state_.parity)};
  }
  /// Waits until the next stage is filled, and returns it. Called by consumer threads.
  WW_DEVICE Stage consumer_wait(WaitToken token = {}) {
    const Stage stage{state_.index, full(barriers_, state_.index)};
    if (!token.done) arch::mbarrier::wait(stage.full, state_.parity);
    state_.advance();
    return stage;
  }
  /// Releases `stage`. All lanes of a consumer warp call it when none reads it any more.
  WW_DEVICE void consumer_release(Stage stage) {
    arch::warp::sync();  // one lane's arrival stands for the reads of all 32
    arch::mbarrier::arrive_if(arch::lane_index() == 0, empty(barriers_, stage.index));
  }

 private:
  WW_DEVICE static arch::MBarrier full(arch::SharedAddress base, u32 stage) {
    return {base + stage * arch::kMBarrierBytes};
  }
  WW_DEVICE static arch::MBarrier empty(arch::SharedAddress base, u32 stage) {
    return {base + (kStages + stage) * arch::kMBarrierBytes};
  }

  arch::SharedAddress barriers_;
  PipelineState<kStages> state_;
};

}  // namespace ww::pipeline
