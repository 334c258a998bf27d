// SPDX-License-Identifier: Apache-2.0
// The mainloop of Blackwell: one thread loads the operand ring by TMA, one multiplies from it into tensor memory, and
// consumer warpgroups read the accumulators into the fragments that epilogues take.
//   load:         for each k-block: acquire stage -> this CTA's slices of A and B   (mainloop/stage_loads.hpp)
//   load_scales:  for each k-block: acquire a stage of scales -> its block scales   (mainloop/block_scales.hpp)
//   Multiplier:   for each tile: acquire accumulator -> for each k-block: wait, 4 MMAs, commit -> commit accumulator
//   multiply:     for each tile: wait -> tcgen05.ld -> release
// Block scales promote: every k-block has an accumulator of its own, which the consumers scale and add in FP32. So a
// tile's scales are read by the consumers alone, through a ring of their own.
// With 128 rows, a warp reaches 32 lanes of tensor memory, of which one load reads 16: two consumer warpgroups take
// turns by 16 rows, and both hold whole rows.
#pragma once

#include "warpwright/arch/common/role.hpp"
#include "warpwright/atom/tensor_accumulator.hpp"
#include "warpwright/atom/tma_pair_atom.hpp"
#include "warpwright/atom/umma_atom.hpp"
#include "warpwright/config/config_parameter.hpp"
#include "warpwright/mainloop/block_scales.hpp"
#include "warpwright/mainloop/sm100/accumulator_reads.hpp"
#include "warpwright/mainloop/stage_loads.hpp"
#include "warpwright/mainloop/thread_scales.hpp"
#include "warpwright/pipeline/accumulator_pipeline.hpp"
#include "warpwright/pipeline/scale_pipeline.hpp"
#include "warpwright/pipeline/umma_pipeline.hpp"

