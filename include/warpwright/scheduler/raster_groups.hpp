// SPDX-License-Identifier: Apache-2.0
// The tile source of groups of rows in normal orientation (variants contiguous and masked): one rasterised order of
// tiles of TILE_M rows.
// - Token tiles of all groups follow one another. A group has as few tiles as hold its rows. A part is
//   the rows of one consumer warpgroup; the parts of a group are spread evenly over its tiles, so that its tiles take
//   equally long and find their shared weights in L2.
// - A cluster of two takes two neighbouring token tiles against one column of weights. They share the weights if they
//   belong to one group; otherwise each loads its own.
// - A pair of CTAs issues one MMA (sm_100), so that both need the same weights: groups have an even number of tiles
//   then, of which the last may have no rows.
// In the static order CTAs do not communicate. In every round a CTA's position advances by one, because a pattern that
// repeats along the tokens, such as short tiles, would otherwise always fall on the same CTAs. Under clc, the device
// chooses which tiles of the order a cluster takes (scheduler/cluster_launch_control.hpp).
// One warp of each CTA lists the token tiles before each group, or all of them if groups are many. One thread of it
// finds the tiles and announces them in the item ring. Finding one takes some 250 instructions.
// When each of fifteen warps executed them, they were a sixth of a block-scaled kernel's instructions at K = 3072.
#pragma once

#include "warpwright/arch/common/pdl.hpp"
#include "warpwright/arch/common/role.hpp"
#include "warpwright/config/config_parameter.hpp"
#include "warpwright/config/shared_memory.hpp"
#include "warpwright/config/sizes.hpp"
#include "warpwright/scheduler/group_table.hpp"
#include "warpwright/scheduler/item_ring.hpp"
#include "warpwright/scheduler/search.hpp"
#include "warpwright/scheduler/tile.hpp"
#include "warpwright/scheduler/tile_grid.hpp"
#include "warpwright/scheduler/tile_source.hpp"

namespace ww::scheduler {

/// `rows` rows (0: nothing to store) from row `row` on against column tile `tile_n` of `group`.
struct GroupedTile {
  i32 group, row, rows, tile_n;
  bool shares;  // its weights with the peers of its cluster

  WW_DEVICE arch::Words<4> pack() const {
    return {{static_cast<u32>(group) | static_cast<u32>(rows) << kRowsAt | (shares ? kShares : 0),
             static_cast<u32>(row), static_cast<u32>(tile_n), 0}};
  }
  WW_DEVICE static GroupedTile unpack(const arch::Words<4>& record) {
    return {static_cast<i32>(record.w[0] % (1u << kRowsAt)), static_cast<i32>(record.w[1]),
            static_cast<i32>(record.w[0] >> kRowsAt & kRowsMask), static_cast<i32>(record.w[2]),
            (record.w[0] & kShares) != 0};
  }

 private:
  // The first word is the one that the compiler knows to be uniform: branches of whole warps depend on what it holds.
  static constexpr u32 kRowsAt = 16, kRowsMask = 0x3ff, kShares = 1u << 30;
};
/// A tile whose scales the tensor core applies. Its rows are those of one chunk of scales.
struct ScaledGroupedTile : GroupedTile {
  i32 scale_block;  // of 128 rows: among all groups, each of which begins one; masked: in its group

