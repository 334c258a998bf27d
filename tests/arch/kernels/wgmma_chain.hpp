// SPDX-License-Identifier: Apache-2.0
// wgmma: one warpgroup, operands copied to shared memory as the host laid them out, accumulators from and to memory.
//   arg[0] bytes of A's image   arg[1] bytes of B's   arg[3] bytes between instructions along K
//   arg[4] swizzle   arg[5], arg[6] leading and stride bytes of a descriptor   arg[7] accumulate from the start
// Input: A, B, accumulators. Output: accumulators. Accumulators are ordered (thread, value).
#pragma once

#include "params.hpp"
#include "warpwright/arch/common/convert.hpp"
#include "warpwright/arch/common/fence.hpp"
#include "warpwright/arch/sm90/wgmma.hpp"

namespace ww::arch_test {

struct Operands {
  arch::MatrixDescriptor a, b;
};

/// Copies both images and describes them. B starts at the next multiple of 1024 bytes.
WW_DEVICE Operands stage_operands(const Params& p) {
  const u32 bytes_a = static_cast<u32>(p.arg[0]), bytes_b = static_cast<u32>(p.arg[1]);
  const arch::SharedAddress a = arch::dynamic_shared(), b = a + round_up(bytes_a, 1024u);
  copy_in(p.in, a, bytes_a / 4);
  copy_in(p.in + bytes_a / 4, b, bytes_b / 4);
  arch::fence::proxy_async_shared();
  arch::named_barrier::sync_cta();
  const auto swizzle = static_cast<arch::MatrixSwizzle>(p.arg[4]);
  const u32 leading = static_cast<u32>(p.arg[5]), stride = static_cast<u32>(p.arg[6]);
  return {arch::make_descriptor(a, swizzle, leading, stride), arch::make_descriptor(b, swizzle, leading, stride)};
}

/// The same with descriptors of their own, by the arguments that wgmma_types.hpp explains.
WW_DEVICE Operands stage_both(const Params& p) {
  const u32 bytes_a = static_cast<u32>(p.arg[0]), bytes_b = static_cast<u32>(p.arg[1]);
  const arch::SharedAddress a = arch::dynamic_shared(), b = a + round_up(bytes_a, 1024u);
  copy_in(p.in, a, bytes_a / 4);
  copy_in(p.in + bytes_a / 4, b, bytes_b / 4);
  arch::fence::proxy_async_shared();
  arch::named_barrier::sync_cta();
  return {arch::make_descriptor(a, static_cast<arch::MatrixSwizzle>(p.arg[2]), static_cast<u32>(p.arg[4]),
                                static_cast<u32>(p.arg[5])),
          arch::make_descriptor(b, static_cast<arch::MatrixSwizzle>(p.arg[3]), static_cast<u32>(p.arg[8]),
                                static_cast<u32>(p.arg[9]))};
}

template <int kN> WW_DEVICE void load_accumulator(const Params& p, arch::Accumulator<kN>& d) {
  const u32* from = p.in + (p.arg[0] + p.arg[1]) / 4 + arch::thread_index() * (kN / 2);
  WW_UNROLL
  for (int v = 0; v < kN / 2; ++v) d[v] = arch::float_of(arch::global::load(from + v));
}

template <int kN> WW_DEVICE void store_accumulator(u32* out, const arch::Accumulator<kN>& d) {
  WW_UNROLL
  for (int v = 0; v < kN / 2; ++v) arch::global::store(out + arch::thread_index() * (kN / 2) + v, arch::bits_of(d[v]));
}

/// The number of steps is a constant, because ptxas inserts waits of its own where it may be zero (C7517, C7519).
template <DType kType, int kN, int kSteps, int kScaleA = 1, int kScaleB = 1>
WW_DEVICE void wgmma_chain(const Params& p) {
  const Operands o = stage_operands(p);
  arch::Accumulator<kN> d;
  load_accumulator(p, d);
  arch::wgmma::fence();
  WW_UNROLL
  for (int step = 0; step < kSteps; ++step) {
    const u32 along = static_cast<u32>(step * p.arg[3]);
    arch::wgmma::mma<kType, kScaleA, kScaleB>(d, o.a + along, o.b + along, step > 0 || p.arg[7] != 0);
  }
  arch::wgmma::commit();
  arch::wgmma::wait<0>(d);
  store_accumulator(p.out, d);
}

}  // namespace ww::arch_test
