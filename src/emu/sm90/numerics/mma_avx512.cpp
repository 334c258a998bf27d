// SPDX-License-Identifier: Apache-2.0
// The fused sum of mma.hpp in AVX-512: one row of A against 16 columns of B at a time, exponents first, terms second.
//   pass 1: e[k] = ea[k] + eb[k], top = max(e, exponent of C)
//   pass 2: sum += (signed product) >> (top - e[k])
// An arithmetic right shift rounds down, while the hardware truncates towards zero. So a negative product is shifted as
// -q - 1 (or -q - 1/2), which lands one below -(q >> s) for every s, and the count of negative products is added back
// at the end.
// FP8 needs 15 bits a term and processes two k in the halves of each 32-bit lane; bf16 and f16 take a whole lane. The
// significand of e5m2 is taken with three fraction bits, as e4m3 has them, so that any mix of the two is the same
// arithmetic.
#include "emu/numerics/avx512.hpp"
#include "emu/sm90/numerics/mma_term.hpp"

#if defined(__x86_64__)

namespace ww::emu {
namespace {

constexpr int kLanes = 16;
constexpr int kSteps = 16;  // dwords of K: two e4m3 or one 16-bit element each

/// The rows of A, each 32-bit element ready to be broadcast to all columns.
struct alignas(64) PackedA {
  u32 exponent[kMmaRows][kSteps];
  u32 factor[kMmaRows][kSteps];
  u32 sign[kMmaRows][kSteps];  // FP8 only: two times +1 or -1
  RowFacts facts[kMmaRows];
};

/// Sixteen rows of B, one a lane; lanes past n are zero.
struct alignas(64) PackedB {
  __m512i exponent[kSteps];
  __m512i factor[kSteps];
  __m512i negative;  // bit k of lane n: B[n][k] has its sign set
  RowFacts facts[kLanes];
  __mmask16 special;  // lanes with a NaN or an Inf
  __mmask16 present;
};

/// C of sixteen outputs as terms.
struct AddendC {
  __m512i bits, significand, exponent;
};

WW_AVX512_INLINE AddendC decode_c(__m512i bits) {
  const __m512i magnitude = _mm512_and_si512(bits, _mm512_set1_epi32(0x7FFFFFFF));
  const __m512i field = _mm512_srli_epi32(magnitude, 23);
  const __m512i fraction = _mm512_and_si512(bits, _mm512_set1_epi32(0x7FFFFF));
  const __mmask16 normal = _mm512_test_epi32_mask(field, field);
  const __mmask16 zero = _mm512_testn_epi32_mask(magnitude, magnitude);
  const __m512i exponent = _mm512_sub_epi32(_mm512_max_epi32(field, _mm512_set1_epi32(1)), _mm512_set1_epi32(127));
  return {bits, _mm512_mask_or_epi32(fraction, normal, fraction, _mm512_set1_epi32(0x800000)),
          _mm512_mask_mov_epi32(exponent, zero, _mm512_set1_epi32(2 * kZeroExponent))};
}

template <DType kType> WW_AVX512_INLINE RowFacts facts_of(const u8* row, bool flip) {
  const __m256i x = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(row));
  RowFacts facts{};
  if constexpr (kType == DType::e4m3) {
    const __m256i magnitude = _mm256_and_si256(x, _mm256_set1_epi8(0x7F));
    facts.negative = _mm256_movepi8_mask(x) ^ (flip ? ~0u : 0u);
    facts.zero = _mm256_testn_epi8_mask(magnitude, magnitude);  // beside an Inf of e5m2
    facts.nan = _mm256_cmpeq_epi8_mask(magnitude, _mm256_set1_epi8(0x7F));
  } else if constexpr (kType == DType::e5m2) {
    const __m256i magnitude = _mm256_and_si256(x, _mm256_set1_epi8(0x7F));
    facts.negative = _mm256_movepi8_mask(x) ^ (flip ? ~0u : 0u);
    facts.zero = _mm256_testn_epi8_mask(magnitude, magnitude);
    facts.infinite = _mm256_cmpeq_epi8_mask(magnitude, _mm256_set1_epi8(0x7C));
    facts.nan = _mm256_cmpgt_epi8_mask(magnitude, _mm256_set1_epi8(0x7C));
  } else {
    constexpr int kFraction = MmaFormat<kType>::kFraction;
    const __m256i magnitude = _mm256_and_si256(x, _mm256_set1_epi16(0x7FFF));
    const __m256i infinity = _mm256_set1_epi16(static_cast<i16>(0x7FFF >> kFraction << kFraction));
    facts.negative = _mm256_movepi16_mask(x) ^ (flip ? 0xFFFFu : 0u);
    facts.zero = _mm256_testn_epi16_mask(magnitude, magnitude);
    facts.infinite = _mm256_cmpeq_epi16_mask(magnitude, infinity);
    facts.nan = _mm256_cmpgt_epi16_mask(magnitude, infinity);
  }
  return facts;
}

// --- FP8: two elements in the 16-bit halves of a lane --------------------------------------------

struct Decoded {
  __m512i exponent, significand, negative;  // negative: all ones or zero
};

/// `x` holds one element in the low byte of each 16-bit lane. Significands have three fraction bits.
template <DType kType> WW_AVX512_INLINE Decoded decode_fp8(__m512i x) {
  constexpr int kFraction = MmaFormat<kType>::kFraction, kBias = MmaFormat<kType>::kBias;
  const __m512i magnitude = _mm512_and_si512(x, _mm512_set1_epi16(0x7F));
  const __m512i field = _mm512_srli_epi16(magnitude, kFraction);
  const __m512i own = _mm512_and_si512(x, _mm512_set1_epi16((1 << kFraction) - 1));
  const __m512i fraction = _mm512_slli_epi16(own, 3 - kFraction);
  const __mmask32 normal = _mm512_test_epi16_mask(field, field);
  const __mmask32 zero = _mm512_testn_epi16_mask(magnitude, magnitude);
  const __m512i exponent = _mm512_sub_epi16(_mm512_max_epi16(field, _mm512_set1_epi16(1)), _mm512_set1_epi16(kBias));
  return {_mm512_mask_mov_epi16(exponent, zero, _mm512_set1_epi16(kZeroExponent)),
          _mm512_mask_add_epi16(fraction, normal, fraction, _mm512_set1_epi16(8)),
          _mm512_srai_epi16(_mm512_slli_epi16(x, 8), 15)};
}

template <DType kType> WW_AVX512_INLINE void pack_a_fp8(const MmaCall& call, PackedA& a) {
  const __m512i flip = _mm512_set1_epi16(call.flip_a ? 0x80 : 0);
  for (int row = 0; row < kMmaRows; ++row) {
    const u8* bytes = call.a + row * kMmaRowBytes;
    const __m256i raw = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(bytes));
    const Decoded x = decode_fp8<kType>(_mm512_xor_si512(_mm512_cvtepu8_epi16(raw), flip));
    // bytes (16 * significand, 1): unsigned in the multiply
    const __m512i factor = _mm512_or_si512(_mm512_slli_epi16(x.significand, 4), _mm512_set1_epi16(0x100));
    _mm512_store_si512(a.exponent[row], x.exponent);
    _mm512_store_si512(a.factor[row], factor);
    _mm512_store_si512(a.sign[row], _mm512_or_si512(x.negative, _mm512_set1_epi16(1)));
    a.facts[row] = facts_of<kType>(bytes, call.flip_a);
  }
}