namespace ww::mainloop {

template <ConfigParameter kConfig>
using UmmaLoads = StageLoads<kConfig, conditional_t<kConfig.sm100.pair, atom::TmaPairLoadAtom, atom::TmaLoadAtom>>;

template <ConfigParameter kConfig> struct UmmaMainloop : UmmaLoads<kConfig>, ScaleAddresses<kConfig> {
  using Loads = UmmaLoads<kConfig>;
  using Loads::kTileM, Loads::kTileN, Loads::kShared, Loads::kCluster, Loads::kHalves;
  using Addresses = ScaleAddresses<kConfig>;
  static constexpr arch::CtaGroup kGroup = kConfig.sm100.pair ? arch::CtaGroup::pair : arch::CtaGroup::one;
  static constexpr int kCtas = arch::ctas_of(kGroup);
  static constexpr int kMmaBlocks = mma_blocks_of(kConfig);
  static_assert(kMmaBlocks == 1, "a consumer warpgroup reads 64 rows");
  static constexpr int kConsumerWarps = consumer_warps(kConfig);
  static constexpr bool kPromotes = promotes(kConfig);

  using Scales = BlockScales<kTileM, kTileN, scale_form(kConfig.operands.scale), kHalves, 0, 1>;
  static constexpr u32 kScaleWarps = kPromotes ? Scales::kWarps : 0;
  using Pipeline = pipeline::UmmaPipeline<kConfig.sm90.stages, kCluster, kGroup>;
  static constexpr pipeline::AccumulatorColumns kColumns{kConfig.sm100.accumulators, kTileN,
                                                         overlapping_columns(kConfig)};
  using Accumulators = pipeline::AccumulatorPipeline<kColumns, kConsumerWarps, kGroup>;
  using Accumulator = atom::Fragment<atom::TensorBlock<kTileN, kTileM>>;

  struct ScalePipeline
      : pipeline::ScalePipeline<kConfig.sm90.stages, kConsumerWarps, max(1, static_cast<int>(kScaleWarps))> {
    using Base = pipeline::ScalePipeline<kConfig.sm90.stages, kConsumerWarps, max(1, static_cast<int>(kScaleWarps))>;
    static constexpr u32 kOffset = kShared.scale_barriers - kShared.barriers;
    WW_DEVICE ScalePipeline(arch::SharedAddress barriers, pipeline::Role role) : Base(barriers + kOffset, role) {}
    WW_DEVICE static void initialize(arch::SharedAddress barriers) { Base::initialize(barriers + kOffset); }
  };
  static constexpr u32 kAccumulatorBarriers = kShared.accumulator_barriers - kShared.barriers;

  /// Initialises the barriers. One thread of each CTA calls it, before make_barriers_visible.
  WW_DEVICE static void initialize(arch::SharedAddress barriers) {
    Pipeline::initialize(barriers);
    Accumulators::initialize(barriers + kAccumulatorBarriers);
    if constexpr (kPromotes) ScalePipeline::initialize(barriers);
  }

  // --- tensor memory
  /// Allocates tensor memory and publishes its address. All threads call it, in a pair once its other CTA has begun;
  /// the calls of `warp` allocate.
  WW_DEVICE static void allocate(arch::SharedAddress base, u32 warp) {
    if (arch::warp_index() == warp) arch::tensor::alloc<kGroup>(base + kShared.tensor_address, tensor_columns(kConfig));
    arch::umma::fence_before();
    arch::named_barrier::sync_cta();
    arch::umma::fence_after();
  }
  WW_DEVICE static arch::TensorAddress accumulators(arch::SharedAddress base) {
    return {arch::shared::load(base + kShared.tensor_address)};
  }
  /// Frees tensor memory behind the last read of it in all CTAs of the MMAs, which are ordered by a barrier before and
  /// after this function. All threads call it.
  WW_DEVICE static void free(arch::SharedAddress base, u32 warp) {
    arch::umma::fence_before();
    if constexpr (kCluster.size() > 1) arch::cluster::sync();
    else arch::named_barrier::sync_cta();
    arch::umma::fence_after();
    if (arch::warp_index() != warp) return;
    arch::tensor::relinquish<kGroup>();
    arch::tensor::dealloc<kGroup>(accumulators(base), tensor_columns(kConfig));
  }

  // --- loads of scales
  /// Loads the scales of k-blocks `k` of `tile`. kScaleWarps warps call it, each with its index `warp`.
  WW_DEVICE static void load_scales(const GemmArguments& arguments, arch::SharedAddress base, ScalePipeline& pipeline,
                                    TileCoord tile, KRange k, u32 warp) {
    load_scales(Addresses::scales_of(arguments, tile, k), base, pipeline, warp);
  }
  WW_DEVICE static void load_scales(const typename Scales::Scales& scales, arch::SharedAddress base,
                                    ScalePipeline& pipeline, u32 warp) {
    Scales::load(scales, base + kShared.scales, pipeline, warp);
  }

  // --- the thread that multiplies
  /// Multiplies tile after tile. One thread of each CTA has one; of a pair only the leader's issues MMAs.
  class Multiplier {
   public:
    static constexpr atom::UmmaOperands kOperands{kConfig.operands.a,
                                                  kConfig.operands.b,
                                                  kConfig.operands.layout.a,
                                                  kConfig.operands.layout.b,
                                                  kGroup,
                                                  kTileM* kCtas,
                                                  kTileN};

    WW_DEVICE explicit Multiplier(arch::SharedAddress base)
        : base_(base),
          pipeline_(base + kShared.barriers, pipeline::Role::consumer),
          accumulators_(base + kShared.accumulator_barriers, pipeline::Role::producer),
          memory_(UmmaMainloop::accumulators(base)),
          leads_(kCtas == 1 || arch::cluster_rank() % kCtas == 0) {}

    /// Issues the products of a tile with k_blocks >= 1.
    template <class Source, class Tile> WW_DEVICE void multiply(const Source& source, const Tile& tile) {
      if (kCtas > 1 && !leads_) return;
      const int k_blocks = source.k_blocks_of(tile);
      if constexpr (kPromotes) {
        for (int k = 0; k < k_blocks; ++k) accumulate(1);
      } else {
        accumulate(k_blocks);
      }
    }
    /// Waits until nobody needs the barriers of this CTA.
    WW_DEVICE void finish() {
      if (leads_) accumulators_.producer_tail();
    }

   private:
    WW_DEVICE void accumulate(int k_blocks) {
      const pipeline::AccumulatorStage acc = accumulators_.producer_acquire();
      const arch::TensorAddress d = memory_ + acc.first_column;  // (TILE_M, TILE_N)
      for (int k = 0; k < k_blocks; ++k) {
        const pipeline::Stage stage = pipeline_.consumer_wait();
        const int s = static_cast<int>(stage.index);
        atom::umma_gemm<kOperands>(d, Loads::shared_a(base_)(_, _, s), Loads::shared_b(base_)(_, _, s), k != 0);
        pipeline_.consumer_release(stage);
      }
      accumulators_.producer_commit(acc);
    }

    arch::SharedAddress base_;
    Pipeline pipeline_;
    Accumulators accumulators_;
    arch::TensorAddress memory_;
    bool leads_;
  };

  // --- consumer warps
  /// What a consumer warp takes its accumulators and scales from.
  struct Consumer {
    Accumulators accumulators;
    ScalePipeline scales;
    WW_DEVICE Consumer(arch::SharedAddress barriers, pipeline::Role role)
        : accumulators(barriers + kAccumulatorBarriers, role), scales(barriers, role) {}
  };

  /// Computes acc = this warpgroup's rows of A B^T, scaled if the recipe is a block recipe. k_blocks >= 1. All threads
  /// of a consumer warpgroup call it. `offset` is the tile's scale_offset().
  template <bool kVariesK, class Order>
  WW_DEVICE static void multiply(int k_blocks, arch::SharedAddress base, Consumer& consumer, int consumer_warpgroup,
                                 Accumulator (&acc)[kMmaBlocks], Order&, int offset) {
    const arch::TensorAddress memory = accumulators(base).down(static_cast<u32>(16 * consumer_warpgroup));
    if constexpr (kPromotes) {
      clear(acc);
      const TilePosition at = position_of(consumer_warpgroup, offset);
      for (int k = 0; k < k_blocks; ++k) {
        const pipeline::Stage scales = consumer.scales.consumer_wait();
        const StageScales<Scales, kMmaBlocks> factors(base + kShared.scales, scales.index, at);
        const pipeline::AccumulatorStage partial = consumer.accumulators.consumer_wait();
        promote_accumulator(acc[0], memory + partial.first_column, factors.of_block(0));
        consumer.accumulators.consumer_release(partial);
        consumer.scales.consumer_release(scales);
      }
    } else {
      const pipeline::AccumulatorStage sum = consumer.accumulators.consumer_wait();
      const auto release = [&] { consumer.accumulators.consumer_release(sum); };
      read_accumulator<kColumns>(acc[0], memory + sum.first_column, sum.index, release);
    }
  }

  /// Sets acc to an empty sum, for a consumer warpgroup without k-blocks. Behind an epilogue that adds to it this is
  /// -0, the neutral element of addition, because C + 0 would lose the sign of a C of -0.
  WW_DEVICE static void clear(Accumulator (&acc)[kMmaBlocks], float zero = 0.0f) {
    WW_UNROLL
    for (int v = 0; v < Accumulator::kValues; ++v) acc[0][v] = zero;
  }

 private:
  WW_DEVICE static TilePosition position_of(int consumer_warpgroup, int offset) {
    const int thread = static_cast<int>(arch::thread_index() % arch::kWarpgroupSize);
    return {consumer_warpgroup * Accumulator::Layout::kBlockStep + Accumulator::first_row(thread),
            Accumulator::first_column(thread), offset};
  }
};

}  // namespace ww::mainloop
