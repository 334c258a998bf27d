// SPDX-License-Identifier: Apache-2.0
// Tile scheduler by cluster launch control: the grid has a cluster for every tile; of groups of rows, whose sizes the
// host does not know, for every tile that there may be. A cluster works on its own tile, then takes over those of
// clusters that have not started, until the device has none to give.
//   service warp of each CTA:  announce the answer's bytes -> (CTA 0: ask, for all CTAs) -> wait for the answer
//   every role of every CTA:   own tile first; then wait for the answer -> tile
// Answers go to every CTA of the cluster at once. The device decides which tile a cluster gets, and may refuse one at
// any time; whatever nobody took starts as a cluster of its own.
#pragma once

#include "warpwright/arch/common/role.hpp"
#include "warpwright/config/config_parameter.hpp"
#include "warpwright/config/shared_memory.hpp"
#include "warpwright/config/sizes.hpp"
#include "warpwright/pipeline/clc_pipeline.hpp"
#include "warpwright/scheduler/tile.hpp"

namespace ww::scheduler {

/// kReaders warps of each CTA read the answers, some of them by one thread alone. The service warp reads them too. With
/// groups of rows it is the only one (kReaders = 0), and tells the others which tiles these are.
template <ConfigParameter kConfig, int kReaders> class ClusterLaunchControl {
  static constexpr pipeline::ClusterShape kCluster = config::cluster_of(kConfig);
  static constexpr config::SharedPlan kShared = config::shared_plan(kConfig);
  using Ring = pipeline::ClcPipeline<config::kWorkTileStages, kReaders + 1, kCluster.size()>;
  using CtaPosition = scheduler::CtaPosition<kCluster>;
  static constexpr i32 kNoTile = -1;
  static_assert(config::work_tile_bytes(kConfig) == arch::clc::kAnswerBytes);

 public:
  WW_DEVICE ClusterLaunchControl(const SchedulerParams&, int k_blocks, arch::SharedAddress base, Reader reader)
      : ring_(base + kShared.work_tile_barriers, base + kShared.work_tiles, pipeline::Role::consumer),
        k_blocks_(k_blocks),
        reader_(reader) {}

  /// Initialises the ring. One thread of each CTA calls it, before make_barriers_visible.
  WW_DEVICE static void initialize(arch::SharedAddress base) { Ring::initialize(base + kShared.work_tile_barriers); }

  /// Sets `tile` to this CTA's next tile; returns false when there is none.
  WW_DEVICE bool next(Tile& tile) {
    i32 number = CtaPosition::cluster();
    if (has_own_tile_) {
      const pipeline::ClcWork work = reader_ == Reader::warp ? ring_.consumer_next() : ring_.consumer_next_alone();
      number = work.valid ? number_of(work) : kNoTile;
    }
    has_own_tile_ = true;
    // The own tile too, and the end of the loop over tiles: otherwise ptxas takes the lanes for divergent, and puts a
    // loop over them around every TMA store of the epilogue.
    const i32 cluster = uniform_for(reader_, number);
    if (cluster == kNoTile) return false;
    tile = CtaPosition::tile(cluster, {0, k_blocks_});
    return true;
  }

  /// Runs the service warp: all lanes of one warp of each CTA call it; that of CTA 0 asks for the cluster.
  WW_DEVICE static void serve(const SchedulerParams&, arch::SharedAddress base) {
    serve(base, [](int) {});
  }
  /// Does the same, and calls take(number) in all lanes for every tile that the cluster takes over.
  template <class Take> WW_DEVICE static void serve(arch::SharedAddress base, const Take& take) {
    arch::role("scheduler");
    const arch::SharedAddress barriers = base + kShared.work_tile_barriers, answers = base + kShared.work_tiles;
    Ring asked(barriers, answers, pipeline::Role::producer), told(barriers, answers, pipeline::Role::consumer);
    for (;;) {
      if (arch::lane_index() == 0) told.consumer_announce();
      arch::warp::sync();
      if (arch::cluster_rank() == 0) asked.producer_fetch();
      const pipeline::ClcWork work = told.consumer_next();
      if (!work.valid) return;
      take(number_of(work));
    }
  }

 private:
  WW_DEVICE static i32 number_of(const pipeline::ClcWork& work) {
    return static_cast<i32>(work.first.x / kCluster.size());
  }

  Ring ring_;
  int k_blocks_;
  Reader reader_;
  bool has_own_tile_ = false;  // otherwise the next tile is this cluster's own
};

}  // namespace ww::scheduler
