// SPDX-License-Identifier: Apache-2.0
// The tiles of the variant `descriptors`, from the list of groups that the descriptor update left in global memory.
//   token tiles: TILE_M rows of a group, counted through all groups; only the last of a group is partial
//   horizontal:  item -> (token tile, weight tile), weight tiles fastest; the group by a linear scan from the last one
//   vertical:    item -> (weight tile, token tile), token tiles of all groups fastest; the group by binary search
// CTA c takes items c, c + C, ... It copies the list to shared memory once, because every tile reads it.
#pragma once

#include "warpwright/arch/common/global.hpp"
#include "warpwright/arch/common/named_barrier.hpp"
#include "warpwright/arch/common/tensor_map_update.hpp"
#include "warpwright/arch/common/tma.hpp"
#include "warpwright/config/config_parameter.hpp"
#include "warpwright/config/enumerations.hpp"
#include "warpwright/config/grouped_arguments.hpp"
#include "warpwright/config/shared_memory.hpp"
#include "warpwright/scheduler/item_ring.hpp"
#include "warpwright/scheduler/search.hpp"
#include "warpwright/scheduler/tile_source.hpp"
#include "warpwright/scheduler/token_tile.hpp"

namespace ww::scheduler {

/// A tile of tokens from row `row_of_group` of its group on, as the group's tensor maps count rows.
struct DescriptorTile : TokenTile {
  i32 row_of_group;

  WW_DEVICE arch::Words<4> pack() const {
    return {{static_cast<u32>(group) | static_cast<u32>(rows) << 16, static_cast<u32>(row),
             static_cast<u32>(row_of_group), static_cast<u32>(tile_n)}};
  }
  WW_DEVICE static DescriptorTile unpack(const arch::Words<4>& words) {
    const i32 first = static_cast<i32>(words.w[0]);
    return {{first & 0xffff, static_cast<i32>(words.w[1]), first >> 16, static_cast<i32>(words.w[3])},
            static_cast<i32>(words.w[2])};
  }
};

/// kReaders warps of each CTA take tiles from the ring.
template <ConfigParameter kConfig, int kReaders> class DescriptorTiles : public PlainSource {
  static constexpr TileScheduler kOrder = kConfig.sm90.tile_scheduler;
  static_assert(kOrder == TileScheduler::horizontal || kOrder == TileScheduler::vertical);
  static constexpr int kTokens = kConfig.tile.m;
  static constexpr config::GroupedSharedPlan kShared = config::grouped_shared_plan(kConfig);
  using Ring = ItemRing<DescriptorTile, kReaders>;

 public:
  using Tile = DescriptorTile;

  WW_DEVICE DescriptorTiles(const config::GroupedArguments& arguments, arch::SharedAddress shared)
      : arguments_(arguments), shared_(shared) {}

  WW_DEVICE static void initialize(arch::SharedAddress shared) { Ring::initialize(shared + kShared.item_barriers); }
  /// Copies the list. All threads of the CTA call it; it ends with a barrier.
  WW_DEVICE void prepare() {
    const u32* const list = arguments_.descriptors.list;
    const arch::Words<4> head = arch::global::load4(list);
    listed_ = head.w[0];
    token_tiles_ = head.w[1];
    for (u32 p = arch::thread_index(); p < listed_; p += config::threads_of(kConfig))
      arch::shared::store4(record(p), arch::global::load4(list + config::kListedWords * (1 + p)));
    arch::named_barrier::sync_cta();
  }

  /// The producer, as Reader::thread, acquires the maps of each tile's group and announces the tile; others take what
  /// it announced.
  // Its acquires cover the whole CTA, because consumer warps store with a map only after they took the tile from it.
  class Walk {
   public:
    WW_DEVICE Walk(const DescriptorTiles& tiles, Reader reader)
        : tiles_(tiles),
          reader_(reader),
          ring_(tiles.shared_ + kShared.item_barriers, tiles.shared_ + kShared.items,
                reader == Reader::thread ? pipeline::Role::producer : pipeline::Role::consumer),
          item_(arch::block_index()) {}

    WW_DEVICE bool next(Tile& tile) {
      if (reader_ == Reader::warp) return ring_.take(tile);
      const u32 tiles_n = static_cast<u32>(tiles_.arguments_.tiles_n), token_tiles = tiles_.token_tiles_;
      if (item_ >= token_tiles * tiles_n) {
        ring_.announce_end();
        return false;
      }
      constexpr bool kHorizontal = kOrder == TileScheduler::horizontal;
      const u32 token_tile = kHorizontal ? item_ / tiles_n : item_ % token_tiles;
      const u32 tile_n = kHorizontal ? item_ % tiles_n : item_ / token_tiles;
      item_ += arch::grid_size();
      if constexpr (kHorizontal) position_ = tiles_.scan(position_, token_tile);
      else position_ = tiles_.search(token_tile);
      tile = tiles_.tile(position_, token_tile, static_cast<i32>(tile_n));
      acquire_maps(tile.group);
      ring_.announce(tile);
      return true;
    }

   private:
    WW_DEVICE void acquire_maps(i32 group) {
      const bool loads = tiles_.has_products();
      if ((!loads && kConfig.epilogue.empty()) || group == acquired_) return;
      const arch::TensorMap* const maps = tiles_.arguments_.descriptors.maps;
      const arch::TensorMap &group_a = maps[config::map_of_a(group)], &group_d = maps[config::map_of_d(group)];
      if (loads) arch::tensor_map::acquire(group_a);  // for K = 0, A has no maps
      arch::tensor_map::acquire(group_d);
      arch::tma::prefetch(group_d);  // so that it is present when the stores come at the end
      acquired_ = group;
    }

    const DescriptorTiles& tiles_;
    Reader reader_;
    Ring ring_;
    u32 item_, position_ = 0;
    i32 acquired_ = -1;  // the group whose maps this CTA may use
  };

  WW_DEVICE bool has_products() const { return arguments_.k_blocks > 0; }
  WW_DEVICE static const Tile& at(const Tile& tile) { return tile; }
  WW_DEVICE i32 k_blocks_of(const Tile&) const { return arguments_.k_blocks; }

 private:
  WW_DEVICE arch::SharedAddress record(u32 position) const {
    return shared_ + kShared.tables + config::kListedWords * 4 * position;
  }
  WW_DEVICE u32 first_tile(u32 position) const { return arch::shared::load(record(position) + 12); }

  /// Returns the position that owns `token_tile`; it is not before `from`.
  WW_DEVICE u32 scan(u32 from, u32 token_tile) const {
    while (from + 1 < listed_ && first_tile(from + 1) <= token_tile) ++from;
    return from;
  }
  WW_DEVICE u32 search(u32 token_tile) const {
    return owner_of(token_tile, listed_, [&](u32 position) -> u32 { return first_tile(position); });
  }

  WW_DEVICE DescriptorTile tile(u32 position, u32 token_tile, i32 tile_n) const {
    const arch::Words<4> r = arch::shared::load4(record(position));
    const i32 row = static_cast<i32>(token_tile - r.w[3]) * kTokens;
    return {{static_cast<i32>(r.w[0]), static_cast<i32>(r.w[1]) + row, min(kTokens, static_cast<i32>(r.w[2]) - row),
             tile_n},
            row};
  }

  const config::GroupedArguments& arguments_;
  arch::SharedAddress shared_;
  u32 listed_ = 0, token_tiles_ = 0;
};

}  // namespace ww::scheduler
