// SPDX-License-Identifier: Apache-2.0
// Warp-specialised persistent GEMM of one producer warpgroup and one to three consumer warpgroups.
//   producer:   tile -> for k: acquire stage, load A and B by TMA, (hardware signals full)
//   scales:     tile -> for k: acquire stage, store the block's scales, signal full   (two more producer warps)
//   scheduler:  dynamic: next tile from the work-tile counter -> everyone             (one more producer warp)
//   consumer:   tile -> for k: wait full, multiply, promote, release stage -> reduce K splits -> epilogue
//   k-grouped:  every warp first reads the K lengths of all groups; the ring continues from group to group
// Cooperative: the consumer warpgroups share each tile. Pingpong: they alternate between tiles and take turns in the
// ring, so that the epilogue of one overlaps the MMAs of the other.
// Not here: the order of tiles (scheduler/), filling of stages (mainloop/), arrival counts (pipeline/).
#pragma once

#include "warpwright/arch/common/pdl.hpp"
#include "warpwright/arch/common/registers.hpp"
#include "warpwright/arch/common/role.hpp"
#include "warpwright/config/faults.hpp"
#include "warpwright/config/resolve.hpp"
#include "warpwright/config/shared_memory.hpp"
#include "warpwright/config/sizes.hpp"
#include "warpwright/epilogue/epilogue.hpp"
#include "warpwright/epilogue/partial_sums.hpp"
#include "warpwright/kernel/gemm_params.hpp"
#include "warpwright/mainloop/sm90/register_mainloop.hpp"
#include "warpwright/scheduler/tile_scheduler.hpp"

