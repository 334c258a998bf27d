// SPDX-License-Identifier: Apache-2.0
// The host's half of the tile schedulers: how many clusters a launch can use, the parameters of each scheduler, and the
// layout of the workspace. Plain arithmetic, the same for every device.
//   workspace: work-tile counter (256 bytes) | flags of all slots | slots of TILE_M x TILE_N floats
#pragma once

#include "warpwright/config/sizes.hpp"
#include "warpwright/scheduler/tile.hpp"

namespace ww::scheduler {

inline constexpr i64 kWorkspaceAlignment = 256;
inline constexpr i64 kLargestGrid = i64{1} << 30;  // CTAs; kernels number tiles and their K splits in 32 bits

/// Returns the K splits of every tile that are reduced through the workspace; never more than there are k-blocks.
WW_HOST_DEVICE constexpr int splits_of(const GemmConfig& c, int k_blocks) {
  if (c.sm90.tile_scheduler != TileScheduler::split_k) return 1;
  return max(1, min(c.sm90.split / max(1, c.cluster.k), k_blocks));
}

/// Returns the number of clusters that can all have work.
WW_HOST_DEVICE constexpr i64 useful_clusters(const GemmConfig& c, const TileGrid& grid, int k_blocks) {
  if (c.sm90.tile_scheduler == TileScheduler::stream_k) return grid.tiles() * max(1, k_blocks);
  return grid.tiles() * splits_of(c, k_blocks);
}

/// Returns the parameters of the scheduler of `c` when `clusters` clusters run.
WW_HOST_DEVICE constexpr SchedulerParams scheduler_params(const GemmConfig& c, const TileGrid& grid, int k_blocks,
                                                          i64 clusters) {
  SchedulerParams params;
  params.grid = grid;
  params.splits = splits_of(c, k_blocks);
  if (c.sm90.tile_scheduler == TileScheduler::stream_k && k_blocks > 0) {
    const i64 left = grid.tiles() % clusters;  // tiles beyond whole waves
    // Stream-K takes a whole wave more: K ranges shorter than a tile would split every tile, ranges of one to two tiles
    // split only some.
    params.stream_tiles = static_cast<i32>(left == 0 ? 0 : grid.tiles() < clusters ? left : left + clusters);
    const i64 blocks = static_cast<i64>(params.stream_tiles) * k_blocks;
    params.stream_blocks = static_cast<i32>(blocks / clusters);
    params.stream_extra = static_cast<i32>(blocks % clusters);
  }
  return params;
}

/// Byte offsets from the start of the workspace; all of it is empty when no CTA needs any.
struct WorkspacePlan {
  i64 slots = 0;
  i64 flags = 0, tiles = 0;
  i64 bytes = 0;
  bool waits = false;  // CTAs wait for CTAs of other clusters
};

WW_HOST_DEVICE constexpr WorkspacePlan workspace_plan(const GemmConfig& c, const SchedulerParams& params,
                                                      i64 clusters) {
  WorkspacePlan plan;
  const i64 plane = config::cluster_of(c).plane();
  if (params.stream_tiles > 0) plan.slots = clusters * plane;
  if (params.splits > 1) plan.slots = params.grid.tiles() * (params.splits - 1) * plane;
  plan.waits = plan.slots > 0 || config::uses_work_tile_counter(c);
  if (!plan.waits) return plan;
  plan.flags = kWorkspaceAlignment;
  plan.tiles = round_up(plan.flags + plan.slots * config::consumer_warps(c) * 4, kWorkspaceAlignment);
  plan.bytes = plan.tiles + plan.slots * c.tile.m * c.tile.n * 4;
  return plan;
}

}  // namespace ww::scheduler
