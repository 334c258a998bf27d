// SPDX-License-Identifier: Apache-2.0
// Warp-specialised persistent GEMM: one producer warpgroup feeds TMA, one or two others multiply.
//   producer:  tile -> for k: acquire stage, load A and B, (hardware signals full)
//   scales:    tile -> for k: acquire stage, store the block's scales, signal full   (two other warps of that
//   warpgroup)
//   math:      tile -> for k: wait full, multiply, promote, release stage -> epilogue
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

  static constexpr int kThreads = collective::threads_of(kConfig);
  static constexpr auto kShared = collective::shared_plan(kConfig);
  static constexpr auto kRegisters = collective::registers_of(kConfig);

  WW_DEVICE static void run(const GemmParams& params) {
    const arch::SharedAddress shared = arch::dynamic_shared();
    const arch::SharedAddress barriers = shared + kShared.barriers;
    const u32 warpgroup = arch::warp::uniform(arch::warpgroup_index());
    if (arch::thread_index() == 0) {
      Pipeline::initialize(barriers);
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

  WW_DEVICE static void consume(const GemmParams& params, arch::SharedAddress shared, arch::SharedAddress barriers,
                                int math_warpgroup) {
    arch::role("math", math_warpgroup);
    Pipeline pipeline(barriers, pipeline::Role::consumer);
    Scheduler scheduler(params.scheduler);
    const typename Epilogue::Buffer buffer(math_warpgroup);
    if (params.gemm.k_blocks == 0) {  // no products: D is zero, whatever the scales are
      Epilogue::clear(shared, buffer, math_warpgroup);
      for (scheduler::TileCoord tile; next(scheduler, params, tile);)
        Epilogue::store_zeros(params.gemm, shared, buffer, math_warpgroup, tile);
    }
    for (scheduler::TileCoord tile; next(scheduler, params, tile);) {
      typename Mainloop::Accumulator acc[Mainloop::kUnits];  // (64, TILE_N) FP32 for each unit
      Mainloop::multiply(params.gemm.k_blocks, shared, pipeline, math_warpgroup, acc);
      Epilogue::scale(params.gemm, math_warpgroup, acc, tile);
      Epilogue::store(params.gemm, shared, buffer, math_warpgroup, acc, tile);
    }
    buffer.drain();
  }
};

}  // namespace ww::kernel
