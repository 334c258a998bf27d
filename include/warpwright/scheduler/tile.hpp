// SPDX-License-Identifier: Apache-2.0
// The tiles of the dense kernels' schedulers, and the schedulers' parameters at launch. All have one interface:
//   Order order(params, k_blocks, shared, reader);
//   while (order.next(tile)) ...     order.fix_up(tile), where it splits K: how the splits are reduced
// scheduler/dense_tiles.hpp makes a tile source of a scheduler.
#pragma once

#include "warpwright/arch/common/special.hpp"
#include "warpwright/config/config_parameter.hpp"
#include "warpwright/pipeline/arrivals.hpp"
#include "warpwright/scheduler/tile_grid.hpp"
#include "warpwright/scheduler/tile_source.hpp"
#include "warpwright/scheduler/work_tile_counter.hpp"

namespace ww::scheduler {

// Only kernels of sm_100 include its definition (scheduler/cluster_launch_control.hpp), because a module that does
// needs instructions that emu:sm90 does not have.
template <ConfigParameter kConfig, int kReaders> class ClusterLaunchControl;

/// A tile of D, or a range of its K.
struct Tile {
  i32 index = 0;     // cluster tile, in the order of the grid
  KRange k;          // the k-blocks of this CTA
  KRange cluster_k;  // those of all CTAs along K of this cluster
};

/// The reduction of a tile's K splits through the workspace. Split 0 begins at k-block 0; its owner adds the others in
/// order and stores the tile.
struct FixUp {
  i32 splits = 1;  // 1: no other cluster has a split of this tile
  i64 slot = 0;    // of this split; for the owner of split 0, the slot of split 1
};

struct SchedulerParams {
  TileGrid grid;
  i32 splits = 1;         // split-K: splits of each tile through the workspace
  i32 stream_tiles = 0;   // stream-K: the first tiles of the order, which are distributed by k-blocks
  i32 stream_blocks = 0;  // k-blocks of each cluster ...
  i32 stream_extra = 0;   // ... and one more for so many of the first clusters
  WorkTileCounter* work_tile_counter = nullptr;  // dynamic
  i32 groups = 1;                                // k-grouped: the grid is that of one group
};

/// Returns part `part` of `parts` of `k`; the parts differ by at most one k-block.
WW_HOST_DEVICE constexpr KRange split_of(KRange k, int part, int parts) {
  const int each = k.blocks / parts, extra = k.blocks % parts;
  return {k.first + part * each + min(part, extra), each + (part < extra ? 1 : 0)};
}

/// The position of this CTA. These are functions, not members, because kernels have no registers to keep such values
/// from tile to tile.
template <pipeline::ClusterShape kCluster> struct CtaPosition {
  WW_DEVICE static int cluster() { return static_cast<int>(arch::block_index()) / kCluster.size(); }
  WW_DEVICE static int clusters() { return static_cast<int>(arch::grid_size()) / kCluster.size(); }

  /// Returns this CTA's part of cluster tile `index`, of which its cluster works on `k`.
  WW_DEVICE static Tile tile(int index, KRange k) {
    return {index, kCluster.k > 1 ? split_of(k, rank_k(), kCluster.k) : k, k};
  }
  /// Returns the position of a tile in D. It may lie wholly outside (edge of a cluster tile).
  // The position is not part of the tile: consumer warps need it only after multiplying and have no registers for it
  // until then.
  WW_DEVICE static TileCoord at(const TileGrid& grid, int index) {
    const TileCoord cluster_tile = rasterize(grid, index);
    const pipeline::ClusterCoord self = pipeline::coord_of(kCluster, static_cast<int>(arch::cluster_rank()));
    return {cluster_tile.m * kCluster.m + self.x, cluster_tile.n * kCluster.n + self.y};
  }
  /// Returns this CTA's slot in group `group`; a group has one slot for each CTA of a plane.
  WW_DEVICE static i64 slot(i64 group) {
    return group * kCluster.plane() + static_cast<int>(arch::cluster_rank()) % kCluster.plane();
  }
  /// Returns this CTA's index along K of the cluster; CTA 0 reduces.
  WW_DEVICE static int rank_k() { return static_cast<int>(arch::cluster_rank()) / kCluster.plane(); }
};

}  // namespace ww::scheduler
