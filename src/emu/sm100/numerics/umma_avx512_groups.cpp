// SPDX-License-Identifier: Apache-2.0
// The sums of scaled groups of umma.hpp in AVX-512: one row of A against 16 columns of B at a time. Twice the value of
// a 4-bit element is a small integer, so that a group's sum is four byte products of VNNI; the four groups and C are
// then added as in umma_avx512.hpp. A group is 8 bytes; its low and its high halves are multiplied apart, because the
// order within a group does not matter.
#include "emu/sm100/numerics/umma_avx512.hpp"

#if defined(__x86_64__)

namespace ww::emu::sm100 {
namespace {

constexpr int kWords = 4;  // of four elements, in a group
// A group's term is below 2^12 * 2^top = 2^47 units and has 20 significant bits, C 24.
constexpr double kNudge = 1 + 0x1p-48;
constexpr int kOffset = 12;           // makes B's bytes unsigned
constexpr int kTermFraction = 2 + 6;  // of a sum of products of halves, times two scales of three fraction bits

struct alignas(64) RowsOfA {
  u32 word[kBlockRows][kGroups][kWords];
  i32 start[kBlockRows][kGroups];  // minus kOffset times the sum of a group
  ScaleTerm scale[kBlockRows][kGroups];
  bool nan[kBlockRows];
};

struct alignas(64) ColumnsOfB {
  __m512i word[kGroups][kWords];
  __m512i significand[kGroups], exponent[kGroups];
  __mmask16 nan, present;
};

/// Twice the values of the 16 codes, plus `offset`.
WW_AVX512_INLINE __m512i values(bool negate, int offset) {
  constexpr i8 kTwice[] = {0, 1, 2, 3, 4, 6, 8, 12, 0, -1, -2, -3, -4, -6, -8, -12};
  alignas(16) i8 table[16];
  for (int i = 0; i < 16; ++i) table[i] = static_cast<i8>((negate ? -kTwice[i] : kTwice[i]) + offset);
  return _mm512_broadcast_i32x4(_mm_load_si128(reinterpret_cast<const __m128i*>(table)));
}

WW_AVX512_INLINE __m512i low_halves(__m512i table, __m512i bytes) {
  return _mm512_shuffle_epi8(table, _mm512_and_si512(bytes, _mm512_set1_epi8(15)));
}

WW_AVX512_INLINE __m512i high_halves(__m512i table, __m512i bytes) {
  return low_halves(table, _mm512_srli_epi16(bytes, 4));
}

WW_AVX512_INLINE void read_a(const Call& call, int first, int rows, RowsOfA& a) {
  const __m512i table = values(call.how.negate_a, 0);
  for (int row = 0; row < rows; ++row) {
    const u8* bytes = call.a + (first + row) * kRowBytes;
    const __m512i raw = _mm512_zextsi256_si512(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(bytes)));
    alignas(64) u32 low[16], high[16];
    _mm512_store_si512(low, low_halves(table, raw));
    _mm512_store_si512(high, high_halves(table, raw));
    a.nan[row] = false;
    const u8* scales = call.scale_a + (first + row) * call.how.scale_vector;
    for (int group = 0; group < kGroups; ++group) {
      u32* word = a.word[row][group];
      word[0] = low[2 * group], word[1] = low[2 * group + 1];
      word[2] = high[2 * group], word[3] = high[2 * group + 1];
      i8 element[kGroup];
      __builtin_memcpy(element, word, sizeof element);
      i32 sum = 0;
      for (i8 x : element) sum += x;
      a.start[row][group] = -kOffset * sum;
      a.scale[row][group] = decode_scale(call.how.scale, scales[group * call.how.scale_vector / kGroups]);
      a.nan[row] |= a.scale[row][group].nan;
    }
  }
}

WW_AVX512_INLINE void read_b(const Call& call, int first, ColumnsOfB& b) {
  const int columns = call.n - first < kLanes ? call.n - first : kLanes;
  b.present = static_cast<__mmask16>((1u << columns) - 1);
  b.nan = 0;
  const __m512i table = values(call.how.negate_b, kOffset);
  const __m512i rows = _mm512_mullo_epi32(_mm512_set_epi32(15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0),
                                          _mm512_set1_epi32(kRowBytes));
  const u8* base = call.b + first * kRowBytes;
  for (int group = 0; group < kGroups; ++group) {
    for (int half = 0; half < 2; ++half) {
      const u8* dwords = base + 8 * group + 4 * half;
      const __m512i raw = _mm512_mask_i32gather_epi32(_mm512_setzero_si512(), b.present, rows, dwords, 1);
      b.word[group][half] = low_halves(table, raw);
      b.word[group][2 + half] = high_halves(table, raw);
    }
    alignas(64) i32 significand[kLanes] = {}, exponent[kLanes] = {};
    for (int lane = 0; lane < columns; ++lane) {
      const u8* scales = call.scale_b + (first + lane) * call.how.scale_vector;
      const ScaleTerm scale = decode_scale(call.how.scale, scales[group * call.how.scale_vector / kGroups]);
      significand[lane] = scale.significand, exponent[lane] = scale.exponent;
      if (scale.nan) b.nan = static_cast<__mmask16>(b.nan | 1u << lane);
    }
    b.significand[group] = _mm512_load_si512(significand);
    b.exponent[group] = _mm512_load_si512(exponent);
  }
}

WW_AVX512_INLINE __m512i multiply_row(const Call& call, const RowsOfA& a, const ColumnsOfB& b, int row,
                                      const AddendC& c) {
  __m512i value[kGroups], exponent[kGroups], top = _mm512_set1_epi32(2 * kZeroExponent);
#pragma GCC unroll 4
  for (int group = 0; group < kGroups; ++group) {
    __m512i sum = _mm512_set1_epi32(a.start[row][group]);
#pragma GCC unroll 4
    for (int word = 0; word < kWords; ++word)
      sum =
          _mm512_dpbusd_epi32(sum, b.word[group][word], _mm512_set1_epi32(static_cast<i32>(a.word[row][group][word])));
    const ScaleTerm& scale = a.scale[row][group];
    value[group] =
        _mm512_mullo_epi32(sum, _mm512_mullo_epi32(b.significand[group], _mm512_set1_epi32(scale.significand)));
    exponent[group] = _mm512_add_epi32(b.exponent[group], _mm512_set1_epi32(scale.exponent));
    top = _mm512_max_epi32(top, exponent[group]);
  }
  Sums<kGroupFraction> sums;
  sums.begin(call, c, top, nullptr, kNudge);
  const __m512i one = _mm512_set1_epi32(1);
  const __m512d nudge = _mm512_set1_pd(kNudge);
  __m512i negatives = _mm512_maskz_mov_epi32(c.negative, one);
#pragma GCC unroll 4
  for (int group = 0; group < kGroups; ++group) {
    const __m512i unit = _mm512_sub_epi32(exponent[group], _mm512_set1_epi32(kTermFraction));
    const __m512d low = _mm512_scalef_pd(low_doubles(value[group]), low_doubles(unit));
    const __m512d high = _mm512_scalef_pd(high_doubles(value[group]), high_doubles(unit));
    sums.sum[0] = _mm512_fmadd_round_pd(low, nudge, sums.sum[0], kDown);
    sums.sum[1] = _mm512_fmadd_round_pd(high, nudge, sums.sum[1], kDown);
    negatives = _mm512_mask_add_epi32(negatives, _mm512_movepi32_mask(value[group]), negatives, one);
  }
  const __m512i settled = settle_c(sums.finish(call, negatives, nullptr), c.bits);
  const __mmask16 nan = a.nan[row] ? static_cast<__mmask16>(0xFFFF) : b.nan;
  return _mm512_mask_mov_epi32(settled, nan, _mm512_set1_epi32(static_cast<i32>(kNan)));
}

WW_AVX512 void groups(const Call& call) {
  RowsOfA a;
  ColumnsOfB b;
  for (int block = 0; block < call.m; block += kBlockRows) {
    const int rows = call.m - block < kBlockRows ? call.m - block : kBlockRows;
    read_a(call, block, rows, a);
    for (int first = 0; first < call.n; first += kLanes) {
      read_b(call, first, b);
      for (int row = 0; row < rows; ++row) {
        u32* d = call.d + static_cast<i64>(block + row) * call.stride + first;
        const AddendC c = read_c(call, d, b.present);
        write_d(call, d, b.present, multiply_row(call, a, b, row, c));
      }
    }
  }
}

}  // namespace

void groups_avx512(const Call& call) { groups(call); }

}  // namespace ww::emu::sm100

#else

namespace ww::emu::sm100 {
void groups_avx512(const Call& call) { groups_portable(call); }
}  // namespace ww::emu::sm100

#endif