  WW_DEVICE arch::Words<4> pack() const {
    arch::Words<4> record = GroupedTile::pack();
    record.w[3] = static_cast<u32>(scale_block);
    return record;
  }
  WW_DEVICE static ScaledGroupedTile unpack(const arch::Words<4>& record) {
    return {GroupedTile::unpack(record), static_cast<i32>(record.w[3])};
  }
};

/// kReaders warps of each CTA take tiles from the ring, some of them by one thread alone.
template <ConfigParameter kConfig, int kReaders> class RasterGroups : public PlainSource {
  static constexpr int kThreads = config::threads_of(kConfig), kTileM = kConfig.tile.m;
  static constexpr pipeline::ClusterShape kCluster = config::cluster_of(kConfig);
  static constexpr int kCtas = config::ctas_of_mma(kConfig);  // whose tiles are of one group
  using Table = GroupTable<kThreads, config::uses_launch_control(kConfig)>;
  static constexpr bool kWarpLists = group_capacity(kConfig) <= Table::kWarpGroups;
  static_assert(kCluster.n == 1 && kCluster.m <= 2 && kCluster.k == 1);
  static constexpr config::RasterSharedPlan kShared = config::raster_shared_plan(kConfig);

 public:
  static constexpr bool kScaled = config::scales_in_mma(kConfig);
  using Tile = conditional_t<kScaled, ScaledGroupedTile, GroupedTile>;
  using Ring = ItemRing<Tile, kReaders>;
  using LaunchControl = ClusterLaunchControl<kConfig, 0>;  // the service warp alone reads its answers
  static constexpr bool kServes = true;
  // On Blackwell tensor memory is allocated behind the barrier for which begin()'s loads would wait.
  static constexpr bool kLoadsEarly = kWarpLists && !config::is_sm100(kConfig);
  static constexpr int kPartRows = kTileM / kConfig.sm90.consumer_warpgroups;  // of a tile, of a consumer warpgroup

  WW_DEVICE RasterGroups(const config::GroupedArguments& arguments, arch::SharedAddress shared)
      : arguments_(arguments),
        shared_(shared),
        groups_(shared + kShared.tables, group_capacity(kConfig)),
        first_tiles_(shared + kShared.tables + 8 * group_capacity(kConfig)),
        raster_{0, arguments.tiles_n, arguments.raster} {}

  WW_DEVICE static void initialize(arch::SharedAddress shared) {
    Ring::initialize(shared + kShared.item_barriers);
    if constexpr (config::uses_launch_control(kConfig)) LaunchControl::initialize(shared);
  }

  /// Issues the first loads of sizes.
  WW_DEVICE void begin() {
    if (kLoadsEarly && is_service_warp()) {
      arch::pdl::wait();
      loaded_ = Table::load_in_warp(arguments_.groups);
    }
  }
  /// Builds the table of groups and of the token tiles before each, which serve() reads.
  WW_DEVICE void prepare() {
    const GroupSizes& sizes = arguments_.groups;
    if constexpr (kWarpLists) {
      groups_.prepare(sizes);
      if (!is_service_warp()) return;
      groups_.build_in_warp(sizes, kLoadsEarly ? loaded_ : Table::load_in_warp(sizes));
      list<arch::kWarpSize>(arch::lane_index());
      arch::warp::sync();
    } else {
      groups_.build(sizes, shared_ + kShared.scan);
      list<kThreads>(arch::thread_index());
      arch::named_barrier::sync_cta();
    }
  }

  WW_DEVICE i32 k_blocks() const { return arguments_.k_blocks; }
  WW_DEVICE bool has_products() const { return k_blocks() != 0; }
  WW_DEVICE static const Tile& at(const Tile& tile) { return tile; }
  WW_DEVICE i32 k_blocks_of(const Tile&) const { return k_blocks(); }
  WW_DEVICE i32 n() const { return arguments_.n; }
  WW_DEVICE i32 last_k_of(const Tile&) const { return arguments_.k - (k_blocks() - 1) * kConfig.tile.k; }
  /// Returns the number of consumer warpgroups that have rows of `tile`.
  WW_DEVICE static int parts_of(const Tile& tile) { return ceil_div(tile.rows, kPartRows); }
  WW_DEVICE static bool is_part(const Tile& tile) { return parts_of(tile) < kConfig.sm90.consumer_warpgroups; }

  /// Announces the tiles of this CTA. All lanes of a warp call it, of which one works.
  WW_DEVICE void serve() const {
    if constexpr (config::uses_launch_control(kConfig)) return serve_by_launch_control();
    arch::role("scheduler");
    if (arch::lane_index() != 0) return;
    Ring ring = ring_of(pipeline::Role::producer);
    const int clusters = static_cast<int>(arch::grid_size()) / kCluster.size();
    int place = static_cast<int>(arch::block_index()) / kCluster.size();       // of this cluster in a round
    for (int round = 0; round + place < raster_.tiles(); round += clusters) {  // the last round may be short
      ring.announce(tile_of(round + place));
      place = place + 1 == clusters ? 0 : place + 1;
    }
    ring.announce_end();
  }

  class Walk {
   public:
    WW_DEVICE Walk(const RasterGroups& groups, Reader reader)
        : ring_(groups.ring_of(pipeline::Role::consumer)), reader_(reader) {}

    /// Sets `tile` to this CTA's next tile; returns false when there is none.
    WW_DEVICE bool next(Tile& tile) { return ring_.take(tile, reader_); }

   private:
    Ring ring_;
    Reader reader_;
  };

 private:
  // Scales of contiguous groups have a block for every 128 rows, of which pairs take more tiles than there are.
  static constexpr bool kCountsBlocks = kScaled && kCtas > 1 && kConfig.row_groups.variant != GroupedVariant::masked;

  WW_DEVICE static int tiles_of(int rows) { return round_up(ceil_div(rows, kTileM), kCtas); }

  /// Does the same under cluster launch control. A cluster's tile is the item of the order that has its number.
  WW_DEVICE void serve_by_launch_control() const {
    if constexpr (config::uses_launch_control(kConfig)) {
      arch::role("scheduler");
      using CtaPosition = scheduler::CtaPosition<kCluster>;
      Ring ring = ring_of(pipeline::Role::producer);
      const auto announce = [&](int item) {
        if (arch::lane_index() != 0) return;
        // There is only one, unless the grid is smaller than the number of tiles.
        for (; item < raster_.tiles(); item += CtaPosition::clusters()) ring.announce(tile_of(item));
      };
      announce(CtaPosition::cluster());
      LaunchControl::serve(shared_, announce);
      if (arch::lane_index() == 0) ring.announce_end();
    }
  }

  WW_DEVICE static bool is_service_warp() { return arch::warp::uniform(arch::warp_index()) == kServiceWarp; }

  /// Lists the token tiles before each group, with kCount threads of which this one is `rank`.
  template <u32 kCount> WW_DEVICE void list(u32 rank) {
    group_count_ = arguments_.groups.groups;
    const auto tiles = [](int rows) -> u32 { return static_cast<u32>(tiles_of(rows)); };
    token_tiles_ = static_cast<int>(store_sums<kCount>(rank, first_tiles_, tiles));
    raster_.cluster_tiles_m = ceil_div(token_tiles_, kCluster.m);
    if constexpr (kCountsBlocks)
      store_sums<kCount>(rank, first_block(0),
                         [](int rows) -> u32 { return static_cast<u32>(ceil_div(rows, kScaleChunkRows)); });
  }
  /// Stores the sum of value(rows) over all groups before each one from `sums` on; returns that of all groups.
  template <u32 kCount, class Value>
  WW_DEVICE u32 store_sums(u32 rank, arch::SharedAddress sums, const Value& value) const {
    const int first = Table::template first_group<kCount>(arguments_.groups, rank);
    const int last = Table::template first_group<kCount>(arguments_.groups, rank + 1);
    u32 mine = 0;
    WW_NO_UNROLL
    for (int g = first; g < last; ++g) mine += value(groups_[g].count);
    const arch::cta::Scan scan = arch::cta::exclusive_sum<kCount>(mine, rank, shared_ + kShared.scan);
    u32 sum = scan.before;
    WW_NO_UNROLL
    for (int g = first; g < last; ++g) {
      arch::shared::store(sums + 4 * g, sum);
      sum += value(groups_[g].count);
    }
    return scan.total;
  }
  WW_DEVICE arch::SharedAddress first_block(int group) const {
    return first_tiles_ + 4 * (group_capacity(kConfig) + group);
  }

  WW_DEVICE Ring ring_of(pipeline::Role role) const {
    return {shared_ + kShared.item_barriers, shared_ + kShared.items, role};
  }

  /// Returns this CTA's tile of item `item` of the order.
  WW_DEVICE Tile tile_of(int item) const {
    const TileCoord at = rasterize(raster_, item);
    const int first = at.m * kCluster.m, mine = first + static_cast<int>(arch::cluster_rank()), last = token_tiles_ - 1;
    Tile tile = this->tile(min(mine, last), at.n);
    if constexpr (kCluster.m > 1) {
      // A CTA without a tile of its own takes a duplicate, so that its peer's ring continues.
      if (mine > last) tile.rows = 0;
      tile.shares = group_of(first) == group_of(min(first + 1, last));
    }
    return tile;
  }

  /// Returns the group that owns token tile `index`: the last one that starts at or before it and is not empty.
  WW_DEVICE int group_of(int index) const {
    return owner_of(index, group_count_,
                    [&](int group) -> int { return static_cast<int>(arch::shared::load(first_tiles_ + 4 * group)); });
  }

  WW_DEVICE Tile tile(int index, int tile_n) const {
    const int group = group_of(index);
    const GroupRange range = groups_[group];
    const int within = index - static_cast<int>(arch::shared::load(first_tiles_ + 4 * group));
    if constexpr (kScaled) {
      const int done = within * kTileM;
      const GroupedTile tile = with_rows({group, range.start + done, min(kTileM, range.count - done), tile_n, true});
      const int block = kCtas == 1 || tile.rows > 0 ? within : 0;
      if constexpr (kCountsBlocks) return {tile, static_cast<int>(arch::shared::load(first_block(group))) + block};
      else return {tile, kConfig.row_groups.variant == GroupedVariant::masked ? block : index};
    } else {
      const int tiles = tiles_of(range.count), parts = ceil_div(range.count, kPartRows);
      const auto [each, more] = spread(parts, tiles);
      const int done = (within * each + min(within, more)) * kPartRows;
      const int rows = (each + (within < more ? 1 : 0)) * kPartRows;
      return with_rows({group, range.start + done, min(rows, range.count - done), tile_n, true});
    }
  }
  struct Spread {
    int each, more;  // parts of every tile; of the first `more` tiles, one part more
  };
  WW_DEVICE static Spread spread(int parts, int tiles) {
    constexpr int kParts = kConfig.sm90.consumer_warpgroups;
    if constexpr (kCtas > 1) return {parts / tiles, parts % tiles};
    // Without a division: fewer than kParts <= 3 parts are missing, from the only tile or one each from several.
    static_assert(kParts <= 3);
    const int missing = tiles * kParts - parts;
    if (tiles == 1 || missing == 0) return {tiles == 1 ? parts : kParts, 0};
    return {kParts - 1, tiles - missing};
  }
  /// A pair's tile behind the rows of its group has none; what it loads must exist, because groups may end the matrix.
  WW_DEVICE GroupedTile with_rows(GroupedTile tile) const {
    if (kCtas > 1 && tile.rows <= 0) tile.row = groups_[tile.group].start, tile.rows = 0;
    return tile;
  }

  const config::GroupedArguments& arguments_;
  arch::SharedAddress shared_;
  Table groups_;
  typename Table::Batch loaded_{};
  arch::SharedAddress first_tiles_;
  TileGrid raster_;
  int group_count_ = 0, token_tiles_ = 0;
};

}  // namespace ww::scheduler
