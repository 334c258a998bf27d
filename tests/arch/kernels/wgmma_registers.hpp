// SPDX-License-Identifier: Apache-2.0
// wgmma with A from registers: one warpgroup, four instructions along K, one or two to a statement. Fragments are read
// from the image of A as a GEMM reads them (atom/a_fragment.hpp), by ldmatrix or word by word.
// Arguments, input and output as wgmma_types.hpp has them.
#pragma once

#include "warpwright/atom/a_fragment.hpp"
#include "wgmma_chain.hpp"

namespace ww::arch_test {

/// Four instructions in four groups, each with a fragment of its own.
template <arch::MmaOperands kOperands, int kN, int kScaleA = 1> WW_DEVICE void wgmma_registers_single(const Params& p) {
  const Operands o = stage_both(p);
  const atom::SharedTile<kOperands.major_a> sA{arch::dynamic_shared()};
  const atom::FragmentReader<kOperands.a, kOperands.major_a> reader;
  const u32 step = static_cast<u32>(p.arg[10]);
  arch::Accumulator<kN> d;
  load_accumulator(p, d);
  arch::AFragment<1> a0, a1, a2, a3;
  reader.template load<0>(a0, sA);
  reader.template load<1>(a1, sA);
  reader.template load<2>(a2, sA);
  reader.template load<3>(a3, sA);
  arch::wgmma::fence();
  arch::wgmma::mma<kOperands, kScaleA>(d, a0, o.b, p.arg[7] != 0);
  arch::wgmma::commit();
  arch::wgmma::mma<kOperands, kScaleA>(d, a1, o.b + step, true);
  arch::wgmma::commit();
  arch::wgmma::mma<kOperands, kScaleA>(d, a2, o.b + 2 * step, true);
  arch::wgmma::commit();
  arch::wgmma::mma<kOperands, kScaleA>(d, a3, o.b + 3 * step, true);
  arch::wgmma::commit();
  arch::wgmma::wait<2>(a0, a1);
  arch::wgmma::wait<0>(d);
  arch::wgmma::wait<0>(a2, a3);
  store_accumulator(p.out, d);
}

/// Two statements; registers are loaded anew while the other half is in flight.
template <arch::MmaOperands kOperands, int kN> WW_DEVICE void wgmma_registers_pair(const Params& p) {
  stage_both(p);
  const atom::SharedTile<kOperands.major_a> sA{arch::dynamic_shared()};
  const atom::FragmentReader<kOperands.a, kOperands.major_a> reader;
  const atom::SharedTile<kOperands.major_b> sB{arch::dynamic_shared() + round_up(static_cast<u32>(p.arg[0]), 1024u)};
  arch::Accumulator<kN> d;
  load_accumulator(p, d);
  arch::AFragment<2> even, odd;
  reader.template load<2>(even, sA);  // the wrong half: replaced before anything reads it
  reader.template load<0>(even, sA);
  arch::wgmma::fence();
  atom::gemm<kOperands>(d, even, sB, 0, p.arg[7] != 0);
  arch::wgmma::commit();
  reader.template load<2>(odd, sA);
  arch::wgmma::fence();
  atom::gemm<kOperands>(d, odd, sB, 2, true);
  arch::wgmma::commit();
  arch::wgmma::wait<1>(even);
  reader.template load<2>(even, sA);  // the registers belong to the thread again; their old contents no longer matter
  arch::wgmma::wait<0>(d);
  arch::wgmma::wait<0>(even, odd);
  store_accumulator(p.out, d);
}

#define WW_TEST_REGISTERS(name, ...)                                \
  WW_KERNEL(arch_wgmma_registers_##name##_8, 128, Params, p) {      \
    wgmma_registers_single<arch::MmaOperands(__VA_ARGS__), 8>(p);   \
  }                                                                 \
  WW_KERNEL(arch_wgmma_registers_##name##_64, 128, Params, p) {     \
    wgmma_registers_pair<arch::MmaOperands(__VA_ARGS__), 64>(p);    \
  }                                                                 \
  WW_KERNEL(arch_wgmma_registers_##name##_136, 128, Params, p) {    \
    wgmma_registers_single<arch::MmaOperands(__VA_ARGS__), 136>(p); \
  }                                                                 \
  WW_KERNEL(arch_wgmma_registers_##name##_256, 128, Params, p) {    \
    wgmma_registers_pair<arch::MmaOperands(__VA_ARGS__), 256>(p);   \
  }
WW_TEST_REGISTERS(e4m3, DType::e4m3)
WW_TEST_REGISTERS(e5m2, DType::e5m2)
WW_TEST_REGISTERS(e4m3_e5m2, DType::e4m3, DType::e5m2)
WW_TEST_REGISTERS(e5m2_e4m3, DType::e5m2, DType::e4m3)
WW_TEST_REGISTERS(bf16, DType::bf16)
WW_TEST_REGISTERS(bf16_k_mn, DType::bf16, DType::bf16, Major::k, Major::mn)
WW_TEST_REGISTERS(bf16_mn_k, DType::bf16, DType::bf16, Major::mn, Major::k)
WW_TEST_REGISTERS(f16, DType::f16)
WW_TEST_REGISTERS(f16_mn_mn, DType::f16, DType::f16, Major::mn, Major::mn)
WW_TEST_REGISTERS(tf32, DType::tf32)
WW_TEST_REGISTERS(tf32_mn_k, DType::tf32, DType::tf32, Major::mn, Major::k)
WW_KERNEL(arch_wgmma_registers_negate, 128, Params, p) { wgmma_registers_single<DType::bf16, 64, -1>(p); }

}  // namespace ww::arch_test
