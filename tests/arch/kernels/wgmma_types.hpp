// SPDX-License-Identifier: Apache-2.0
// wgmma of mixed FP8, e5m2, tf32 and MN-major operands: one warpgroup, four instructions along K, as single
// instructions and as the statement that holds four.
//   arg[0], arg[1] bytes of A's and B's images   arg[2], arg[3] swizzles   arg[4..6] leading, stride bytes and bytes
//   between instructions of A   arg[7] accumulate from the start   arg[8..10] those of B
// Input: A, B, accumulators. Output: accumulators. Accumulators are ordered (thread, value).
#pragma once

#include "wgmma_chain.hpp"

namespace ww::arch_test {

template <arch::MmaOperands kOperands, int kN> WW_DEVICE void wgmma_single(const Params& p) {
  const Operands o = stage_both(p);
  arch::Accumulator<kN> d;
  load_accumulator(p, d);
  arch::wgmma::fence();
  WW_UNROLL
  for (int step = 0; step < 4; ++step)
    arch::wgmma::mma<kOperands>(d, o.a + static_cast<u32>(step * p.arg[6]), o.b + static_cast<u32>(step * p.arg[10]),
                                step > 0 || p.arg[7] != 0);
  arch::wgmma::commit();
  arch::wgmma::wait<0>(d);
  store_accumulator(p.out, d);
}

template <arch::MmaOperands kOperands, int kN> WW_DEVICE void wgmma_stage(const Params& p) {
  const Operands o = stage_both(p);
  arch::Accumulator<kN> d;
  load_accumulator(p, d);
  arch::wgmma::fence();
  arch::wgmma::mma_row<kOperands>(d, o.a, o.b, p.arg[7] != 0);
  arch::wgmma::commit();
  arch::wgmma::wait<0>(d);
  store_accumulator(p.out, d);
}

#define WW_TEST_OPERANDS(name, ...)                                                                                  \
  WW_KERNEL(arch_wgmma_types_##name##_8, 128, Params, p) { wgmma_single<arch::MmaOperands(__VA_ARGS__), 8>(p); }     \
  WW_KERNEL(arch_wgmma_types_##name##_64, 128, Params, p) { wgmma_stage<arch::MmaOperands(__VA_ARGS__), 64>(p); }    \
  WW_KERNEL(arch_wgmma_types_##name##_136, 128, Params, p) { wgmma_single<arch::MmaOperands(__VA_ARGS__), 136>(p); } \
  WW_KERNEL(arch_wgmma_types_##name##_256, 128, Params, p) { wgmma_stage<arch::MmaOperands(__VA_ARGS__), 256>(p); }
WW_TEST_OPERANDS(e5m2, DType::e5m2)
WW_TEST_OPERANDS(e4m3_e5m2, DType::e4m3, DType::e5m2)
WW_TEST_OPERANDS(e5m2_e4m3, DType::e5m2, DType::e4m3)
WW_TEST_OPERANDS(tf32, DType::tf32)
WW_TEST_OPERANDS(bf16_mn_k, DType::bf16, DType::bf16, Major::mn, Major::k)
WW_TEST_OPERANDS(bf16_k_mn, DType::bf16, DType::bf16, Major::k, Major::mn)
WW_TEST_OPERANDS(bf16_mn_mn, DType::bf16, DType::bf16, Major::mn, Major::mn)
WW_TEST_OPERANDS(f16_mn_mn, DType::f16, DType::f16, Major::mn, Major::mn)
WW_KERNEL(arch_wgmma_types_swizzles, 128, Params, p) {
  wgmma_single<arch::MmaOperands(DType::bf16, DType::bf16, Major::mn, Major::mn), 64>(p);
}

}  // namespace ww::arch_test