template <DType kType> WW_AVX512_INLINE void pack_b_step(PackedB& b, int step, __m512i two, __m512i flip) {
  // bytes (k, k + 1) of the low half into the low bytes of the two 16-bit lanes
  const __m512i low = _mm512_and_si512(two, _mm512_set1_epi32(0xFF));
  const __m512i high = _mm512_and_si512(_mm512_slli_epi32(two, 8), _mm512_set1_epi32(0xFF0000));
  const Decoded x = decode_fp8<kType>(_mm512_xor_si512(_mm512_or_si512(low, high), flip));
  // bytes (+-8 * significand, 0 or -1): signed in the multiply
  const __m512i eight = _mm512_slli_epi16(x.significand, 3);
  const __m512i value = _mm512_sub_epi16(_mm512_xor_si512(eight, x.negative), x.negative);
  b.exponent[step] = x.exponent;
  b.factor[step] = _mm512_or_si512(_mm512_and_si512(value, _mm512_set1_epi16(0xFF)), _mm512_slli_epi16(x.negative, 8));
}

template <DType kType> WW_AVX512_INLINE void pack_b_fp8(const MmaCall& call, PackedB& b, __m512i four, int group) {
  const __m512i flip = _mm512_set1_epi16(call.flip_b ? 0x80 : 0);
  pack_b_step<kType>(b, 2 * group, four, flip);
  pack_b_step<kType>(b, 2 * group + 1, _mm512_srli_epi32(four, 16), flip);
}

