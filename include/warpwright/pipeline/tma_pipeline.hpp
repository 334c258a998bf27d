// SPDX-License-Identifier: Apache-2.0
// The ring between one TMA producer thread and the consumer warps that read its stages (CUTLASS: PipelineTmaAsync).
//   producer:  acquire = wait until the stage is empty everywhere it will be written, then announce its bytes
//   storers:   warps that add to a stage by ordinary stores: wait until it is empty, store, commit
//   consumer:  wait = until all announced bytes have landed; release = this warp no longer reads the stage
// An object belongs to one role; it alone knows stages and phases.
#pragma once

#include "warpwright/arch/cluster.hpp"
#include "warpwright/arch/fence.hpp"
#include "warpwright/arch/mbarrier.hpp"
#include "warpwright/arch/named_barrier.hpp"
#include "warpwright/arch/warp.hpp"
#include "warpwright/pipeline/arrivals.hpp"
#include "warpwright/pipeline/pipeline_state.hpp"

namespace ww::pipeline {

/// A stage handed out by acquire or wait.
struct Stage {
  u32 index;
  arch::MBarrier full;  // the barrier that copies into this stage signal
};

/// kConsumersWrite: consumers change a stage before they release it.
template <int kStages, ClusterShape kCluster, int kConsumerWarps, int kStoringWarps = 0, bool kConsumersWrite = false>
class TmaPipeline {
 public:
  /// Bytes of shared memory for the barriers: full[kStages], then empty[kStages].
  static constexpr u32 kBytes = 2 * kStages * arch::kMBarrierBytes;

  WW_DEVICE TmaPipeline(arch::SharedAddress barriers, Role role) : barriers_(barriers), state_(role) {
    const u32 lane = arch::lane_index();
    const int rank = static_cast<int>(arch::cluster_rank());
    releases_ = lane < static_cast<u32>(kCluster.size()) && shares_operand(kCluster, rank, static_cast<int>(lane));
  }

  /// By one thread of each CTA, before make_barriers_visible.
  WW_DEVICE static void initialize(arch::SharedAddress barriers) {
    for (u32 stage = 0; stage < kStages; ++stage) {
      arch::mbarrier::init(full(barriers, stage), full_arrivals(kStoringWarps));
      arch::mbarrier::init(empty(barriers, stage), empty_arrivals(kCluster, kConsumerWarps));
    }
  }

  /// Producer thread: whether the next stage is free; the token is for producer_acquire.
  WW_DEVICE WaitToken producer_try_acquire() const {
    return {arch::mbarrier::try_wait(empty(barriers_, state_.index), state_.parity)};
  }
  /// Producer thread: the next stage, free in every CTA that shares its operands; `bytes` is what will land here.
  WW_DEVICE Stage producer_acquire(u32 bytes, WaitToken token = {}) {
    if (!token.done) arch::mbarrier::wait(empty(barriers_, state_.index), state_.parity);
    const Stage stage{state_.index, full(barriers_, state_.index)};
    arch::mbarrier::arrive_expect_tx(stage.full, bytes);
    state_.advance();
    return stage;
  }

  /// All lanes of a storing warp: the next stage, free to be written in this CTA.
  WW_DEVICE Stage storer_acquire() {
    arch::mbarrier::wait(empty(barriers_, state_.index), state_.parity);
    const Stage stage{state_.index, full(barriers_, state_.index)};
    state_.advance();
    return stage;
  }
  /// All lanes of a storing warp, when all have stored.
  WW_DEVICE void storer_commit(Stage stage) {
    arch::warp::sync();  // why: one lane's arrive speaks for the stores of all 32
    arch::mbarrier::arrive_if(arch::lane_index() == 0, stage.full);
  }

  /// Producer thread, after its last stage: peers' consumers still arrive here, so this CTA must not exit before them.
  WW_DEVICE void producer_tail() {
    for (int i = 0; i < kStages; ++i) {
      arch::mbarrier::wait(empty(barriers_, state_.index), state_.parity);
      state_.advance();
    }
  }

  /// Consumer threads: whether the next stage is filled; the token is for consumer_wait. Other work may lie between.
  WW_DEVICE WaitToken consumer_try_wait() const {
    return {arch::mbarrier::try_wait(full(barriers_, state_.index), state_.parity)};
  }
  /// Consumer threads: the next stage, filled.
  WW_DEVICE Stage consumer_wait(WaitToken token = {}) {
    const Stage stage{state_.index, full(barriers_, state_.index)};
    if (!token.done) arch::mbarrier::wait(stage.full, state_.parity);
    state_.advance();
    return stage;
  }
  /// Consumer threads: others consume the next `stages`. Only once those others have waited for all of them, as an
  /// OrderedBarrier makes sure: a barrier tells one phase from the next, not from the one after that.
  WW_DEVICE void consumer_skip(u32 stages) { state_.advance(stages); }
  /// All lanes of a consumer warp: tells the compiler that they are at the same stage.
  WW_DEVICE void consumer_uniform() {
    state_.index = arch::warp::uniform(state_.index);
    state_.parity = arch::warp::uniform(state_.parity);
  }

  /// All lanes of a consumer warp, when none of them reads `stage` any more.
  WW_DEVICE void consumer_release(Stage stage) { release(releases_, stage); }
  /// The same or nothing, as all lanes agree, without a branch: between products in flight one makes ptxas serialise
  /// them (C7513).
  WW_DEVICE void consumer_release_if(bool releases, Stage stage) { release(releases_ && releases, stage); }

 private:
  WW_DEVICE void release(bool arrives, Stage stage) {
    arch::warp::sync();  // why: one lane's arrive speaks for the reads of all 32
    if constexpr (kCluster.size() == 1) {
      arch::mbarrier::arrive_if(arrives, empty(barriers_, stage.index));
    } else if constexpr (kConsumersWrite) {  // why not a fence: between products in flight ptxas serialises (C7513)
      arch::mbarrier::arrive_remote_release_if(arrives, empty(barriers_, stage.index), arch::lane_index());
    } else {
      arch::mbarrier::arrive_remote_if(arrives, empty(barriers_, stage.index), arch::lane_index());
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
  bool releases_;  // this lane arrives, at the CTA of its own number
};

/// All threads, once, between initialising barriers and the first arrival anywhere in the cluster.
template <ClusterShape kCluster> WW_DEVICE void make_barriers_visible() {
  arch::fence::mbarrier_init();
  if constexpr (kCluster.size() == 1) {
    arch::named_barrier::sync_cta();
  } else {
    arch::cluster::sync();
  }
}

}  // namespace ww::pipeline
