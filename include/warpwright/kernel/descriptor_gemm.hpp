// SPDX-License-Identifier: Apache-2.0
// Second launch of the variant `descriptors`: weights on the M side of wgmma, token tiles of one width, and tensor maps
// of A and D that belong to the group (kernel/descriptor_update.hpp made them in the preceding launch).
//   all:       the list of groups -> shared memory
//   producer:  next tile -> acquire the maps of its group -> announce it -> for k: acquire stage, load weights, tokens
//   scales:    tile -> for k: acquire stage, store the block's scales, signal full
//   consumer:  tile -> for k: wait full, multiply, promote, release -> tile of D -> TMA store through the group's map
// The producer's acquires cover the whole CTA, because consumer warps store with a map only after they took the tile
// from it.
#pragma once

#include "warpwright/arch/common/pdl.hpp"
#include "warpwright/arch/common/registers.hpp"
#include "warpwright/arch/common/role.hpp"
#include "warpwright/arch/common/tensor_map_update.hpp"
#include "warpwright/config/faults.hpp"
#include "warpwright/epilogue/descriptor_epilogue.hpp"
#include "warpwright/mainloop/sm90/ragged_mainloop.hpp"
#include "warpwright/scheduler/descriptor_tiles.hpp"
#include "warpwright/scheduler/item_ring.hpp"

