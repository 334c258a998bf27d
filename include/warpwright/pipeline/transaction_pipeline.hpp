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
#include "warpwright/pipeline/stage_ring.hpp"

namespace ww::pipeline {

template <int kStages, int kProducers, int kConsumerWarps> class TransactionPipeline : public StageRing<kStages> {
  using Ring = StageRing<kStages>;
  using Ring::barriers_, Ring::empty, Ring::full, Ring::state_;

 public:
  WW_DEVICE TransactionPipeline(arch::SharedAddress barriers, Role role) : Ring(barriers, role) {}

  /// Initialises the barriers. One thread of the CTA calls it, before make_barriers_visible.
  WW_DEVICE static void initialize(arch::SharedAddress barriers) {
    Ring::initialize(barriers, kProducers, kConsumerWarps);
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

  /// Releases `stage`. All lanes of a consumer warp call it when none reads it any more.
  WW_DEVICE void consumer_release(Stage stage) {
    arch::warp::sync();  // one lane's arrival stands for the reads of all 32
    arch::mbarrier::arrive_if(arch::lane_index() == 0, empty(barriers_, stage.index));
  }
};

}  // namespace ww::pipeline
