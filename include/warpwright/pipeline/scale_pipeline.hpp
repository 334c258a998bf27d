// SPDX-License-Identifier: Apache-2.0
// The ring between warps that store block scales in shared memory and consumer warps that read them, for kernels whose
// consumers do not read the stages of operands.
//   storers:   acquire = wait until every consumer warp has read the stage -> store -> commit
//   consumer:  wait = until every storing warp has committed -> load -> release = this warp has read it
#pragma once

#include "warpwright/arch/common/warp.hpp"
#include "warpwright/pipeline/stage_ring.hpp"

namespace ww::pipeline {

template <int kStages, int kConsumerWarps, int kStoringWarps> class ScalePipeline : public StageRing<kStages> {
  using Ring = StageRing<kStages>;
  using Ring::barriers_, Ring::empty, Ring::full, Ring::state_;

 public:
  WW_DEVICE ScalePipeline(arch::SharedAddress barriers, Role role) : Ring(barriers, role) {}

  /// Initialises the barriers. One thread of the CTA calls it, before make_barriers_visible.
  WW_DEVICE static void initialize(arch::SharedAddress barriers) {
    Ring::initialize(barriers, kStoringWarps, kConsumerWarps);
  }

  /// Waits until the next stage may be written. All lanes of a storing warp call it.
  WW_DEVICE Stage storer_acquire() {
    arch::mbarrier::wait(empty(barriers_, state_.index), state_.parity);
    const Stage stage{state_.index, full(barriers_, state_.index)};
    state_.advance();
    return stage;
  }
  /// Commits a stage. All lanes of a storing warp call it after storing.
  WW_DEVICE void storer_commit(Stage stage) {
    arch::warp::sync();  // one lane's arrival stands for the stores of all 32
    arch::mbarrier::arrive_if(arch::lane_index() == 0, stage.full);
  }
  /// Releases `stage`. All lanes of a consumer warp call it when none reads it any more.
  WW_DEVICE void consumer_release(Stage stage) {
    arch::warp::sync();  // one lane's arrival stands for the reads of all 32
    arch::mbarrier::arrive_if(arch::lane_index() == 0, empty(barriers_, stage.index));
  }
};

}  // namespace ww::pipeline
