// SPDX-License-Identifier: Apache-2.0
// What the AVX-512 engines of all machines share: their target, and results that are not finite.
#pragma once

#include "emu/numerics/fused_sum.hpp"

#if defined(__x86_64__)
#include <immintrin.h>

// GCC 12's intrinsics pass a deliberately undefined vector and then warn about it (GCC bug 105593).
#pragma GCC diagnostic ignored "-Wuninitialized"
#if !defined(__clang__)
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#endif

#define WW_AVX512 __attribute__((target("avx512f,avx512bw,avx512dq,avx512vl,avx512vnni,avx512vpopcntdq")))
#define WW_AVX512_INLINE WW_AVX512 __attribute__((always_inline)) inline

namespace ww::emu {

/// Inserts C itself where it is Inf, and the canonical NaN where it is NaN.
WW_AVX512_INLINE __m512i settle_c(__m512i result, __m512i c) {
  const __m512i infinity = _mm512_set1_epi32(static_cast<i32>(kInfinity));
  const __m512i magnitude = _mm512_and_si512(c, _mm512_set1_epi32(0x7FFFFFFF));
  result = _mm512_mask_mov_epi32(result, _mm512_cmpeq_epi32_mask(magnitude, infinity), c);
  return _mm512_mask_mov_epi32(result, _mm512_cmpgt_epi32_mask(magnitude, infinity), _mm512_set1_epi32(0x7FFFFFFF));
}

/// Overwrites the outputs of sixteen columns whose products with a row contain a NaN or an Inf.
WW_AVX512 __attribute__((noinline)) inline __m512i settle_products(__m512i result, __m512i c, const RowFacts& a,
                                                                   const RowFacts* b) {
  alignas(64) u32 out[16], addend[16];
  _mm512_store_si512(out, result);
  _mm512_store_si512(addend, c);
  for (int lane = 0; lane < 16; ++lane) {
    if (const u32 special = special_result(a, b[lane], addend[lane])) out[lane] = special;
  }
  return _mm512_load_si512(out);
}

}  // namespace ww::emu
#endif
