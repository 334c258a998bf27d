// SPDX-License-Identifier: Apache-2.0
// What a scheduler hands out, and what it is told at launch. Every scheduler of the dense kernel has one interface:
//   Scheduler scheduler(params, k_blocks, shared, reader);
//   while (scheduler.next(tile)) ...     scheduler.meeting(tile): who else has k-blocks of it
// Each role of each CTA has its own; all see the same tiles in the same order.
#pragma once

#include "warpwright/arch/special.hpp"
#include "warpwright/arch/warp.hpp"
#include "warpwright/pipeline/arrivals.hpp"
#include "warpwright/scheduler/ticket.hpp"
#include "warpwright/scheduler/tile_grid.hpp"

namespace ww::scheduler {

/// A tile of D, or a range of its K.
struct Tile {
  i32 index = 0;     // cluster tile, in the order of the grid
  KRange k;          // this CTA's
  KRange cluster_k;  // of all CTAs along K of this cluster
  // k-grouped, where groups end at any row of K: so many rows, before this one
  i32 rows = 0, end = 0;
};

/// How the pieces of a tile that several clusters have meet in workspace. Piece 0 begins at k-block 0; who has it adds
/// the others in order and stores the tile.
struct Meeting {
  i32 pieces = 1;  // 1: nobody else has any of this tile
  i64 slot = 0;    // of this piece, or of piece 1 for who has piece 0
};

/// Who asks for tiles: a whole warp, or one thread that stands for its warp.
enum class Reader { warp, thread };

/// `value`, which is the same in all lanes of a warp that asks, where the compiler cannot know it.
// why: without it all that follows from the tile, the stage of the ring and its descriptors among it, lives in ordinary
// registers, and is moved to uniform ones between one wgmma and the next; a mainloop loses 15 to 25 % to that
WW_DEVICE i32 uniform_for(Reader reader, i32 value) {
  return reader == Reader::warp ? static_cast<i32>(arch::warp::uniform(static_cast<u32>(value))) : value;
}

struct SchedulerParams {
  TileGrid grid;
  i32 pieces = 1;                    // split-K: of each tile, through workspace
  i32 stream_tiles = 0;              // stream-K: the first tiles of the order, shared out by k-blocks
  i32 stream_blocks = 0;             // of those, for each cluster ...
  i32 stream_extra = 0;              // ... and one more for so many of the first
  TicketCounter* tickets = nullptr;  // dynamic
  i32 groups = 1;                    // k-grouped: the grid is that of one
};

/// Part `part` of `parts` of `k`; they differ by at most one k-block.
WW_HOST_DEVICE constexpr KRange part_of(KRange k, int part, int parts) {
  const int each = k.blocks / parts, extra = k.blocks % parts;
  return {k.first + part * each + min(part, extra), each + (part < extra ? 1 : 0)};
}

/// Where this CTA is. Functions and no members: kernels have no registers to keep such things in from tile to tile.
template <pipeline::ClusterShape kCluster> struct Place {
  WW_DEVICE static int cluster() { return static_cast<int>(arch::block_index()) / kCluster.size(); }
  WW_DEVICE static int clusters() { return static_cast<int>(arch::grid_size()) / kCluster.size(); }

  /// This CTA's share of cluster tile `index`, of which its cluster works on `k`.
  WW_DEVICE static Tile tile(int index, KRange k) {
    return {index, kCluster.k > 1 ? part_of(k, rank_k(), kCluster.k) : k, k};
  }
  /// Where that is in D. It may lie wholly outside (edge of a cluster tile).
  // why not in the tile: math warps ask when they have multiplied, and have no registers for it until then
  WW_DEVICE static TileCoord at(const TileGrid& grid, int index) {
    const TileCoord cluster_tile = rasterize(grid, index);
    const pipeline::ClusterCoord self = pipeline::coord_of(kCluster, static_cast<int>(arch::cluster_rank()));
    return {cluster_tile.m * kCluster.m + self.x, cluster_tile.n * kCluster.n + self.y};
  }
  /// Slots are numbered by groups of one for each CTA of a plane: this CTA's in group `group`.
  WW_DEVICE static i64 slot(i64 group) {
    return group * kCluster.plane() + static_cast<int>(arch::cluster_rank()) % kCluster.plane();
  }
  /// Which CTA along K of the cluster this is; 0 sums.
  WW_DEVICE static int rank_k() { return static_cast<int>(arch::cluster_rank()) / kCluster.plane(); }
};

}  // namespace ww::scheduler
