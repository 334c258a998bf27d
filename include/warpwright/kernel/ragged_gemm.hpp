// SPDX-License-Identifier: Apache-2.0
// Ragged grouped GEMM in one launch. Every CTA lists the tiles of all groups. A work-tile counter distributes them, the
// widest first, or CTA c takes tiles c, c + CTAs, ...
//   the producer's warp, or all where groups are many:
//              sizes on the device -> {start, count} -> list of tiles (scheduler/ragged_tiles.hpp)
//   producer:  next tile -> announce it -> for k: acquire stage, load weights and tokens
//   scales:    tile -> for k: acquire stage, store the block's scales, signal full
//   consumer:  tile -> the loop of its width: wait full, multiply, promote, release -> rows of D
// It needs no padding, no host hint and no descriptor per group: rows start anywhere, tails are predicated stores.
// Split-K, for few tiles: the CTAs of a cluster take the same tiles in a fixed order, each a part of K; the first adds
// their sums in order and stores.
#pragma once

#include "warpwright/arch/common/pdl.hpp"
#include "warpwright/arch/common/registers.hpp"
#include "warpwright/arch/common/role.hpp"
#include "warpwright/config/faults.hpp"
#include "warpwright/epilogue/cluster_sum.hpp"
#include "warpwright/epilogue/ragged_epilogue.hpp"
#include "warpwright/mainloop/sm90/ragged_mainloop.hpp"
#include "warpwright/scheduler/item_ring.hpp"
#include "warpwright/scheduler/ragged_tiles.hpp"
#include "warpwright/scheduler/tile.hpp"
#include "warpwright/scheduler/work_tile_counter.hpp"

