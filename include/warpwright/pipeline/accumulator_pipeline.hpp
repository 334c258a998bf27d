// SPDX-License-Identifier: Apache-2.0
// The ring of accumulators in tensor memory between the MMA thread and the epilogue warps (CUTLASS: PipelineUmmaAsync).
//   producer:  the MMA thread of the leader: acquire = wait until every epilogue warp has read the accumulator ->
//              MMAs -> commit, which arrives in both CTAs of a pair when they are complete
//   consumer:  epilogue warps of each CTA: wait -> tensor::load, wait_load -> release, at the leader
// Between threads, tcgen05's fences go before the arrival and after the wait; this class issues them.
//
// Accumulators that overlap: two whose columns would not leave room for block scales share kShared columns.
//   accumulator 0  columns [0, kColumns)                          its last kShared columns are shared
//   accumulator 1  columns [kColumns - kShared, 2 kColumns - kShared)  its first ones are
// The epilogue reads the shared columns first and releases after them, while it reads the others. One pair of barriers
// serves both, because the next accumulator needs the shared columns alone: the columns that it does not share were
// read before the release of the one between.
#pragma once

#include "warpwright/arch/common/cluster.hpp"
#include "warpwright/arch/common/mbarrier_scope.hpp"
#include "warpwright/arch/common/warp.hpp"
#include "warpwright/arch/sm100/umma.hpp"
#include "warpwright/pipeline/stage_ring.hpp"
#include "warpwright/pipeline/umma_arrivals.hpp"

namespace ww::pipeline {

/// kStages accumulators of kColumns columns each; the last kShared columns of the first of two are the second's first.
struct AccumulatorColumns {
  int stages = 2, columns = 0, shared = 0;
  bool operator==(const AccumulatorColumns&) const = default;

  WW_HOST_DEVICE constexpr bool overlaps() const { return shared != 0; }
  /// Returns the columns of all of them.
  WW_HOST_DEVICE constexpr int all() const { return stages * columns - shared; }
  /// Returns the first column of accumulator `index`.
  WW_HOST_DEVICE constexpr int first(u32 index) const { return static_cast<int>(index) * (columns - shared); }
  /// Returns the pairs of barriers that guard them.
  WW_HOST_DEVICE constexpr int barriers() const { return overlaps() ? 1 : stages; }
  WW_HOST_DEVICE constexpr bool valid() const {
    return stages >= 1 && columns >= 1 && shared >= 0 && (!overlaps() || (stages == 2 && shared <= columns));
  }
  /// Returns the piece, of pieces of `width` columns, that the epilogue reads as its i-th: the shared columns come
  /// first. They are the last ones of accumulator 0, which is read from its end.
  WW_HOST_DEVICE constexpr int piece(u32 index, int i, int width) const {
    return overlaps() && index == 0 ? columns / width - 1 - i : i;
  }
  /// Returns the number of pieces after which the accumulator may be released.
  WW_HOST_DEVICE constexpr int pieces_to_release(int width) const {
    return overlaps() ? (shared + width - 1) / width : columns / width;
  }
};

/// An accumulator returned by acquire or wait.
struct AccumulatorStage {
  u32 index;         // of the accumulator: AccumulatorColumns::first
  u32 barrier;       // its pair of barriers
  u32 first_column;  // from the start of all of them
};

template <AccumulatorColumns kColumns, int kEpilogueWarps, CtaGroup kGroup = CtaGroup::one>
class AccumulatorPipeline : StageRing<kColumns.barriers()> {
  static_assert(kColumns.valid(), "AccumulatorPipeline: expected accumulators of which at most two overlap");
  using Ring = StageRing<kColumns.barriers()>;
  using Ring::barriers_, Ring::empty, Ring::full, Ring::state_;

 public:
  using Ring::kBytes, Ring::consumer_try_wait;
  static constexpr AccumulatorColumns columns = kColumns;

  WW_DEVICE AccumulatorPipeline(arch::SharedAddress barriers, Role role)
      : Ring(barriers, role),
        rank_(kGroup == CtaGroup::pair ? static_cast<int>(arch::cluster_rank()) : 0),
        first_parity_(state_.parity) {}

  /// Initialises the barriers. One thread of each CTA calls it, before make_barriers_visible.
  WW_DEVICE static void initialize(arch::SharedAddress barriers) {
    Ring::initialize(barriers, 1, accumulator_empty_arrivals(kGroup, kEpilogueWarps));
  }

  /// Waits until the next accumulator may be written, and returns it. Called by the MMA thread.
  WW_DEVICE AccumulatorStage producer_acquire() {
    wait_empty();
    arch::umma::fence_after();
    return next_stage();
  }
  /// Publishes the accumulator once the MMAs that this thread has issued are complete. Called by the MMA thread.
  WW_DEVICE void producer_commit(AccumulatorStage stage) {
    if constexpr (kGroup == CtaGroup::pair)
      arch::umma::commit_multicast<kGroup>(full(barriers_, stage.barrier), mask_of_group(kGroup, rank_));
    else arch::umma::commit<kGroup>(full(barriers_, stage.barrier));
  }
  /// Waits until the epilogue has released all accumulators, because the epilogue of the other CTA arrives here and
  /// this CTA must not exit before it. Overlapping accumulators are released when their shared columns have been read:
  /// the columns may be freed only behind a barrier with the epilogue warps. Called by the MMA thread.
  WW_DEVICE void producer_tail() {
    for (int i = 0; i < kColumns.barriers(); ++i) {
      wait_empty();
      state_.advance();
    }
  }

  /// Waits until the next accumulator is complete, and returns it. All lanes of an epilogue warp call it.
  WW_DEVICE AccumulatorStage consumer_wait(WaitToken token = {}) {
    if (!token.done) arch::mbarrier::wait(full(barriers_, state_.index), state_.parity);
    arch::umma::fence_after();
    return next_stage();
  }
  /// Releases the accumulator, or of overlapping ones its shared columns. All lanes of an epilogue warp call it after
  /// the wait_load of what they have read of them.
  WW_DEVICE void consumer_release(AccumulatorStage stage) {
    arch::umma::fence_before();
    arch::warp::sync();  // one lane's arrival stands for the loads of all 32
    if constexpr (kGroup == CtaGroup::pair)
      arch::mbarrier::arrive_remote_release_if(arch::lane_index() == 0, empty(barriers_, stage.barrier),
                                               static_cast<u32>(leader_of(kGroup, rank_)));
    else arch::mbarrier::arrive_if(arch::lane_index() == 0, empty(barriers_, stage.barrier));
  }

 private:
  /// Waits at cluster scope for a pair: its MMAs write what threads of the other CTA have read, and only their arrivals
  /// tell when. Once a tile, the scope costs little.
  WW_DEVICE void wait_empty() const {
    if constexpr (kGroup == CtaGroup::pair) arch::mbarrier::wait_cluster(empty(barriers_, state_.index), state_.parity);
    else arch::mbarrier::wait(empty(barriers_, state_.index), state_.parity);
  }
  WW_DEVICE AccumulatorStage next_stage() {
    const u32 index = kColumns.overlaps() ? state_.parity ^ first_parity_ : state_.index;
    const AccumulatorStage stage{index, state_.index, static_cast<u32>(kColumns.first(index))};
    state_.advance();
    return stage;
  }

  int rank_;
  u32 first_parity_;  // of overlapping accumulators, those of the first parity are accumulator 0
};

}  // namespace ww::pipeline
