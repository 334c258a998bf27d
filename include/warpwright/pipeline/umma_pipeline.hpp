// SPDX-License-Identifier: Apache-2.0
// The ring between TMA producers and the thread whose MMAs read its stages (CUTLASS: PipelineTmaUmmaAsync).
//   producer:  one thread of each CTA: acquire = wait until the stage is empty everywhere it will be written; the
//              leader's announces the bytes of all CTAs of its group. Loads count on Stage::full, the leader's barrier
//   storers:   warps that add to a stage by ordinary stores (block scales): wait until it is empty, store, commit
//   consumer:  one thread of the leader: wait = until all announced bytes have landed in both CTAs -> MMAs, copies ->
//              release = a commit, which arrives when they are complete
// CTAs of a pair that do not lead have barriers of which only the empty ones are used.
#pragma once

#include "warpwright/arch/common/cluster.hpp"
#include "warpwright/arch/common/fence.hpp"
#include "warpwright/arch/common/mbarrier_scope.hpp"
#include "warpwright/arch/common/warp.hpp"
#include "warpwright/arch/sm100/umma.hpp"
#include "warpwright/pipeline/stage_ring.hpp"
#include "warpwright/pipeline/umma_arrivals.hpp"

namespace ww::pipeline {

/// With kStoringWarps, as many warps of each CTA store to every stage.
template <int kStages, ClusterShape kCluster = ClusterShape{}, CtaGroup kGroup = CtaGroup::one, int kStoringWarps = 0>
class UmmaPipeline : public StageRing<kStages> {
  static_assert(holds_groups(kCluster, kGroup), "UmmaPipeline: expected an even number of CTAs along M for pairs");
  using Ring = StageRing<kStages>;
  using Ring::barriers_, Ring::empty, Ring::full, Ring::state_;

 public:
  WW_DEVICE UmmaPipeline(arch::SharedAddress barriers, Role role) : Ring(barriers, role), leaders_(barriers) {
    if constexpr (kCluster.size() > 1) {
      const int rank = static_cast<int>(arch::cluster_rank());
      leads_ = leader_of(kGroup, rank) == rank;
      release_ = mask_of_release(kCluster, kGroup, rank);
      if constexpr (kGroup == CtaGroup::pair)
        leaders_ = arch::cluster::map(barriers, static_cast<u32>(leader_of(kGroup, rank)));
    }
  }

  /// Initialises the barriers. One thread of each CTA calls it, before make_barriers_visible.
  WW_DEVICE static void initialize(arch::SharedAddress barriers) {
    Ring::initialize(barriers, umma_full_arrivals(kGroup, kStoringWarps), umma_empty_arrivals(kCluster, kGroup));
  }

  /// Waits until the next stage is free in every CTA that gets its loads. `bytes` is what lands in each CTA of the
  /// group. Called by the producer thread of each CTA, which issues its loads after it.
  WW_DEVICE Stage producer_acquire(u32 bytes, WaitToken token = {}) {
    if (!token.done) arch::mbarrier::wait(empty(barriers_, state_.index), state_.parity);
    if (leads_) arch::mbarrier::arrive_expect_tx(full(barriers_, state_.index), umma_full_bytes(kGroup, bytes));
    return next_stage();
  }

  /// Waits until the next stage may be written in this CTA. All lanes of a storing warp call it.
  WW_DEVICE Stage storer_acquire() {
    arch::mbarrier::wait(empty(barriers_, state_.index), state_.parity);
    return next_stage();
  }
  /// Commits a stage, whose stores the MMAs and copies of the leader may read then. All lanes of a storing warp call
  /// it.
  WW_DEVICE void storer_commit(Stage stage) {
    arch::fence::proxy_async_shared();
    arch::warp::sync();  // one lane's arrival stands for the stores of all 32
    if constexpr (kGroup == CtaGroup::pair)
      arch::mbarrier::arrive_remote_release_if(
          arch::lane_index() == 0, full(barriers_, stage.index),
          static_cast<u32>(leader_of(kGroup, static_cast<int>(arch::cluster_rank()))));
    else arch::mbarrier::arrive_if(arch::lane_index() == 0, stage.full);
  }

  /// Waits until the next stage is filled, and returns it. Called by the MMA thread.
  // Stores of the other CTA's threads are ordered by their arrivals alone, at cluster scope.
  WW_DEVICE Stage consumer_wait(WaitToken token = {}) {
    if constexpr (kGroup == CtaGroup::pair && kStoringWarps > 0) return consumer_wait_cluster();
    else return Ring::consumer_wait(token);
  }
  /// The same with acquire at cluster scope, for a thread that tells the other CTA of a pair that its part has come.
  WW_DEVICE Stage consumer_wait_cluster() {
    const Stage stage{state_.index, full(barriers_, state_.index)};
    arch::mbarrier::wait_cluster(stage.full, state_.parity);
    state_.advance();
    return stage;
  }
  /// Releases `stage` once the MMAs and copies that this thread has issued are complete. Called by the MMA thread.
  WW_DEVICE void consumer_release(Stage stage) {
    if constexpr (kCluster.size() == 1) arch::umma::commit<kGroup>(empty(barriers_, stage.index));
    else arch::umma::commit_multicast<kGroup>(empty(barriers_, stage.index), release_);
  }

  /// Waits after the last stage, because MMAs of peers still arrive here and this CTA must not exit before them. Called
  /// by the producer thread of each CTA.
  WW_DEVICE void producer_tail() {
    for (int i = 0; i < kStages; ++i) {
      arch::mbarrier::wait(empty(barriers_, state_.index), state_.parity);
      state_.advance();
    }
  }

 private:
  WW_DEVICE Stage next_stage() {
    const Stage stage{state_.index, full(leaders_, state_.index)};
    state_.advance();
    return stage;
  }

  arch::SharedAddress leaders_;  // the barriers of the leader: a shared::cluster address, if that is another CTA
  u16 release_ = 1;
  bool leads_ = true;
};

}  // namespace ww::pipeline
