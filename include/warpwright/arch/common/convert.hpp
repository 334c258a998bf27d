// SPDX-License-Identifier: Apache-2.0
// Conversions between FP32 and the storage types, with the hardware's rounding and NaN rules on both executors:
// - Narrowing rounds to nearest even. Any NaN becomes 0x7FFF (bf16, f16) or 0x7F (e4m3, e5m2). f16 overflows to Inf;
//   e4m3 saturates to +-448 and e5m2 to +-57344 (cvt.rn.satfinite).
// - Widening is exact and has one source for both executors. NaN becomes 0x7FFFFFFF, except that bf16 is a plain shift
//   and keeps its payload.
// The host uses the same functions for operands and references. PTX ISA: cvt.
#pragma once

#include "warpwright/arch/common/executor.hpp"

namespace ww::arch {

#if defined(__CUDACC__)
inline namespace ptx {
WW_DEVICE u32 bits_of(float v) { return __float_as_uint(v); }
WW_DEVICE float float_of(u32 bits) { return __uint_as_float(bits); }
/// Two values in one register, `low` in bits 0..15.
WW_DEVICE u32 to_bf16x2(float low, float high) {
  u32 r;
  asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(r) : "f"(high), "f"(low));
  return r;
}
WW_DEVICE u32 to_f16x2(float low, float high) {
  u32 r;
  asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(r) : "f"(high), "f"(low));
  return r;
}
WW_DEVICE u16 to_e4m3x2(float low, float high) {
  u16 r;
  asm("cvt.rn.satfinite.e4m3x2.f32 %0, %1, %2;" : "=h"(r) : "f"(high), "f"(low));
  return r;
}
WW_DEVICE u16 to_e5m2x2(float low, float high) {
  u16 r;
  asm("cvt.rn.satfinite.e5m2x2.f32 %0, %1, %2;" : "=h"(r) : "f"(high), "f"(low));
  return r;
}
WW_DEVICE u16 to_bf16(float v) {
  u16 r;
  asm("cvt.rn.bf16.f32 %0, %1;" : "=h"(r) : "f"(v));
  return r;
}
WW_DEVICE u16 to_f16(float v) {
  u16 r;
  asm("cvt.rn.f16.f32 %0, %1;" : "=h"(r) : "f"(v));
  return r;
}
WW_DEVICE u8 to_e4m3(float v) { return static_cast<u8>(to_e4m3x2(v, 0.0f)); }
WW_DEVICE u8 to_e5m2(float v) { return static_cast<u8>(to_e5m2x2(v, 0.0f)); }
}  // namespace ptx
#else
inline namespace emu {
WW_HOST_DEVICE constexpr u32 bits_of(float v) { return __builtin_bit_cast(u32, v); }
WW_HOST_DEVICE constexpr float float_of(u32 bits) { return __builtin_bit_cast(float, bits); }

WW_HOST_DEVICE constexpr u16 to_bf16(float v) {
  const u32 x = bits_of(v);
  if ((x & 0x7fffffffu) > 0x7f800000u) return 0x7fff;
  return static_cast<u16>((x + 0x7fffu + ((x >> 16) & 1)) >> 16);
}

/// Rounds FP32 to a smaller binary format by integer arithmetic: kBits of fraction, smallest normal exponent
/// kMinExponent. Returns the magnitude's bits, which may exceed the largest finite value.
template <int kBits, int kMinExponent> WW_HOST_DEVICE constexpr u32 round_magnitude(u32 x) {
  const int exponent = static_cast<int>(x >> 23) - 127;
  const u32 significand = x >> 23 ? (x & 0x7fffffu) | 0x800000u : x & 0x7fffffu;
  const int below = exponent < kMinExponent ? kMinExponent - exponent : 0;  // extra shift of a subnormal result
  const int shift = 23 - kBits + below;
  if (shift > 25) return 0;
  const u32 kept = significand >> shift, rest = significand & ((1u << shift) - 1), half = 1u << (shift - 1);
  const u32 rounded = kept + (rest > half || (rest == half && (kept & 1)));
  // The exponent is added, not or-ed, so that a carry out of the fraction raises it.
  return below ? rounded : rounded + (static_cast<u32>(exponent - kMinExponent) << kBits);
}

WW_HOST_DEVICE constexpr u16 to_f16(float v) {
  const u32 x = bits_of(v), magnitude = x & 0x7fffffffu, sign = (x >> 16) & 0x8000u;
  if (magnitude > 0x7f800000u) return 0x7fff;
  if (magnitude >= 0x47800000u) return static_cast<u16>(sign | 0x7c00u);  // 65536 and above
  const u32 r = round_magnitude<10, -14>(magnitude);
  return static_cast<u16>(sign | r);  // a carry past 65504 is 0x7c00, Inf
}

WW_HOST_DEVICE constexpr u8 to_e4m3(float v) {
  const u32 x = bits_of(v), magnitude = x & 0x7fffffffu, sign = (x >> 24) & 0x80u;
  if (magnitude > 0x7f800000u) return 0x7f;
  if (magnitude >= 0x43f00000u) return static_cast<u8>(sign | 0x7eu);  // 480 and above, Inf included
  const u32 r = round_magnitude<3, -6>(magnitude);
  return static_cast<u8>(sign | (r > 0x7eu ? 0x7eu : r));
}

WW_HOST_DEVICE constexpr u8 to_e5m2(float v) {
  const u32 x = bits_of(v), magnitude = x & 0x7fffffffu, sign = (x >> 24) & 0x80u;
  if (magnitude > 0x7f800000u) return 0x7f;
  if (magnitude >= 0x47800000u) return static_cast<u8>(sign | 0x7bu);  // 65536 and above, Inf included
  const u32 r = round_magnitude<2, -14>(magnitude);
  return static_cast<u8>(sign | (r > 0x7bu ? 0x7bu : r));
}

WW_HOST_DEVICE constexpr u32 to_bf16x2(float low, float high) { return to_bf16(low) | u32{to_bf16(high)} << 16; }
WW_HOST_DEVICE constexpr u32 to_f16x2(float low, float high) { return to_f16(low) | u32{to_f16(high)} << 16; }
WW_HOST_DEVICE constexpr u16 to_e4m3x2(float low, float high) {
  return static_cast<u16>(to_e4m3(low) | to_e4m3(high) << 8);
}
WW_HOST_DEVICE constexpr u16 to_e5m2x2(float low, float high) {
  return static_cast<u16>(to_e5m2(low) | to_e5m2(high) << 8);
}
}  // namespace emu
#endif