namespace ww::kernel {

using config::GroupedArguments;
using scheduler::TokenTile;

template <GemmConfig kConfig> struct DescriptorGemm {
  static_assert(kConfig.row_groups.variant == GroupedVariant::descriptors && !config::fault_of_ragged(kConfig),
                "GemmConfig: resolve_grouped() it and look at fault_of_grouped()");
  using Mainloop = mainloop::RaggedMainloop<kConfig>;
  using Epilogue = epilogue::DescriptorEpilogue<kConfig>;
  static constexpr config::TokenWidth kWidth{kConfig.tile.m, true};
  using Shape = typename Mainloop::template Shape<kWidth>;
  using Pipeline = typename Mainloop::Pipeline;

  static constexpr int kThreads = config::threads_of(kConfig);
  static constexpr auto kShared = Mainloop::kShared;
  static constexpr auto kRegisters = config::registers_of(kConfig);
  static constexpr bool kHasTree = !kConfig.epilogue.empty();

  using Tiles = scheduler::DescriptorTiles<kThreads, kConfig.tile.m, kConfig.sm90.tile_scheduler>;
  using Tile = scheduler::DescriptorTile;
  using Items = scheduler::ItemRing<Tile, 8 + Mainloop::kScaleWarps>;

  WW_DEVICE static void run(const GroupedArguments& arguments) {
    const arch::SharedAddress shared = arch::dynamic_shared();
    const u32 warpgroup = arch::warp::uniform(arch::warpgroup_index());
    if (arch::thread_index() == 0) {
      Pipeline::initialize(shared + kShared.barriers);
      Items::initialize(shared + kShared.item_barriers);
      if (arguments.k_blocks > 0) arch::tma::prefetch(arguments.b);
    }
    pipeline::make_barriers_visible<pipeline::ClusterShape{1, 1}>();
    arch::pdl::launch_dependents();
    arch::pdl::wait();  // maps, list and operands are read only after this line
    Tiles tiles(shared + kShared.tables, arguments.tiles_n);
    tiles.load(arguments.descriptors.list);

    if (warpgroup == 0) {
      arch::warpgroup::release_registers<kRegisters.producer>();
      if (arch::thread_index() == 0) produce(arguments, shared, tiles);
      else if (arch::warp_index() >= 1 && arch::warp_index() <= Mainloop::kScaleWarps)
        load_scales(arguments, shared, arch::warp_index() - 1);
    } else {
      arch::warpgroup::claim_registers<kRegisters.consumer>();
      consume(arguments, shared, static_cast<int>(warpgroup) - 1);
    }
  }

 private:
  WW_DEVICE static Items items_of(arch::SharedAddress shared, pipeline::Role role) {
    return {shared + kShared.item_barriers, shared + kShared.items, role};
  }

  WW_DEVICE static void produce(const GroupedArguments& arguments, arch::SharedAddress shared, const Tiles& tiles) {
    arch::role("producer");
    Pipeline pipeline(shared + kShared.barriers, pipeline::Role::producer);
    Items items = items_of(shared, pipeline::Role::producer);
    typename Tiles::Walk walk(tiles);
    i32 acquired = -1;  // the group whose maps this CTA may use
    for (Tile tile; walk.next(tile);) {
      const arch::TensorMap& group_a = arguments.descriptors.maps[config::map_of_a(tile.group)];
      if ((arguments.k_blocks > 0 || kHasTree) && tile.group != acquired) {
        const arch::TensorMap& group_d = arguments.descriptors.maps[config::map_of_d(tile.group)];
        if (arguments.k_blocks > 0) acquire(group_a, group_d);
        else acquire(group_d);  // for K = 0, A has no maps
        acquired = tile.group;
      }
      items.announce(tile);
      Mainloop::load_group(arguments, shared, pipeline, tile, group_a, tile.row_of_group);
    }
    items.announce_end();
    pipeline.producer_tail();
  }

  WW_DEVICE static void acquire(const arch::TensorMap& group_a, const arch::TensorMap& group_d) {
    arch::tensor_map::acquire(group_a);
    acquire(group_d);
  }
  // Acquires and prefetches the map, so that it is present when the stores come at the end.
  WW_DEVICE static void acquire(const arch::TensorMap& group_d) {
    arch::tensor_map::acquire(group_d);
    arch::tma::prefetch(group_d);
  }

  WW_DEVICE static void load_scales(const GroupedArguments& arguments, arch::SharedAddress shared, u32 warp) {
    arch::role("scale loader", static_cast<int>(warp));
    Pipeline pipeline(shared + kShared.barriers, pipeline::Role::producer);
    Items items = items_of(shared, pipeline::Role::consumer);
    for (Tile tile; items.take(tile);)
      Mainloop::load_scales(arguments, shared, pipeline, tile, {0, arguments.k_blocks}, warp);
  }

  WW_DEVICE static void consume(const GroupedArguments& arguments, arch::SharedAddress shared, int consumer_warpgroup) {
    arch::role("consumer", consumer_warpgroup);
    Pipeline pipeline(shared + kShared.barriers, pipeline::Role::consumer);
    Items items = items_of(shared, pipeline::Role::consumer);
    const typename Epilogue::Buffer buffer(consumer_warpgroup);
    for (Tile tile; items.take(tile);) {
      if (arguments.k_blocks == 0) {
        store_zeros(arguments, shared, buffer, consumer_warpgroup, tile);
        continue;
      }
      typename Shape::Accumulator acc[Shape::kMmaBlocks];  // (64, TILE_M) FP32 for each MMA_M block
      Mainloop::template multiply<kWidth>(arguments.k_blocks, shared, pipeline, consumer_warpgroup, acc);
      Epilogue::store(arguments, shared, buffer, consumer_warpgroup, acc, tile,
                      arguments.descriptors.maps[config::map_of_d(tile.group)], tile.row_of_group);
    }
    buffer.drain();
  }

  // Stores D for K = 0: zeros, or the tree of zeros, whatever the scales are.
  WW_DEVICE static void store_zeros(const GroupedArguments& arguments, arch::SharedAddress shared,
                                    const typename Epilogue::Buffer& buffer, int consumer_warpgroup, const Tile& tile) {
    if constexpr (kHasTree) {
      typename Shape::Accumulator acc[Shape::kMmaBlocks] = {};
      Epilogue::store_tree(arguments, shared, buffer, consumer_warpgroup, acc, tile,
                           arguments.descriptors.maps[config::map_of_d(tile.group)], tile.row_of_group);
    } else {
      Epilogue::Ragged::store_zeros(arguments, consumer_warpgroup, tile);
    }
  }
};

}  // namespace ww::kernel
