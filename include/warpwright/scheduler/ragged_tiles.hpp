// SPDX-License-Identifier: Apache-2.0
// Ragged groups as one list of tiles, built on the device. Wide token tiles come first; short ones, where no tile is
// wide, stay in the order of their groups. Within a group, all token tiles of one weight tile are adjacent, so that
// weights come from memory once.
//   group -> ceil(count / TILE_M) token tiles of equal rows -> width class (config/token_widths.hpp)
//   item  -> position (binary search over first items) -> group, weight tile, token tile
// Every CTA builds the same list; for few groups, the warp that then asks for tiles builds it alone. The list is on a
// launch's critical path. The kernel decides which CTA takes which item.
#pragma once

#include "warpwright/config/token_widths.hpp"
#include "warpwright/scheduler/group_table.hpp"
#include "warpwright/scheduler/search.hpp"
#include "warpwright/scheduler/token_tile.hpp"

namespace ww::scheduler {

/// One tile of work: `rows` tokens from row `row` on, against weight tile `tile_n` of `group`.
struct RaggedTile : TokenTile {
  i32 width_class;

  WW_DEVICE arch::Words<4> pack() const {
    return {{static_cast<u32>(group) | static_cast<u32>(width_class) << 16, static_cast<u32>(row),
             static_cast<u32>(rows), static_cast<u32>(tile_n)}};
  }
  WW_DEVICE static RaggedTile unpack(const arch::Words<4>& words) {
    const i32 first = static_cast<i32>(words.w[0]);
    return {{first & 0xffff, static_cast<i32>(words.w[1]), static_cast<i32>(words.w[2]), static_cast<i32>(words.w[3])},
            first >> 16};
  }
};

template <int kThreads, int kTokens> class RaggedTiles {
 public:
  /// `table` has 16 bytes for each of `capacity` >= G groups.
  WW_DEVICE RaggedTiles(arch::SharedAddress table, int capacity, int tiles_n)
      : groups_(table, capacity),
        order_(table + 8 * capacity),
        first_items_(table + 12 * capacity),
        tiles_n_(tiles_n) {}

  using Table = GroupTable<kThreads>;
  static constexpr int kWarpGroups = Table::kWarpGroups;

  WW_DEVICE u32 items() const { return items_; }

  /// Called by all threads of the CTA, then by one warp; see GroupTable.
  WW_DEVICE void prepare(const GroupSizes& sizes) const { groups_.prepare(sizes); }
  WW_DEVICE static typename Table::Batch load_in_warp(const GroupSizes& sizes) { return Table::load_in_warp(sizes); }
  /// Builds the list in one warp, for at most kWarpGroups groups; only this warp may then call items() and tile().
  WW_DEVICE void build_in_warp(const GroupSizes& sizes, const typename Table::Batch& loaded) {
    groups_.build_in_warp(sizes, loaded);
    if (!kSorts || !any_wide_in_warp(sizes)) list_in_warp(sizes);
    else sort_in_warp(sizes);
    arch::warp::sync();
  }

  /// Builds the list. All threads of the CTA call it; it ends with a barrier. `scratch` has twice
  /// arch::cta::scan_bytes(kThreads).
  WW_DEVICE void build(const GroupSizes& sizes, arch::SharedAddress scratch) {
    groups_.build(sizes, scratch);
    if constexpr (kSorts) sort(sizes, scratch);
    else list_in_order(sizes, scratch);
    arch::named_barrier::sync_cta();
  }

  /// Returns a tile to any thread; item < items().
  WW_DEVICE RaggedTile tile(u32 item) const {
    const u32 low = owner_of(item, positions_,
                             [&](u32 position) -> u32 { return arch::shared::load(first_items_ + 4 * position); });
    // Without an order an empty group is never found: the next group has the same first item, or all items are before
    // it.
    const int group = kSorts ? static_cast<int>(arch::shared::load(order_ + 4 * low)) : static_cast<int>(low);
    const GroupRange range = groups_[group];
    const int tiles = tiles_of(range.count);
    const int local = static_cast<int>(item - arch::shared::load(first_items_ + 4 * low));
    // This case is separate, because it saves three divisions before the first load of a launch.
    if (tiles == 1) return {{group, range.start, range.count, local}, config::token_class(range.count)};
    const int rows = rows_of(range.count, tiles);
    const int done = local % tiles * rows;
    return {{group, range.start + done, min(rows, range.count - done), local / tiles}, config::token_class(rows)};
  }

  /// Counts the tiles of every width class for the report. All lanes of one warp call it.
  WW_DEVICE void count_widths(int groups, u32* counts) const {
    u32 mine[config::kTokenWidthCount] = {};
    WW_NO_UNROLL
    for (int g = static_cast<int>(arch::lane_index()); g < groups; g += static_cast<int>(arch::kWarpSize)) {
      const GroupRange range = groups_[g];
      if (range.count == 0) continue;
      const int tiles = tiles_of(range.count), width = config::token_class(rows_of(range.count, tiles));
      WW_UNROLL
      for (int c = 0; c < config::kTokenWidthCount; ++c) mine[c] += c == width ? tiles * tiles_n_ : 0;
    }
    WW_UNROLL
    for (int c = 0; c < config::kTokenWidthCount; ++c) {
      const u32 sum = arch::warp::reduce_add(mine[c]);
      if (arch::lane_index() == 0) arch::global::store(counts + c, sum);
    }
  }

 private:
  // Buckets: widths above 3/4 of TILE_M, those half way down to 32, those above 32, and the rest. The time of the rest
  // is that of their weights, and their groups stay in order.
  static constexpr int kBuckets = 4, kWide = kTokens * 3 / 4, kNarrow = 32, kMiddle = (kWide + kNarrow) / 2;
  static constexpr bool kSorts = kTokens > kNarrow;
  static constexpr u32 kScanBytes = arch::cta::scan_bytes(kThreads);

  /// Returns whether a group of any lane has more rows than tiles that stay in order.
  WW_DEVICE bool any_wide_in_warp(const GroupSizes& sizes) const {
    const int last = Table::template first_group<arch::kWarpSize>(sizes, arch::lane_index() + 1);
    int most = 0;
    WW_NO_UNROLL
    for (int g = Table::template first_group<arch::kWarpSize>(sizes, arch::lane_index()); g < last; ++g)
      most = max(most, groups_[g].count);
    return arch::warp::any(most > kNarrow);
  }
  WW_DEVICE void list_in_warp(const GroupSizes& sizes) {
    const u32 lane = arch::lane_index();
    const int first = Table::template first_group<arch::kWarpSize>(sizes, lane);
    const int last = Table::template first_group<arch::kWarpSize>(sizes, lane + 1);
    const u32 sums[1] = {items_of_groups(first, last)};
    u32 before[1], total[1];
    arch::cta::exclusive_sums_in_warp(sums, before, total);
    list(sizes, first, last, before[0], total[0]);
  }
  WW_DEVICE void list_in_order(const GroupSizes& sizes, arch::SharedAddress scratch) {
    const u32 thread = arch::thread_index();
    const int first = Table::template first_group<kThreads>(sizes, thread);
    const int last = Table::template first_group<kThreads>(sizes, thread + 1);
    const arch::cta::Scan scan = arch::cta::exclusive_sum<kThreads>(items_of_groups(first, last), thread, scratch);
    list(sizes, first, last, scan.before, scan.total);
  }
  WW_DEVICE u32 items_of_groups(int first, int last) const {
    u32 sum = 0;
    WW_NO_UNROLL
    for (int g = first; g < last; ++g) sum += items_of_count(groups_[g].count);
    return sum;
  }
  /// Lists groups [first, last), each at its own position; the first item is `item`.
  WW_DEVICE void list(const GroupSizes& sizes, int first, int last, u32 item, u32 items) {
    positions_ = static_cast<u32>(sizes.groups);
    items_ = items;
    WW_NO_UNROLL
    for (int g = first; g < last; ++g) {
      if constexpr (kSorts) arch::shared::store(order_ + 4 * g, static_cast<u32>(g));
      arch::shared::store(first_items_ + 4 * g, item);
      item += items_of_count(groups_[g].count);
    }
  }

  WW_DEVICE void sort_in_warp(const GroupSizes& sizes) {
    const u32 lane = arch::lane_index();
    const int first = Table::template first_group<arch::kWarpSize>(sizes, lane);
    const int last = Table::template first_group<arch::kWarpSize>(sizes, lane + 1);
    // A stable counting sort by bucket, with the items of each. All group counts fit 8 bits, so one 32-bit register
    // holds four.
    static_assert(kBuckets == 4 && kWarpGroups < 256);
    u32 sums[kBuckets + 1] = {};  // items of each bucket, then groups of all
    WW_NO_UNROLL
    for (int g = first; g < last; ++g) {
      const int count = groups_[g].count, bucket = bucket_of(count);
      WW_UNROLL
      for (int b = 0; b < kBuckets; ++b) sums[b] += b == bucket ? items_of_count(count) : 0;
      sums[kBuckets] += bucket < 0 ? 0 : 1u << 8 * bucket;
    }
    u32 before[kBuckets + 1], total[kBuckets + 1];
    arch::cta::exclusive_sums_in_warp(sums, before, total);

    u32 position = 0, item = 0;  // where the bucket starts
    u32 positions = before[kBuckets];
    WW_UNROLL
    for (int b = 0; b < kBuckets; ++b) {
      positions += position << 8 * b;
      before[b] += item;
      position += total[kBuckets] >> 8 * b & 0xff;
      item += total[b];
    }
    positions_ = position;
    items_ = item;
    WW_NO_UNROLL
    for (int g = first; g < last; ++g) {
      const int count = groups_[g].count, bucket = bucket_of(count);
      if (bucket < 0) continue;
      u32 at = 0;  // this group's first item
      WW_UNROLL
      for (int b = 0; b < kBuckets; ++b) {
        if (b != bucket) continue;
        at = before[b];
        before[b] += items_of_count(count);
      }
      const u32 place = positions >> 8 * bucket & 0xff;
      positions += 1u << 8 * bucket;
      arch::shared::store(order_ + 4 * place, static_cast<u32>(g));
      arch::shared::store(first_items_ + 4 * place, at);
    }
  }

  WW_DEVICE void sort(const GroupSizes& sizes, arch::SharedAddress scratch) {
    const int thread = static_cast<int>(arch::thread_index());
    const int each = ceil_div(sizes.groups, kThreads);
    const int first = thread * each, last = min(first + each, sizes.groups);
    // A stable counting sort by bucket; one 32-bit register holds two 16-bit counts, because G < 2^16.
    u32 low = 0, high = 0;
    WW_NO_UNROLL
    for (int g = first; g < last; ++g) count_in(bucket_of(groups_[g].count), low, high);
    const arch::cta::Scan lows = arch::cta::exclusive_sum<kThreads>(low, thread, scratch);
    const arch::cta::Scan highs = arch::cta::exclusive_sum<kThreads>(high, thread, scratch + kScanBytes);
    u32 next[kBuckets] = {lows.before & 0xffff, lows.before >> 16, highs.before & 0xffff, highs.before >> 16};
    next[1] += lows.total & 0xffff;
    next[2] += (lows.total & 0xffff) + (lows.total >> 16);
    next[3] += (lows.total & 0xffff) + (lows.total >> 16) + (highs.total & 0xffff);
    positions_ = (lows.total & 0xffff) + (lows.total >> 16) + (highs.total & 0xffff) + (highs.total >> 16);
    WW_NO_UNROLL
    for (int g = first; g < last; ++g) {
      const int bucket = bucket_of(groups_[g].count);
      WW_UNROLL
      for (int b = 0; b < kBuckets; ++b) {
        if (b == bucket) arch::shared::store(order_ + 4 * next[b]++, static_cast<u32>(g));
      }
    }
    arch::named_barrier::sync_cta();

    const u32 from = thread * each, to = min<u32>(from + each, positions_);
    u32 mine = 0;
    WW_NO_UNROLL
    for (u32 p = from; p < to; ++p) mine += items_of(p);
    const arch::cta::Scan before = arch::cta::exclusive_sum<kThreads>(mine, thread, scratch);
    u32 item = before.before;
    WW_NO_UNROLL
    for (u32 p = from; p < to; ++p) {
      arch::shared::store(first_items_ + 4 * p, item);
      item += items_of(p);
    }
    items_ = before.total;
  }

  WW_DEVICE static int tiles_of(int count) { return ceil_div(count, kTokens); }
  WW_DEVICE static int rows_of(int count, int tiles) { return ceil_div(count, tiles); }

  /// Returns -1 for an empty group, which is not in the order.
  WW_DEVICE static int bucket_of(int count) {
    if (count == 0) return -1;
    const int tiles = tiles_of(count);  // ceil(count / tiles) > limit where count > limit * tiles
    return count > kWide * tiles ? 0 : count > kMiddle * tiles ? 1 : count > kNarrow * tiles ? 2 : 3;
  }
  WW_DEVICE static void count_in(int bucket, u32& low, u32& high) {
    low += bucket == 0 ? 1u : bucket == 1 ? 1u << 16 : 0u;
    high += bucket == 2 ? 1u : bucket == 3 ? 1u << 16 : 0u;
  }
  WW_DEVICE u32 items_of(u32 position) const {
    const int group = static_cast<int>(arch::shared::load(order_ + 4 * position));
    return items_of_count(groups_[group].count);
  }

  WW_DEVICE u32 items_of_count(int count) const {
    return static_cast<u32>(tiles_of(count)) * static_cast<u32>(tiles_n_);
  }

  GroupTable<kThreads> groups_;
  arch::SharedAddress order_, first_items_;
  int tiles_n_;
  u32 positions_ = 0, items_ = 0;
};

}  // namespace ww::scheduler