namespace ww::kernel {

template <GemmConfig kConfig> struct Gemm {
  static constexpr bool kGroupsK = config::groups_k(kConfig);
  static_assert(!(kGroupsK ? config::fault_of_k_grouped(kConfig) : config::fault_of(kConfig)),
                "GemmConfig: resolve() it and look at fault_of()");
  using Params = conditional_t<kGroupsK, KGroupedParams, GemmParams>;
  using Mainloop = typename mainloop::MainloopOf<kConfig>::type;
  using Epilogue = epilogue::Epilogue<kConfig>;
  using Pipeline = typename Mainloop::Pipeline;
  using Tile = scheduler::Tile;
  using Scheduler = scheduler::SchedulerOf<kConfig, 1 + static_cast<int>(Mainloop::kScaleWarps) +
                                                        4 * kConfig.sm90.consumer_warpgroups>;
  static constexpr u32 kSchedulerWarp = 3;

  // An order is needed beside two consumers, because a barrier distinguishes only consecutive phases and the ring is
  // filled tile by tile.
  static constexpr int kTilesInFlight = config::tiles_in_flight(kConfig);
  using Order = conditional_t<kTilesInFlight == 1, pipeline::Unordered,
                              pipeline::OrderedBarrier<1, kTilesInFlight, 4 * config::warpgroups_of_tile(kConfig)>>;

  static constexpr int kThreads = config::threads_of(kConfig);
  static constexpr auto kShared = config::shared_plan(kConfig);
  static constexpr auto kRegisters = config::registers_of(kConfig);

  WW_DEVICE static void run(const Params& params) {
    const arch::SharedAddress shared = arch::dynamic_shared();
    const arch::SharedAddress barriers = shared + kShared.barriers;
    const u32 warpgroup = arch::warp::uniform(arch::warpgroup_index());
    if (arch::thread_index() == 0) {
      Pipeline::initialize(barriers);
      Order::initialize(shared + kShared.order);
      if constexpr (config::uses_work_tile_counter(kConfig)) Scheduler::initialize(shared);
      epilogue::PartialSums<kConfig>::initialize(shared);
      if constexpr (!kConfig.operands.pointer_array) {
        if (!config::maps_groups(kConfig) && k_blocks(params) > 0) {
          arch::tma::prefetch(params.gemm.a);
          arch::tma::prefetch(params.gemm.b);
        }
        arch::tma::prefetch(params.gemm.d);
      }
    }
    pipeline::make_barriers_visible<Mainloop::kCluster>();
    arch::pdl::launch_dependents();
    arch::pdl::wait();  // global memory is left alone before this line
    if constexpr (kGroupsK) Scheduler::read_groups(params.groups, shared);

    if (warpgroup == 0) {
      produce(params, shared, barriers);
    } else {
      if constexpr (kRegisters.consumer > 0) arch::warpgroup::claim_registers<kRegisters.consumer>();
      consume(params, shared, barriers, static_cast<int>(warpgroup) - 1);
    }
    // Peers may still multicast to, or arrive at, this CTA's shared memory.
    if constexpr (Mainloop::kCluster.size() > 1) arch::cluster::sync();
  }

 private:
  WW_DEVICE static int k_blocks(const Params& params) { return config::k_blocks_of<kConfig>(params.gemm); }

  WW_DEVICE static config::TileCoord at(const Params& params, const Tile& tile) {
    if constexpr (kGroupsK) return Scheduler::at(params.scheduler, tile);
    scheduler::TileGrid grid = params.scheduler.grid;
    if constexpr (kConfig.dense.fixed_n > 0)
      grid.cluster_tiles_n = ceil_div(kConfig.dense.fixed_n, kConfig.tile.n * kConfig.cluster.n);
    const config::TileCoord at = scheduler::CtaPosition<Mainloop::kCluster>::at(grid, tile.index);
    if constexpr (kConfig.operands.batched) return config::tile_of_matrix(params.gemm, at);
    else return at;
  }

  WW_DEVICE static void load(const Params& params, arch::SharedAddress shared, Pipeline& pipeline,
                             config::TileCoord coord, config::KRange k, int& matrix) {
    if (config::acquires_operands(kConfig) && coord.batch != matrix && k.blocks > 0)
      scheduler::acquire_operands<kConfig>(params.gemm, coord), matrix = coord.batch;
    if constexpr (config::maps_groups(kConfig)) k.first = 0;  // the maps begin where the group does
    Mainloop::load(params.gemm, shared, pipeline, coord, k);
  }

  WW_DEVICE static void produce(const Params& params, arch::SharedAddress shared, arch::SharedAddress barriers) {
    if constexpr (kRegisters.producer > 0) arch::warpgroup::release_registers<kRegisters.producer>();
    if (arch::thread_index() == 0) {
      arch::role("producer");
      Pipeline pipeline(barriers, pipeline::Role::producer);
      Scheduler scheduler(params.scheduler, k_blocks(params), shared, scheduler::Reader::thread);
      int matrix = -1;  // whose tensor maps this thread has acquired
      for (Tile tile; scheduler.next(tile);) {
        arch::note_work(tile.k.blocks, !kGroupsK && tile.k.blocks < k_blocks(params));
        if constexpr (config::has_k_tails(kConfig))
          Mainloop::load_rows(params.gemm, shared, pipeline, at(params, tile), tile.rows, tile.end, tile.k.blocks);
        else load(params, shared, pipeline, at(params, tile), tile.k, matrix);
      }
      pipeline.producer_tail();
    } else if (arch::warp_index() >= 1 && arch::warp_index() <= Mainloop::kScaleWarps) {
      arch::role("scale loader", static_cast<int>(arch::warp_index()) - 1);
      Pipeline pipeline(barriers, pipeline::Role::producer);
      Scheduler scheduler(params.scheduler, k_blocks(params), shared, scheduler::Reader::warp);
      for (Tile tile; scheduler.next(tile);)
        Mainloop::load_scales(params.gemm, shared, pipeline, at(params, tile), tile.k, arch::warp_index() - 1);
    } else if (arch::warp_index() == kSchedulerWarp) {
      if constexpr (config::uses_work_tile_counter(kConfig)) {
        if (arch::cluster_rank() == 0) {
          arch::role("scheduler");
          Scheduler::serve(params.scheduler, shared);
        }
      }
    }
    arch::warp::sync();  // the cluster barrier that follows is .aligned
  }

  /// Returns whether this consumer warpgroup takes the tile of this turn.
  WW_DEVICE static bool is_mine(int turn, int consumer_warpgroup) {
    return kTilesInFlight == 1 || turn % kTilesInFlight == consumer_warpgroup;
  }

  /// Returns whether this tile has no products, because its group has no rows.
  WW_DEVICE static bool is_empty(const Tile& tile) { return kGroupsK && tile.k.blocks == 0; }

  WW_DEVICE static void consume(const Params& params, arch::SharedAddress shared, arch::SharedAddress barriers,
                                int consumer_warpgroup) {
    arch::role("consumer", consumer_warpgroup);
    Pipeline pipeline(barriers, pipeline::Role::consumer);
    Order order(shared + kShared.order, static_cast<u32>(consumer_warpgroup));
    Scheduler scheduler(params.scheduler, k_blocks(params), shared, scheduler::Reader::warp);
    epilogue::PartialSums<kConfig> sums(shared, consumer_warpgroup);
    const typename Epilogue::Buffer buffer(consumer_warpgroup);
    const int part = kTilesInFlight == 1 ? consumer_warpgroup : 0;  // of the tile's rows
    const arch::SharedAddress output =
        shared + (consumer_warpgroup - part) * kShared.d_tile;  // as if its D were the only one
    if (!kGroupsK && k_blocks(params) == 0) {                   // no products: D is zero, whatever the scales are
      Epilogue::clear(output, buffer, part);
      int turn = 0;
      for (Tile tile; scheduler.next(tile); ++turn)
        if (is_mine(turn, consumer_warpgroup) && sums.is_first_along_k())
          Epilogue::store_zeros(params.gemm, output, buffer, part, at(params, tile));
      buffer.drain();
      return;
    }
    int turn = 0;
    for (Tile tile; scheduler.next(tile); ++turn) {
      if (!is_mine(turn, consumer_warpgroup)) {
        pipeline.consumer_skip(static_cast<u32>(k_blocks(params)));
        continue;
      }
      typename Mainloop::Accumulator acc[Mainloop::kMmaBlocks];  // (64, TILE_N) FP32 for each MMA_M block
      int offset = 0;
      if constexpr (config::promotes(kConfig) && Mainloop::Scales::kBlocks > 1)
        offset = Mainloop::scale_offset(at(params, tile));
      if constexpr (kGroupsK) {
        if (is_empty(tile) && params.keep_empty) continue;
        if (is_empty(tile)) Mainloop::clear(acc, Epilogue::kTree.empty() ? 0.0f : -0.0f);
      }
      if (!(config::sums_in_cluster(kConfig) || kGroupsK) || tile.k.blocks > 0)
        Mainloop::multiply(tile.k.blocks, shared, pipeline, part, acc, order, offset);
      if (!sums.complete(params.gemm.partials, acc, scheduler, tile)) continue;
      const config::TileCoord coord = at(params, tile);
      if (!is_empty(tile)) Epilogue::scale(params.gemm, part, acc, coord);
      Epilogue::store(params.gemm, output, buffer, part, acc, coord);
    }
    buffer.drain();
  }
};

}  // namespace ww::kernel
