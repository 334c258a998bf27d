// SPDX-License-Identifier: Apache-2.0
// Second launch of the variant `descriptors`: weights on the M side of wgmma, token tiles of one width, and tensor maps
// of A and D that belong to the group (kernel/descriptor_update.hpp made them in the preceding launch).
//   source:    the list of groups -> shared memory; the maps of a tile's group (scheduler/descriptor_tiles.hpp)
//   producer:  next tile -> for k: acquire stage, load weights, tokens
//   scales:    tile -> for k: acquire stage, store the block's scales, signal full
//   consumer:  tile -> for k: wait full, multiply, promote, release -> tile of D -> TMA store through the group's map
// Set-up and roles are those of kernel/skeleton.hpp.
#pragma once

#include "warpwright/config/config_parameter.hpp"
#include "warpwright/config/faults.hpp"
#include "warpwright/epilogue/descriptor_epilogue.hpp"
#include "warpwright/kernel/skeleton.hpp"
#include "warpwright/mainloop/sm90/ragged_mainloop.hpp"
#include "warpwright/scheduler/descriptor_tiles.hpp"

namespace ww::kernel {

using config::GroupedArguments;
using scheduler::TokenTile;

template <ConfigParameter kConfig> struct DescriptorGemm : Skeleton<DescriptorGemm<kConfig>> {
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

  using Params = GroupedArguments;
  using Source = scheduler::DescriptorTiles<kConfig, 8 + static_cast<int>(Mainloop::kScaleWarps)>;
  using Tile = typename Source::Tile;
  static constexpr int kBarriers = kShared.barriers;

  WW_DEVICE static void initialize(const GroupedArguments& arguments, arch::SharedAddress shared) {
    Pipeline::initialize(shared + kBarriers);
    Source::initialize(shared);
    if (arguments.k_blocks > 0) arch::tma::prefetch(arguments.b);
  }

  struct Loader {
    WW_DEVICE void load(const GroupedArguments& arguments, arch::SharedAddress shared, Pipeline& pipeline,
                        const Source&, const Tile& tile) const {
      Mainloop::load_group(arguments, shared, pipeline, tile, arguments.descriptors.maps[config::map_of_a(tile.group)],
                           tile.row_of_group);
    }
  };
  WW_DEVICE static void load_scales(const GroupedArguments& arguments, arch::SharedAddress shared, Pipeline& pipeline,
                                    const Source&, const Tile& tile, u32 warp) {
    Mainloop::load_scales(arguments, shared, pipeline, tile, {0, arguments.k_blocks}, warp);
  }

  WW_DEVICE static void consume(const GroupedArguments& arguments, arch::SharedAddress shared, const Source& source,
                                int consumer_warpgroup) {
    Pipeline pipeline(shared + kBarriers, pipeline::Role::consumer);
    typename Source::Walk walk(source, scheduler::Reader::warp);
    const typename Epilogue::Buffer buffer(consumer_warpgroup);
    for (Tile tile; walk.next(tile);) {
      if (!source.has_products()) {
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

 private:
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