/// kInfinities: an operand may be Inf.
template <bool kInfinities>
WW_AVX512_INLINE __m512i fused_row_fp8(const PackedA& a, const PackedB& b, int row, __m512i c_bits) {
  const AddendC c = decode_c(c_bits);
  const __m512i c_high = _mm512_slli_epi32(c.exponent, 16);
  __m512i top = _mm512_or_si512(c_high, _mm512_srli_epi32(c_high, 16));
  __m512i e[kSteps];
#pragma GCC unroll 16
  for (int k = 0; k < kSteps; ++k) {
    e[k] = _mm512_add_epi16(b.exponent[k], _mm512_set1_epi32(static_cast<i32>(a.exponent[row][k])));
    top = _mm512_max_epi16(top, e[k]);
  }
  top = _mm512_max_epi16(top, _mm512_rol_epi32(top, 16));

  __m512i even = _mm512_setzero_si512(), odd = even;
#pragma GCC unroll 16
  for (int k = 0; k < kSteps; ++k) {
    const __m512i product = _mm512_maddubs_epi16(_mm512_set1_epi32(static_cast<i32>(a.factor[row][k])), b.factor[k]);
    const __m512i term = _mm512_srav_epi16(product, _mm512_sub_epi16(top, e[k]));
    const __m512i sign = _mm512_set1_epi32(static_cast<i32>(a.sign[row][k]));
    if (k % 2 == 0) even = _mm512_dpwssd_epi32(even, term, sign);
    else odd = _mm512_dpwssd_epi32(odd, term, sign);
  }
  // Every negative B has put a -1 under A's sign into the sum.
  const __m512i a_negative = _mm512_set1_epi32(static_cast<i32>(a.facts[row].negative));
  const __m512i both = _mm512_popcnt_epi32(_mm512_and_si512(b.negative, a_negative));
  const __m512i owed = _mm512_sub_epi32(_mm512_popcnt_epi32(b.negative), _mm512_slli_epi32(both, 1));

  top = _mm512_srai_epi32(top, 16);
  const __m512i c_shift = _mm512_add_epi32(_mm512_sub_epi32(top, c.exponent), _mm512_set1_epi32(10));
  const __m512i c_term = _mm512_srlv_epi32(c.significand, c_shift);
  __m512i sum = _mm512_add_epi32(_mm512_add_epi32(even, odd), owed);
  const __m512i plus = _mm512_add_epi32(sum, c_term);
  sum = _mm512_mask_sub_epi32(plus, _mm512_movepi32_mask(c_bits), sum, c_term);

  // The sum is below 2^21, so FP32 holds it; 13 of its 23 fraction bits stay. Scaling is exact, because the unit is at
  // least 2^-139.
  const __m512i cut = _mm512_and_si512(_mm512_castps_si512(_mm512_cvtepi32_ps(sum)), _mm512_set1_epi32(~0x3FF));
  const __m512 unit = _mm512_cvtepi32_ps(_mm512_sub_epi32(top, _mm512_set1_epi32(13)));
  const __m512i finite = _mm512_castps_si512(_mm512_scalef_ps(_mm512_castsi512_ps(cut), unit));
  const __m512i settled = settle_c(finite, c_bits);
  if constexpr (kInfinities)
    return a.facts[row].special() || b.special != 0 ? settle_products(settled, c_bits, a.facts[row], b.facts) : settled;
  const __mmask16 nan = a.facts[row].nan != 0 ? static_cast<__mmask16>(0xFFFF) : b.special;
  return _mm512_mask_mov_epi32(settled, nan, _mm512_set1_epi32(0x7FFFFFFF));
}

