// SPDX-License-Identifier: Apache-2.0
// Dynamic tile scheduler: a work-tile counter in global memory gives tiles to clusters in the order in which they ask.
//   scheduler warp, in CTA 0 of a cluster:  counter -> number of the tile to every CTA of the cluster (DSMEM) ->
//   counter
//   every role of every CTA:                wait for the number -> tile
#pragma once

#include "warpwright/arch/common/role.hpp"
#include "warpwright/arch/common/shared.hpp"
#include "warpwright/config/config_parameter.hpp"
#include "warpwright/config/shared_memory.hpp"
#include "warpwright/config/sizes.hpp"
#include "warpwright/pipeline/async_pipeline.hpp"
#include "warpwright/scheduler/tile.hpp"
#include "warpwright/scheduler/work_tile_counter.hpp"

namespace ww::scheduler {

/// kReaders warps of each CTA read the numbers; one of them by one thread alone.
template <ConfigParameter kConfig, int kReaders> class Dynamic {
  static constexpr pipeline::ClusterShape kCluster = config::cluster_of(kConfig);
  static constexpr config::SharedPlan kShared = config::shared_plan(kConfig);
  using Ring = pipeline::AsyncPipeline<config::kWorkTileStages, kReaders, kCluster.size()>;
  using CtaPosition = scheduler::CtaPosition<kCluster>;
  static constexpr u32 kNoTile = 0xffffffff;

 public:
  WW_DEVICE Dynamic(const SchedulerParams& params, int k_blocks, arch::SharedAddress base, Reader reader)
      : base_(base),
        ring_(base + kShared.work_tile_barriers, pipeline::Role::consumer),
        params_(params),
        k_blocks_(k_blocks),
        reader_(reader) {}

  /// Initialises the ring. One thread of each CTA calls it, before make_barriers_visible.
  WW_DEVICE static void initialize(arch::SharedAddress base) { Ring::initialize(base + kShared.work_tile_barriers); }

  WW_DEVICE bool next(Tile& tile) {
    if (reader_ == Reader::thread) ring_.consumer_announce();
    const u32 stage = ring_.consumer_wait();
    const u32 loaded = arch::shared::load(base_ + (kShared.work_tiles + 4 * stage));
    const u32 number = static_cast<u32>(uniform_for(reader_, static_cast<i32>(loaded)));
    if (reader_ == Reader::warp) ring_.consumer_release();
    else ring_.consumer_release_alone();
    if (number == kNoTile) return false;
    tile = CtaPosition::tile(static_cast<int>(number), {0, k_blocks_});
    return true;
  }

  /// Runs the scheduler warp: all lanes of one warp of each CTA call it; that of CTA 0 serves the cluster.
  WW_DEVICE static void serve(const SchedulerParams& params, arch::SharedAddress base) {
    if (arch::cluster_rank() != 0) return;
    arch::role("scheduler");
    Ring ring(base + kShared.work_tile_barriers, pipeline::Role::producer);
    const u32 takers = static_cast<u32>(CtaPosition::clusters()), tiles = static_cast<u32>(params.grid.tiles());
    u32 number = static_cast<u32>(CtaPosition::cluster());
    for (;;) {
      const bool more = number < tiles;
      u32 next = 0;
      // The counter is read before the ring is acquired, so that its latency overlaps the wait for a stage.
      if (more && arch::lane_index() == 0) next = next_work_tile(&params.work_tile_counter->next, takers);
      const u32 stage = ring.producer_acquire();
      ring.producer_broadcast(base + (kShared.work_tiles + 4 * stage), more ? number : kNoTile);
      if (!more) break;
      number = arch::warp::uniform(next);
    }
    if (arch::lane_index() == 0)
      retire_from_counter(&params.work_tile_counter->next, &params.work_tile_counter->finished, takers);
  }

 private:
  arch::SharedAddress base_;
  Ring ring_;
  const SchedulerParams& params_;
  int k_blocks_;
  Reader reader_;
};

}  // namespace ww::scheduler