namespace ww::kernel {

using config::GroupedArguments;
using config::KRange;
using scheduler::TokenTile;

template <GemmConfig kConfig> struct RaggedGemm {
  static_assert(!config::fault_of_ragged(kConfig), "GemmConfig: resolve_grouped() it and look at fault_of_grouped()");
  using Mainloop = mainloop::RaggedMainloop<kConfig>;
  using Epilogue = epilogue::RaggedEpilogue<kConfig>;
  using Pipeline = typename Mainloop::Pipeline;

  static constexpr int kThreads = config::threads_of(kConfig);
  static constexpr auto kShared = config::grouped_shared_plan(kConfig);
  static constexpr auto kRegisters = config::registers_of(kConfig);

  using Tiles = scheduler::RaggedTiles<kThreads, kConfig.tile.m>;
  using Tile = scheduler::RaggedTile;
  using Items = scheduler::ItemRing<Tile, 4 * kConfig.sm90.consumer_warpgroups + Mainloop::kScaleWarps>;

  static constexpr bool kSplits = config::sums_in_cluster(kConfig);
  using CtaPosition = scheduler::CtaPosition<Mainloop::kCluster>;
  struct NoSum {
    WW_DEVICE NoSum(arch::SharedAddress, int) {}
  };
  using Sum = conditional_t<kSplits, epilogue::ClusterSum<config::ragged_sum_plan(kConfig)>, NoSum>;

  /// CTAs of the next launch fit beside this one. They start once this CTA's last loads are in flight and no sooner,
  /// because on an H200 an earlier start was level at best and up to 15 % slower.
  static constexpr bool kShares = kConfig.sm90.occupancy > 1;

  /// The producer's warp alone makes the list. The other warps see its items, one after the other, and no table.
  static constexpr bool kWarpLists = group_capacity(kConfig) <= Tiles::kWarpGroups;

  WW_DEVICE static void run(const GroupedArguments& arguments) {
    const arch::SharedAddress shared = arch::dynamic_shared();
    const u32 warpgroup = arch::warp::uniform(arch::warpgroup_index());
    const u32 warp = arch::warp::uniform(arch::warp_index());
    Tiles tiles(shared + kShared.tables, group_capacity(kConfig), arguments.tiles_n);
    typename Tiles::Table::Batch loaded{};
    if constexpr (!kShares) arch::pdl::launch_dependents();
    // Another warp initialises, so that the loads of sizes are in flight meanwhile.
    if (arch::thread_index() == arch::kWarpSize) initialize(arguments, shared);
    if (kWarpLists && warp == 0) {
      arch::pdl::wait();
      loaded = Tiles::load_in_warp(arguments.groups);
    }
    if constexpr (kSplits) {
      // This is less than make_barriers_visible, because peers are needed for the first sum, not for the first load.
      arch::fence::mbarrier_init();
      arch::cluster::arrive();
      arch::named_barrier::sync_cta();
    } else {
      pipeline::make_barriers_visible<Mainloop::kCluster>();
    }
    arch::pdl::wait();  // global memory is left alone before this line, or the same in the first warp
    if constexpr (kWarpLists) {
      tiles.prepare(arguments.groups);
      if (warp == 0) tiles.build_in_warp(arguments.groups, loaded);
    } else {
      tiles.build(arguments.groups, shared + kShared.scan);
    }

    if (warpgroup == 0) {
      if constexpr (kRegisters.producer > 0) arch::warpgroup::release_registers<kRegisters.producer>();
      if (warp == 0) {
        if (kWarpLists && arch::block_index() == 0) arch::named_barrier::arrive<kListed>(2 * arch::kWarpSize);
        if (arch::thread_index() == 0) produce(arguments, shared, tiles);
      } else if (warp <= Mainloop::kScaleWarps) {
        load_scales(arguments, shared, warp - 1);
      } else if (warp == 3 && arch::block_index() == 0) {
        if (kWarpLists) arch::named_barrier::sync<kListed>(2 * arch::kWarpSize);
        tiles.count_widths(arguments.groups.groups, arguments.workspace->widths);
      }
      arch::warp::sync();  // the cluster barriers that follow are .aligned
      if constexpr (kSplits) arch::cluster::wait();
    } else {
      if constexpr (kRegisters.consumer > 0) arch::warpgroup::claim_registers<kRegisters.consumer>();
      if constexpr (kSplits) arch::cluster::wait();
      consume(arguments, shared, static_cast<int>(warpgroup) - 1);
    }
    // Peers may still arrive at this CTA's shared memory.
    if constexpr (kSplits) arch::cluster::sync();
  }

 private:
  static constexpr int kListed = 1;  // named barrier: the table is complete, for the warp that counts widths

  WW_DEVICE static void initialize(const GroupedArguments& arguments, arch::SharedAddress shared) {
    Pipeline::initialize(shared + kShared.barriers);
    Items::initialize(shared + kShared.item_barriers);
    if constexpr (kSplits) Sum::initialize(shared);
    if (arguments.k_blocks == 0) return;
    for (const arch::TensorMap& map : arguments.a) arch::tma::prefetch(map);
    arch::tma::prefetch(arguments.b);
    if constexpr (!kSplits && !kShares) {
      arch::pdl::wait();  // data prefetched while the preceding launch streams has left L2 when it ends
      prefetch_weights(arguments);
    }
  }

  // Prefetching keeps memory busy until the sizes and the tile list are there. The n-th tile of weights is the first of
  // CTA n if all groups have few rows and at least one; otherwise it belongs to some CTA, unless its group is empty.
  // Clusters that split K and occupancies above one CTA per SM do not prefetch: an H200 takes 5 % longer with it,
  // because the loads queue behind it.
  WW_DEVICE static void prefetch_weights(const GroupedArguments& arguments) {
    constexpr int kBlocks = max(1, kEarlyBytes / (kConfig.tile.n * config::kRowBytes));
    const int item = static_cast<int>(arch::block_index()), group = item / arguments.tiles_n;
    if (group >= arguments.groups.groups) return;
    for (int k = 0; k < min(arguments.k_blocks, kBlocks); ++k) {
      const int column = item % arguments.tiles_n * kConfig.tile.n;
      if constexpr (kConfig.operands.layout.b == Major::k) {
        arch::tma::prefetch_3d(arguments.b, k * kConfig.tile.k, column, group);
      } else {
        for (int n = 0; n < kConfig.tile.n; n += config::mn_block(kConfig.operands.b))
          arch::tma::prefetch_3d(arguments.b, column + n, k * kConfig.tile.k, group);
      }
    }
  }
  static constexpr int kEarlyBytes = 1 << 16;  // of a CTA: what memory delivers until the list is complete

  /// Returns the k-blocks of every tile that belong to this CTA.
  WW_DEVICE static KRange range_of(const GroupedArguments& arguments) {
    const KRange all{0, arguments.k_blocks};
    return kSplits ? scheduler::split_of(all, CtaPosition::rank_k(), Mainloop::kCluster.k) : all;
  }

  WW_DEVICE static Items items_of(arch::SharedAddress shared, pipeline::Role role) {
    return {shared + kShared.item_barriers, shared + kShared.items, role};
  }

  WW_DEVICE static void produce(const GroupedArguments& arguments, arch::SharedAddress shared, const Tiles& tiles) {
    arch::role("producer");
    Pipeline pipeline(shared + kShared.barriers, pipeline::Role::producer);
    Items items = items_of(shared, pipeline::Role::producer);
    const KRange range = range_of(arguments);
    const u32 ctas = static_cast<u32>(CtaPosition::clusters());  // that take different tiles
    u32 item = static_cast<u32>(CtaPosition::cluster());         // the first tile of each needs no counter
    const bool shares_counter = tiles.items() > ctas;
    while (item < tiles.items()) {
      u32 next = item + ctas;
      // The counter is read before the loads, so that its latency overlaps those of this tile.
      if (kConfig.sm90.tile_scheduler == TileScheduler::dynamic && shares_counter)
        next = scheduler::next_work_tile(&arguments.workspace->next_tile, ctas);
      const Tile tile = tiles.tile(item);
      items.announce(tile);
      Mainloop::load(arguments, shared, pipeline, tile, range, config::token_width(tile.width_class));
      item = next;
    }
    if constexpr (kShares) arch::pdl::launch_dependents();
    items.announce_end();
    if (kConfig.sm90.tile_scheduler == TileScheduler::dynamic && shares_counter)
      scheduler::retire_from_counter(&arguments.workspace->next_tile, &arguments.workspace->finished, ctas);
    pipeline.producer_tail();
  }

  WW_DEVICE static void load_scales(const GroupedArguments& arguments, arch::SharedAddress shared, u32 warp) {
    arch::role("scale loader", static_cast<int>(warp));
    Pipeline pipeline(shared + kShared.barriers, pipeline::Role::producer);
    Items items = items_of(shared, pipeline::Role::consumer);
    const KRange range = range_of(arguments);
    for (Tile tile; items.take(tile);) Mainloop::load_scales(arguments, shared, pipeline, tile, range, warp);
  }

  WW_DEVICE static void consume(const GroupedArguments& arguments, arch::SharedAddress shared, int consumer_warpgroup) {
    arch::role("consumer", consumer_warpgroup);
    Pipeline pipeline(shared + kShared.barriers, pipeline::Role::consumer);
    Items items = items_of(shared, pipeline::Role::consumer);
    Sum sum(shared, consumer_warpgroup);
    for (Tile tile; items.take(tile);) {
      if (arguments.k_blocks == 0) {
        if (CtaPosition::rank_k() == 0) store_zeros(arguments, shared, consumer_warpgroup, tile);
      } else {
        multiply<0>(arguments, shared, pipeline, sum, consumer_warpgroup, tile);
      }
      // Lanes may have stored different parts of D. Without a point of convergence ptxas lets them diverge until the
      // next tile, and moves the descriptors of every wgmma from registers of threads to uniform ones.
      arch::warp::sync();
    }
  }

  // Stores D for K = 0: zeros, or the tree of zeros.
  WW_DEVICE static void store_zeros(const GroupedArguments& arguments, arch::SharedAddress shared,
                                    int consumer_warpgroup, const TokenTile& tile) {
    using Shape = typename Mainloop::template Shape<config::token_shape(0)>;
    if constexpr (kConfig.epilogue.empty()) {
      Epilogue::store_zeros(arguments, consumer_warpgroup, tile);
    } else {
      Epilogue::template store_tree_of_zeros<typename Shape::Accumulator, Shape::kMmaBlocks>(arguments, shared,
                                                                                             consumer_warpgroup, tile);
    }
  }

  // Runs the instance of the tile's width. Accumulators are registers, so every width has its own loop.
  template <int kClass>
  WW_DEVICE static void multiply(const GroupedArguments& arguments, arch::SharedAddress shared, Pipeline& pipeline,
                                 Sum& sum, int consumer_warpgroup, const Tile& tile) {
    if constexpr (kClass + 1 < config::token_classes(kConfig.tile.m)) {
      if (tile.width_class != kClass)
        return multiply<kClass + 1>(arguments, shared, pipeline, sum, consumer_warpgroup, tile);
    }
    constexpr config::TokenWidth kWidth = config::token_shape(kClass);
    using Shape = typename Mainloop::template Shape<kWidth>;
    const KRange range = range_of(arguments);
    // There must be no path around the products below, because accumulators that one path leaves unwritten are live
    // from the start.
    if constexpr (kSplits) {
      if (range.blocks == 0) return sum.template pass<Shape::kMmaBlocks * Shape::Accumulator::kValues>();
    }
    typename Shape::Accumulator acc[Shape::kMmaBlocks];  // (64, kN) FP32 for each MMA_M block
    Mainloop::template multiply<kWidth>(range.blocks, shared, pipeline, consumer_warpgroup, acc);
    if constexpr (kSplits) {
      if (CtaPosition::rank_k() != 0) return sum.send_partial(acc, true);
      sum.reduce(acc, min(Mainloop::kCluster.k, arguments.k_blocks));
    }
    Epilogue::store(arguments, shared, consumer_warpgroup, acc, tile);
  }
};

}  // namespace ww::kernel
