// SPDX-License-Identifier: Apache-2.0
// Products with A from registers: consumer warpgroups load A from the stage into registers, from which the tensor core
// reads it; B comes from shared memory as usual.
//   half a stage at a time: load it into one fragment -> multiply;   the other half's MMAs are in flight meanwhile
//   stage:  | load 0 | multiply 0 | load 1 | multiply 1 |     a fragment is loaded again when the MMAs that read it,
//           fragment    even                  odd             two halves before, have finished
// It supports layouts of A that wgmma cannot read from shared memory (M-major tf32).
#pragma once

#include "warpwright/arch/common/fence.hpp"
#include "warpwright/atom/a_fragment.hpp"
#include "warpwright/config/config_parameter.hpp"
#include "warpwright/mainloop/sm90/products.hpp"

namespace ww::mainloop {

template <ConfigParameter kConfig> struct RegisterProducts : SharedProducts<kConfig> {
  static_assert(a_from_registers(kConfig));
  using Base = SharedProducts<kConfig>;
  using Base::kOperands, Base::kMmaBlocks;
  using Base::operand_a, Base::operand_b;
  static constexpr int kSteps = 2;  // of the four of a stage
  static constexpr int kHalves = 2;
  using Fragment = arch::AFragment<kSteps>;
  using Reader = atom::FragmentReader<kConfig.operands.a, kConfig.operands.layout.a>;

  WW_DEVICE RegisterProducts(arch::SharedAddress of_cta, int warpgroup) : Base(of_cta, warpgroup) {}

  /// As mainloop::accumulate, which explains the do-while loop.
  template <class Pipeline, class Order, class Accumulator>
  WW_DEVICE void accumulate(int k_blocks, Pipeline& pipeline, Accumulator (&acc)[kMmaBlocks], Order& order) const {
    const Reader reader;
    arch::wgmma::begin(acc);
    Fragment half[kHalves] = {};
    pipeline::Stage previous{};
    int k = 0;
    do {
      const pipeline::Stage stage = Base::next_stage(pipeline);
      WW_UNROLL
      for (int u = 0; u < kMmaBlocks; ++u) {
        multiply_half<0>(reader, stage, u, acc[u], half[0], k != 0);
        multiply_half<1>(reader, stage, u, acc[u], half[1], true, [&] {
          if (u == 0) pipeline.consumer_release_if(k != 0, previous);  // none of its MMAs is in flight any more
        });
      }
      end_reads();
      previous = stage;
    } while (++k < k_blocks);
    order.arrive();
    if constexpr (kMmaBlocks == 1) arch::wgmma::wait<0>(acc[0], half[0], half[1]);
    else arch::wgmma::wait<0>(acc[0], acc[1], half[0], half[1]);
    pipeline.consumer_release(previous);
  }

  /// Multiplies one MMA_M block's rows of a stage with B into partial (64, TILE_N), and waits for it.
  template <class Accumulator>
  WW_DEVICE void product(pipeline::Stage stage, int mma_block, Accumulator& partial) const {
    const Reader reader;
    Fragment early, late;
    const auto sA = operand_a(stage, mma_block);  // (64, TILE_K)
    const auto sB = operand_b(stage);             // (TILE_N, TILE_K)
    reader.template load<0>(early, sA);
    reader.template load<kSteps>(late, sA);
    arch::wgmma::fence();
    atom::gemm<kOperands>(partial, early, sB, 0, false);
    atom::gemm<kOperands>(partial, late, sB, kSteps, true);
    arch::wgmma::commit();
    end_reads();
    arch::wgmma::wait<0>(partial, early, late);
  }

 private:
  // Orders the thread's reads of A before the next load of the stage. Reads by ordinary instructions need that, because
  // the load belongs to the async proxy; wgmma's own reads do not. It stands where MMAs are in flight, which hide its
  // time.
  WW_DEVICE static void end_reads() { arch::fence::proxy_async_shared(); }

  struct Nothing {
    WW_DEVICE void operator()() const {}
  };

  // Adds one half of a stage to acc: its k, one MMA_M block's rows. `between` runs when all but the newest MMAs have
  // finished.
  template <int kHalf, class Accumulator, class Between = Nothing>
  WW_DEVICE void multiply_half(const Reader& reader, pipeline::Stage stage, int mma_block, Accumulator& acc,
                               Fragment& half, bool accumulate, Between between = {}) const {
    arch::wgmma::wait<1>(half);  // its old contents have been read ...
    between();
    reader.template load<kHalf * kSteps>(half, operand_a(stage, mma_block));
    arch::wgmma::fence();  // ... and written anew
    atom::gemm<kOperands>(acc, half, operand_b(stage), kHalf * kSteps, accumulate);
    arch::wgmma::commit();
  }
};

}  // namespace ww::mainloop
