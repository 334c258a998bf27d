// SPDX-License-Identifier: Apache-2.0
// The parts of a tensor core's fused sum that machines and engines share: one decoded operand, the result of a sum, and
// values that are not finite. Engines differ in how they align and add.
#pragma once

#include "warpwright/core/numbers.hpp"

namespace ww::emu {

// A zero term has no exponent. This value never wins a maximum against an existing term (-252 and up), and three of
// them still fit 16-bit lanes.
inline constexpr i32 kZeroExponent = -2000;
inline constexpr u32 kNan = 0x7FFFFFFFu;
inline constexpr u32 kInfinity = 0x7F800000u;

/// A finite operand: (-1)^negative * significand * 2^(exponent - fraction bits of the format).
struct MmaTerm {
  i32 significand;
  i32 exponent;
  bool negative;
};

/// Decodes magnitude bits of a format with `fraction` fraction bits. NaN and Inf give some finite term;
/// `special_result` handles their rows. Where `fraction` and `bias` are constants, types carry them, because GCC
/// unrolls fewer loops over terms when it learns of them by inlining.
template <class Fraction, class Bias>
inline MmaTerm decode_term(u32 magnitude, bool negative, Fraction fraction, Bias bias) {
  const i32 field = static_cast<i32>(magnitude >> fraction);
  const i32 hidden = field != 0 ? 1 << fraction : 0;
  const i32 significand = static_cast<i32>(magnitude & ((1u << fraction) - 1)) | hidden;
  const i32 exponent = (field != 0 ? field : 1) - bias;
  return {significand, significand == 0 ? kZeroExponent : exponent, negative};
}

/// Facts about one row of an operand; bit k is about element k.
struct RowFacts {
  u32 negative, zero, infinite, nan;
  bool special() const { return (infinite | nan) != 0; }
};

/// Returns NaN or the signed Inf when a term of row(a) . row(b) + c is not finite, and 0 when all are finite.
inline u32 special_result(const RowFacts& a, const RowFacts& b, u32 c) {
  const u32 infinite = a.infinite | b.infinite;
  const u32 negative = a.negative ^ b.negative;
  const bool c_infinite = (c & kNan) == kInfinity;
  const bool plus = (infinite & ~negative) != 0 || (c_infinite && c >> 31 == 0);
  const bool minus = (infinite & negative) != 0 || (c_infinite && c >> 31 == 1);
  const bool nan = (a.nan | b.nan | (a.infinite & b.zero) | (a.zero & b.infinite)) != 0 || (c & kNan) > kInfinity;
  if (nan || (plus && minus)) return kNan;
  return plus ? kInfinity : minus ? kInfinity | 0x80000000u : 0;
}

/// Returns the FP32 bits of sum * 2^unit, truncated to `fraction` bits or at the subnormal grid; +0 when nothing is
/// left.
inline u32 normalise(i64 sum, i32 unit, int fraction) {
  if (sum == 0) return 0;
  const u32 sign = sum < 0 ? 0x80000000u : 0;
  const u64 magnitude = sum < 0 ? 0 - static_cast<u64>(sum) : static_cast<u64>(sum);
  const int top = 63 - __builtin_clzll(magnitude);
  const i32 exponent = top + unit;
  if (exponent > 127) return sign | kInfinity;
  const u64 aligned = magnitude << (63 - top);  // leading one in bit 63
  const u64 cut = aligned & (~u64{0} << (63 - fraction));
  if (exponent >= -126)
    return sign | ((static_cast<u32>(exponent + 127) << 23) + (static_cast<u32>(cut >> 40) & 0x7FFFFF));
  const int shift = 40 + (-126 - exponent);
  const u32 left = shift > 63 ? 0 : static_cast<u32>(cut >> shift);
  return left == 0 ? 0 : sign | left;
}

}  // namespace ww::emu
