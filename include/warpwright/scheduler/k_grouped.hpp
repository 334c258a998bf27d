// SPDX-License-Identifier: Apache-2.0
// K-grouped: the tiles of every group's D in one static order, group after group; cluster c of C takes tiles c, c + C,
// ... of it. The number of k-blocks of a tile depends on its group and is read from the group table in shared memory.
//   order: | tiles of D[0] | tiles of D[1] | ...     an empty group has tiles too, because its zeros must be written
// All CTAs of a cluster work on one tile of this order, hence on one group: multicast requires that they agree on the
// number of stages and their contents.
#pragma once

#include "warpwright/config/shared_memory.hpp"
#include "warpwright/config/sizes.hpp"
#include "warpwright/scheduler/group_table.hpp"
#include "warpwright/scheduler/tile.hpp"

namespace ww::scheduler {

template <GemmConfig kConfig> class KGrouped {
  static constexpr pipeline::ClusterShape kCluster = config::cluster_of(kConfig);
  static constexpr config::RasterSharedPlan kShared = config::raster_shared_plan(kConfig);
  using CtaPosition = scheduler::CtaPosition<kCluster>;
  using Table = GroupTable<config::threads_of(kConfig)>;

 public:
  WW_DEVICE KGrouped(const SchedulerParams& params, int, arch::SharedAddress shared, Reader reader)
      : params_(params),
        table_(table(shared)),
        reader_(reader),
        index_(CtaPosition::cluster() - CtaPosition::clusters()) {}

  /// Builds the group table. All threads of the CTA call it before any asks for tiles; it ends with a barrier.
  WW_DEVICE static void read_groups(const GroupSizes& sizes, arch::SharedAddress shared) {
    table(shared).build(sizes, shared + kShared.scan);
  }

  /// Sets `tile` to this CTA's next tile; returns false when there is none.
  WW_DEVICE bool next(Tile& tile) {
    index_ += CtaPosition::clusters();
    if (index_ >= params_.groups * tiles_of_group(params_)) return false;
    const GroupRange range = table_[group_of(params_, index_)];
    const i32 rows = uniform_for(reader_, range.count), start = uniform_for(reader_, range.start);
    const i32 blocks = ceil_div(rows, kConfig.tile.k);
    // Groups without tails begin at a whole k-block of the matrix.
    tile = CtaPosition::tile(index_, {config::has_k_tails(kConfig) ? 0 : start / kConfig.tile.k, blocks});
    tile.rows = rows, tile.end = start + rows;
    return true;
  }

  /// Returns the position of `tile` in D; its `batch` is the group.
  WW_DEVICE static TileCoord at(const SchedulerParams& params, const Tile& tile) {
    const int group = group_of(params, tile.index);
    TileCoord coord = CtaPosition::at(params.grid, tile.index - group * tiles_of_group(params));
    coord.batch = group;
    return coord;
  }

  WW_DEVICE FixUp fix_up(const Tile&) const { return {}; }

 private:
  WW_DEVICE static Table table(arch::SharedAddress shared) {
    return {shared + kShared.tables, group_capacity(kConfig)};
  }
  WW_DEVICE static int tiles_of_group(const SchedulerParams& params) { return static_cast<int>(params.grid.tiles()); }
  WW_DEVICE static int group_of(const SchedulerParams& params, int index) { return index / tiles_of_group(params); }

  const SchedulerParams& params_;
  Table table_;
  Reader reader_;
  int index_;  // the last tile returned; starts one step before the first tile
};

}  // namespace ww::scheduler
