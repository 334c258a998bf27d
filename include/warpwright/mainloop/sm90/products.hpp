// SPDX-License-Identifier: Apache-2.0
// The products of a stage by wgmma, with A and B in shared memory, and the loop that accumulates them over all of K.
// A `Products` names what it multiplies from a stage into an accumulator:
//   issue(stage, u, acc, accumulate)   the MMAs of MMA_M block u, between a fence and a commit of the caller
//   start(stage, u, partial)           one group of MMAs that overwrites partial
//   product(stage, u, partial)         the same, and waits for it
// Others: sm90/register_products.hpp (A through registers), sm90/ragged_mainloop.hpp (tiles of tokens).
#pragma once

#include "warpwright/atom/mma_atom.hpp"
#include "warpwright/config/config_parameter.hpp"
#include "warpwright/mainloop/sm90/stage_transpose.hpp"
#include "warpwright/mainloop/stage_loads.hpp"

namespace ww::mainloop {

/// start() and product() over the issue() of `Self`.
template <class Self> struct PartialProducts {
  template <class Accumulator> WW_DEVICE void start(pipeline::Stage stage, int mma_block, Accumulator& partial) const {
    arch::wgmma::fence();
    static_cast<const Self*>(this)->issue(stage, mma_block, partial, false);
    arch::wgmma::commit();
  }
  template <class Accumulator> WW_DEVICE static void finish(Accumulator& partial) { arch::wgmma::wait<0>(partial); }
  template <class Accumulator>
  WW_DEVICE void product(pipeline::Stage stage, int mma_block, Accumulator& partial) const {
    start(stage, mma_block, partial);
    finish(partial);
  }
};

/// Of one consumer warpgroup of the dense kernel: its MMA_M blocks of A with B, (64, TILE_N) each.
template <ConfigParameter kConfig> struct SharedProducts : PartialProducts<SharedProducts<kConfig>> {
  using Loads = StageLoads<kConfig>;
  static constexpr bool kTransposesB = transposes_b(kConfig);
  static constexpr Major kMajorB = major_of_b(kConfig);  // as wgmma reads it
  static constexpr arch::MmaOperands kOperands{kConfig.operands.a, kConfig.operands.b, kConfig.operands.layout.a,
                                               kMajorB};
  static constexpr int kMmaBlocks = mma_blocks_of(kConfig);
  static constexpr int kTransposeBarrier = 8;  // first of its named barriers; epilogues use those before
  static constexpr SharedPlan kShared = Loads::kShared;
  static constexpr int kBlockBytes = kWarpgroupRows * kRowBytes;  // of A, from one MMA_M block to the next
  // Descriptors of a stage are those of the first stage and an offset, which saves two instructions of each. With two
  // partial accumulators ptxas has no registers for that.
  static constexpr bool kAdvances =
      promotes(kConfig) && partial_accumulators(kConfig) == 1 && pipeline::unrolls_rounds(kConfig.sm90.stages);
  arch::SharedAddress base;
  int consumer_warpgroup;
  arch::MatrixDescriptor first_a, first_b;  // of the first stage, with kAdvances

  WW_DEVICE SharedProducts(arch::SharedAddress of_cta, int warpgroup) : base(of_cta), consumer_warpgroup(warpgroup) {
    if constexpr (kAdvances) {
      first_a = atom::descriptor_of(operand_a({}, 0));
      first_b = atom::descriptor_of(operand_b({}));
    }
  }

  /// Returns the next stage, filled and in the layout that wgmma takes.
  template <class Pipeline> WW_DEVICE pipeline::Stage next_stage(Pipeline& pipeline) const {
    const pipeline::Stage stage = pipeline.consumer_wait();
    if constexpr (kTransposesB) {
      // In pingpong each warpgroup has all rows of its tile, as if it were the first.
      const int self = tiles_in_flight(kConfig) == 1
                           ? consumer_warpgroup
                           : static_cast<int>(arch::warp::uniform(arch::warpgroup_index())) - 1;
      StageTranspose<kConfig.tile.n, warpgroups_of_tile(kConfig), tiles_in_flight(kConfig), kTransposeBarrier>::run(
          operand_b(stage).address, self);
    }
    return stage;
  }

  /// Returns one MMA_M block of A of a stage, (64, TILE_K), and B, (TILE_N, TILE_K).
  WW_DEVICE auto operand_a(pipeline::Stage stage, int mma_block) const {
    return Loads::shared_a(base)(_, _, static_cast<int>(stage.index))
        .rows_from((consumer_warpgroup * kMmaBlocks + mma_block) * kWarpgroupRows);
  }
  WW_DEVICE atom::SharedTile<kMajorB> operand_b(pipeline::Stage stage) const {
    return {Loads::shared_b(base)(_, _, static_cast<int>(stage.index)).address};
  }

  template <class Accumulator>
  WW_DEVICE void issue(pipeline::Stage stage, int mma_block, Accumulator& acc, bool accumulate) const {
    if constexpr (kAdvances)
      atom::gemm<kOperands>(acc, first_a.advanced(stage.index * kShared.a_stage + mma_block * kBlockBytes),
                            first_b.advanced(stage.index * kShared.b_stage), accumulate);
    else atom::gemm<kOperands>(acc, operand_a(stage, mma_block), operand_b(stage), accumulate);
  }
};

/// Waits for all MMAs, whose accumulators then belong to the thread again.
template <class Accumulator, int kMmaBlocks> WW_DEVICE void finish_all(Accumulator (&acc)[kMmaBlocks]) {
  static_assert(kMmaBlocks <= 2);
  if constexpr (kMmaBlocks == 1) arch::wgmma::wait<0>(acc[0]);
  else arch::wgmma::wait<0>(acc[0], acc[1]);
}

/// Computes acc = the products of k_blocks >= 1. All threads of a consumer warpgroup call it in their turn, which ends
/// when the last MMAs are issued.
// The tensor core accumulates over all of K; one k-block stays in flight while the next is waited for.
// It is a do-while loop, because a path around the loop would merge accumulators in flight with others, and ptxas
// would serialise (C7511).
template <class Products, class Pipeline, class Order, class Accumulator, int kMmaBlocks>
WW_DEVICE void accumulate(const Products& products, int k_blocks, Pipeline& pipeline, Accumulator (&acc)[kMmaBlocks],
                          Order& order) {
  arch::wgmma::begin(acc);
  pipeline::Stage previous{};
  int k = 0;
  do {
    const pipeline::Stage stage = products.next_stage(pipeline);
    arch::wgmma::fence();
    WW_UNROLL
    for (int u = 0; u < kMmaBlocks; ++u) products.issue(stage, u, acc[u], k != 0);
    arch::wgmma::commit();
    arch::wgmma::wait<1>();  // the preceding k-block has been read
    if (k != 0) pipeline.consumer_release(previous);
    previous = stage;
  } while (++k < k_blocks);
  order.arrive();
  finish_all(acc);
  pipeline.consumer_release(previous);
}

}  // namespace ww::mainloop
