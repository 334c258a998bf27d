// SPDX-License-Identifier: Apache-2.0
// The ring between one TMA producer thread and the consumer warps that read its stages (CUTLASS: PipelineTmaAsync).
//   producer:  acquire = wait until the stage is empty everywhere it will be written, then announce its bytes
//   storers:   warps that add to a stage by ordinary stores: wait until it is empty, store, commit
//   consumer:  wait = until all announced bytes have landed; release = this warp no longer reads the stage
// An object belongs to one role; it alone knows stages and phases.
#pragma once

#include "warpwright/arch/common/cluster.hpp"
#include "warpwright/arch/common/fence.hpp"
#include "warpwright/arch/common/mbarrier.hpp"
#include "warpwright/arch/common/named_barrier.hpp"
#include "warpwright/arch/common/warp.hpp"
#include "warpwright/pipeline/arrivals.hpp"
#include "warpwright/pipeline/stage_ring.hpp"

namespace ww::pipeline {

/// With kConsumersWrite, consumers modify a stage before they release it.
template <int kStages, ClusterShape kCluster, int kConsumerWarps, int kStoringWarps = 0, bool kConsumersWrite = false>
class TmaPipeline : public StageRing<kStages> {
  using Ring = StageRing<kStages>;
  using Ring::barriers_, Ring::empty, Ring::full, Ring::state_;

 public:
  WW_DEVICE TmaPipeline(arch::SharedAddress barriers, Role role) : Ring(barriers, role) {
    const u32 lane = arch::lane_index();
    const int rank = static_cast<int>(arch::cluster_rank());
    releases_ = lane < static_cast<u32>(kCluster.size()) && shares_operand(kCluster, rank, static_cast<int>(lane));
  }

  /// Initialises the barriers. One thread of each CTA calls it, before make_barriers_visible.
  WW_DEVICE static void initialize(arch::SharedAddress barriers) {
    Ring::initialize(barriers, full_arrivals(kStoringWarps), empty_arrivals(kCluster, kConsumerWarps));
  }

  /// Waits until the next stage is free in every CTA that shares its operands, and announces the `bytes` that will land
  /// here. Called by the producer thread.
  WW_DEVICE Stage producer_acquire(u32 bytes, WaitToken token = {}) {
    if (!token.done) arch::mbarrier::wait(empty(barriers_, state_.index), state_.parity);
    const Stage stage{state_.index, full(barriers_, state_.index)};
    arch::mbarrier::arrive_expect_tx(stage.full, bytes);
    state_.advance();
    return stage;
  }

  /// Waits until the next stage may be written in this CTA. All lanes of a storing warp call it.
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

  /// Waits after the last stage, because peers' consumers still arrive here and this CTA must not exit before them.
  /// Called by the producer thread.
  WW_DEVICE void producer_tail() {
    for (int i = 0; i < kStages; ++i) {
      arch::mbarrier::wait(empty(barriers_, state_.index), state_.parity);
      state_.advance();
    }
  }

  /// Skips `stages` stages that other consumers read. It is valid only after those have waited for all of them, as an
  /// OrderedBarrier ensures, because a barrier distinguishes only consecutive phases.
  WW_DEVICE void consumer_skip(u32 stages) { state_.advance(stages); }
  /// Tells the compiler that all lanes of a consumer warp are at the same stage. All of them call it.
  WW_DEVICE void consumer_uniform() {
    state_.index = arch::warp::uniform(state_.index);
    state_.parity = arch::warp::uniform(state_.parity);
  }

  /// Releases `stage`. All lanes of a consumer warp call it when none reads it any more.
  WW_DEVICE void consumer_release(Stage stage) { release(releases_, stage); }
  /// Releases `stage` if `releases` holds, which must be the same in all lanes. It has no branch: among MMAs in flight,
  /// a branch makes ptxas serialise them (C7513).
  WW_DEVICE void consumer_release_if(bool releases, Stage stage) { release(releases_ && releases, stage); }

 private:
  WW_DEVICE void release(bool arrives, Stage stage) {
    arch::warp::sync();  // one lane's arrival stands for the reads of all 32
    if constexpr (kCluster.size() == 1) {
      arch::mbarrier::arrive_if(arrives, empty(barriers_, stage.index));
    } else if constexpr (kConsumersWrite) {  // a fence instead, among MMAs in flight, makes ptxas serialise them
                                             // (C7513)
      arch::mbarrier::arrive_remote_release_if(arrives, empty(barriers_, stage.index), arch::lane_index());
    } else {
      arch::mbarrier::arrive_remote_if(arrives, empty(barriers_, stage.index), arch::lane_index());
    }
  }
  bool releases_;  // this lane arrives, at the CTA of its own index
};

/// Makes initialised barriers visible. All threads call it once, before the first arrival anywhere in the cluster.
template <ClusterShape kCluster> WW_DEVICE void make_barriers_visible() {
  arch::fence::mbarrier_init();
  if constexpr (kCluster.size() == 1) {
    arch::named_barrier::sync_cta();
  } else {
    arch::cluster::sync();
  }
}

}  // namespace ww::pipeline
