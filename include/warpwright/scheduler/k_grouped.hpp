// SPDX-License-Identifier: Apache-2.0
// The tile source of groups of K: the tiles of every group's D in one static order, group after group; cluster c of C
// takes tiles c, c + C, ... of it. The number of k-blocks of a tile depends on its group and is read from the group
// table in shared memory.
//   order: | tiles of D[0] | tiles of D[1] | ...     an empty group has tiles too, because its zeros must be written
// Under clc, the device chooses which tiles of the order a cluster takes (scheduler/cluster_launch_control.hpp).
// Under longest_k, groups come in descending order of K: short tiles fill the last wave, in which a long one would keep
// its CTA busy while others wait.
// All CTAs of a cluster work on one tile of this order, hence on one group: multicast requires that they agree on the
// number of stages and their contents.
#pragma once

#include "warpwright/config/config_parameter.hpp"
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

/// kReaders is the number of warps of a CTA that ask for tiles.
template <ConfigParameter kConfig, int kReaders> class KGrouped : public PlainSource {
  static constexpr pipeline::ClusterShape kCluster = config::cluster_of(kConfig);
  static_assert(kCluster.k == 1);
  static constexpr config::RasterSharedPlan kShared = config::raster_shared_plan(kConfig);
  using CtaPosition = scheduler::CtaPosition<kCluster>;
  static constexpr int kThreads = config::threads_of(kConfig);
  using Table = GroupTable<kThreads, config::uses_launch_control(kConfig)>;
  static constexpr bool kLongestFirst = kConfig.sm90.tile_scheduler == TileScheduler::longest_k;

  using LaunchControl = ClusterLaunchControl<kConfig, kReaders>;
  struct NoLaunchControl {
    WW_DEVICE NoLaunchControl(const SchedulerParams&, int, arch::SharedAddress, Reader) {}
  };
  using Giver = conditional_t<config::uses_launch_control(kConfig), LaunchControl, NoLaunchControl>;

 public:
  using Tile = KGroupTile;
  static constexpr bool kVariesK = true, kMayBeEmpty = true;
  static constexpr bool kServes = config::uses_launch_control(kConfig);

  template <class Params>
  WW_DEVICE KGrouped(const Params& params, arch::SharedAddress shared)
      : params_(params.scheduler), sizes_(params.groups), keep_empty_(params.keep_empty), shared_(shared) {}

  /// Builds the group table; it ends with a barrier.
  WW_DEVICE void prepare() const {
    table().build(sizes_, shared_ + kShared.scan);
    if constexpr (kLongestFirst) sort();
  }

  WW_DEVICE static void initialize(arch::SharedAddress shared) {
    if constexpr (kServes) LaunchControl::initialize(shared);
  }
  WW_DEVICE void serve() const {
    if constexpr (kServes) LaunchControl::serve(params_, shared_);
  }

  class Walk : Giver {
   public:
    WW_DEVICE Walk(const KGrouped& tiles, Reader reader)
        : Giver(tiles.params_, 0, tiles.shared_, reader),
          params_(tiles.params_),
          table_(tiles.table()),
          order_(tiles.order()),
          reader_(reader),
          index_(CtaPosition::cluster() - CtaPosition::clusters()) {}

    /// Sets `tile` to this CTA's next tile; returns false when there is none.
    WW_DEVICE bool next(Tile& tile) {
      if constexpr (kServes) {
        scheduler::Tile given;
        if (!Giver::next(given)) return false;
        index_ = given.index;
      } else {
        index_ += CtaPosition::clusters();
        if (index_ >= params_.groups * tiles_of_group(params_)) return false;
      }
      const GroupRange range = table_[group_at(order_, index_ / tiles_of_group(params_))];
      const i32 rows = uniform_for(reader_, range.count), start = uniform_for(reader_, range.start);
      const i32 blocks = ceil_div(rows, kConfig.tile.k);
      // Groups without tails begin at a whole k-block of the matrix.
      tile = {index_, {{config::has_k_tails(kConfig) ? 0 : start / kConfig.tile.k, blocks}, rows, start + rows}};
      return true;
    }

   private:
    const SchedulerParams& params_;
    Table table_;
    arch::SharedAddress order_;
    Reader reader_;
    int index_;  // the last tile returned; starts one step before the first tile
  };

  WW_DEVICE static bool has_products() { return true; }  // each tile tells for itself

  /// Returns the position of `tile` in D; its `batch` is the group.
  WW_DEVICE TileCoord at(const Tile& tile) const {
    const int position = tile.index / tiles_of_group(params_);  // of the group in the order
    TileCoord coord = CtaPosition::at(params_.grid, tile.index - position * tiles_of_group(params_));
    coord.batch = group_at(order(), position);
    return coord;
  }
  WW_DEVICE static i32 k_blocks_of(const Tile& tile) { return tile.k.blocks; }
  /// Groups with scales that the tensor core applies have whole k-blocks.
  WW_DEVICE static i32 last_k_of(const Tile&) { return kConfig.tile.k; }
  WW_DEVICE static bool is_empty(const Tile& tile) { return tile.k.blocks == 0; }
  WW_DEVICE bool keeps_output(const Tile& tile) const { return is_empty(tile) && keep_empty_; }

 private:
  WW_DEVICE Table table() const { return {shared_ + kShared.tables, group_capacity(kConfig)}; }
  WW_DEVICE static int tiles_of_group(const SchedulerParams& params) { return static_cast<int>(params.grid.tiles()); }

  /// The groups in their order, 4 bytes each, behind the table.
  WW_DEVICE arch::SharedAddress order() const { return shared_ + kShared.tables + 8 * group_capacity(kConfig); }
  WW_DEVICE static int group_at(arch::SharedAddress order, int position) {
    return kLongestFirst ? static_cast<int>(arch::shared::load(order + 4 * position)) : position;
  }

  // Sorts the groups by Batcher's merge exchange (Knuth, 5.2.2 M), which takes any number of them. All threads call it;
  // the pairs of a step are disjoint, and a barrier separates the steps. Groups of equal K stay in the order of their
  // numbers, so that all CTAs have one order.
  WW_DEVICE void sort() const {
    const int groups = params_.groups, thread = static_cast<int>(arch::thread_index());
    for (int g = thread; g < groups; g += kThreads) arch::shared::store(order() + 4 * g, static_cast<u32>(g));
    int half = 1;
    while (2 * half < groups) half *= 2;
    WW_NO_UNROLL
    for (int p = half; p > 0; p /= 2) {
      int residue = 0, distance = p;
      WW_NO_UNROLL
      for (int q = half;; q /= 2) {
        arch::named_barrier::sync_cta();
        for (int i = thread; i + distance < groups; i += kThreads)
          if ((i & p) == residue) exchange(order() + 4 * i, order() + 4 * (i + distance));
        if (q == p) break;
        residue = p, distance = q - p;
      }
    }
    arch::named_barrier::sync_cta();
  }
  WW_DEVICE void exchange(arch::SharedAddress first, arch::SharedAddress second) const {
    const u32 a = arch::shared::load(first), b = arch::shared::load(second);
    const i32 rows_a = table()[static_cast<int>(a)].count, rows_b = table()[static_cast<int>(b)].count;
    if (rows_a > rows_b || (rows_a == rows_b && a < b)) return;
    arch::shared::store(first, b);
    arch::shared::store(second, a);
  }

  const SchedulerParams& params_;
  const GroupSizes& sizes_;
  const i32& keep_empty_;  // a reference, because a value would be read before it is needed
  arch::SharedAddress shared_;
};

}  // namespace ww::scheduler
