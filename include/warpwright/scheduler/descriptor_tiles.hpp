// SPDX-License-Identifier: Apache-2.0
// The tiles of the variant `descriptors`, from the list of groups that the descriptor update left in global memory.
//   token tiles: TILE_M rows of a group, counted through all groups; only the last of a group is partial
//   horizontal:  item -> (token tile, weight tile), weight tiles fastest; the group by a linear scan from the last one
//   vertical:    item -> (weight tile, token tile), token tiles of all groups fastest; the group by binary search
// CTA c takes items c, c + C, ... It copies the list to shared memory once, because every tile reads it.
#pragma once

#include "warpwright/arch/common/global.hpp"
#include "warpwright/arch/common/named_barrier.hpp"
#include "warpwright/config/enumerations.hpp"
#include "warpwright/config/grouped_arguments.hpp"
#include "warpwright/scheduler/search.hpp"
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

template <int kThreads, int kTokens, TileScheduler kOrder> class DescriptorTiles {
  static_assert(kOrder == TileScheduler::horizontal || kOrder == TileScheduler::vertical);

 public:
  /// `table` has 16 bytes for each listed group.
  WW_DEVICE DescriptorTiles(arch::SharedAddress table, int tiles_n) : table_(table), tiles_n_(tiles_n) {}

  /// Copies the list. All threads of the CTA call it; it ends with a barrier.
  WW_DEVICE void load(const u32* list) {
    const arch::Words<4> head = arch::global::load4(list);
    listed_ = head.w[0];
    token_tiles_ = head.w[1];
    for (u32 p = arch::thread_index(); p < listed_; p += kThreads)
      arch::shared::store4(record(p), arch::global::load4(list + config::kListedWords * (1 + p)));
    arch::named_barrier::sync_cta();
  }

  /// One thread's iteration over the tiles of this CTA.
  class Walk {
   public:
    WW_DEVICE explicit Walk(const DescriptorTiles& tiles) : tiles_(tiles), item_(arch::block_index()) {}

    /// Sets `tile` to this CTA's next tile; returns false when there is none.
    WW_DEVICE bool next(DescriptorTile& tile) {
      const u32 tiles_n = static_cast<u32>(tiles_.tiles_n_), token_tiles = tiles_.token_tiles_;
      if (item_ >= token_tiles * tiles_n) return false;
      constexpr bool kHorizontal = kOrder == TileScheduler::horizontal;
      const u32 token_tile = kHorizontal ? item_ / tiles_n : item_ % token_tiles;
      const u32 tile_n = kHorizontal ? item_ % tiles_n : item_ / token_tiles;
      item_ += arch::grid_size();
      if constexpr (kHorizontal) position_ = tiles_.scan(position_, token_tile);
      else position_ = tiles_.search(token_tile);
      tile = tiles_.tile(position_, token_tile, static_cast<i32>(tile_n));
      return true;
    }

   private:
    const DescriptorTiles& tiles_;
    u32 item_, position_ = 0;
  };

 private:
  WW_DEVICE arch::SharedAddress record(u32 position) const { return table_ + config::kListedWords * 4 * position; }
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

  arch::SharedAddress table_;
  int tiles_n_;
  u32 listed_ = 0, token_tiles_ = 0;
};

}  // namespace ww::scheduler
