// SPDX-License-Identifier: Apache-2.0
// The warp-specialised mainloop: one thread loads the operand ring by TMA, consumer warpgroups multiply from it.
//   load:         for each k-block: acquire stage -> this CTA's slices of A and B   (mainloop/stage_loads.hpp)
//   load_scales:  for each k-block: acquire stage -> its block scales               (mainloop/block_scales.hpp)
//   multiply:     for each k-block: wait -> wgmma -> release                        (sm90/products.hpp)
//                 block scales promote every k-block into FP32 registers            (sm90/promotion.hpp)
// Not here: what a tile is (scheduler/), and arrival counts (pipeline/).
#pragma once

#include "warpwright/atom/sm90_accumulator.hpp"
#include "warpwright/config/config_parameter.hpp"
#include "warpwright/mainloop/block_scales.hpp"
#include "warpwright/mainloop/sm90/promotion.hpp"
#include "warpwright/mainloop/sm90/register_products.hpp"
#include "warpwright/mainloop/thread_scales.hpp"
#include "warpwright/pipeline/ordered_barrier.hpp"

namespace ww::mainloop {

template <ConfigParameter kConfig> struct ProductsOf { using type = SharedProducts<kConfig>; };
template <ConfigParameter kConfig>
requires(a_from_registers(kConfig)) struct ProductsOf<kConfig> {
  using type = RegisterProducts<kConfig>;
};

template <ConfigParameter kConfig> struct Mainloop : StageLoads<kConfig>, ScaleAddresses<kConfig> {
  using Loads = StageLoads<kConfig>;
  using Loads::kTileM, Loads::kTileN, Loads::kShared, Loads::kCluster, Loads::kHalves;
  using Addresses = ScaleAddresses<kConfig>;
  using Products = typename ProductsOf<kConfig>::type;
  static constexpr int kMmaBlocks = mma_blocks_of(kConfig);
  static constexpr bool kPromotes = promotes(kConfig);

  using Scales = BlockScales<kTileM, kTileN, scale_form(kConfig.operands.scale), kHalves, 0, 0,
                             pipeline::unrolls_rounds(kConfig.sm90.stages)>;
  static constexpr u32 kScaleWarps = kPromotes && has_roles(kConfig) ? Scales::kWarps : 0;
  // The last argument: consumers that transpose B write a stage that a peer of the cluster then fills again.
  using Pipeline = pipeline::TmaPipeline<kConfig.sm90.stages, kCluster, 4 * warpgroups_of_tile(kConfig), kScaleWarps,
                                         transposes_b(kConfig) && (kCluster.m > 1)>;
  using ScalePipeline = Pipeline;  // scales are stored to the stages of operands
  using Consumer = Pipeline;
  using Accumulator = atom::Fragment<atom::Sm90Accumulator<kTileN>>;

  /// Initialises the barriers. One thread of each CTA calls it, before make_barriers_visible.
  WW_DEVICE static void initialize(arch::SharedAddress barriers) { Pipeline::initialize(barriers); }

  /// Loads the scales of k-blocks `k` of `tile`. kScaleWarps warps call it, each with its index `warp`.
  WW_DEVICE static void load_scales(const GemmArguments& arguments, arch::SharedAddress base, Pipeline& pipeline,
                                    TileCoord tile, KRange k, u32 warp) {
    load_scales(Addresses::scales_of(arguments, tile, k), base, pipeline, warp);
  }
  WW_DEVICE static void load_scales(const typename Scales::Scales& scales, arch::SharedAddress base, Pipeline& pipeline,
                                    u32 warp) {
    Scales::load(scales, base + kShared.scales, pipeline, warp);
  }

  /// Computes acc = this warpgroup's rows of A B^T, scaled if the recipe is a block recipe. k_blocks >= 1. All threads
  /// of a consumer warpgroup call it.
  WW_DEVICE static void multiply(int k_blocks, arch::SharedAddress base, Pipeline& pipeline, int consumer_warpgroup,
                                 Accumulator (&acc)[kMmaBlocks]) {
    pipeline::Unordered order({}, 0);
    multiply<false>(k_blocks, base, pipeline, consumer_warpgroup, acc, order, 0);
  }
  /// Does the same in the warpgroup's turn, which lasts from the first wait for a stage until the last MMAs are issued.
  /// `offset` is the tile's scale_offset(). kVariesK: k_blocks differs from tile to tile.
  template <bool kVariesK, class Order>
  WW_DEVICE static void multiply(int k_blocks, arch::SharedAddress base, Pipeline& pipeline, int consumer_warpgroup,
                                 Accumulator (&acc)[kMmaBlocks], Order& order, int offset) {
    if constexpr (kPromotes) clear(acc);
    order.wait();
    // Values that differ from tile to tile are otherwise taken by the compiler to differ from lane to lane.
    if constexpr (kVariesK) {
      pipeline.consumer_uniform();
      k_blocks = static_cast<int>(arch::warp::uniform(static_cast<u32>(k_blocks)));
    }
    const Products products(base, consumer_warpgroup);
    if constexpr (kPromotes) {
      const Promotion<Products, Reader> promotion{products,
                                                  {base + kShared.scales, position_of(consumer_warpgroup, offset)}};
      if constexpr (partial_accumulators(kConfig) == 2) {
        promotion.alternate(k_blocks, pipeline, acc[0], order);
      } else {
        promotion.in_rounds(k_blocks, pipeline, acc, order);
      }
    } else if constexpr (a_from_registers(kConfig)) {
      products.accumulate(k_blocks, pipeline, acc, order);
    } else {
      accumulate(products, k_blocks, pipeline, acc, order);
    }
  }

  /// Releases the stages of k_blocks without reading them, for a consumer warpgroup that has no rows in a tile.
  WW_DEVICE static void pass(int k_blocks, Pipeline& pipeline) {
    static_assert(!transposes_b(kConfig), "all consumer warpgroups turn a stage over");
    WW_NO_UNROLL
    for (int k = 0; k < k_blocks; ++k) pipeline.consumer_release(pipeline.consumer_wait());
  }

  /// Sets acc to an empty sum, for a consumer warpgroup without k-blocks. Behind an epilogue that adds to it this is
  /// -0, the neutral element of addition, because C + 0 would lose the sign of a C of -0.
  WW_DEVICE static void clear(Accumulator (&acc)[kMmaBlocks], float zero = 0.0f) {
    WW_UNROLL
    for (int u = 0; u < kMmaBlocks; ++u) arch::fill(acc[u], zero);
  }

 protected:
  WW_DEVICE static TilePosition position_of(int consumer_warpgroup, int offset) {
    const int thread = static_cast<int>(arch::thread_index() % arch::kWarpgroupSize);
    return {consumer_warpgroup * kMmaBlocks * kWarpgroupRows + Accumulator::first_row(thread),
            Accumulator::first_column(thread), offset};
  }

 private:
  struct Reader {
    static constexpr bool kInFlight = false;
    using Scales = StageScales<typename Mainloop::Scales, kMmaBlocks>;
    arch::SharedAddress slots;
    TilePosition at;
    WW_DEVICE Scales operator()(pipeline::Stage stage) const { return {slots, stage.index, at}; }
  };
};

}  // namespace ww::mainloop
