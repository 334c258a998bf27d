// SPDX-License-Identifier: Apache-2.0
// The mainloop of token tiles whose width is chosen at run time: one ring of stages, one multiply loop for each width.
//   stage: tokens (width <= TILE_M, TILE_K) | weights (TILE_N, TILE_K); each consumer warpgroup owns a part of these
//   swapped: 64-row blocks of weights times (width) tokens        normal: 64-row blocks of tokens times its weights
// Both orientations accumulate the same products in the same order, so a row's bits do not depend on the width.
#pragma once

#include "warpwright/atom/mma_atom.hpp"
#include "warpwright/atom/sm90_accumulator.hpp"
#include "warpwright/atom/tma_atom.hpp"
#include "warpwright/config/shared_memory.hpp"
#include "warpwright/config/token_widths.hpp"
#include "warpwright/mainloop/ragged_scales.hpp"

namespace ww::mainloop {

using namespace config;

template <GemmConfig kConfig> struct RaggedMainloop {
  static constexpr DType kType = kConfig.operands.a;
  static constexpr int kTokens = kConfig.tile.m, kWeights = kConfig.tile.n, kTileK = kConfig.tile.k;
  static constexpr int kPart = kWeights / kConfig.sm90.consumer_warpgroups;  // weights of one consumer warpgroup
  static constexpr GroupedSharedPlan kShared = grouped_shared_plan(kConfig);
  static constexpr bool kPromotes = promotes(kConfig);
  static constexpr Major kMajor = kConfig.operands.layout.b;  // of weights
  static constexpr arch::MmaOperands kWeightsByTokens{kType, kType, kMajor, Major::k};
  static constexpr arch::MmaOperands kTokensByWeights{kType, kType, Major::k, kMajor};

  using Scales = RaggedScales<kTokens, kWeights>;
  static constexpr u32 kScaleWarps = kPromotes ? Scales::kWarps : 0;
  static constexpr pipeline::ClusterShape kCluster = cluster_of(kConfig);  // along K alone
  using Pipeline =
      pipeline::TmaPipeline<kConfig.sm90.stages, kCluster, 4 * kConfig.sm90.consumer_warpgroups, kScaleWarps>;
  using SharedTokens = atom::SharedOperand<kTokens>;            // (TILE_M, TILE_K, STAGE)
  using SharedWeights = atom::SharedOperand<kWeights, kMajor>;  // (TILE_N, TILE_K, STAGE)

  /// The MMA shape of one width.
  template <TokenWidth kWidth> struct Shape {
    static constexpr int kMmaBlocks = kWidth.swapped ? kPart / kWarpgroupRows : kWidth.width / kWarpgroupRows;
    static constexpr int kN = kWidth.swapped ? kWidth.width : kPart;
    using Layout = atom::Sm90Accumulator<kN>;
    // (tokens, weights), whichever operand is on the M side
    using Accumulator = atom::Fragment<conditional_t<kWidth.swapped, atom::Transposed<Layout>, Layout>>;
    using Scales = ThreadScales<kMmaBlocks, Accumulator>;
    // Promoted and partial accumulators of every MMA_M block must leave registers for scales and addresses.
    static constexpr bool kOverlaps = kMmaBlocks > 1 && kMmaBlocks* kN <= 160;
  };

  WW_DEVICE static SharedTokens shared_tokens(arch::SharedAddress base) { return {base + kShared.tokens}; }
  WW_DEVICE static SharedWeights shared_weights(arch::SharedAddress base) { return {base + kShared.weights}; }

  /// Loads k-blocks `range` of `tile`, `width` tokens each (those past the tile's rows are loaded and ignored). One
  /// thread calls it.
  WW_DEVICE static void load(const GroupedArguments& arguments, arch::SharedAddress base, Pipeline& pipeline,
                             const TokenTile& tile, KRange range, int width) {
    load_blocks(arguments, base, pipeline, tile, range, width, [&](arch::MBarrier full, int s, int k) {
      auto sA = shared_tokens(base)(_, _, s);  // (TILE_M, TILE_K)
      int done = 0;                            // tokens
      WW_UNROLL
      for (int box = kTokenBoxes - 1; box >= 0; --box) {
        for (; width - done >= token_box_rows(box); done += token_box_rows(box))
          atom::copy(atom::TmaLoadAtom{arguments.a[box]}.with(full),
                     atom::Box<false>{tile.row + done, k * kTileK},  // (box, TILE_K) from there
                     sA.rows_from(done));                            // (box, TILE_K)
      }
    });
  }

  /// Loads all k-blocks of TILE_M tokens through the map of the tile's group, from row `row` of the group on.
  WW_DEVICE static void load_group(const GroupedArguments& arguments, arch::SharedAddress base, Pipeline& pipeline,
                                   const TokenTile& tile, const arch::TensorMap& group_a, int row) {
    load_blocks(arguments, base, pipeline, tile, {0, arguments.k_blocks}, kTokens,
                [&](arch::MBarrier full, int s, int k) {
                  atom::copy(atom::TmaLoadAtom{group_a}.with(full), atom::Box<false>{row, k * kTileK},
                             shared_tokens(base)(_, _, s));
                });
  }

  /// Computes acc = this warpgroup's part of the tile, scaled if the recipe is the block recipe. k_blocks >= 1.
  template <TokenWidth kWidth>
  WW_DEVICE static void multiply(int k_blocks, arch::SharedAddress base, Pipeline& pipeline, int consumer_warpgroup,
                                 typename Shape<kWidth>::Accumulator (&acc)[Shape<kWidth>::kMmaBlocks]) {
    WW_UNROLL
    for (auto& accumulator : acc) clear(accumulator);
    if constexpr (kPromotes) {
      typename Shape<kWidth>::Accumulator partial[Shape<kWidth>::kOverlaps ? 2 : 1];
      WW_UNROLL
      for (auto& accumulator : partial) clear(accumulator);
      WW_NO_UNROLL
      for (int k = 0; k < k_blocks; ++k) promote_block<kWidth>(base, pipeline, consumer_warpgroup, acc, partial);
    } else {
      accumulate<kWidth>(k_blocks, base, pipeline, consumer_warpgroup, acc);
    }
  }

 private:
  /// Acquires a stage for each k-block and copies weights; copy_tokens(barrier, stage, k) copies the tokens.
  // The caller passes no generic lambda, because NVRTC takes one for a host function.
  template <class CopyTokens>
  WW_DEVICE static void load_blocks(const GroupedArguments& arguments, arch::SharedAddress base, Pipeline& pipeline,
                                    const TokenTile& tile, KRange range, int width, const CopyTokens& copy_tokens) {
    const atom::TileRow<kWeights, kTileK, true> gB{tile.tile_n * kWeights, tile.group};  // (TILE_N, TILE_K, k)
    const SharedWeights sB = shared_weights(base);                                       // (TILE_N, TILE_K, STAGE)
    const atom::TmaLoadAtom load_b{arguments.b};
    const u32 bytes = static_cast<u32>(width + kWeights) * kRowBytes;

    WW_NO_UNROLL
    for (int k = range.first; k < range.first + range.blocks; ++k) {
      const pipeline::Stage stage = pipeline.producer_acquire(bytes);
      const int s = static_cast<int>(stage.index);
      if constexpr (kMajor == Major::k) {
        atom::copy(load_b.with(stage.full), gB(_, _, k), sB(_, _, s));
      } else {
        WW_UNROLL
        for (int row = 0; row < kWeights; row += mn_block(kType))
          atom::copy(load_b.with(stage.full), gB(_, _, k).rows_from(row), sB(_, _, s).rows_from(row));
      }
      copy_tokens(stage.full, s, k);
    }
  }

  // Clears accumulators even before wgmma overwrites them. To ptxas a register that is never written is live from the
  // kernel's start, and those of all widths would be live together.
  template <class Accumulator> WW_DEVICE static void clear(Accumulator& acc) {
    WW_UNROLL
    for (float& value : acc.r) value = 0.0f;
  }

  template <TokenWidth kWidth>
  WW_DEVICE static void issue(arch::SharedAddress base, u32 stage, int consumer_warpgroup, int mma_block,
                              typename Shape<kWidth>::Accumulator& acc, bool accumulate) {
    auto sA = shared_tokens(base)(_, _, static_cast<int>(stage));   // (TILE_M, TILE_K)
    auto sB = shared_weights(base)(_, _, static_cast<int>(stage));  // (TILE_N, TILE_K)
    if constexpr (kWidth.swapped) {
      const int row = consumer_warpgroup * kPart + mma_block * kWarpgroupRows;
      atom::gemm<kWeightsByTokens>(acc, sB.rows_from(row), sA, accumulate);  // (64, TILE_K) (TILE_M, TILE_K)
    } else {
      atom::gemm<kTokensByWeights>(acc, sA.rows_from(mma_block * kWarpgroupRows),
                                   sB.rows_from(consumer_warpgroup * kPart),
                                   accumulate);  // (64, TILE_K) (PART, TILE_K)
    }
  }

  // Promotes one k-block through partial accumulators: all MMA_M blocks in flight if registers allow, otherwise one
  // after the other.
  template <TokenWidth kWidth>
  WW_DEVICE static void promote_block(
      arch::SharedAddress base, Pipeline& pipeline, int consumer_warpgroup,
      typename Shape<kWidth>::Accumulator (&acc)[Shape<kWidth>::kMmaBlocks],
      typename Shape<kWidth>::Accumulator (&partial)[Shape<kWidth>::kOverlaps ? 2 : 1]) {
    using Shape = Shape<kWidth>;
    constexpr int kMmaBlocks = Shape::kMmaBlocks;
    static_assert(kMmaBlocks == 1 || kMmaBlocks == 2);
    const int thread = static_cast<int>(arch::thread_index() % arch::kWarpgroupSize);
    const pipeline::Stage stage = pipeline.consumer_wait();
    auto& first = partial[0];
    start<kWidth>(base, stage, consumer_warpgroup, 0, first);
    typename Shape::Scales scales;
    scales.read(Scales::slot(base + kShared.scales, stage.index, consumer_warpgroup), thread);
    if constexpr (kMmaBlocks == 1) {
      arch::wgmma::wait<0>(first);
      pipeline.consumer_release(stage);
      promote(acc[0], first, scales, 0);
    } else if constexpr (Shape::kOverlaps) {
      auto& second = partial[1];
      start<kWidth>(base, stage, consumer_warpgroup, 1, second);
      arch::wgmma::wait<1>(first);
      promote(acc[0], first, scales, 0);
      arch::wgmma::wait<0>(second);
      pipeline.consumer_release(stage);
      promote(acc[1], second, scales, 1);
    } else {
      arch::wgmma::wait<0>(first);
      promote(acc[0], first, scales, 0);
      start<kWidth>(base, stage, consumer_warpgroup, 1, first);
      arch::wgmma::wait<0>(first);
      pipeline.consumer_release(stage);
      promote(acc[1], first, scales, 1);
    }
  }

  template <TokenWidth kWidth>
  WW_DEVICE static void start(arch::SharedAddress base, pipeline::Stage stage, int consumer_warpgroup, int mma_block,
                              typename Shape<kWidth>::Accumulator& partial) {
    arch::wgmma::fence();
    issue<kWidth>(base, stage.index, consumer_warpgroup, mma_block, partial, false);
    arch::wgmma::commit();
  }

  template <class Accumulator, class ThreadScales>
  WW_DEVICE static void promote(Accumulator& acc, const Accumulator& partial, const ThreadScales& scales,
                                int mma_block) {
    auto&& products = arch::values(partial);
    auto&& sums = arch::values(acc);
    WW_UNROLL
    for (int v = 0; v < Accumulator::kValues; ++v) sums[v] = arch::fma(products[v], scales.at(mma_block, v), sums[v]);
    arch::put_back(acc, sums);
  }

  // The tensor core accumulates over all of K; one k-block stays in flight while the next is waited for.
  // It is a do-while loop, because a path around the loop would merge accumulators in flight with others, and ptxas
  // would serialise.
  template <TokenWidth kWidth>
  WW_DEVICE static void accumulate(int k_blocks, arch::SharedAddress base, Pipeline& pipeline, int consumer_warpgroup,
                                   typename Shape<kWidth>::Accumulator (&acc)[Shape<kWidth>::kMmaBlocks]) {
    constexpr int kMmaBlocks = Shape<kWidth>::kMmaBlocks;
    arch::wgmma::begin(acc);
    pipeline::Stage previous{};
    int k = 0;
    do {
      const pipeline::Stage stage = pipeline.consumer_wait();
      arch::wgmma::fence();
      WW_UNROLL
      for (int u = 0; u < kMmaBlocks; ++u) issue<kWidth>(base, stage.index, consumer_warpgroup, u, acc[u], k != 0);
      arch::wgmma::commit();
      arch::wgmma::wait<1>();  // the preceding k-block has been read
      if (k != 0) pipeline.consumer_release(previous);
      previous = stage;
    } while (++k < k_blocks);
    if constexpr (kMmaBlocks == 1) arch::wgmma::wait<0>(acc[0]);
    else arch::wgmma::wait<0>(acc[0], acc[1]);
    pipeline.consumer_release(previous);
  }
};

}  // namespace ww::mainloop
