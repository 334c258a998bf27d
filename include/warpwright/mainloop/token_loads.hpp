// SPDX-License-Identifier: Apache-2.0
// Fills the ring of the token kernels by TMA from one thread.
//   stage: tokens (width <= TILE_M, TILE_K) | weights (TILE_N, TILE_K)
// Tokens start at any row: in boxes of a few sizes, or in one box of the tensor map of their group.
#pragma once

#include "warpwright/atom/tma_atom.hpp"
#include "warpwright/config/config_parameter.hpp"
#include "warpwright/config/gemm_arguments.hpp"
#include "warpwright/config/grouped_arguments.hpp"
#include "warpwright/config/shared_memory.hpp"
#include "warpwright/pipeline/tma_pipeline.hpp"
#include "warpwright/scheduler/token_tile.hpp"

namespace ww::mainloop {

using namespace config;
using scheduler::TokenTile;

template <ConfigParameter kConfig> struct TokenLoads {
  static constexpr DType kType = kConfig.operands.a;
  static constexpr int kTokens = kConfig.tile.m, kWeights = kConfig.tile.n, kTileK = kConfig.tile.k;
  static constexpr GroupedSharedPlan kShared = grouped_shared_plan(kConfig);
  static constexpr Major kMajor = kConfig.operands.layout.b;    // of weights
  using SharedTokens = atom::SharedOperand<kTokens>;            // (TILE_M, TILE_K, STAGE)
  using SharedWeights = atom::SharedOperand<kWeights, kMajor>;  // (TILE_N, TILE_K, STAGE)

  WW_DEVICE static SharedTokens shared_tokens(arch::SharedAddress base) { return {base + kShared.tokens}; }
  WW_DEVICE static SharedWeights shared_weights(arch::SharedAddress base) { return {base + kShared.weights}; }

  /// Loads k-blocks `range` of `tile`, `width` tokens each (those past the tile's rows are loaded and ignored). One
  /// thread calls it.
  template <class Pipeline>
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
  template <class Pipeline>
  WW_DEVICE static void load_group(const GroupedArguments& arguments, arch::SharedAddress base, Pipeline& pipeline,
                                   const TokenTile& tile, const arch::TensorMap& group_a, int row) {
    load_blocks(arguments, base, pipeline, tile, {0, arguments.k_blocks}, kTokens,
                [&](arch::MBarrier full, int s, int k) {
                  atom::copy(atom::TmaLoadAtom{group_a}.with(full), atom::Box<false>{row, k * kTileK},
                             shared_tokens(base)(_, _, s));
                });
  }

 private:
  /// Acquires a stage for each k-block and copies weights; copy_tokens(barrier, stage, k) copies the tokens.
  // The caller passes no generic lambda, because NVRTC takes one for a host function.
  template <class Pipeline, class CopyTokens>
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
      atom::copy_tile<kType, kWeights>(load_b.with(stage.full), gB(_, _, k), sB(_, _, s));
      copy_tokens(stage.full, s, k);
    }
  }
};

}  // namespace ww::mainloop
