// SPDX-License-Identifier: Apache-2.0
// Conversions and FP32 functions over arg[0] input words; and a kernel whose multiplications and additions are counted.
#pragma once

#include "params.hpp"
#include "warpwright/arch/common/math.hpp"

namespace ww::arch_test {

/// 9 words for each input word v, with w the word after it: pairs (v, w), v alone, and v's low bits widened.
WW_KERNEL(arch_convert, 128, Params, p) {
  const u32 count = static_cast<u32>(p.arg[0]);
  for (u32 i = arch::block_index() * 128 + arch::thread_index(); i < count; i += arch::grid_size() * 128) {
    const u32 bits = arch::global::load(p.in + i);
    const float v = arch::float_of(bits), w = arch::float_of(arch::global::load(p.in + i + 1));
    const u32 values[] = {
        arch::to_bf16x2(v, w),
        arch::to_f16x2(v, w),
        static_cast<u32>(arch::to_e4m3x2(v, w)) | static_cast<u32>(arch::to_e4m3(v)) << 16,
        static_cast<u32>(arch::to_bf16(v)) | static_cast<u32>(arch::to_f16(v)) << 16,
        arch::bits_of(arch::from_bf16(static_cast<u16>(bits))),
        arch::bits_of(arch::from_f16(static_cast<u16>(bits))),
        arch::bits_of(arch::from_e4m3(static_cast<u8>(bits))),
        static_cast<u32>(arch::to_e5m2x2(v, w)) | static_cast<u32>(arch::to_e5m2(v)) << 16,
        arch::bits_of(arch::from_e5m2(static_cast<u8>(bits))),
    };
    WW_UNROLL
    for (int k = 0; k < 9; ++k) arch::global::store(p.out + 9 * i + k, values[k]);
  }
}

/// 11 words for each input word and the two after it.
WW_KERNEL(arch_math, 128, Params, p) {
  const u32 count = static_cast<u32>(p.arg[0]);
  for (u32 i = arch::block_index() * 128 + arch::thread_index(); i < count; i += arch::grid_size() * 128) {
    const float a = arch::float_of(arch::global::load(p.in + i)), b = arch::float_of(arch::global::load(p.in + i + 1));
    const float c = arch::float_of(arch::global::load(p.in + i + 2));
    const u32 values[] = {
        arch::bits_of(arch::fma(a, b, c)), arch::bits_of(arch::mul(a, b)),     arch::bits_of(arch::add(a, b)),
        arch::bits_of(arch::exp2(a)),      arch::bits_of(arch::exp(a)),        arch::bits_of(arch::tanh(a)),
        arch::bits_of(arch::sigmoid(a)),   arch::bits_of(arch::reciprocal(a)), arch::bits_of(arch::rsqrt(a)),
        arch::bits_of(arch::div(a, b)),    arch::bits_of(arch::gelu_erf(a)),
    };
    WW_UNROLL
    for (int k = 0; k < 11; ++k) arch::global::store(p.out + 11 * i + k, values[k]);
  }
}

/// Three fma, three multiplications, four additions, however tempting the operators look.
WW_KERNEL(arch_counted, 32, Params, p) {
  const u32 t = arch::thread_index();
  const float a = arch::float_of(arch::global::load(p.in + t)), b = arch::float_of(arch::global::load(p.in + 32 + t));
  float v = arch::fma(a, b, a);                     // fma
  v = arch::add(arch::mul(v, b), a);                // mul, add
  v = v * a + b;                                    // mul, add
  v = arch::fma(v, v, arch::fma(a, a, b));          // fma, fma
  v = arch::add(v, arch::add(a, arch::mul(b, b)));  // mul, add, add
  arch::global::store(p.out + t, arch::bits_of(v));
}

}  // namespace ww::arch_test
