// SPDX-License-Identifier: Apache-2.0
// The tile source of groups of K: the tiles of every group's D in one static order, group after group; cluster c of C
// takes tiles c, c + C, ... of it. The number of k-blocks of a tile depends on its group and is read from the group
// table in shared memory.
//   order: | tiles of D[0] | tiles of D[1] | ...     an empty group has tiles too, because its zeros must be written
// All CTAs of a cluster work on one tile of this order, hence on one group: multicast requires that they agree on the
// number of stages and their contents.
#pragma once

#include "warpwright/config/shared_memory.hpp"
#include "warpwright/config/sizes.hpp"
#include "warpwright/scheduler/group_table.hpp"
#include "warpwright/scheduler/tile.hpp"
#include "warpwright/scheduler/tile_source.hpp"

namespace ww::scheduler {

/// A tile of a group's D, with all rows of K of the group.
struct KGroupTile {
  i32 index = 0;  // cluster tile, in the order of all groups
  config::KRows k;
};

template <GemmConfig kConfig> class KGrouped : public PlainSource {
  static constexpr pipeline::ClusterShape kCluster = config::cluster_of(kConfig);
  static_assert(kCluster.k == 1);
  static constexpr config::RasterSharedPlan kShared = config::raster_shared_plan(kConfig);
  using CtaPosition = scheduler::CtaPosition<kCluster>;
  using Table = GroupTable<config::threads_of(kConfig)>;

 public:
  using Tile = KGroupTile;
  static constexpr bool kVariesK = true, kMayBeEmpty = true;

  template <class Params>
  WW_DEVICE KGrouped(const Params& params, arch::SharedAddress shared)
      : params_(params.scheduler), sizes_(params.groups), keep_empty_(params.keep_empty), shared_(shared) {}

  /// Builds the group table; it ends with a barrier.
  WW_DEVICE void prepare() const { table().build(sizes_, shared_ + kShared.scan); }

  class Walk {
   public:
    WW_DEVICE Walk(const KGrouped& tiles, Reader reader)
        : params_(tiles.params_),
          table_(tiles.table()),
          reader_(reader),
          index_(CtaPosition::cluster() - CtaPosition::clusters()) {}

    /// Sets `tile` to this CTA's next tile; returns false when there is none.
    WW_DEVICE bool next(Tile& tile) {
      index_ += CtaPosition::clusters();
      if (index_ >= params_.groups * tiles_of_group(params_)) return false;
      const GroupRange range = table_[group_of(params_, index_)];
      const i32 rows = uniform_for(reader_, range.count), start = uniform_for(reader_, range.start);
      const i32 blocks = ceil_div(rows, kConfig.tile.k);
      // Groups without tails begin at a whole k-block of the matrix.
      tile = {index_, {{config::has_k_tails(kConfig) ? 0 : start / kConfig.tile.k, blocks}, rows, start + rows}};
      return true;
    }

   private:
    const SchedulerParams& params_;
    Table table_;
    Reader reader_;
    int index_;  // the last tile returned; starts one step before the first tile
  };

  WW_DEVICE static bool has_products() { return true; }  // each tile tells for itself

  /// Returns the position of `tile` in D; its `batch` is the group.
  WW_DEVICE TileCoord at(const Tile& tile) const {
    const int group = group_of(params_, tile.index);
    TileCoord coord = CtaPosition::at(params_.grid, tile.index - group * tiles_of_group(params_));
    coord.batch = group;
    return coord;
  }
  WW_DEVICE static i32 k_blocks_of(const Tile& tile) { return tile.k.blocks; }
  WW_DEVICE static bool is_empty(const Tile& tile) { return tile.k.blocks == 0; }
  WW_DEVICE bool keeps_output(const Tile& tile) const { return is_empty(tile) && keep_empty_; }

 private:
  WW_DEVICE Table table() const { return {shared_ + kShared.tables, group_capacity(kConfig)}; }
  WW_DEVICE static int tiles_of_group(const SchedulerParams& params) { return static_cast<int>(params.grid.tiles()); }
  WW_DEVICE static int group_of(const SchedulerParams& params, int index) { return index / tiles_of_group(params); }

  const SchedulerParams& params_;
  const GroupSizes& sizes_;
  const i32& keep_empty_;  // a reference, because a value would be read before it is needed
  arch::SharedAddress shared_;
};

}  // namespace ww::scheduler
