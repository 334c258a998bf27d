// SPDX-License-Identifier: Apache-2.0
// wgmma in chains of four along K, with operands negated, and with two accumulators in flight.
#pragma once

#include "wgmma_chain.hpp"

namespace ww::arch_test {

#define WW_TEST_WGMMA(type, n) \
  WW_KERNEL(arch_wgmma_##type##_##n, 128, Params, p) { wgmma_chain<DType::type, n, 4>(p); }
#define WW_TEST_WGMMA_TYPE(type) \
  WW_TEST_WGMMA(type, 8)         \
  WW_TEST_WGMMA(type, 64)        \
  WW_TEST_WGMMA(type, 128)       \
  WW_TEST_WGMMA(type, 136)       \
  WW_TEST_WGMMA(type, 256)
WW_TEST_WGMMA_TYPE(e4m3)
WW_TEST_WGMMA_TYPE(bf16)
WW_TEST_WGMMA_TYPE(f16)

WW_KERNEL(arch_wgmma_steps_1, 128, Params, p) { wgmma_chain<DType::e4m3, 64, 1>(p); }
WW_KERNEL(arch_wgmma_steps_2, 128, Params, p) { wgmma_chain<DType::bf16, 64, 2>(p); }
WW_KERNEL(arch_wgmma_negate_a, 128, Params, p) { wgmma_chain<DType::bf16, 64, 4, -1, 1>(p); }
WW_KERNEL(arch_wgmma_negate_b, 128, Params, p) { wgmma_chain<DType::f16, 64, 4, 1, -1>(p); }
WW_KERNEL(arch_wgmma_negate_both, 128, Params, p) { wgmma_chain<DType::e4m3, 64, 4, -1, -1>(p); }

/// Two accumulators in flight over one A and the halves of a B of 128 rows; the first goes on while the second is
/// handed back. Output: first after one instruction, second after one, first after two.
WW_KERNEL(arch_wgmma_groups, 128, Params, p) {
  const Operands o = stage_operands(p);
  const arch::MatrixDescriptor lower = o.b + static_cast<u32>(p.arg[1]) / 2;
  const u32 along = static_cast<u32>(p.arg[3]);
  arch::Accumulator<64> first, second;
  arch::wgmma::fence();
  arch::wgmma::mma<DType::e4m3>(first, o.a, o.b, false);
  arch::wgmma::commit();
  arch::wgmma::mma<DType::e4m3>(second, o.a, lower, false);
  arch::wgmma::commit();
  arch::wgmma::wait<1>(first);
  store_accumulator(p.out, first);
  arch::wgmma::fence();
  arch::wgmma::mma<DType::e4m3>(first, o.a + along, o.b + along, true);
  arch::wgmma::commit();
  arch::wgmma::wait<1>(second);
  store_accumulator(p.out + 128 * 32, second);
  arch::wgmma::wait<0>(first);
  store_accumulator(p.out + 2 * 128 * 32, first);
}

/// The same products in one group, handed back by one wait that names both. Output: first, second.
WW_KERNEL(arch_wgmma_pair, 128, Params, p) {
  const Operands o = stage_operands(p);
  arch::Accumulator<64> first, second;
  arch::wgmma::fence();
  arch::wgmma::mma<DType::e4m3>(first, o.a, o.b, false);
  arch::wgmma::mma<DType::e4m3>(second, o.a, o.b + static_cast<u32>(p.arg[1]) / 2, false);
  arch::wgmma::commit();
  arch::wgmma::wait<0>(first, second);
  store_accumulator(p.out, first);
  store_accumulator(p.out + 128 * 32, second);
}

}  // namespace ww::arch_test
