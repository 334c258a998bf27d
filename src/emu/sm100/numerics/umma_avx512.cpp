// SPDX-License-Identifier: Apache-2.0
// The fused sum of umma.hpp in AVX-512: four rows of A and 16 columns of B at a time, exponents first, terms second.
//   pass 1: largest e[k] = ea[k] + eb[k], in lanes of 8, 16 or 32 bits
//   pass 2: one FMA for 8 products (umma_avx512.hpp), whatever their types
// Block scales are the same for all products of an output. They are left out of both passes, C is divided by them, and
// the result is multiplied.
#include "emu/sm100/numerics/umma_avx512.hpp"

#if defined(__x86_64__)

namespace ww::emu::sm100 {
namespace {

constexpr int kSteps = 8;  // dwords of K
constexpr int kRows = 4;
// Products have at most 22 significant bits and are below 4 * 2^(top) = 2^27 units: 2^-30 of one is below its last
// place and below one unit. C has 24 bits.
constexpr double kNudge = 1 + 0x1p-30;

/// The rows of A: values times kNudge; exponents as in memory, one for each element of kBits.
struct alignas(64) RowsOfA {
  double value[kBlockRows][kMaxProducts];
  u32 exponent[kBlockRows][kSteps];
  i32 scale[kBlockRows];
  RowFacts facts[kBlockRows];
};

/// Sixteen rows of B, one a lane; lanes past n are zero.
struct alignas(64) ColumnsOfB {
  __m512d value[kMaxProducts][2];                // low and high lanes
  __m512i exponent[kSteps];                      // one in each kBits of a lane
  __m512i negative, zero, infinite, nan, scale;  // bit k of lane n is about B[n][k]
  RowFacts facts[kLanes];
  bool special;
  __mmask16 present;
};

/// What decode() needs of a format.
struct Decoder {
  __m512i magnitude, sign, flip, infinity, above, bias, one, lost;
  __m512 scale;
  __m128i fraction, to_f32;

