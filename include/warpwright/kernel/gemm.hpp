// SPDX-License-Identifier: Apache-2.0
// Warp-specialised persistent GEMM: one producer warpgroup feeds TMA, one or two others multiply.
//   producer:  tile -> for k: acquire stage, load A and B, (hardware signals full)
//   scales:    tile -> for k: acquire stage, store the block's scales, signal full   (two other warps of that
//   warpgroup)
//   math:      tile -> for k: wait full, multiply, promote, release stage -> epilogue
// Cooperative: the math warpgroups share each tile. Pingpong: tiles go to them in turn, and their products take
// turns in the ring, so that the epilogue of one is under the products of the other.
// Not here: what a tile is (scheduler/), how a stage is filled (collective/), who arrives where (pipeline/).
#pragma once

#include "warpwright/arch/pdl.hpp"
#include "warpwright/arch/registers.hpp"
#include "warpwright/arch/role.hpp"
#include "warpwright/collective/epilogue.hpp"
#include "warpwright/collective/mainloop.hpp"
#include "warpwright/kernel/gemm_params.hpp"

namespace ww::kernel {

template <GemmConfig kConfig> struct Gemm {
  static_assert(!collective::fault_of(kConfig), "GemmConfig: resolve() it and look at fault_of()");
  using Mainloop = collective::Mainloop<kConfig>;
  using Epilogue = collective::Epilogue<kConfig>;
  using Pipeline = typename Mainloop::Pipeline;
  using Scheduler = scheduler::StaticPersistent<Mainloop::kCluster>;

  // why an order and not just two consumers: a barrier tells one phase from the next only, and the ring is filled
  // tile by tile
  static constexpr int kTilesInFlight = collective::tiles_in_flight(kConfig);
  using Order = conditional_t<kTilesInFlight == 1, pipeline::Unordered,
                              pipeline::OrderedBarrier<1, kTilesInFlight, 4 * collective::warpgroups_of_tile(kConfig)>>;

  static constexpr int kThreads = collective::threads_of(kConfig);
  static constexpr auto kShared = collective::shared_plan(kConfig);
  static constexpr auto kRegisters = collective::registers_of(kConfig);

  WW_DEVICE static void run(const GemmParams& params) {
    const arch::SharedAddress shared = arch::dynamic_shared();
    const arch::SharedAddress barriers = shared + kShared.barriers;
    const u32 warpgroup = arch::warp::uniform(arch::warpgroup_index());
    if (arch::thread_index() == 0) {
      Pipeline::initialize(barriers);
      Order::initialize(shared + kShared.order);
      if (params.gemm.k_blocks > 0) {
        arch::tma::prefetch(params.gemm.a);
        arch::tma::prefetch(params.gemm.b);
      }
      arch::tma::prefetch(params.gemm.d);
    }
    pipeline::make_barriers_visible<Mainloop::kCluster>();
    arch::pdl::launch_dependents();
    arch::pdl::wait();  // nothing an earlier kernel wrote is read before this line

    if (warpgroup == 0) {
      produce(params, shared, barriers);
    } else {
      if constexpr (kRegisters.math > 0) arch::warpgroup::claim_registers<kRegisters.math>();
      consume(params, shared, barriers, static_cast<int>(warpgroup) - 1);
    }
    // why: peers may still multicast to, or arrive at, this CTA's shared memory
    if constexpr (Mainloop::kCluster.size() > 1) arch::cluster::sync();
  }

 private:
  WW_DEVICE static bool next(Scheduler& scheduler, const GemmParams& params, scheduler::TileCoord& tile) {
    if (!scheduler.next(tile)) return false;
    if constexpr (kConfig.batched) tile = collective::tile_of_matrix(params.gemm, tile);
    return true;
  }

  WW_DEVICE static void produce(const GemmParams& params, arch::SharedAddress shared, arch::SharedAddress barriers) {
    if constexpr (kRegisters.producer > 0) arch::warpgroup::release_registers<kRegisters.producer>();
    if (arch::thread_index() == 0) {
      arch::role("producer");
      Pipeline pipeline(barriers, pipeline::Role::producer);
      Scheduler scheduler(params.scheduler);
      for (scheduler::TileCoord tile; next(scheduler, params, tile);)
        Mainloop::load(params.gemm, shared, pipeline, tile);
      pipeline.producer_tail();
    } else if (arch::warp_index() >= 1 && arch::warp_index() <= Mainloop::kScaleWarps) {
      arch::role("scale loader", static_cast<int>(arch::warp_index()) - 1);
      Pipeline pipeline(barriers, pipeline::Role::producer);
      Scheduler scheduler(params.scheduler);
      for (scheduler::TileCoord tile; next(scheduler, params, tile);)
        Mainloop::load_scales(params.gemm, shared, pipeline, tile, arch::warp_index() - 1);
    }
    arch::warp::sync();  // the cluster barrier that follows is .aligned
  }

  /// Whether the tile of this turn is for this math warpgroup.
  WW_DEVICE static bool is_mine(int turn, int math_warpgroup) {
    return kTilesInFlight == 1 || turn % kTilesInFlight == math_warpgroup;
  }

  WW_DEVICE static void consume(const GemmParams& params, arch::SharedAddress shared, arch::SharedAddress barriers,
                                int math_warpgroup) {
    arch::role("math", math_warpgroup);
    Pipeline pipeline(barriers, pipeline::Role::consumer);
    Order order(shared + kShared.order, static_cast<u32>(math_warpgroup));
    Scheduler scheduler(params.scheduler);
    const typename Epilogue::Buffer buffer(math_warpgroup);
    const int part = kTilesInFlight == 1 ? math_warpgroup : 0;  // of the tile's rows
    const arch::SharedAddress output =
        shared + (math_warpgroup - part) * kShared.d_tile;  // as if its D were the only one
    if (params.gemm.k_blocks == 0) {                        // no products: D is zero, whatever the scales are
      Epilogue::clear(output, buffer, part);
      int turn = 0;
      for (scheduler::TileCoord tile; next(scheduler, params, tile); ++turn)
        if (is_mine(turn, math_warpgroup)) Epilogue::store_zeros(params.gemm, output, buffer, part, tile);
    }
    int turn = 0;
    for (scheduler::TileCoord tile; next(scheduler, params, tile); ++turn) {
      if (!is_mine(turn, math_warpgroup)) {
        pipeline.consumer_skip(static_cast<u32>(params.gemm.k_blocks));
        continue;
      }
      typename Mainloop::Accumulator acc[Mainloop::kUnits];  // (64, TILE_N) FP32 for each unit
      Mainloop::multiply(params.gemm.k_blocks, shared, pipeline, part, acc, order);
      Epilogue::scale(params.gemm, part, acc, tile);
      Epilogue::store(params.gemm, output, buffer, part, acc, tile);
    }
    buffer.drain();
  }
};

}  // namespace ww::kernel
