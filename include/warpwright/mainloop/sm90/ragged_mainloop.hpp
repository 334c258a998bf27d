// SPDX-License-Identifier: Apache-2.0
// The mainloop of token tiles whose width is chosen at run time: one ring of stages, one multiply loop for each width.
//   stage: tokens (width <= TILE_M, TILE_K) | weights (TILE_N, TILE_K); each consumer warpgroup owns a part of these
//   swapped: 64-row blocks of weights times (width) tokens        normal: 64-row blocks of tokens times its weights
// Both orientations accumulate the same products in the same order, so a row's bits do not depend on the width.
#pragma once

#include "warpwright/atom/sm90_accumulator.hpp"
#include "warpwright/config/config_parameter.hpp"
#include "warpwright/config/token_widths.hpp"
#include "warpwright/mainloop/block_scales.hpp"
#include "warpwright/mainloop/sm90/products.hpp"
#include "warpwright/mainloop/sm90/promotion.hpp"
#include "warpwright/mainloop/thread_scales.hpp"
#include "warpwright/mainloop/token_loads.hpp"
#include "warpwright/pipeline/ordered_barrier.hpp"

namespace ww::mainloop {

template <ConfigParameter kConfig> struct RaggedMainloop : TokenLoads<kConfig> {
  using Loads = TokenLoads<kConfig>;
  using Loads::kTokens, Loads::kWeights, Loads::kShared;
  static constexpr int kPart = kWeights / kConfig.sm90.consumer_warpgroups;  // weights of one consumer warpgroup
  static constexpr bool kPromotes = promotes(kConfig);

  // k-blocks whose scales are loaded together; more would spill.
  static constexpr int kScalesAtOnce = kTokens <= 64 && kWeights <= kScaleBlock ? 4 : 2;
  using Scales = BlockScales<kTokens, kWeights, ScaleForm::rows, false, kScalesAtOnce>;
  static_assert(!kPromotes || Scales::kSlotBytes == kShared.scale_stage);
  static constexpr u32 kScaleWarps = kPromotes ? Scales::kWarps : 0;
  static constexpr pipeline::ClusterShape kCluster = cluster_of(kConfig);  // along K alone
  using Pipeline =
      pipeline::TmaPipeline<kConfig.sm90.stages, kCluster, 4 * kConfig.sm90.consumer_warpgroups, kScaleWarps>;
  using ScalePipeline = Pipeline;  // scales are stored to the stages of operands

  /// The MMA shape of one width.
  template <TokenWidth kWidth> struct Shape {
    static constexpr int kMmaBlocks = kWidth.swapped ? kPart / kWarpgroupRows : kWidth.width / kWarpgroupRows;
    static constexpr int kN = kWidth.swapped ? kWidth.width : kPart;
    using Layout = atom::Sm90Accumulator<kN>;
    // (tokens, weights), whichever operand is on the M side
    using Accumulator = atom::Fragment<conditional_t<kWidth.swapped, atom::Transposed<Layout>, Layout>>;
    using Scales = TokenScales<kMmaBlocks, Accumulator>;
    // Promoted and partial accumulators of every MMA_M block must leave registers for scales and addresses.
    static constexpr bool kOverlaps = kMmaBlocks > 1 && kMmaBlocks* kN <= 160;
    static_assert(kMmaBlocks == 1 || kMmaBlocks == 2);
  };

  /// Loads the scales of k-blocks `k` of `tile`. kScaleWarps warps call it, each with its index `warp`.
  WW_DEVICE static void load_scales(const GroupedArguments& arguments, arch::SharedAddress base, Pipeline& pipeline,
                                    const TokenTile& tile, KRange k, u32 warp) {
    Scales::load(token_scales<kWeights>(arguments, tile, k), base + kShared.scales, pipeline, warp);
  }

  /// Computes acc = this warpgroup's part of the tile, scaled if the recipe is the block recipe. k_blocks >= 1.
  template <TokenWidth kWidth>
  WW_DEVICE static void multiply(int k_blocks, arch::SharedAddress base, Pipeline& pipeline, int consumer_warpgroup,
                                 typename Shape<kWidth>::Accumulator (&acc)[Shape<kWidth>::kMmaBlocks]) {
    const Products<kWidth> products(base, consumer_warpgroup);
    pipeline::Unordered order({}, 0);
    WW_UNROLL
    for (auto& accumulator : acc) clear(accumulator);
    if constexpr (kPromotes) {
      const Promotion<Products<kWidth>, Reader<kWidth>> promotion{products,
                                                                  {base + kShared.scales, consumer_warpgroup}};
      typename Shape<kWidth>::Accumulator partial[Shape<kWidth>::kOverlaps ? 2 : 1];
      WW_UNROLL
      for (auto& accumulator : partial) clear(accumulator);
      WW_NO_UNROLL
      for (int k = 0; k < k_blocks; ++k) {
        if constexpr (Shape<kWidth>::kOverlaps) promotion.together(pipeline, acc, partial);
        // Polling the next stage early takes more instructions here than it hides.
        else promotion.one_by_one(pipeline, acc, partial[0], true, order, {});
      }
    } else {
      accumulate(products, k_blocks, pipeline, acc, order);
    }
  }

 private:
  // The products of one width, of one consumer warpgroup's part of the weights.
  template <TokenWidth kWidth> struct Products : PartialProducts<Products<kWidth>> {
    static constexpr DType kType = kConfig.operands.a;
    static constexpr arch::MmaOperands kWeightsByTokens{kType, kType, Loads::kMajor, Major::k};
    static constexpr arch::MmaOperands kTokensByWeights{kType, kType, Major::k, Loads::kMajor};
    arch::SharedAddress base;
    int consumer_warpgroup;

    WW_DEVICE Products(arch::SharedAddress of_cta, int warpgroup) : base(of_cta), consumer_warpgroup(warpgroup) {}

    WW_DEVICE static pipeline::Stage next_stage(Pipeline& pipeline) { return pipeline.consumer_wait(); }
    template <class Accumulator>
    WW_DEVICE void issue(pipeline::Stage stage, int mma_block, Accumulator& acc, bool accumulate) const {
      auto sA = Loads::shared_tokens(base)(_, _, static_cast<int>(stage.index));   // (TILE_M, TILE_K)
      auto sB = Loads::shared_weights(base)(_, _, static_cast<int>(stage.index));  // (TILE_N, TILE_K)
      if constexpr (kWidth.swapped) {
        const int row = consumer_warpgroup * kPart + mma_block * kWarpgroupRows;
        atom::gemm<kWeightsByTokens>(acc, sB.rows_from(row), sA, accumulate);  // (64, TILE_K) (TILE_M, TILE_K)
      } else {
        atom::gemm<kTokensByWeights>(acc, sA.rows_from(mma_block * kWarpgroupRows),
                                     sB.rows_from(consumer_warpgroup * kPart),
                                     accumulate);  // (64, TILE_K) (PART, TILE_K)
      }
    }
  };

  template <TokenWidth kWidth> struct Reader {
    static constexpr bool kInFlight = true;
    using Scales = typename Shape<kWidth>::Scales;
    arch::SharedAddress slots;
    int consumer_warpgroup;
    WW_DEVICE Scales operator()(pipeline::Stage stage) const {
      const int block = consumer_warpgroup * kPart / kScaleBlock;  // of 128 columns of the tile's weights
      return {RaggedMainloop::Scales::slot(slots, stage.index) + block * (kTokens * 4),
              static_cast<int>(arch::thread_index() % arch::kWarpgroupSize)};
    }
  };

  // Clears accumulators even before wgmma overwrites them. To ptxas a register that is never written is live from the
  // kernel's start, and those of all widths would be live together.
  template <class Accumulator> WW_DEVICE static void clear(Accumulator& acc) {
    WW_UNROLL
    for (float& value : acc.r) value = 0.0f;
  }
};

}  // namespace ww::mainloop