// --- bf16 and f16: one element a lane ------------------------------------------------------------

/// `x` holds one element in the low half of each 32-bit lane. The factor is the pair (+-significand << kShift, +-1).
template <class Format, int kShift> WW_AVX512_INLINE void decode_wide(__m512i x, __m512i& exponent, __m512i& factor) {
  const __m512i magnitude = _mm512_and_si512(x, _mm512_set1_epi32(0x7FFF));
  const __m512i field = _mm512_srli_epi32(magnitude, Format::kFraction);
  const __m512i fraction = _mm512_and_si512(x, _mm512_set1_epi32((1 << Format::kFraction) - 1));
  const __mmask16 normal = _mm512_test_epi32_mask(field, field);
  const __mmask16 zero = _mm512_testn_epi32_mask(magnitude, magnitude);
  const __m512i e = _mm512_sub_epi32(_mm512_max_epi32(field, _mm512_set1_epi32(1)), _mm512_set1_epi32(Format::kBias));
  exponent = _mm512_mask_mov_epi32(e, zero, _mm512_set1_epi32(kZeroExponent));
  const __m512i one = _mm512_set1_epi32(1 << Format::kFraction);
  const __m512i significand = _mm512_slli_epi32(_mm512_mask_or_epi32(fraction, normal, fraction, one), kShift);
  const __m512i pair = _mm512_or_si512(significand, _mm512_set1_epi32(0x10000));
  const __m512i negative = _mm512_srai_epi32(_mm512_slli_epi32(x, 16), 31);
  factor = _mm512_sub_epi16(_mm512_xor_si512(pair, negative), negative);
}

// A product pair is +-(2 q + 1), q the significand product at F = 25 fraction bits: split 2^(F + 1) over the factors.
template <class Format> constexpr int kShiftA = 15 - (Format::kFraction + 1);
template <class Format> constexpr int kShiftB = Format::kSumFraction + 1 - 2 * Format::kFraction - kShiftA<Format>;

template <class Format> WW_AVX512_INLINE void pack_a(const MmaCall& call, PackedA& a, Format) {
  const __m512i flip = _mm512_set1_epi32(call.flip_a ? 0x8000 : 0);
  for (int row = 0; row < kMmaRows; ++row) {
    const u8* bytes = call.a + row * kMmaRowBytes;
    const __m512i raw = _mm512_cvtepu16_epi32(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(bytes)));
    __m512i exponent, factor;
    decode_wide<Format, kShiftA<Format>>(_mm512_xor_si512(raw, flip), exponent, factor);
    _mm512_store_si512(a.exponent[row], exponent);
    _mm512_store_si512(a.factor[row], factor);
    a.facts[row] = facts_of < Format::kBias == 127 ? DType::bf16 : DType::f16 > (bytes, call.flip_a);
  }
}

template <class Format> WW_AVX512_INLINE void pack_b(const MmaCall& call, PackedB& b, __m512i two, int group, Format) {
  const __m512i raw = _mm512_xor_si512(two, _mm512_set1_epi32(call.flip_b ? static_cast<i32>(0x80008000u) : 0));
  decode_wide<Format, kShiftB<Format>>(raw, b.exponent[2 * group], b.factor[2 * group]);
  const __m512i high = _mm512_srli_epi32(raw, 16);
  decode_wide<Format, kShiftB<Format>>(high, b.exponent[2 * group + 1], b.factor[2 * group + 1]);
}

