// SPDX-License-Identifier: Apache-2.0
// The tile source of the ragged kernel. The producer takes items of the list (ragged_tiles.hpp) from a counter, or
// items c, c + CTAs, ..., and announces each tile in the item ring. The other roles take tiles from the ring and see no
// table.
//   begin:    the first warp loads the sizes of few groups before the barriers are visible
//   prepare:  the list, by that warp alone or, if groups are many, by all warps
//   serve:    one warp of CTA 0 counts the tiles of each width for the report
#pragma once

#include "warpwright/arch/common/pdl.hpp"
#include "warpwright/config/config_parameter.hpp"
#include "warpwright/config/shared_memory.hpp"
#include "warpwright/scheduler/item_ring.hpp"
#include "warpwright/scheduler/ragged_tiles.hpp"
#include "warpwright/scheduler/tile.hpp"
#include "warpwright/scheduler/tile_source.hpp"
#include "warpwright/scheduler/work_tile_counter.hpp"

namespace ww::scheduler {

/// kReaders warps of each CTA take tiles from the ring.
template <ConfigParameter kConfig, int kReaders> class RaggedSource : public PlainSource {
  static constexpr config::GroupedSharedPlan kShared = config::grouped_shared_plan(kConfig);
  static constexpr int kClusterK = config::cluster_of(kConfig).k;
  static constexpr int kListed = 1;  // named barrier: the table is complete, for the warp that counts widths
  using CtaPosition = scheduler::CtaPosition<config::cluster_of(kConfig)>;
  using Tiles = RaggedTiles<config::threads_of(kConfig), kConfig.tile.m>;
  using Ring = ItemRing<RaggedTile, kReaders>;

 public:
  using Tile = RaggedTile;
  static constexpr bool kServes = true;
  static constexpr bool kMayBeEmpty = kClusterK > 1;
  /// The producer's warp alone makes the list.
  static constexpr bool kWarpLists = group_capacity(kConfig) <= Tiles::kWarpGroups;
  /// CTAs of the next launch fit beside this one. They start once this CTA's last loads are in flight and no sooner,
  /// because on an H200 an earlier start was level at best and up to 15 % slower.
  static constexpr bool kStartsNextLate = kConfig.sm90.occupancy > 1;

  WW_DEVICE RaggedSource(const config::GroupedArguments& arguments, arch::SharedAddress shared)
      : arguments_(arguments),
        shared_(shared),
        tiles_(shared + kShared.tables, group_capacity(kConfig), arguments.tiles_n) {}

  WW_DEVICE static void initialize(arch::SharedAddress shared) { Ring::initialize(shared + kShared.item_barriers); }
  /// Issues the first loads of sizes. All threads call it, before barriers are visible.
  WW_DEVICE void begin() {
    if (kWarpLists && is_first_warp()) {
      arch::pdl::wait();
      loaded_ = Tiles::load_in_warp(arguments_.groups);
    }
  }
  WW_DEVICE void prepare() {
    if constexpr (kWarpLists) {
      tiles_.prepare(arguments_.groups);
      if (is_first_warp()) {
        tiles_.build_in_warp(arguments_.groups, loaded_);
        if (arch::block_index() == 0) arch::named_barrier::arrive<kListed>(2 * arch::kWarpSize);
      }
    } else {
      tiles_.build(arguments_.groups, shared_ + kShared.scan);
    }
  }
  WW_DEVICE void serve() const {
    if (arch::block_index() != 0) return;
    if constexpr (kWarpLists) arch::named_barrier::sync<kListed>(2 * arch::kWarpSize);
    tiles_.count_widths(arguments_.groups.groups, arguments_.workspace->widths);
  }

  /// The producer, as Reader::thread, announces what it takes; others take what it announced.
  class Walk {
   public:
    WW_DEVICE Walk(const RaggedSource& source, Reader reader)
        : source_(source),
          reader_(reader),
          ring_(source.shared_ + kShared.item_barriers, source.shared_ + kShared.items,
                reader == Reader::thread ? pipeline::Role::producer : pipeline::Role::consumer),
          item_(static_cast<u32>(CtaPosition::cluster())) {}  // the first tile of each cluster needs no counter

    WW_DEVICE bool next(Tile& tile) {
      if (reader_ == Reader::warp) return ring_.take(tile);
      const Tiles& tiles = source_.tiles_;
      const u32 takers = static_cast<u32>(CtaPosition::clusters()), item = item_;
      const bool counts = kConfig.sm90.tile_scheduler == TileScheduler::dynamic && tiles.items() > takers;
      config::GroupedWorkspace& counter = *source_.arguments_.workspace;
      if (item >= tiles.items()) {
        if constexpr (kStartsNextLate) arch::pdl::launch_dependents();
        ring_.announce_end();
        if (counts) retire_from_counter(&counter.next_tile, &counter.finished, takers);
        return false;
      }
      // The counter is read before the loads, so that its latency overlaps those of this tile.
      item_ = counts ? next_work_tile(&counter.next_tile, takers) : item + takers;
      tile = tiles.tile(item);
      ring_.announce(tile);
      return true;
    }

   private:
    const RaggedSource& source_;
    Reader reader_;
    Ring ring_;
    u32 item_;
  };

  /// Returns the k-blocks of every tile that belong to this CTA.
  WW_DEVICE config::KRange range() const {
    const config::KRange all{0, arguments_.k_blocks};
    return kMayBeEmpty ? split_of(all, CtaPosition::rank_k(), kClusterK) : all;
  }
  WW_DEVICE bool has_products() const { return arguments_.k_blocks > 0; }
  WW_DEVICE static const Tile& at(const Tile& tile) { return tile; }
  WW_DEVICE i32 k_blocks_of(const Tile&) const { return range().blocks; }
  WW_DEVICE static bool is_part(const Tile&) { return kMayBeEmpty; }

 private:
  WW_DEVICE static bool is_first_warp() { return arch::warp::uniform(arch::warp_index()) == 0; }

  const config::GroupedArguments& arguments_;
  arch::SharedAddress shared_;
  Tiles tiles_;
  typename Tiles::Table::Batch loaded_{};
};

}  // namespace ww::scheduler
