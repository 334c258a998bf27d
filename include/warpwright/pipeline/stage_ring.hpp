// SPDX-License-Identifier: Apache-2.0
// What all rings of stages have: two barriers for each stage, a role's position, and waiting at it.
//   full[stage]    completes when the stage may be read; what must arrive for that is the pipeline's own
//   empty[stage]   completes when the stage may be written again
// A pipeline adds the arrivals: how many there are, of whom, and in which CTAs.
#pragma once

#include "warpwright/arch/common/mbarrier.hpp"
#include "warpwright/pipeline/pipeline_state.hpp"

namespace ww::pipeline {

/// A stage returned by acquire or wait.
struct Stage {
  u32 index;
  arch::MBarrier full;  // the barrier that copies into this stage signal
};

/// Returns whether loops over K unroll whole rounds of a ring of `stages`.
// Tiles of 64 rows and at most 64 columns have long rings, and their launches take some ten microseconds. With the
// rest of what kernels with short rings do (roles by warp, scales of rows in pairs) they took 2 to 8 % longer on an
// H200, with 13 and with 16 stages; tiles of 64x128 with 8 stages took up to 14 % less (CUDA 13.0, 2026-11-23).
WW_HOST_DEVICE constexpr bool unrolls_rounds(int stages) { return stages <= 8; }

template <int kStages> class StageRing {
 public:
  /// Bytes of shared memory for the barriers: full[kStages], then empty[kStages].
  static constexpr u32 kBytes = 2 * kStages * arch::kMBarrierBytes;

  static constexpr int kRound = kStages;  // stages of a round of the ring
  static constexpr bool kUnrolls = unrolls_rounds(kStages);

  /// Returns whether the next stage is the ring's first. The compiler then knows the index of each stage of the round.
  WW_DEVICE bool starts_round() {
    if (state_.index != 0) return false;
    state_.index = 0;
    return true;
  }
  /// Returns whether the next stage is free. Called by a producer thread; the token is for producer_acquire.
  WW_DEVICE WaitToken producer_try_acquire() const {
    return {arch::mbarrier::try_wait(empty(barriers_, state_.index), state_.parity)};
  }
  /// Returns whether the next stage is filled. Called by consumer threads; the token is for consumer_wait, and other
  /// work may lie between.
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

 protected:
  WW_DEVICE StageRing(arch::SharedAddress barriers, Role role) : barriers_(barriers), state_(role) {}

  /// Initialises all barriers with their numbers of arrivals.
  WW_DEVICE static void initialize(arch::SharedAddress barriers, int full_arrivals, int empty_arrivals) {
    for (u32 stage = 0; stage < kStages; ++stage) {
      arch::mbarrier::init(full(barriers, stage), full_arrivals);
      arch::mbarrier::init(empty(barriers, stage), empty_arrivals);
    }
  }
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