/// Normalises (products + c) * 2^(top - 25) towards zero; the sum needs 33 bits with its sign.
WW_AVX512_INLINE __m512i normalise_wide(__m512i products, __m512i c, __m512i top) {
  const __m512i total = _mm512_add_epi32(products, c);
  // Its sign is that of both addends, or of `total` when they differ: (p & c) | ((p | c) & t).
  const __m512i sign = _mm512_ternarylogic_epi32(products, c, total, 0xE8);
  const __mmask16 minus = _mm512_movepi32_mask(sign);
  const __m512i magnitude = _mm512_mask_sub_epi32(total, minus, _mm512_setzero_si512(), total);
  constexpr int kTowardsZero = _MM_FROUND_TO_ZERO | _MM_FROUND_NO_EXC;
  const __m512 cut = _mm512_cvt_roundepu32_ps(magnitude, kTowardsZero);
  const __m512i unit = _mm512_sub_epi32(top, _mm512_set1_epi32(25));
  const __m512i scaled = _mm512_castps_si512(_mm512_scalef_round_ps(cut, _mm512_cvtepi32_ps(unit), kTowardsZero));
  const __m512i field = _mm512_add_epi32(_mm512_srli_epi32(_mm512_castps_si512(cut), 23), unit);
  const __mmask16 over = _mm512_cmpgt_epi32_mask(field, _mm512_set1_epi32(254));
  const __m512i finite = _mm512_mask_mov_epi32(scaled, over, _mm512_set1_epi32(static_cast<i32>(kInfinity)));
  const __mmask16 signed_lanes = _mm512_mask_test_epi32_mask(minus, finite, finite);  // an empty sum is +0
  return _mm512_mask_or_epi32(finite, signed_lanes, finite, _mm512_set1_epi32(static_cast<i32>(0x80000000u)));
}

template <class Format>
WW_AVX512_INLINE __m512i fused_row(const PackedA& a, const PackedB& b, int row, __m512i c_bits, Format) {
  const AddendC c = decode_c(c_bits);
  __m512i top = c.exponent;
  __m512i e[kSteps];
#pragma GCC unroll 16
  for (int k = 0; k < kSteps; ++k) {
    e[k] = _mm512_add_epi32(b.exponent[k], _mm512_set1_epi32(static_cast<i32>(a.exponent[row][k])));
    top = _mm512_max_epi32(top, e[k]);
  }
  const __m512i above = _mm512_add_epi32(top, _mm512_set1_epi32(1));  // products carry one bit more than F
  // Every negative product is one too small after its shift. The 16 products reach 2047^2 * 2^9 < 2^31; C is kept
  // apart.
  const __m512i a_negative = _mm512_set1_epi32(static_cast<i32>(a.facts[row].negative));
  __m512i sum = _mm512_popcnt_epi32(_mm512_xor_si512(b.negative, a_negative));
#pragma GCC unroll 16
  for (int k = 0; k < kSteps; ++k) {
    const __m512i product = _mm512_madd_epi16(b.factor[k], _mm512_set1_epi32(static_cast<i32>(a.factor[row][k])));
    sum = _mm512_add_epi32(sum, _mm512_srav_epi32(product, _mm512_sub_epi32(above, e[k])));
  }
  __m512i c_term = _mm512_srlv_epi32(_mm512_slli_epi32(c.significand, 2), _mm512_sub_epi32(top, c.exponent));
  c_term = _mm512_mask_sub_epi32(c_term, _mm512_movepi32_mask(c_bits), _mm512_setzero_si512(), c_term);
  __m512i result = settle_c(normalise_wide(sum, c_term, top), c_bits);
  if (a.facts[row].special() || b.special != 0) result = settle_products(result, c_bits, a.facts[row], b.facts);
  return result;
}

// --- the instruction -----------------------------------------------------------------------------

