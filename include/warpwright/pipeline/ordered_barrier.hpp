// SPDX-License-Identifier: Apache-2.0
// Groups of warps that pass through a sequence of sections one after the other (CUTLASS: OrderedSequenceBarrier).
//   wait = until it is this group's turn in its next section -> work -> arrive = the next group's turn
// There are kDepth sections, entered in rotation, and kLength groups; group 0 goes first. Group g of section s waits at
// barrier (s, g), where only group g - 1 arrives, so that a group never runs more than one round ahead of the others.
//   pingpong: kLength 2; while one group is in the section (its MMAs), the other is outside (its epilogue)
#pragma once

#include "warpwright/arch/common/mbarrier.hpp"
#include "warpwright/arch/common/warp.hpp"
#include "warpwright/pipeline/pipeline_state.hpp"

namespace ww::pipeline {

/// The same interface for a group that waits for nobody.
struct Unordered {
  static constexpr u32 kBytes = 0;
  WW_DEVICE Unordered(arch::SharedAddress, u32) {}
  WW_DEVICE static void initialize(arch::SharedAddress) {}
  WW_DEVICE void wait() const {}
  WW_DEVICE void arrive() const {}
};

template <int kDepth, int kLength, int kWarps> class OrderedBarrier {
  static_assert(kDepth >= 1 && kLength >= 2 && kWarps >= 1);

 public:
  /// Bytes of shared memory for the barriers, (kLength, kDepth).
  static constexpr u32 kBytes = kDepth * kLength * arch::kMBarrierBytes;

  // Group 0 starts as a producer does, because nobody has arrived for it yet, and a fresh barrier lets that parity
  // pass.
  WW_DEVICE OrderedBarrier(arch::SharedAddress barriers, u32 group)
      : barriers_(barriers), group_(group), state_(group == 0 ? Role::producer : Role::consumer) {}

  /// Initialises the barriers. One thread of the CTA calls it, before make_barriers_visible.
  WW_DEVICE static void initialize(arch::SharedAddress barriers) {
    for (u32 i = 0; i < kDepth * kLength; ++i) arch::mbarrier::init({barriers + i * arch::kMBarrierBytes}, kWarps);
  }

  /// Waits until the preceding group has arrived. All threads of the group call it.
  WW_DEVICE void wait() const { arch::mbarrier::wait(turn_of(group_), state_.parity); }

  /// Leaves the section. All lanes of each warp of the group call it.
  WW_DEVICE void arrive() {
    arch::warp::sync();  // one lane's arrival stands for all 32
    arch::mbarrier::arrive_if(arch::lane_index() == 0, turn_of(group_ + 1 == kLength ? 0 : group_ + 1));
    state_.advance();
  }

 private:
  WW_DEVICE arch::MBarrier turn_of(u32 group) const {
    return {barriers_ + (state_.index * kLength + group) * arch::kMBarrierBytes};
  }

  arch::SharedAddress barriers_;
  u32 group_;
  PipelineState<kDepth> state_;
};

}  // namespace ww::pipeline
