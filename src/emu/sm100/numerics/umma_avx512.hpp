// SPDX-License-Identifier: Apache-2.0
// Sixteen truncated sums at a time in FP64, shared by the AVX-512 engines of umma.hpp.
// An accumulator starts at 1.5 * 2^52 units of 2^(top - F), so that its last place is one unit and an FMA that rounds
// down adds floor(term). The hardware truncates towards zero instead. So the magnitude of every term is raised by
// less than its last place (and less than one unit): floor() of a positive one stays, that of a negative one is always
// one unit too low, and the count of negative terms is added back at the end.
#pragma once

#include "emu/numerics/avx512.hpp"
#include "emu/sm100/numerics/umma_term.hpp"

#if defined(__x86_64__)

namespace ww::emu::sm100 {

inline constexpr int kLanes = 16;
inline constexpr int kDown = _MM_FROUND_TO_NEG_INF | _MM_FROUND_NO_EXC;
inline constexpr int kTowardsZero = _MM_FROUND_TO_ZERO | _MM_FROUND_NO_EXC;

WW_AVX512_INLINE __m512d low_doubles(__m512i x) { return _mm512_cvtepi32_pd(_mm512_castsi512_si256(x)); }
WW_AVX512_INLINE __m512d high_doubles(__m512i x) { return _mm512_cvtepi32_pd(_mm512_extracti64x4_epi64(x, 1)); }
WW_AVX512_INLINE __m512d low_widened(__m512 x) { return _mm512_cvtps_pd(_mm512_castps512_ps256(x)); }
WW_AVX512_INLINE __m512d high_widened(__m512 x) {
  return _mm512_cvtps_pd(_mm256_castsi256_ps(_mm512_extracti64x4_epi64(_mm512_castps_si512(x), 1)));
}

/// C of sixteen outputs: its FP32 bits, its exponent (scale_input_d included) and the lanes that are negative.
struct AddendC {
  __m512i bits, exponent;
  __mmask16 negative;
};

WW_AVX512_INLINE AddendC read_c(const Call& call, const u32* cells, __mmask16 present) {
  const __mmask16 read = call.accumulate ? present : static_cast<__mmask16>(0);
  __m512i bits = _mm512_maskz_loadu_epi32(read, cells);
  // A subnormal keeps the smallest exponent of its own format.
  int smallest = 1;
  if (call.f16()) {
    bits = _mm512_castps_si512(_mm512_cvtph_ps(_mm512_cvtepi32_epi16(bits)));
    smallest = 127 - 14;
  }
  const __m512i magnitude = _mm512_and_si512(bits, _mm512_set1_epi32(0x7FFFFFFF));
  const __mmask16 some = _mm512_test_epi32_mask(magnitude, magnitude);
  const __m512i field = _mm512_max_epi32(_mm512_srli_epi32(magnitude, 23), _mm512_set1_epi32(smallest));
  const __m512i exponent = _mm512_sub_epi32(field, _mm512_set1_epi32(127 + call.how.scale_input_d));
  return {bits, _mm512_mask_mov_epi32(_mm512_set1_epi32(2 * kZeroExponent), some, exponent),
          static_cast<__mmask16>(_mm512_movepi32_mask(bits) & some)};
}

/// The sums of sixteen outputs with kFraction bits below the largest exponent.
template <int kFraction> struct Sums {
  static constexpr int kSmallest = -900;  // of an exponent; far below those of all terms
  __m512d start[2], sum[2];               // low and high lanes
  __m512i top;

  /// Begins with C * 2^-shift; `largest`: exponents of the other terms, `shift`: null without block scales.
  WW_AVX512_INLINE void begin(const Call& call, const AddendC& c, __m512i largest, const __m512i* shift, double nudge) {
    const __m512i own = shift != nullptr ? _mm512_sub_epi32(c.exponent, *shift) : c.exponent;
    top = _mm512_max_epi32(_mm512_max_epi32(largest, own), _mm512_set1_epi32(kSmallest));
    const __m512i field = _mm512_add_epi32(top, _mm512_set1_epi32(1023 + 52 - kFraction));
    const __m512i half = _mm512_set1_epi64(i64{1} << 51);
    const __m512i low = _mm512_slli_epi64(_mm512_cvtepi32_epi64(_mm512_castsi512_si256(field)), 52);
    const __m512i high = _mm512_slli_epi64(_mm512_cvtepi32_epi64(_mm512_extracti64x4_epi64(field, 1)), 52);
    start[0] = _mm512_castsi512_pd(_mm512_or_si512(low, half));
    start[1] = _mm512_castsi512_pd(_mm512_or_si512(high, half));
    __m512d addend[2] = {low_widened(_mm512_castsi512_ps(c.bits)), high_widened(_mm512_castsi512_ps(c.bits))};
    if (shift != nullptr || call.how.scale_input_d != 0) {
      __m512i down = _mm512_set1_epi32(-call.how.scale_input_d);
      if (shift != nullptr) down = _mm512_sub_epi32(down, *shift);
      addend[0] = _mm512_scalef_pd(addend[0], low_doubles(down));
      addend[1] = _mm512_scalef_pd(addend[1], high_doubles(down));
    }
    const __m512d raise = _mm512_set1_pd(nudge);
    sum[0] = _mm512_fmadd_round_pd(addend[0], raise, start[0], kDown);
    sum[1] = _mm512_fmadd_round_pd(addend[1], raise, start[1], kDown);
  }

  /// Returns the results as FP32 bits, times 2^shift: truncated, or with a last bit that stands for what is below it,
  /// so that they can be rounded once more. `negatives` counts the negative terms.
  WW_AVX512_INLINE __m512i finish(const Call& call, __m512i negatives, const __m512i* shift) const {
    // 1.5 * 2^52 units without the half, times 2^-52, is one unit.
    const __m512i mask = _mm512_set1_epi64(~((i64{1} << 52) - 1));
    const __m512d scale = _mm512_set1_pd(0x1p-52);
    const __m512d unit[2] = {
        _mm512_mul_pd(_mm512_castsi512_pd(_mm512_and_si512(_mm512_castpd_si512(start[0]), mask)), scale),
        _mm512_mul_pd(_mm512_castsi512_pd(_mm512_and_si512(_mm512_castpd_si512(start[1]), mask)), scale)};
    __m512d total[2] = {_mm512_fmadd_pd(low_doubles(negatives), unit[0], _mm512_sub_pd(sum[0], start[0])),
                        _mm512_fmadd_pd(high_doubles(negatives), unit[1], _mm512_sub_pd(sum[1], start[1]))};
    if (shift != nullptr) {
      total[0] = _mm512_scalef_pd(total[0], low_doubles(*shift));
      total[1] = _mm512_scalef_pd(total[1], high_doubles(*shift));
    }
    const __m256i low = _mm256_castps_si256(_mm512_cvt_roundpd_ps(total[0], kTowardsZero));
    const __m256i high = _mm256_castps_si256(_mm512_cvt_roundpd_ps(total[1], kTowardsZero));
    __m512i bits = _mm512_inserti64x4(_mm512_castsi256_si512(low), high, 1);
    if (call.f16()) {
      const __m512 cut = _mm512_castsi512_ps(bits);
      const unsigned below = _mm512_cmp_pd_mask(low_widened(cut), total[0], _CMP_NEQ_UQ) |
                             static_cast<unsigned>(_mm512_cmp_pd_mask(high_widened(cut), total[1], _CMP_NEQ_UQ)) << 8;
      return _mm512_mask_or_epi32(bits, static_cast<__mmask16>(below), bits, _mm512_set1_epi32(1));
    }
    const __m512d limit = _mm512_set1_pd(0x1p128);
    const unsigned over = _mm512_cmp_pd_mask(_mm512_abs_pd(total[0]), limit, _CMP_GE_OQ) |
                          static_cast<unsigned>(_mm512_cmp_pd_mask(_mm512_abs_pd(total[1]), limit, _CMP_GE_OQ)) << 8;
    // The largest finite number plus one last place is Inf.
    return _mm512_mask_add_epi32(bits, static_cast<__mmask16>(over), bits, _mm512_set1_epi32(1));
  }
};

/// Writes sixteen results, settled, to their cells; +0 where nothing is left.
WW_AVX512_INLINE void write_d(const Call& call, u32* cells, __mmask16 present, __m512i bits) {
  if (call.f16()) bits = _mm512_cvtepu16_epi32(_mm512_cvtps_ph(_mm512_castsi512_ps(bits), _MM_FROUND_TO_NEAREST_INT));
  const __m512i magnitude = _mm512_set1_epi32(call.f16() ? 0x7FFF : 0x7FFFFFFF);
  const __mmask16 some = _mm512_test_epi32_mask(bits, magnitude);
  _mm512_mask_storeu_epi32(cells, present, _mm512_maskz_mov_epi32(some, bits));
}

}  // namespace ww::emu::sm100
#endif
