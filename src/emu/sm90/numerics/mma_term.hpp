// SPDX-License-Identifier: Apache-2.0
// Shared by the engines of mma.hpp: the operand formats, one decoded operand, the result of a fused sum, and values
// that are not finite. The engines differ only in how they align and add.
#pragma once

#include "emu/sm90/numerics/mma.hpp"

namespace ww::emu {

inline constexpr int kMmaRows = 64;
inline constexpr int kMmaRowBytes = 32;

/// One call of mma_m64; the signs of the scales have become "flip the sign bit of every element".
struct MmaCall {
  DType type_a, type_b;
  int n;
  const u8* a;  // (64, 32 bytes)
  const u8* b;  // (n, 32 bytes)
  float* d;     // (64, n)
  bool accumulate;
  bool flip_a, flip_b;
};

void mma_exact_portable(const MmaCall& call);
void mma_exact_avx2(const MmaCall& call);
void mma_exact_avx512(const MmaCall& call);
void mma_chain(MmaTarget target, const MmaCall& call);

/// An operand format as the tensor core reads it. `kSumFraction` is F; normalisation keeps `kOutFraction` bits.
template <DType kType> struct MmaFormat;
template <> struct MmaFormat<DType::e4m3> {
  static constexpr int kK = 32, kBits = 8, kFraction = 3, kBias = 7, kSumFraction = 13, kOutFraction = 13;
  static constexpr bool kHasInfinity = false;
};
template <> struct MmaFormat<DType::e5m2> {
  static constexpr int kK = 32, kBits = 8, kFraction = 2, kBias = 15, kSumFraction = 13, kOutFraction = 13;
  static constexpr bool kHasInfinity = true;
};
template <> struct MmaFormat<DType::tf32> {  // the upper 19 bits of each four bytes
  static constexpr int kK = 8, kBits = 19, kFraction = 10, kBias = 127, kSumFraction = 25, kOutFraction = 23;
  static constexpr bool kHasInfinity = true;
};
template <> struct MmaFormat<DType::bf16> {
  static constexpr int kK = 16, kBits = 16, kFraction = 7, kBias = 127, kSumFraction = 25, kOutFraction = 23;
  static constexpr bool kHasInfinity = true;
};
template <> struct MmaFormat<DType::f16> {
  static constexpr int kK = 16, kBits = 16, kFraction = 10, kBias = 15, kSumFraction = 25, kOutFraction = 23;
  static constexpr bool kHasInfinity = true;
};

// A zero term has no exponent. This value never wins a maximum against an existing term (-252 and up), and three of
// them still fit the 16-bit lanes of the e4m3 engine.
inline constexpr i32 kZeroExponent = -2000;
inline constexpr u32 kNan = 0x7FFFFFFFu;
inline constexpr u32 kInfinity = 0x7F800000u;

/// A finite operand: (-1)^negative * significand * 2^(exponent - fraction bits of the format).
struct MmaTerm {
  i32 significand;
  i32 exponent;
  bool negative;
};

/// Decodes magnitude bits. NaN and Inf give some finite term; `special_result` handles their rows.
template <int kFraction, int kBias> inline MmaTerm decode_term(u32 magnitude, bool negative) {
  const i32 field = static_cast<i32>(magnitude >> kFraction);
  const i32 hidden = field != 0 ? 1 << kFraction : 0;
  const i32 significand = static_cast<i32>(magnitude & ((1u << kFraction) - 1)) | hidden;
  const i32 exponent = (field != 0 ? field : 1) - kBias;
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
