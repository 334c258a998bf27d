// SPDX-License-Identifier: Apache-2.0
// Multistage GEMM without roles: every warpgroup multiplies, and one thread of the first also issues the TMA loads.
//   tile -> prologue: the ring filled -> for k: wait, multiply, release, load `stages` blocks ahead -> epilogue
// It has fewer threads and all registers for accumulators, but nothing loads during the epilogue. Operands, recipes,
// clusters, scheduler and epilogue are those of kernel/gemm.hpp, with the same bits.
#pragma once

#include "warpwright/config/config_parameter.hpp"
#include "warpwright/config/faults.hpp"
#include "warpwright/epilogue/epilogue.hpp"
#include "warpwright/kernel/gemm_params.hpp"
#include "warpwright/kernel/skeleton.hpp"
#include "warpwright/mainloop/sm90/multistage_mainloop.hpp"
#include "warpwright/scheduler/dense_tiles.hpp"

namespace ww::kernel {

template <ConfigParameter kConfig, mainloop::StageRelease kRelease = mainloop::StageRelease::by_warp>
struct MultistageGemm : Skeleton<MultistageGemm<kConfig, kRelease>> {
  static_assert(!config::fault_of(kConfig), "GemmConfig: resolve() it and look at fault_of()");
  using Mainloop = mainloop::MultistageMainloop<kConfig, kRelease>;
  using Epilogue = epilogue::Epilogue<kConfig, typename Mainloop::Accumulator>;
  using Pipeline = typename Mainloop::Pipeline;
  using Source = scheduler::DenseTiles<kConfig, scheduler::StaticPersistent<Mainloop::kCluster>>;
  using Tile = typename Source::Tile;

  static constexpr int kThreads = config::threads_of(kConfig);
  static constexpr auto kShared = config::shared_plan(kConfig);

  WW_DEVICE static void initialize(const GemmParams& params, arch::SharedAddress shared) {
    Pipeline::initialize(shared + kShared.barriers);
    scheduler::prefetch_maps<kConfig>(params.gemm);
  }

  WW_DEVICE static void run(const GemmParams& params) {
    const arch::SharedAddress shared = arch::dynamic_shared();
    const int warpgroup = static_cast<int>(arch::warp::uniform(arch::warpgroup_index()));
    arch::role("consumer", warpgroup);
    const Source source(params, shared);
    Skeleton<MultistageGemm>::set_up(params, shared, source);

    typename Mainloop::Ring ring(shared + kShared.barriers);
    const typename Epilogue::Buffer buffer(warpgroup);
    typename Source::Walk walk(source, scheduler::Reader::warp);
    if (!source.has_products()) {  // D is zero, whatever the scales are
      Epilogue::clear(shared, buffer, warpgroup);
      for (Tile tile; walk.next(tile);) Epilogue::store_zeros(params.gemm, shared, buffer, warpgroup, source.at(tile));
    }
    for (Tile tile; walk.next(tile);) {
      const config::TileCoord at = source.at(tile);
      if (arch::thread_index() == 0) arch::note_work(source.k_blocks_of(tile), source.is_part(tile));
      typename Mainloop::Accumulator acc[Mainloop::kMmaBlocks];  // (64, TILE_N) FP32 for each MMA_M block
      Mainloop::multiply(params.gemm, shared, ring, at, warpgroup, acc);
      Epilogue::scale(params.gemm, warpgroup, acc, at);
      Epilogue::store(params.gemm, shared, buffer, warpgroup, acc, at);
    }
    buffer.drain();
    if constexpr (Mainloop::kCluster.size() > 1) arch::warp::sync();  // only the issuer has drained
    Skeleton<MultistageGemm>::leave(shared);
  }
};

}  // namespace ww::kernel
