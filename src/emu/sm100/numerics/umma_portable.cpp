// SPDX-License-Identifier: Apache-2.0
// The fused sums of umma.hpp in 64-bit integers, one row of A against eight columns of B, for any CPU; compiled a
// second time for AVX2. Significands of every format get ten fraction bits, so that all pairs are the same arithmetic.
#include "emu/sm100/numerics/umma_term.hpp"

namespace ww::emu::sm100 {
namespace {

#define WW_ALWAYS_INLINE __attribute__((always_inline)) inline

constexpr int kColumns = 8;
constexpr int kOperandFraction = 10;
constexpr int kProductShift = kProductFraction - 2 * kOperandFraction;
constexpr int kAddendShift = kProductFraction - 23;
constexpr i32 kLongestShift = 63;  // nothing is left of a term

/// Decodes element k of a row as a term of ten fraction bits, and notes its kind of value in `facts`.
MmaTerm read_term(arch::MmaKind kind, const OperandFormat& format, const u8* row, int k, bool negate, RowFacts& facts) {
  const u32 bits = element_bits(kind, row, k);
  const u32 magnitude = bits & format.magnitude_mask();
  const u32 top_field = format.magnitude_mask() >> format.fraction << format.fraction;  // Inf where the format has one
  const bool negative = (bits >> (format.bits - 1) & 1) != static_cast<u32>(negate);
  const bool nan = (format.infinity && magnitude > top_field) || (format.single_nan && magnitude == 0x7F);
  facts.negative |= static_cast<u32>(negative) << k;
  facts.zero |= static_cast<u32>(magnitude == 0) << k;
  facts.infinite |= static_cast<u32>(format.infinity && magnitude == top_field) << k;
  facts.nan |= static_cast<u32>(nan) << k;
  MmaTerm term = decode_term(magnitude, negative, format.fraction, format.bias);
  term.significand <<= kOperandFraction - format.fraction;
  return term;
}

/// Returns the exponent of a row's scale, and makes a NaN of it a fact of the row.
i32 read_scale(const Call& call, const u8* scales, int row, RowFacts& facts) {
  if (call.how.kind != arch::MmaKind::mxf8f6f4) return 0;
  const ScaleTerm scale = decode_scale(arch::ScaleFormat::ue8m0, scales[row]);
  facts.nan |= static_cast<u32>(scale.nan);
  return scale.exponent;
}

struct RowsOfA {
  i32 exponent[kBlockRows][kMaxProducts], significand[kBlockRows][kMaxProducts];  // signed
  RowFacts facts[kBlockRows];
};

struct ColumnsOfB {
  i32 exponent[kMaxProducts][kColumns], significand[kMaxProducts][kColumns];
  RowFacts facts[kColumns];
};

void read_a(const Call& call, int first, int rows, RowsOfA& a) {
  const OperandFormat format = format_of(call.how.a);
  for (int row = 0; row < rows; ++row) {
    a.facts[row] = {};
    const i32 scale = read_scale(call, call.scale_a, first + row, a.facts[row]);
    for (int k = 0; k < arch::sm100::mma_k(call.how.kind); ++k) {
      const MmaTerm term =
          read_term(call.how.kind, format, call.a + (first + row) * kRowBytes, k, call.how.negate_a, a.facts[row]);
      a.exponent[row][k] = term.exponent + scale;
      a.significand[row][k] = term.negative ? -term.significand : term.significand;
    }
  }
}

void read_b(const Call& call, int first, ColumnsOfB& b) {
  const OperandFormat format = format_of(call.how.b);
  for (int column = 0; column < kColumns; ++column) {
    b.facts[column] = {};
    const i32 scale = read_scale(call, call.scale_b, first + column, b.facts[column]);
    for (int k = 0; k < arch::sm100::mma_k(call.how.kind); ++k) {
      const MmaTerm term = read_term(call.how.kind, format, call.b + (first + column) * kRowBytes, k, call.how.negate_b,
                                     b.facts[column]);
      b.exponent[k][column] = term.exponent + scale;
      b.significand[k][column] = term.negative ? -term.significand : term.significand;
    }
  }
}

/// Returns significand * 2^left, shifted right by `distance` and truncated towards zero.
WW_ALWAYS_INLINE i64 align(i64 significand, int left, i32 distance) {
  const i64 sign = significand >> 63;
  const u64 magnitude = static_cast<u64>((significand ^ sign) - sign) << left;
  const i64 cut = static_cast<i64>(magnitude >> (distance < kLongestShift ? distance : kLongestShift));
  return (cut ^ sign) - sign;
}

WW_ALWAYS_INLINE i64 signed_significand(const MmaTerm& term) {
  return term.negative ? -term.significand : term.significand;
}

WW_ALWAYS_INLINE void products(const Call& call) {
  RowsOfA a;
  ColumnsOfB b;
  const int depth = arch::sm100::mma_k(call.how.kind);
  for (int block = 0; block < call.m; block += kBlockRows) {
    const int rows = call.m - block < kBlockRows ? call.m - block : kBlockRows;
    read_a(call, block, rows, a);
    for (int first = 0; first < call.n; first += kColumns) {
      read_b(call, first, b);
      for (int row = 0; row < rows; ++row) {
        u32* d = call.d + static_cast<i64>(block + row) * call.stride + first;
        Addend c[kColumns];
        i32 top[kColumns];
        i64 sum[kColumns];
        for (int column = 0; column < kColumns; ++column) {
          c[column] = decode_addend(call, d[column]);
          top[column] = c[column].term.exponent;
        }
        for (int k = 0; k < depth; ++k) {
          for (int column = 0; column < kColumns; ++column) {
            const i32 exponent = a.exponent[row][k] + b.exponent[k][column];
            top[column] = exponent > top[column] ? exponent : top[column];
          }
        }
        for (int column = 0; column < kColumns; ++column) {
          const MmaTerm& term = c[column].term;
          sum[column] = align(signed_significand(term), kAddendShift, top[column] - term.exponent);
        }
        for (int k = 0; k < depth; ++k) {
          for (int column = 0; column < kColumns; ++column) {
            const i32 distance = top[column] - (a.exponent[row][k] + b.exponent[k][column]);
            sum[column] += align(a.significand[row][k] * b.significand[k][column], kProductShift, distance);
          }
        }
        for (int column = 0; column < kColumns; ++column) {
          const u32 special = special_result(a.facts[row], b.facts[column], c[column].bits);
          d[column] = result_cell(call, special, sum[column], top[column] - kProductFraction);
        }
      }
    }
  }
}

// --- groups of 4-bit elements --------------------------------------------------------------------

/// A row of 4-bit elements in halves, and its scales.
struct GroupedRow {
  i8 twice[kGroups][kGroup];
  ScaleTerm scale[kGroups];
  RowFacts facts;
};

void read_groups(const Call& call, const u8* row, const u8* scales, bool negate, GroupedRow& out) {
  constexpr i8 kTwice[] = {0, 1, 2, 3, 4, 6, 8, 12};
  out.facts = {};
  for (int group = 0; group < kGroups; ++group) {
    for (int k = 0; k < kGroup; ++k) {
      const u32 bits = element_bits(call.how.kind, row, group * kGroup + k);
      const i8 twice = kTwice[bits & 7];
      out.twice[group][k] = static_cast<i8>((bits > 7) != negate ? -twice : twice);
    }
    out.scale[group] = decode_scale(call.how.scale, scales[group * call.how.scale_vector / kGroups]);
    out.facts.nan |= static_cast<u32>(out.scale[group].nan);
  }
}

WW_ALWAYS_INLINE u32 group_output(const Call& call, const GroupedRow& a, const GroupedRow& b, u32 cell) {
  constexpr int kScaledFraction = 2 + 3 + 3;  // of a product of two halves, and of each scale
  const Addend c = decode_addend(call, cell);
  i32 top = c.term.exponent, exponent[kGroups], value[kGroups];
  for (int group = 0; group < kGroups; ++group) {
    i32 sum = 0;
    for (int k = 0; k < kGroup; ++k) sum += a.twice[group][k] * b.twice[group][k];
    const ScaleTerm &x = a.scale[group], &y = b.scale[group];
    value[group] = sum * (x.significand * y.significand);
    exponent[group] = x.exponent + y.exponent;  // of a group of zeros as well; of a scale of zero none
    top = exponent[group] > top ? exponent[group] : top;
  }
  i64 sum = align(signed_significand(c.term), kGroupFraction - 23, top - c.term.exponent);
  for (int group = 0; group < kGroups; ++group)
    sum += align(value[group], kGroupFraction - kScaledFraction, top - exponent[group]);
  return result_cell(call, special_result(a.facts, b.facts, c.bits), sum, top - kGroupFraction);
}

WW_ALWAYS_INLINE void groups(const Call& call) {
  GroupedRow a[kBlockRows], b;
  for (int block = 0; block < call.m; block += kBlockRows) {
    const int rows = call.m - block < kBlockRows ? call.m - block : kBlockRows;
    for (int row = 0; row < rows; ++row) {
      const int index = block + row;
      read_groups(call, call.a + index * kRowBytes, call.scale_a + index * call.how.scale_vector, call.how.negate_a,
                  a[row]);
    }
    for (int column = 0; column < call.n; ++column) {
      read_groups(call, call.b + column * kRowBytes, call.scale_b + column * call.how.scale_vector, call.how.negate_b,
                  b);
      for (int row = 0; row < rows; ++row) {
        u32* cell = call.d + static_cast<i64>(block + row) * call.stride + column;
        *cell = group_output(call, a[row], b, *cell);
      }
    }
  }
}

}  // namespace

void products_portable(const Call& call) { products(call); }
void groups_portable(const Call& call) { groups(call); }

#if defined(__x86_64__)
__attribute__((target("avx2"))) void products_avx2(const Call& call) { products(call); }
__attribute__((target("avx2"))) void groups_avx2(const Call& call) { groups(call); }
#else
void products_avx2(const Call& call) { products(call); }
void groups_avx2(const Call& call) { groups(call); }
#endif

}  // namespace ww::emu::sm100
