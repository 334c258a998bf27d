// SPDX-License-Identifier: Apache-2.0
// Shared by the engines of umma.hpp: one call, the formats of operands and scales, C as a term, and the result of a sum
// in D's format.
#pragma once

#include "emu/numerics/fused_sum.hpp"
#include "emu/sm100/numerics/umma.hpp"

namespace ww::emu::sm100 {

inline constexpr int kRowBytes = 32;
inline constexpr int kBlockRows = 64;        // rows of A that an engine decodes at a time
inline constexpr int kMaxProducts = 32;      // of one fused sum
inline constexpr int kProductFraction = 25;  // F
inline constexpr int kGroup = 16;            // elements whose products are added before they are scaled
inline constexpr int kGroups = 4;
inline constexpr int kGroupFraction = 35;  // F of the sum of groups

/// The arguments of multiply().
struct Call {
  const UmmaArithmetic& how;
  int m, n;
  const u8 *a, *b, *scale_a, *scale_b;
  u32* d;
  int stride;
  bool accumulate;
  bool f16() const { return how.d == arch::MmaResult::f16; }
};

void products_portable(const Call& call);
void products_avx2(const Call& call);
void products_avx512(const Call& call);
void groups_portable(const Call& call);
void groups_avx2(const Call& call);
void groups_avx512(const Call& call);
void chain(MmaTarget target, const Call& call);

/// An operand format as the tensor core reads it. tf32 is the upper 19 bits of four bytes.
struct OperandFormat {
  int bits, fraction, bias;
  bool infinity;    // the top exponent is Inf and NaN
  bool single_nan;  // all ones is NaN
  constexpr u32 magnitude_mask() const { return (1u << (bits - 1)) - 1; }
};

constexpr OperandFormat format_of(arch::MmaFormat format) {
  switch (format) {
    case arch::MmaFormat::f16: return {16, 10, 15, true, false};
    case arch::MmaFormat::bf16: return {16, 7, 127, true, false};
    case arch::MmaFormat::tf32: return {19, 10, 127, true, false};
    case arch::MmaFormat::e4m3: return {8, 3, 7, false, true};
    case arch::MmaFormat::e5m2: return {8, 2, 15, true, false};
    case arch::MmaFormat::e2m3: return {6, 3, 1, false, false};
    case arch::MmaFormat::e3m2: return {6, 2, 3, false, false};
    default: return {4, 1, 1, false, false};
  }
}

/// Returns element k of a row, as the bits of its format at the bottom and whatever stands above them.
inline u32 element_bits(arch::MmaKind kind, const u8* row, int k) {
  switch (arch::sm100::mma_k(kind)) {
    case 8: {
      u32 bits;
      __builtin_memcpy(&bits, row + 4 * k, 4);
      return bits >> 13;
    }
    case 16: return row[2 * k] | static_cast<u32>(row[2 * k + 1]) << 8;
    case 32: return row[k];
    default: return row[k / 2] >> (k % 2 * 4) & 15u;
  }
}

/// A block scale: significand * 2^(exponent - 3). A significand of zero is the scale 0, which ue8m0 does not have.
struct ScaleTerm {
  i32 significand, exponent;
  bool nan;
};

inline ScaleTerm decode_scale(arch::ScaleFormat format, u8 bits) {
  if (format == arch::ScaleFormat::ue8m0) return {8, bits - 127, bits == 0xFF};
  const MmaTerm term = decode_term(bits & 0x7Fu, false, 3, 7);  // its sign is ignored
  return {term.significand, term.exponent, (bits & 0x7F) == 0x7F};
}

/// C as a term whose significand has 23 fraction bits, and as the FP32 bits that special_result() judges.
struct Addend {
  MmaTerm term;
  u32 bits;
};

inline Addend decode_addend(const Call& call, u32 cell) {
  if (!call.accumulate) cell = 0;
  if (call.f16()) {
    const u32 sign = (cell & 0x8000u) << 16, magnitude = cell & 0x7FFFu;
    Addend c{decode_term(magnitude, sign != 0, 10, 15), sign};
    c.term.significand <<= 13;
    c.term.exponent -= call.how.scale_input_d;
    if (magnitude >= 0x7C00u) c.bits = magnitude > 0x7C00u ? kNan : sign | kInfinity;
    return c;
  }
  Addend c{decode_term(cell & kNan, cell >> 31 != 0, 23, 127), cell};
  c.term.exponent -= call.how.scale_input_d;
  return c;
}

/// Returns the FP16 bits of sum * 2^unit, rounded to nearest even; +0 when nothing is left.
inline u32 round_to_f16(i64 sum, i32 unit) {
  if (sum == 0) return 0;
  const u32 sign = sum < 0 ? 0x8000u : 0;
  const u64 magnitude = sum < 0 ? 0 - static_cast<u64>(sum) : static_cast<u64>(sum);
  const i32 exponent = 63 - __builtin_clzll(magnitude) + unit;
  if (exponent > 15) return sign | 0x7C00u;
  const i32 grid = exponent < -14 ? -14 : exponent;  // the unit of the last place is 2^(grid - 10)
  const i32 shift = grid - 10 - unit;
  u64 kept = 0;
  if (shift <= 0) {
    kept = magnitude << -shift;
  } else if (shift < 64) {
    const u64 rest = magnitude & ((u64{1} << shift) - 1), half = u64{1} << (shift - 1);
    kept = magnitude >> shift;
    kept += rest > half || (rest == half && kept % 2 == 1);
  }
  // The hidden bit, and a carry out of the fraction, add one to the exponent field.
  const u32 bits = (static_cast<u32>(grid + 14) << 10) + static_cast<u32>(kept);
  return bits == 0 ? 0 : sign | bits;
}

/// Returns the cell of a finite sum * 2^unit, or of `special`, the result of special_result() if that is not 0.
inline u32 result_cell(const Call& call, u32 special, i64 sum, i32 unit) {
  if (!call.f16()) return special != 0 ? special : normalise(sum, unit, 23);
  if (special == 0) return round_to_f16(sum, unit);
  return special == kNan ? 0x7FFFu : (special >> 16 & 0x8000u) | 0x7C00u;
}

}  // namespace ww::emu::sm100
