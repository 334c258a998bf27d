// SPDX-License-Identifier: Apache-2.0
// Grouped GEMM in normal orientation (variants contiguous and masked): the dense kernel with tiles that start at any
// row, and weights that have a batch coordinate.
//   all:    sizes on the device -> {start, count} -> token tiles in one rasterised order (scheduler/raster_groups.hpp)
//   roles:  those of kernel/gemm.hpp
// It suits groups of many rows: two token tiles of one group share their weights through a cluster. In a tile that ends
// early, a consumer warpgroup without rows issues no MMA; outside clusters its operand rows are not loaded either.
#pragma once

#include "warpwright/arch/common/pdl.hpp"
#include "warpwright/arch/common/registers.hpp"
#include "warpwright/arch/common/role.hpp"
#include "warpwright/config/faults.hpp"
#include "warpwright/config/grouped_arguments.hpp"
#include "warpwright/config/resolve.hpp"
#include "warpwright/config/shared_memory.hpp"
#include "warpwright/config/sizes.hpp"
#include "warpwright/epilogue/epilogue.hpp"
#include "warpwright/mainloop/sm90/mainloop.hpp"
#include "warpwright/scheduler/raster_groups.hpp"

namespace ww::kernel {

using config::GroupedArguments;

template <GemmConfig kConfig> struct GroupedGemm {
  static_assert(!config::fault_of_raster(kConfig), "GemmConfig: resolve_grouped() it and look at fault_of_grouped()");
  using Mainloop = mainloop::Mainloop<kConfig>;
  using Epilogue = epilogue::Epilogue<kConfig>;
  using Pipeline = typename Mainloop::Pipeline;

  static constexpr int kThreads = config::threads_of(kConfig);
  static constexpr auto kShared = config::raster_shared_plan(kConfig);
  static constexpr auto kRegisters = config::registers_of(kConfig);
  static constexpr int kTileM = kConfig.tile.m, kTileN = kConfig.tile.n, kTileK = kConfig.tile.k;

  using Tiles = scheduler::RasterGroups<kThreads, kTileM, kConfig.sm90.consumer_warpgroups, Mainloop::kCluster>;
  using Tile = scheduler::GroupedTile;
  static constexpr int kPartRows = kTileM / kConfig.sm90.consumer_warpgroups;  // of a tile, of one consumer warpgroup
  static constexpr bool kLoadsParts = config::loads_parts(kConfig);

  WW_DEVICE static void run(const GroupedArguments& arguments) {
    const arch::SharedAddress shared = arch::dynamic_shared();
    const arch::SharedAddress barriers = shared + kShared.dense.barriers;
    const u32 warpgroup = arch::warp::uniform(arch::warpgroup_index());
    if (arch::thread_index() == 0) {
      Pipeline::initialize(barriers);
      if (arguments.k_blocks > 0) {
        arch::tma::prefetch(arguments.a[0]);
        if constexpr (kLoadsParts) arch::tma::prefetch(arguments.a[1]);
        arch::tma::prefetch(arguments.b);
      }
      arch::tma::prefetch(arguments.d);
    }
    pipeline::make_barriers_visible<Mainloop::kCluster>();
    arch::pdl::launch_dependents();
    arch::pdl::wait();  // global memory is left alone before this line
    Tiles tiles(shared + kShared.tables, group_capacity(kConfig), arguments.tiles_n, arguments.raster);
    tiles.build(arguments.groups, shared + kShared.scan);

    if (warpgroup == 0) {
      produce(arguments, shared, barriers, tiles);
    } else {
      if constexpr (kRegisters.consumer > 0) arch::warpgroup::claim_registers<kRegisters.consumer>();
      consume(arguments, shared, barriers, tiles, static_cast<int>(warpgroup) - 1);
    }
    // Peers may still multicast to, or arrive at, this CTA's shared memory.
    if constexpr (Mainloop::kCluster.size() > 1) arch::cluster::sync();
  }

 private:
  WW_DEVICE static void produce(const GroupedArguments& arguments, arch::SharedAddress shared,
                                arch::SharedAddress barriers, const Tiles& tiles) {
    if constexpr (kRegisters.producer > 0) arch::warpgroup::release_registers<kRegisters.producer>();
    if (arch::thread_index() == 0) {
      arch::role("producer");
      Pipeline pipeline(barriers, pipeline::Role::producer);
      typename Tiles::Walk walk(tiles);
      for (Tile tile; walk.next(tile);) load(arguments, shared, pipeline, tile);
      pipeline.producer_tail();
    } else if (arch::warp_index() >= 1 && arch::warp_index() <= Mainloop::kScaleWarps) {
      arch::role("scale loader", static_cast<int>(arch::warp_index()) - 1);
      Pipeline pipeline(barriers, pipeline::Role::producer);
      typename Tiles::Walk walk(tiles);
      for (Tile tile; walk.next(tile);)
        Mainloop::load_scales(block_scales(arguments, tile), shared, pipeline, arch::warp_index() - 1);
    }
    arch::warp::sync();  // the cluster barrier that follows is .aligned
  }

  WW_DEVICE static void load(const GroupedArguments& arguments, arch::SharedAddress shared, Pipeline& pipeline,
                             const Tile& tile) {
    const atom::TileRow<kTileM, kTileK> gA{tile.row};                                          // (TILE_M, TILE_K, k)
    const auto gB = Mainloop::template tile_of_b<true>(tile.tile_n, tile.group, arguments.n);  // (TILE_N, TILE_K, k)
    const atom::TmaLoadAtom load_a{arguments.a[0]}, load_b{arguments.b};
    const int parts = ceil_div(tile.rows, kPartRows);
    arch::note_work(arguments.k_blocks, parts < kConfig.sm90.consumer_warpgroups);
    if constexpr (kLoadsParts) {
      if (parts < kConfig.sm90.consumer_warpgroups)
        return Mainloop::fill_parts(atom::TmaLoadAtom{arguments.a[1]}, gA, load_b, gB, parts, arguments.k_blocks,
                                    shared, pipeline);
    }
    if (Mainloop::kCluster.m == 1 || tile.shares)
      Mainloop::template fill<true>(load_a, gA, load_b, gB, arguments.k_blocks, shared, pipeline);
    else Mainloop::template fill<false>(load_a, gA, load_b, gB, arguments.k_blocks, shared, pipeline);
  }

  WW_DEVICE static auto block_scales(const GroupedArguments& arguments, const Tile& tile) {
    const int block_n = Mainloop::first_column(tile.tile_n, arguments.n) / config::kScaleBlock;
    const mainloop::TileScales scales{
        arguments.scale_a + tile.group * arguments.scale_a_group + tile.row * arguments.scale_a_row,
        arguments.scale_b + tile.group * arguments.scale_b_group + block_n * arguments.scale_b_n,
        arguments.scale_a_row,
        arguments.scale_a_k,
        arguments.scale_b_k,
        max(tile.rows, 1),
        arguments.k_blocks,
        Mainloop::kHalves ? arguments.scale_b_n : 0};
    if constexpr (Mainloop::kHalves) return Mainloop::of_halves(scales, tile.tile_n, arguments.n);
    else return scales;
  }
  WW_DEVICE static typename Epilogue::Factors factors(const GroupedArguments& arguments, const Tile& tile) {
    const float* b = arguments.scale_b + tile.group * arguments.scale_b_group;
    if (kConfig.operands.scale == Scale::tensor)
      return {arguments.scale_a + tile.group * arguments.scale_a_group, b, 0, 0, 1, 1};
    const int column = min(tile.tile_n * epilogue::kColumnStep<kConfig>, arguments.n - 1);
    return {arguments.scale_a + tile.group * arguments.scale_a_group + tile.row * arguments.scale_a_row,
            b + column * arguments.scale_b_n,
            arguments.scale_a_row,
            arguments.scale_b_n,
            max(tile.rows, 1),
            arguments.n - column};
  }
  WW_DEVICE static typename Epilogue::Rows rows_of(const GroupedArguments& arguments, const Tile& tile) {
    return {arguments.d,
            arguments.d_rows,
            arguments.ldd,
            config::output_columns(kConfig.epilogue, arguments.n),
            tile.row,
            tile.rows,
            tile.tile_n * Epilogue::kColumns,
            tile.tile_n};
  }

  /// Stores a tile whose accumulators are scaled.
  WW_DEVICE static void store(const GroupedArguments& arguments, arch::SharedAddress shared,
                              const typename Epilogue::Buffer& buffer, int consumer_warpgroup,
                              typename Mainloop::Accumulator (&acc)[Mainloop::kMmaBlocks], const Tile& tile) {
    if constexpr (kConfig.epilogue.empty())
      Epilogue::store_rows(rows_of(arguments, tile), shared, buffer, consumer_warpgroup, acc);
    else
      Epilogue::store_rows(rows_of(arguments, tile), arguments.n, of_matrix(arguments.epilogue, tile.group), shared,
                           buffer, consumer_warpgroup, acc);
  }
  /// Stores a tile for K = 0: zeros, or the tree of zeros, whatever the scales are.
  WW_DEVICE static void store_zeros(const GroupedArguments& arguments, arch::SharedAddress shared,
                                    const typename Epilogue::Buffer& buffer, int consumer_warpgroup, const Tile& tile) {
    if constexpr (kConfig.epilogue.empty()) {
      Epilogue::store_zero_rows(rows_of(arguments, tile), shared, buffer, consumer_warpgroup);
    } else if (tile.rows > 0) {
      typename Mainloop::Accumulator acc[Mainloop::kMmaBlocks] = {};
      store(arguments, shared, buffer, consumer_warpgroup, acc, tile);
    }
  }

  WW_DEVICE static void consume(const GroupedArguments& arguments, arch::SharedAddress shared,
                                arch::SharedAddress barriers, const Tiles& tiles, int consumer_warpgroup) {
    arch::role("consumer", consumer_warpgroup);
    Pipeline pipeline(barriers, pipeline::Role::consumer);
    typename Tiles::Walk walk(tiles);
    const typename Epilogue::Buffer buffer(consumer_warpgroup);
    if (arguments.k_blocks == 0) {
      Epilogue::clear(shared, buffer, consumer_warpgroup);
      for (Tile tile; walk.next(tile);) store_zeros(arguments, shared, buffer, consumer_warpgroup, tile);
    }
    for (Tile tile; walk.next(tile);) {
      if (tile.rows <= consumer_warpgroup * kPartRows) {
        Mainloop::pass(arguments.k_blocks, pipeline);
        continue;
      }
      typename Mainloop::Accumulator acc[Mainloop::kMmaBlocks];  // (64, TILE_N) FP32 for each MMA_M block
      Mainloop::multiply(arguments.k_blocks, shared, pipeline, consumer_warpgroup, acc);
      Epilogue::scale(factors(arguments, tile), consumer_warpgroup, acc, Epilogue::skip_of(arguments.n));
      store(arguments, shared, buffer, consumer_warpgroup, acc, tile);
    }
    buffer.drain();
  }
};

}  // namespace ww::kernel
