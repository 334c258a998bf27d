// SPDX-License-Identifier: Apache-2.0
// Promotion: the tensor core multiplies one k-block into a partial accumulator, which the thread scales and adds to its
// FP32 sums. Hopper keeps 13 fraction bits while it accumulates FP8, which suffices for 128 products
// (docs/numerics.md).
//   one_by_one   one partial accumulator: multiply an MMA_M block, promote it, multiply the next
//   alternate    two, of consecutive k-blocks: one is multiplied while the other is promoted
//   together     two, of the two MMA_M blocks of one k-block
// Accumulators in flight must reach every wait on one path only, or ptxas serialises (C7511). So there are three
// functions, and not one loop with conditions.
#pragma once

#include "warpwright/arch/common/math.hpp"
#include "warpwright/arch/sm90/wgmma.hpp"
#include "warpwright/pipeline/tma_pipeline.hpp"

namespace ww::mainloop {

/// Adds partial times the scales of its values to acc, one rounding each. mainloop/thread_scales.hpp has factors.
template <class Accumulator, class Factors>
WW_DEVICE void promote(Accumulator& acc, const Accumulator& partial, const Factors& factors) {
  if constexpr (Factors::kRun > 0) {
    WW_UNROLL
    for (int first = 0; first < Accumulator::kValues; first += Factors::kRun) {
      const auto scale = factors.of_run(first);
      arch::wgmma::add_scaled<Factors::kRun>(acc, partial, scale.upper, scale.lower, first);
    }
  } else {
    using Layout = typename Accumulator::Layout;
    auto&& products = arch::values(partial);
    auto&& sums = arch::values(acc);
    WW_UNROLL
    for (int pair = 0; pair < Layout::kPairs; ++pair) {
      const auto scale = factors.of_pair(Layout::pair_offset(pair));
      WW_UNROLL
      for (int line = 0; line < Layout::kLines; ++line) {
        WW_UNROLL
        for (int e = 0; e < 2; ++e) {
          const int v = Layout::value(line, pair) + e;
          sums[v] = arch::fma(products[v], scale.of(line, e), sums[v]);
        }
      }
    }
    arch::put_back(acc, sums);
  }
}

/// `Products` multiplies (sm90/products.hpp). `Reader` reads this thread's scales of a stage: reader(stage) returns
/// Reader::Scales, before the MMAs are issued or, with Reader::kInFlight, after.
template <class Products, class Reader> struct Promotion {
  using Scales = typename Reader::Scales;
  static constexpr int kUnrolledValues = 512;  // of a thread, promoted in one iteration of in_rounds()
  Products products;
  Reader reader;

  /// One k-block in flight through the tensor core: the stage that its MMAs read, and their scales.
  struct Block {
    pipeline::Stage stage;
    Scales scales;
  };

  /// Promotes one k-block, of which each MMA_M block takes its turn in `partial`. `token` is of its stage. Returns that
  /// of the next, which is polled before the last promotion. `last`: none follows, or it is not polled.
  template <class Pipeline, class Order, class Accumulator, int kMmaBlocks>
  WW_DEVICE pipeline::WaitToken one_by_one(Pipeline& pipeline, Accumulator (&acc)[kMmaBlocks], Accumulator& partial,
                                           bool last, Order& order, pipeline::WaitToken token) const {
    const pipeline::Stage stage = pipeline.consumer_wait(token);
    if constexpr (Reader::kInFlight) {
      products.start(stage, 0, partial);
      const Block block{stage, reader(stage)};
      products.finish(partial);
      return promote_block<0>(pipeline, acc, partial, block, last, order);
    } else {
      const Block block{stage, reader(stage)};
      products.product(stage, 0, partial);
      return promote_block<0>(pipeline, acc, partial, block, last, order);
    }
  }

  /// Promotes k_blocks >= 1, of which each MMA_M block takes its turn in one partial accumulator.
  // A warpgroup feeds the tensor core nothing between its last promotion of a k-block and its next MMA, and two
  // warpgroups in turns hide little of that. So it polls the next stage before it promotes, and whole rounds of the
  // ring run without a test of the stage index. With 256 x 128 tiles at 4096 x 7168 x 16384 the tensor core went from
  // 86 to 91 % busy, and the product from 0.92 to 0.985 of DeepGEMM's speed at the power limit (H200, CUDA 13.0,
  // 2026-11-23; bench/results/2026-11-23_h200_block_stages.json).
  // Whole rounds of the ring are unrolled, because the addresses of a stage are then constants and its parity is that
  // of the round, which saves half of the instructions beside MMAs and promotion. Long rounds are not, because their
  // code would not fit the instruction cache.
  template <class Pipeline, class Order, class Accumulator, int kMmaBlocks>
  WW_DEVICE void in_rounds(int k_blocks, Pipeline& pipeline, Accumulator (&acc)[kMmaBlocks], Order& order) const {
    constexpr int kRound = Pipeline::kRound;
    if constexpr (Pipeline::kUnrolls && kRound * kMmaBlocks * Accumulator::kValues <= kUnrolledValues) {
      pipeline::WaitToken token;
      int left = k_blocks;
      WW_NO_UNROLL
      do {
        Accumulator partial;
        if (left >= kRound && pipeline.starts_round()) {
          WW_NO_UNROLL
          do {
            left -= kRound;
            WW_UNROLL
            for (int i = 0; i < kRound; ++i)
              token = one_by_one(pipeline, acc, partial, i + 1 == kRound && left == 0, order, token);
          } while (left >= kRound);
        } else {
          --left;
          token = one_by_one(pipeline, acc, partial, left == 0, order, token);
        }
      } while (left > 0);
    } else {
      pipeline::WaitToken token;
      for (int k = 0; k < k_blocks; ++k) {
        Accumulator partial;
        token = one_by_one(pipeline, acc, partial, k + 1 == k_blocks, order, token);
      }
    }
  }

  /// Promotes k_blocks >= 1.
  template <class Pipeline, class Order, class Accumulator>
  WW_DEVICE void alternate(int k_blocks, Pipeline& pipeline, Accumulator& acc, Order& order) const {
    Accumulator even, odd;
    Block even_block = start(pipeline, even);
    int k = 0;  // the block in `even`
    WW_NO_UNROLL
    for (; k + 2 < k_blocks; k += 2) {
      const Block odd_block = start(pipeline, odd);
      arch::wgmma::wait<1>(even);            // `even` belongs to the thread again: only now may it be read ...
      release_before(pipeline, even_block);  // ... and its stage be overwritten
      promote(acc, even, even_block.scales.of_block(0));
      release_after(pipeline, even_block);
      even_block = start(pipeline, even);
      arch::wgmma::wait<1>(odd);
      release_before(pipeline, odd_block);
      promote(acc, odd, odd_block.scales.of_block(0));
      release_after(pipeline, odd_block);
    }
    if (k + 1 < k_blocks) {
      const Block odd_block = start(pipeline, odd);
      order.arrive();
      arch::wgmma::wait<0>(even, odd);
      release_before(pipeline, even_block);
      release_before(pipeline, odd_block);
      promote(acc, even, even_block.scales.of_block(0));
      promote(acc, odd, odd_block.scales.of_block(0));
      release_after(pipeline, even_block);
      release_after(pipeline, odd_block);
    } else {
      order.arrive();
      arch::wgmma::wait<0>(even);
      release_before(pipeline, even_block);
      promote(acc, even, even_block.scales.of_block(0));
      release_after(pipeline, even_block);
    }
  }

  /// Promotes one k-block of two MMA_M blocks.
  template <class Pipeline, class Accumulator>
  WW_DEVICE void together(Pipeline& pipeline, Accumulator (&acc)[2], Accumulator (&partial)[2]) const {
    const pipeline::Stage stage = pipeline.consumer_wait();
    products.start(stage, 0, partial[0]);
    const Scales scales = reader(stage);
    products.start(stage, 1, partial[1]);
    arch::wgmma::wait<1>(partial[0]);
    promote(acc[0], partial[0], scales.of_block(0));
    arch::wgmma::wait<0>(partial[1]);
    pipeline.consumer_release(stage);
    promote(acc[1], partial[1], scales.of_block(1));
  }

 private:
  template <class Pipeline, class Accumulator> WW_DEVICE Block start(Pipeline& pipeline, Accumulator& partial) const {
    const pipeline::Stage stage = pipeline.consumer_wait();
    const Block block{stage, reader(stage)};
    products.start(stage, 0, partial);
    return block;
  }

  // Promotes MMA_M block kBlock, whose products are in `partial`, then multiplies and promotes those after it. Returns
  // the token of the next stage.
  template <int kBlock, class Pipeline, class Order, class Accumulator, int kMmaBlocks>
  WW_DEVICE pipeline::WaitToken promote_block(Pipeline& pipeline, Accumulator (&acc)[kMmaBlocks], Accumulator& partial,
                                              const Block& block, bool last, Order& order) const {
    if constexpr (kBlock + 1 == kMmaBlocks) {
      pipeline::WaitToken next;
      release_before(pipeline, block);
      if (last) order.arrive();  // only now, because no branch may separate accumulators in flight (C7511)
      else next = pipeline.consumer_try_wait();
      promote(acc[kBlock], partial, block.scales.of_block(kBlock));
      release_after(pipeline, block);
      return next;
    } else {
      promote(acc[kBlock], partial, block.scales.of_block(kBlock));
      products.product(block.stage, kBlock + 1, partial);
      return promote_block<kBlock + 1>(pipeline, acc, partial, block, last, order);
    }
  }

  // Releases a stage whose MMAs have finished, unless promotion still reads the scales of B in it.
  template <class Pipeline> WW_DEVICE static void release_before(Pipeline& pipeline, const Block& block) {
    if constexpr (!Scales::kReadsStage) pipeline.consumer_release(block.stage);
  }
  template <class Pipeline> WW_DEVICE static void release_after(Pipeline& pipeline, const Block& block) {
    if constexpr (Scales::kReadsStage) pipeline.consumer_release(block.stage);
  }
};

}  // namespace ww::mainloop