  WW_AVX512_INLINE Decoder(arch::MmaFormat type, bool negate, int exponent_bits) {
    const OperandFormat format = format_of(type);
    const i32 mask = static_cast<i32>(format.magnitude_mask()), top = mask >> format.fraction << format.fraction;
    constexpr i32 kNever = 0x7FFFFFFF;
    magnitude = _mm512_set1_epi32(mask);
    sign = _mm512_set1_epi32(mask + 1);
    flip = _mm512_set1_epi32(negate ? mask + 1 : 0);
    infinity = _mm512_set1_epi32(format.infinity ? top : kNever);
    above = _mm512_set1_epi32(format.infinity ? top : format.single_nan ? mask - 1 : kNever);
    bias = _mm512_set1_epi32(format.bias);
    one = _mm512_set1_epi32(1);
    // Zeros have an exponent below that of every product; two of them fit the lane.
    lost = _mm512_set1_epi32(exponent_bits == 8 ? -64 : kZeroExponent);
    scale = _mm512_castsi512_ps(_mm512_set1_epi32((254 - format.bias) << 23));  // from FP32's bias
    fraction = _mm_cvtsi32_si128(format.fraction);
    to_f32 = _mm_cvtsi32_si128(23 - format.fraction);
  }
};

/// Sixteen elements; an Inf or a NaN has some value.
struct Decoded {
  __m512 value;
  __m512i exponent;
  __mmask16 negative, zero, infinite, nan;
};

WW_AVX512_INLINE Decoded decode(const Decoder& f, __m512i raw) {
  const __m512i x = _mm512_xor_si512(raw, f.flip);
  const __m512i magnitude = _mm512_and_si512(x, f.magnitude);
  const __m512i field = _mm512_max_epi32(_mm512_srl_epi32(magnitude, f.fraction), f.one);
  const __m512 value = _mm512_mul_ps(_mm512_castsi512_ps(_mm512_sll_epi32(magnitude, f.to_f32)), f.scale);
  Decoded out;
  out.negative = _mm512_test_epi32_mask(x, f.sign);
  out.zero = _mm512_testn_epi32_mask(magnitude, magnitude);
  out.infinite = _mm512_cmpeq_epi32_mask(magnitude, f.infinity);
  out.nan = _mm512_cmpgt_epi32_mask(magnitude, f.above);
  out.value =
      _mm512_castsi512_ps(_mm512_mask_or_epi32(_mm512_castps_si512(value), out.negative, _mm512_castps_si512(value),
                                               _mm512_set1_epi32(static_cast<i32>(0x80000000u))));
  out.exponent = _mm512_mask_mov_epi32(_mm512_sub_epi32(field, f.bias), out.zero, f.lost);
  return out;
}

/// Returns up to 16 elements of a row from byte 16 * half on, one a lane.
template <int kBits> WW_AVX512_INLINE __m512i load_row(const u8* row, int half) {
  if constexpr (kBits == 8)
    return _mm512_cvtepu8_epi32(_mm_loadu_si128(reinterpret_cast<const __m128i*>(row + 16 * half)));
  const __m256i all = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(row));
  if constexpr (kBits == 16) return _mm512_cvtepu16_epi32(all);
  else return _mm512_srli_epi32(_mm512_zextsi256_si512(all), 13);
}

template <int kBits> WW_AVX512_INLINE void read_a(const Call& call, int first, int rows, RowsOfA& a) {
  const Decoder decoder(call.how.a, call.how.negate_a, kBits);
  const __m512d nudge = _mm512_set1_pd(kNudge);
  for (int row = 0; row < rows; ++row) {
    a.facts[row] = {};
    for (int half = 0; half < (kBits == 8 ? 2 : 1); ++half) {
      const Decoded x = decode(decoder, load_row<kBits>(call.a + (first + row) * kRowBytes, half));
      double* value = a.value[row] + 16 * half;
      _mm512_store_pd(value, _mm512_mul_pd(low_widened(x.value), nudge));
      if constexpr (kBits != 32) _mm512_store_pd(value + 8, _mm512_mul_pd(high_widened(x.value), nudge));
      u8* exponent = reinterpret_cast<u8*>(a.exponent[row]) + 16 * half;
      if constexpr (kBits == 8) _mm_store_si128(reinterpret_cast<__m128i*>(exponent), _mm512_cvtepi32_epi8(x.exponent));
      else if constexpr (kBits == 16)
        _mm256_store_si256(reinterpret_cast<__m256i*>(exponent), _mm512_cvtepi32_epi16(x.exponent));
      else _mm256_store_si256(reinterpret_cast<__m256i*>(exponent), _mm512_castsi512_si256(x.exponent));
      const u32 lanes = kBits == 32 ? 0xFF : 0xFFFF;
      const auto at = [&](__mmask16 mask) { return (mask & lanes) << 16 * half; };
      a.facts[row].negative |= at(x.negative), a.facts[row].zero |= at(x.zero);
      a.facts[row].infinite |= at(x.infinite), a.facts[row].nan |= at(x.nan);
    }
    a.scale[row] = 0;
    if (call.how.kind != arch::MmaKind::mxf8f6f4) continue;
    const ScaleTerm scale = decode_scale(arch::ScaleFormat::ue8m0, call.scale_a[first + row]);
    a.scale[row] = scale.exponent, a.facts[row].nan |= static_cast<u32>(scale.nan);
  }
}

WW_AVX512_INLINE void note(__m512i& bits, __mmask16 lanes, int k) {
  bits = _mm512_mask_or_epi32(bits, lanes, bits, _mm512_set1_epi32(static_cast<i32>(1u << k)));
}

/// Reads one dword of K of sixteen columns.
template <int kBits> WW_AVX512_INLINE void read_step(const Decoder& decoder, __m512i dword, int step, ColumnsOfB& b) {
  constexpr int kElements = 32 / kBits;
  const __m512i mask = _mm512_set1_epi32(kBits == 32 ? -1 : static_cast<i32>((1ll << kBits) - 1));
  __m512i exponents = _mm512_setzero_si512();
  for (int i = 0; i < kElements; ++i) {
    const __m512i raw = kBits == 32
                            ? _mm512_srli_epi32(dword, 13)
                            : _mm512_and_si512(_mm512_srli_epi32(dword, static_cast<unsigned>(kBits * i)), mask);
    const Decoded x = decode(decoder, raw);
    const int k = step * kElements + i;
    b.value[k][0] = low_widened(x.value), b.value[k][1] = high_widened(x.value);
    const __m512i narrow = _mm512_and_si512(x.exponent, mask);
    exponents = _mm512_or_si512(exponents, _mm512_slli_epi32(narrow, static_cast<unsigned>(kBits % 32 * i)));
    note(b.negative, x.negative, k), note(b.zero, x.zero, k);
    note(b.infinite, x.infinite, k), note(b.nan, x.nan, k);
  }
  b.exponent[step] = exponents;
}

template <int kBits> WW_AVX512_INLINE void read_b(const Call& call, int first, ColumnsOfB& b) {
  const Decoder decoder(call.how.b, call.how.negate_b, kBits);
  const int columns = call.n - first < kLanes ? call.n - first : kLanes;
  b.present = static_cast<__mmask16>((1u << columns) - 1);
  b.negative = b.zero = b.infinite = b.nan = b.scale = _mm512_setzero_si512();
  const __m512i rows = _mm512_mullo_epi32(_mm512_set_epi32(15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0),
                                          _mm512_set1_epi32(kRowBytes));
  const u8* base = call.b + first * kRowBytes;
  for (int step = 0; step < kSteps; ++step) {  // the gather is the transpose: four bytes of K, a column a lane
    const __m512i dword = _mm512_mask_i32gather_epi32(_mm512_setzero_si512(), b.present, rows, base + 4 * step, 1);
    read_step<kBits>(decoder, dword, step, b);
  }
  if (call.how.kind == arch::MmaKind::mxf8f6f4) {
    const __m128i bytes = _mm_maskz_loadu_epi8(b.present, reinterpret_cast<const __m128i*>(call.scale_b + first));
    const __m512i scales = _mm512_cvtepu8_epi32(bytes);
    b.scale = _mm512_sub_epi32(scales, _mm512_set1_epi32(127));
    note(b.nan, _mm512_cmpeq_epi32_mask(scales, _mm512_set1_epi32(255)), 0);
  }
  const __m512i special = _mm512_or_si512(b.infinite, b.nan);
  b.special = _mm512_test_epi32_mask(special, special) != 0;
  alignas(64) u32 negative[kLanes], zero[kLanes], infinite[kLanes], nan[kLanes];
  _mm512_store_si512(negative, b.negative), _mm512_store_si512(zero, b.zero);
  _mm512_store_si512(infinite, b.infinite), _mm512_store_si512(nan, b.nan);
  for (int lane = 0; lane < kLanes; ++lane) b.facts[lane] = {negative[lane], zero[lane], infinite[lane], nan[lane]};
}

/// Returns the largest exponent of the products of a row with each column, far below all if there is none.
template <int kBits> WW_AVX512_INLINE __m512i largest_exponent(const RowsOfA& a, const ColumnsOfB& b, int row) {
  __m512i top = _mm512_setzero_si512();
#pragma GCC unroll 8
  for (int step = 0; step < kSteps; ++step) {
    const __m512i broadcast = _mm512_set1_epi32(static_cast<i32>(a.exponent[row][step]));
    if constexpr (kBits == 8) {
      const __m512i e = _mm512_add_epi8(b.exponent[step], broadcast);
      top = step == 0 ? e : _mm512_max_epi8(top, e);
    } else if constexpr (kBits == 16) {
      const __m512i e = _mm512_add_epi16(b.exponent[step], broadcast);
      top = step == 0 ? e : _mm512_max_epi16(top, e);
    } else {
      const __m512i e = _mm512_add_epi32(b.exponent[step], broadcast);
      top = step == 0 ? e : _mm512_max_epi32(top, e);
    }
  }
  if constexpr (kBits == 8) {
    top = _mm512_max_epi8(top, _mm512_rol_epi32(top, 16));
    top = _mm512_srai_epi32(_mm512_max_epi8(top, _mm512_rol_epi32(top, 8)), 24);
  } else if constexpr (kBits == 16) {
    top = _mm512_srai_epi32(_mm512_max_epi16(top, _mm512_rol_epi32(top, 16)), 16);
  }
  const __m512i none = _mm512_set1_epi32(kBits == 8 ? -40 : kZeroExponent / 2);
  return _mm512_mask_mov_epi32(top, _mm512_cmplt_epi32_mask(top, none), _mm512_set1_epi32(2 * kZeroExponent));
}

/// Multiplies kRows rows with sixteen columns and accumulates.
template <int kBits, bool kScaled>
WW_AVX512_INLINE void multiply_rows(const Call& call, const RowsOfA& a, const ColumnsOfB& b, int block, int row,
                                    int first) {
  constexpr int kDepth = kRowBytes * 8 / kBits;
  AddendC c[kRows];
  Sums<kProductFraction> sums[kRows];
  __m512i shift[kRows];
  u32* d = call.d + static_cast<i64>(block + row) * call.stride + first;
#pragma GCC unroll 4
  for (int i = 0; i < kRows; ++i) {
    c[i] = read_c(call, d + i * static_cast<i64>(call.stride), b.present);
    if constexpr (kScaled) shift[i] = _mm512_add_epi32(b.scale, _mm512_set1_epi32(a.scale[row + i]));
    sums[i].begin(call, c[i], largest_exponent<kBits>(a, b, row + i), kScaled ? &shift[i] : nullptr, kNudge);
  }
  for (int k = 0; k < kDepth; ++k) {
#pragma GCC unroll 4
    for (int i = 0; i < kRows; ++i) {
      const __m512d x = _mm512_set1_pd(a.value[row + i][k]);
      sums[i].sum[0] = _mm512_fmadd_round_pd(x, b.value[k][0], sums[i].sum[0], kDown);
      sums[i].sum[1] = _mm512_fmadd_round_pd(x, b.value[k][1], sums[i].sum[1], kDown);
    }
  }
#pragma GCC unroll 4
  for (int i = 0; i < kRows; ++i) {
    const RowFacts& facts = a.facts[row + i];
    const __m512i signs = _mm512_xor_si512(b.negative, _mm512_set1_epi32(static_cast<i32>(facts.negative)));
    const __m512i zeros = _mm512_or_si512(b.zero, _mm512_set1_epi32(static_cast<i32>(facts.zero)));
    __m512i negatives = _mm512_popcnt_epi32(_mm512_andnot_si512(zeros, signs));
    negatives = _mm512_mask_add_epi32(negatives, c[i].negative, negatives, _mm512_set1_epi32(1));
    __m512i result = settle_c(sums[i].finish(call, negatives, kScaled ? &shift[i] : nullptr), c[i].bits);
    if (facts.special() || b.special) result = settle_products(result, c[i].bits, facts, b.facts);
    write_d(call, d + i * static_cast<i64>(call.stride), b.present, result);
  }
}

template <int kBits, bool kScaled = false> WW_AVX512 void products(const Call& call) {
  RowsOfA a;
  ColumnsOfB b;
  for (int block = 0; block < call.m; block += kBlockRows) {
    const int rows = call.m - block < kBlockRows ? call.m - block : kBlockRows;
    read_a<kBits>(call, block, rows, a);
    for (int first = 0; first < call.n; first += kLanes) {
      read_b<kBits>(call, first, b);
      for (int row = 0; row < rows; row += kRows) multiply_rows<kBits, kScaled>(call, a, b, block, row, first);
    }
  }
}

}  // namespace

void products_avx512(const Call& call) {
  switch (call.how.kind) {
    case arch::MmaKind::tf32: return products<32>(call);
    case arch::MmaKind::f16: return products<16>(call);
    case arch::MmaKind::mxf8f6f4: return products<8, true>(call);
    default: return products<8>(call);
  }
}

}  // namespace ww::emu::sm100

#else

namespace ww::emu::sm100 {
void products_avx512(const Call& call) { products_portable(call); }
}  // namespace ww::emu::sm100

#endif