template <DType kType> WW_AVX512_INLINE void pack_block(const MmaCall& call, int first, PackedB& b) {
  const int columns = call.n - first < kLanes ? call.n - first : kLanes;
  b.present = static_cast<__mmask16>((1u << columns) - 1);
  b.special = 0;
  alignas(64) u32 negative[kLanes] = {};
  for (int lane = 0; lane < kLanes; ++lane) {
    b.facts[lane] = lane < columns ? facts_of<kType>(call.b + (first + lane) * kMmaRowBytes, call.flip_b) : RowFacts{};
    negative[lane] = b.facts[lane].negative;
    if (b.facts[lane].special()) b.special = static_cast<__mmask16>(b.special | 1u << lane);
  }
  b.negative = _mm512_load_si512(negative);
  const __m512i rows = _mm512_mullo_epi32(_mm512_set_epi32(15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0),
                                          _mm512_set1_epi32(kMmaRowBytes));
  const u8* base = call.b + first * kMmaRowBytes;
  for (int group = 0; group < kMmaRowBytes / 4;
       ++group) {  // the gather is the transpose: four bytes of K, a column a lane
    const __m512i four = _mm512_mask_i32gather_epi32(_mm512_setzero_si512(), b.present, rows, base + 4 * group, 1);
    if constexpr (is_fp8(kType)) pack_b_fp8<kType>(call, b, four, group);
    else pack_b(call, b, four, group, MmaFormat<kType>{});
  }
}

template <DType kA, DType kB>
WW_AVX512_INLINE __m512i fused_row_of(const PackedA& a, const PackedB& b, int row, __m512i c) {
  if constexpr (is_fp8(kA)) return fused_row_fp8 < kA == DType::e5m2 || kB == DType::e5m2 > (a, b, row, c);
  else return fused_row(a, b, row, c, MmaFormat<kA>{});
}

template <DType kA, DType kB = kA> WW_AVX512_INLINE void multiply(const MmaCall& call) {
  PackedA a;
  PackedB b;
  if constexpr (is_fp8(kA)) pack_a_fp8<kA>(call, a);
  else pack_a(call, a, MmaFormat<kA>{});
  for (int first = 0; first < call.n; first += kLanes) {
    pack_block<kB>(call, first, b);
    const __mmask16 present = b.present, read = call.accumulate ? present : static_cast<__mmask16>(0);
    for (int row = 0; row < kMmaRows; ++row) {
      float* d = call.d + row * call.n + first;
      const __m512i c = _mm512_castps_si512(_mm512_maskz_loadu_ps(read, d));
      _mm512_mask_storeu_ps(d, present, _mm512_castsi512_ps(fused_row_of<kA, kB>(a, b, row, c)));
    }
  }
}

WW_AVX512 void multiply_e4m3(const MmaCall& call) { multiply<DType::e4m3>(call); }
WW_AVX512 void multiply_e5m2(const MmaCall& call) { multiply<DType::e5m2>(call); }
WW_AVX512 void multiply_e4m3_e5m2(const MmaCall& call) { multiply<DType::e4m3, DType::e5m2>(call); }
WW_AVX512 void multiply_e5m2_e4m3(const MmaCall& call) { multiply<DType::e5m2, DType::e4m3>(call); }
WW_AVX512 void multiply_bf16(const MmaCall& call) { multiply<DType::bf16>(call); }
WW_AVX512 void multiply_f16(const MmaCall& call) { multiply<DType::f16>(call); }

}  // namespace

void mma_exact_avx512(const MmaCall& call) {
  const bool wide_b = call.type_b == DType::e5m2;
  if (call.type_a == DType::e4m3) wide_b ? multiply_e4m3_e5m2(call) : multiply_e4m3(call);
  else if (call.type_a == DType::e5m2) wide_b ? multiply_e5m2(call) : multiply_e5m2_e4m3(call);
  else if (call.type_a == DType::bf16) multiply_bf16(call);
  else multiply_f16(call);
}

}  // namespace ww::emu

#else

namespace ww::emu {
void mma_exact_avx512(const MmaCall& call) { mma_exact_portable(call); }
}  // namespace ww::emu

#endif
