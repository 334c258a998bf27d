// SPDX-License-Identifier: Apache-2.0
// Loads the block scales of a ragged tile for the consumer threads. Warps of the producer warpgroup read scale_a of the
// tile's tokens and scale_b of its weights from global memory, multiply them, and store them into the stage.
//   slot of a stage: (128-column blocks of the weight tile, TILE_M) floats, fl(scale_a[token] * scale_b[block])
// Scales need no padding and no alignment: tokens past the group's end use the last scale, and their products are not
// stored.
#pragma once

#include "warpwright/arch/common/convert.hpp"
#include "warpwright/arch/common/global.hpp"
#include "warpwright/arch/common/math.hpp"
#include "warpwright/atom/fragment.hpp"
#include "warpwright/config/gemm_arguments.hpp"
#include "warpwright/config/grouped_arguments.hpp"
#include "warpwright/config/sizes.hpp"
#include "warpwright/pipeline/tma_pipeline.hpp"
#include "warpwright/scheduler/token_tile.hpp"

namespace ww::mainloop {

using namespace config;
using scheduler::TokenTile;

template <int kTokens, int kWeights> struct RaggedScales {
  static constexpr int kBlocks = ceil_div(kWeights, kScaleBlock);
  static constexpr int kSlotBytes = kBlocks * kTokens * 4;
  static constexpr int kWarps = kTokens > 32 ? 2 : 1;
  static constexpr int kLanes = kWarps * static_cast<int>(arch::kWarpSize);
  static constexpr int kRows = ceil_div(kTokens, kLanes);      // of one lane: i, i + kLanes
  static constexpr int kBatch = kRows * kBlocks == 1 ? 4 : 2;  // k-blocks loaded together; more would spill

  /// Returns where the scales of a consumer warpgroup's columns start.
  WW_DEVICE static arch::SharedAddress slot(arch::SharedAddress slots, u32 stage, int consumer_warpgroup) {
    return slots + (stage * kSlotBytes + consumer_warpgroup * kWeights / 2 / kScaleBlock * (kTokens * 4));
  }

  /// Loads the scales of k-blocks `range` of `tile`. All lanes of scale warp `warp` < kWarps call it.
  template <class Pipeline>
  WW_DEVICE static void load(const GroupedArguments& arguments, arch::SharedAddress slots, Pipeline& pipeline,
                             const TokenTile& tile, KRange range, u32 warp) {
    const int last = range.first + range.blocks;
    const int lane = static_cast<int>(warp * arch::kWarpSize + arch::lane_index());
    const float* const of_group = arguments.scale_a + tile.group * arguments.scale_a_group;
    const float* a[kRows];
    const float* b[kBlocks];
    WW_UNROLL
    for (int r = 0; r < kRows; ++r)
      a[r] = of_group + (tile.row + min(lane + kLanes * r, tile.rows - 1)) * arguments.scale_a_row;
    WW_UNROLL
    for (int j = 0; j < kBlocks; ++j) {
      const int block = min(tile.tile_n * kWeights + j * kScaleBlock, arguments.n - 1) / kScaleBlock;
      b[j] = arguments.scale_b + tile.group * arguments.scale_b_group + block * arguments.scale_b_n;
    }
    for (int k0 = range.first; k0 < last; k0 += kBatch) {
      // The products are computed later, so that every load is in flight before the first product waits for one.
      float token[kBatch][kRows], weight[kBatch][kBlocks];
      WW_UNROLL
      for (int i = 0; i < kBatch; ++i) {
        const int k = min(k0 + i, last - 1);
        WW_UNROLL
        for (int j = 0; j < kBlocks; ++j) weight[i][j] = arch::global::load_constant(b[j] + k * arguments.scale_b_k);
        WW_UNROLL
        for (int r = 0; r < kRows; ++r) token[i][r] = arch::global::load_constant(a[r] + k * arguments.scale_a_k);
      }
      WW_UNROLL
      for (int i = 0; i < kBatch; ++i) {
        if (k0 + i >= last) break;
        const pipeline::Stage stage = pipeline.storer_acquire();
        WW_UNROLL
        for (int j = 0; j < kBlocks; ++j) {
          WW_UNROLL
          for (int r = 0; r < kRows; ++r) {
            if (kTokens % kLanes != 0 && lane + kLanes * r >= kTokens) break;
            arch::shared::store(slots + (stage.index * kSlotBytes + 4 * (j * kTokens + lane + kLanes * r)),
                                arch::bits_of(arch::mul(token[i][r], weight[i][j])));
          }
        }
        pipeline.storer_commit(stage);
      }
    }
  }
};

/// The scales of one k-block in a consumer thread's registers, as promotion needs them for value v of an MMA_M block.
template <int kMmaBlocks, class F, bool kTokensAlong = F::kPairsAlongM> struct ThreadScales;

// Tokens are lines of the fragments F.
template <int kMmaBlocks, class F> struct ThreadScales<kMmaBlocks, F, false> {
  using L = typename F::Layout;
  float lines[kMmaBlocks][F::kLines];

  WW_DEVICE void read(arch::SharedAddress slot, int thread) {
    WW_UNROLL
    for (int u = 0; u < kMmaBlocks; ++u) {
      WW_UNROLL
      for (int i = 0; i < F::kLines; ++i)
        lines[u][i] = arch::float_of(
            arch::shared::load(slot + 4 * (L::first_line(thread) + L::kLineExtent * u + L::line_offset(i))));
    }
  }
  WW_DEVICE float at(int mma_block, int v) const { return lines[mma_block][L::line_of(v)]; }
};

// Tokens lie along the lines: pairs of them, the same for all MMA_M blocks.
template <int kMmaBlocks, class F> struct ThreadScales<kMmaBlocks, F, true> {
  using L = typename F::Layout;
  arch::Words<2> pairs[F::kPairs];

  WW_DEVICE void read(arch::SharedAddress slot, int thread) {
    WW_UNROLL
    for (int j = 0; j < F::kPairs; ++j)
      pairs[j] = arch::shared::load2(slot + 4 * (L::first_along(thread) + L::pair_offset(j)));
  }
  WW_DEVICE float at(int, int v) const { return arch::float_of(pairs[L::pair_of(v)].w[v % 2]); }
};

}  // namespace ww::mainloop
