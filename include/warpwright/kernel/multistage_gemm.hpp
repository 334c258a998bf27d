// SPDX-License-Identifier: Apache-2.0
// Multistage GEMM without roles: every warpgroup multiplies, and one thread of the first also issues the TMA loads.
//   tile -> prologue: the ring filled -> for k: wait, multiply, release, load `stages` blocks ahead -> epilogue
// It has fewer threads and all registers for accumulators, but nothing loads during the epilogue. Operands, recipes,
// clusters, scheduler and epilogue are those of kernel/gemm.hpp, with the same bits.
#pragma once

#include "warpwright/arch/common/pdl.hpp"
#include "warpwright/arch/common/role.hpp"
#include "warpwright/config/faults.hpp"
#include "warpwright/epilogue/epilogue.hpp"
#include "warpwright/kernel/gemm_params.hpp"
#include "warpwright/mainloop/sm90/multistage_mainloop.hpp"
#include "warpwright/scheduler/static_persistent.hpp"

namespace ww::kernel {

template <GemmConfig kConfig, mainloop::StageRelease kRelease = mainloop::StageRelease::by_warp> struct MultistageGemm {
  static_assert(!config::fault_of(kConfig), "GemmConfig: resolve() it and look at fault_of()");
  using Mainloop = mainloop::MultistageMainloop<kConfig, kRelease>;
  using Epilogue = epilogue::Epilogue<kConfig>;
  using Pipeline = typename Mainloop::Pipeline;
  using Scheduler = scheduler::StaticPersistent<Mainloop::kCluster>;

  static constexpr int kThreads = config::threads_of(kConfig);
  static constexpr auto kShared = config::shared_plan(kConfig);

  WW_DEVICE static void run(const GemmParams& params) {
    const arch::SharedAddress shared = arch::dynamic_shared();
    const arch::SharedAddress barriers = shared + kShared.barriers;
    const int warpgroup = static_cast<int>(arch::warp::uniform(arch::warpgroup_index()));
    arch::role("consumer", warpgroup);
    if (arch::thread_index() == 0) {
      Pipeline::initialize(barriers);
      if (k_blocks(params) > 0) {
        arch::tma::prefetch(params.gemm.a);
        arch::tma::prefetch(params.gemm.b);
      }
      arch::tma::prefetch(params.gemm.d);
    }
    pipeline::make_barriers_visible<Mainloop::kCluster>();
    arch::pdl::launch_dependents();
    arch::pdl::wait();  // global memory is left alone before this line

    typename Mainloop::Ring ring(barriers);
    const typename Epilogue::Buffer buffer(warpgroup);
    Scheduler scheduler(params.scheduler, k_blocks(params), shared, scheduler::Reader::warp);
    if (k_blocks(params) == 0) {  // no products: D is zero, whatever the scales are
      Epilogue::clear(shared, buffer, warpgroup);
      for (scheduler::Tile tile; scheduler.next(tile);)
        Epilogue::store_zeros(params.gemm, shared, buffer, warpgroup, at(params, tile));
    }
    for (scheduler::Tile tile; scheduler.next(tile);) {
      const config::TileCoord coord = at(params, tile);
      if (arch::thread_index() == 0) arch::note_work(tile.k.blocks, false);
      typename Mainloop::Accumulator acc[Mainloop::kMmaBlocks];  // (64, TILE_N) FP32 for each MMA_M block
      Mainloop::multiply(params.gemm, shared, ring, coord, warpgroup, acc);
      Epilogue::scale(params.gemm, warpgroup, acc, coord);
      Epilogue::store(params.gemm, shared, buffer, warpgroup, acc, coord);
    }
    buffer.drain();
    // Peers may still multicast to, or arrive at, this CTA's shared memory.
    if constexpr (Mainloop::kCluster.size() > 1) {
      arch::warp::sync();  // only the issuer has drained, and the barrier is .aligned
      arch::cluster::sync();
    }
  }

 private:
  WW_DEVICE static int k_blocks(const GemmParams& params) { return config::k_blocks_of<kConfig>(params.gemm); }

  WW_DEVICE static config::TileCoord at(const GemmParams& params, const scheduler::Tile& tile) {
    const config::TileCoord at = scheduler::CtaPosition<Mainloop::kCluster>::at(params.scheduler.grid, tile.index);
    if constexpr (kConfig.operands.batched) return config::tile_of_matrix(params.gemm, at);
    else return at;
  }
};

}  // namespace ww::kernel
