// SPDX-License-Identifier: Apache-2.0
// Dense products, batches and groups of K for the warp-specialised kernel: which part of A, B, the scales and D a tile
// has. The kernel itself is kernel/warp_specialised_gemm.hpp; kernel/gemm.hpp and kernel/sm100_gemm.hpp join the two.
#pragma once

#include "warpwright/config/config_parameter.hpp"
#include "warpwright/config/faults.hpp"
#include "warpwright/config/resolve.hpp"
#include "warpwright/epilogue/partial_sums.hpp"
#include "warpwright/kernel/gemm_params.hpp"
#include "warpwright/kernel/warp_specialised_gemm.hpp"
#include "warpwright/scheduler/dense_tiles.hpp"
#include "warpwright/scheduler/k_grouped.hpp"

namespace ww::kernel {

/// TheMainloop is that of the config's architecture.
template <ConfigParameter kConfig, class TheMainloop> struct DenseProblem {
  static constexpr bool kGroupsK = config::groups_k(kConfig);
  static_assert(!(kGroupsK ? config::fault_of_k_grouped(kConfig) : config::fault_of(kConfig)),
                "GemmConfig: resolve() it and look at fault_of()");
  static constexpr bool kScalesInMma = config::scales_in_mma(kConfig);
  using Params = conditional_t<kGroupsK, conditional_t<kScalesInMma, ScaledKGroupedParams, KGroupedParams>,
                               conditional_t<kScalesInMma, ScaledGemmParams, GemmParams>>;
  using Mainloop = TheMainloop;
  using Epilogue = epilogue::Epilogue<kConfig, typename Mainloop::Accumulator>;
  using Pipeline = typename Mainloop::Pipeline;
  static constexpr int kReaders =
      1 + config::is_sm100(kConfig) + static_cast<int>(Mainloop::kScaleWarps) + config::consumer_warps(kConfig);
  using Source = conditional_t<kGroupsK, scheduler::KGrouped<kConfig, kReaders>,
                               scheduler::DenseTiles<kConfig, scheduler::DenseOrder<kConfig, kReaders>>>;
  using Tile = typename Source::Tile;
  static constexpr bool kEndsEarly = false;  // consumer warpgroups may have no rows of a tile

  WW_DEVICE static void prefetch(const Params& params) { scheduler::prefetch_maps<kConfig>(params.gemm); }

  struct Loader {
    int matrix = -1;  // whose tensor maps this thread has acquired
    typename Mainloop::LoadState state;

    WW_DEVICE void load(const Params& params, arch::SharedAddress shared, Pipeline& pipeline, const Source& source,
                        const Tile& tile) {
      const config::TileCoord at = source.at(tile);
      if (config::acquires_operands(kConfig) && at.batch != matrix && tile.k.blocks > 0)
        scheduler::acquire_operands<kConfig>(params.gemm, at), matrix = at.batch;
      if constexpr (kScalesInMma && kGroupsK)
        Mainloop::load(params.gemm, shared, pipeline, at, static_cast<config::KRange>(tile.k),
                       Mainloop::scale_loads(params.scales, shared, at, tile.k));
      else if constexpr (kScalesInMma)
        Mainloop::load(params.gemm, shared, pipeline, at, tile.k,
                       Mainloop::scale_loads(params.scales, shared, at, source, tile, state));
      else Mainloop::load(params.gemm, shared, pipeline, at, tile.k);
    }
  };
  WW_DEVICE static void load_scales(const Params& params, arch::SharedAddress shared,
                                    typename Mainloop::ScalePipeline& pipeline, const Source& source, const Tile& tile,
                                    u32 warp) {
    Mainloop::load_scales(params.gemm, shared, pipeline, source.at(tile), tile.k, warp);
  }
  WW_DEVICE static int scale_offset(const Source& source, const Tile& tile) {
    if constexpr (config::promotes(kConfig) && Mainloop::Scales::kBlocks > 1)
      return Mainloop::scale_offset(source.at(tile));
    else return 0;
  }

  using Sums = epilogue::PartialSums<kConfig>;
  WW_DEVICE static bool complete(const Params& params, Sums& sums,
                                 typename Mainloop::Accumulator (&acc)[Mainloop::kMmaBlocks],
                                 const typename Source::Walk& walk, const Tile& tile) {
    return sums.complete(params.gemm.partials, acc, walk, tile);
  }
  WW_DEVICE static void scale(const Params& params, int part,
                              typename Mainloop::Accumulator (&acc)[Mainloop::kMmaBlocks], config::TileCoord at) {
    Epilogue::scale(params.gemm, part, acc, at);
  }
  WW_DEVICE static void store(const Params& params, arch::SharedAddress output, const typename Epilogue::Buffer& buffer,
                              int part, typename Mainloop::Accumulator (&acc)[Mainloop::kMmaBlocks],
                              config::TileCoord at) {
    Epilogue::store(params.gemm, output, buffer, part, acc, in_all_lanes(at));
  }
  WW_DEVICE static void store_zeros(const Params& params, arch::SharedAddress output,
                                    const typename Epilogue::Buffer& buffer, int part, config::TileCoord at) {
    Epilogue::store_zeros(params.gemm, output, buffer, part, in_all_lanes(at));
  }

 private:
  // Behind the wait for other CTAs' sums, ptxas for sm_100a takes the tile to differ from lane to lane, and would put
  // each TMA store into a loop over the lanes.
  WW_DEVICE static config::TileCoord in_all_lanes(config::TileCoord at) {
    if constexpr (config::is_sm100(kConfig) &&
                  (config::sums_in_cluster(kConfig) || config::sums_in_workspace(kConfig))) {
      const auto uniform = [](int value) { return scheduler::uniform_for(scheduler::Reader::warp, value); };
      return {uniform(at.m), uniform(at.n), uniform(at.batch)};
    }
    return at;
  }
};

}  // namespace ww::kernel
