// SPDX-License-Identifier: Apache-2.0
// The mainloop with A from registers: consumer warpgroups load A from the stage into registers, from which the tensor
// core reads it; B comes from shared memory as usual.
//   half a stage at a time: load it into one fragment -> multiply;   the other half's MMAs are in flight meanwhile
//   stage:  | load 0 | multiply 0 | load 1 | multiply 1 |     a fragment is loaded again when the MMAs that read it,
//           fragment    even                  odd             two halves before, have finished
// It supports layouts of A that wgmma cannot read from shared memory (M-major tf32). Everything else is inherited from
// Mainloop.
#pragma once

#include "warpwright/atom/a_fragment.hpp"
#include "warpwright/mainloop/sm90/mainloop.hpp"

namespace ww::mainloop {

template <GemmConfig kConfig> struct RegisterMainloop : Mainloop<kConfig> {
  static_assert(a_from_registers(kConfig));
  using Base = Mainloop<kConfig>;
  using Base::kOperands, Base::kType, Base::kMmaBlocks;
  using typename Base::Accumulator;
  using typename Base::Pipeline;
  static constexpr int kSteps = 2;  // of the four of a stage
  static constexpr int kHalves = 2;
  using Fragment = arch::AFragment<kSteps>;
  using Reader = atom::FragmentReader<kType, kConfig.operands.layout.a>;

  /// As in Mainloop.
  template <bool kVariesK, class Order>
  WW_DEVICE static void multiply(int k_blocks, arch::SharedAddress base, Pipeline& pipeline, int consumer_warpgroup,
                                 Accumulator (&acc)[kMmaBlocks], Order& order, int offset) {
    Base::template multiply_as<RegisterMainloop, kVariesK>(k_blocks, base, pipeline, consumer_warpgroup, acc, order,
                                                           offset);
  }

  // As in Mainloop, which explains the do-while loop.
  template <class Order>
  WW_DEVICE static void multiply_plain(int k_blocks, arch::SharedAddress base, Pipeline& pipeline,
                                       int consumer_warpgroup, Accumulator (&acc)[kMmaBlocks], Order& order) {
    const Reader reader;
    arch::wgmma::begin(acc);
    Fragment half[kHalves] = {};
    pipeline::Stage previous{};
    int k = 0;
    do {
      const pipeline::Stage stage = Base::next_stage(base, pipeline, consumer_warpgroup);
      WW_UNROLL
      for (int u = 0; u < kMmaBlocks; ++u) {
        multiply_half<0>(reader, base, stage, consumer_warpgroup, u, acc[u], half[0], k != 0);
        multiply_half<1>(reader, base, stage, consumer_warpgroup, u, acc[u], half[1], true, [&] {
          if (u == 0) pipeline.consumer_release_if(k != 0, previous);  // none of its MMAs is in flight any more
        });
      }
      previous = stage;
    } while (++k < k_blocks);
    order.arrive();
    if constexpr (kMmaBlocks == 1) arch::wgmma::wait<0>(acc[0], half[0], half[1]);
    else arch::wgmma::wait<0>(acc[0], acc[1], half[0], half[1]);
    pipeline.consumer_release(previous);
  }

  // Multiplies one MMA_M block's rows of a stage with B into partial (64, TILE_N), and waits for it.
  WW_DEVICE static void product(arch::SharedAddress base, pipeline::Stage stage, int consumer_warpgroup, int mma_block,
                                Accumulator& partial) {
    const Reader reader;
    Fragment early, late;
    const auto sA =
        Base::mma_block_rows(Base::shared_a(base), consumer_warpgroup, mma_block, stage.index);  // (64, TILE_K)
    const auto sB = Base::operand_b(base, stage);                                                // (TILE_N, TILE_K)
    reader.template load<0>(early, sA);
    reader.template load<kSteps>(late, sA);
    arch::wgmma::fence();
    atom::gemm<kOperands>(partial, early, sB, 0, false);
    atom::gemm<kOperands>(partial, late, sB, kSteps, true);
    arch::wgmma::commit();
    arch::wgmma::wait<0>(partial, early, late);
  }

 private:
  struct Nothing {
    WW_DEVICE void operator()() const {}
  };

  // Adds one half of a stage to acc: its k, one MMA_M block's rows. `between` runs when all but the newest MMAs have
  // finished.
  template <int kHalf, class Between = Nothing>
  WW_DEVICE static void multiply_half(const Reader& reader, arch::SharedAddress base, pipeline::Stage stage,
                                      int consumer_warpgroup, int mma_block, Accumulator& acc, Fragment& half,
                                      bool accumulate, Between between = {}) {
    arch::wgmma::wait<1>(half);  // its old contents have been read ...
    between();
    reader.template load<kHalf * kSteps>(
        half, Base::mma_block_rows(Base::shared_a(base), consumer_warpgroup, mma_block, stage.index));
    arch::wgmma::fence();  // ... and written anew
    atom::gemm<kOperands>(acc, half, Base::operand_b(base, stage), kHalf * kSteps, accumulate);
    arch::wgmma::commit();
  }
};

/// The mainloop of a config with roles.
template <GemmConfig kConfig, bool kFromRegisters = a_from_registers(kConfig)> struct MainloopOf {
  using type = Mainloop<kConfig>;
};
template <GemmConfig kConfig> struct MainloopOf<kConfig, true> { using type = RegisterMainloop<kConfig>; };

}  // namespace ww::mainloop