/// Widens a format with kBits of fraction and bias kBias. Unless kAllFinite, an all-ones exponent means Inf or NaN.
template <int kBits, int kBias, bool kAllFinite> WW_HOST_DEVICE float widen(u32 magnitude, u32 sign) {
  const u32 exponent = magnitude >> kBits, fraction = magnitude & ((1u << kBits) - 1);
  if (exponent == 0) {  // subnormal: an integer times a power of two, exact in FP32
    const float value = static_cast<float>(fraction) * float_of(static_cast<u32>(127 + 1 - kBias - kBits) << 23);
    return float_of(bits_of(value) | sign);
  }
  if (!kAllFinite && exponent == 2 * kBias + 1) return float_of(fraction ? 0x7fffffffu : sign | 0x7f800000u);
  return float_of(sign | (exponent + 127 - kBias) << 23 | fraction << (23 - kBits));
}
WW_HOST_DEVICE float from_bf16(u16 bits) { return float_of(static_cast<u32>(bits) << 16); }
WW_HOST_DEVICE float from_f16(u16 bits) {
  return widen<10, 15, false>(bits & 0x7fffu, static_cast<u32>(bits & 0x8000u) << 16);
}
WW_HOST_DEVICE float from_e4m3(u8 bits) {
  if ((bits & 0x7f) == 0x7f) return float_of(0x7fffffffu);
  return widen<3, 7, true>(bits & 0x7fu, static_cast<u32>(bits & 0x80u) << 24);
}
WW_HOST_DEVICE float from_e5m2(u8 bits) {
  return widen<2, 15, false>(bits & 0x7fu, static_cast<u32>(bits & 0x80u) << 24);
}

/// Two elements of an FP8 type, the first in the low byte.
template <DType kType>
requires(is_fp8(kType)) WW_HOST_DEVICE u16 to_fp8x2(float low, float high) {
  if constexpr (kType == DType::e4m3) return to_e4m3x2(low, high);
  else return to_e5m2x2(low, high);
}
template <DType kType>
requires(is_fp8(kType)) WW_HOST_DEVICE float from_fp8(u8 bits) {
  if constexpr (kType == DType::e4m3) return from_e4m3(bits);
  else return from_e5m2(bits);
}

}  // namespace ww::arch
