// SPDX-License-Identifier: Apache-2.0
// Conversions between FP32 and the narrow formats, with the rounding and NaN rules of the GPU's cvt instructions.
// Narrowing rounds to nearest even and drops sign and payload of a NaN: bf16 and f16 0x7FFF, e4m3 0x7F. e4m3 saturates
// at +-448 (satfinite), f16 and bf16 overflow to Inf. Widening is exact; NaN becomes 0x7FFFFFFF, except that bf16 is a
// plain shift and keeps its payload, as kernels widen it.
#pragma once

#include "warpwright/core/meta.hpp"

namespace ww::emu {

constexpr u32 f32_bits(float value) { return __builtin_bit_cast(u32, value); }
constexpr float f32_from_bits(u32 bits) { return __builtin_bit_cast(float, bits); }

/// Rounds the finite FP32 magnitude `x` to a format of `kFraction` bits and `kBias`, as if its exponents had no
/// upper end: the caller looks for the overflow.
template <int kFraction, int kBias> constexpr u32 round_magnitude(u32 x) {
  const i32 exponent = static_cast<i32>(x >> 23) - 127;
  if (exponent < -kBias - kFraction) return 0;  // below half of the smallest subnormal, zeros included
  const i32 below = exponent < 1 - kBias ? 1 - kBias - exponent : 0;  // places lost to the subnormal grid
  const u32 significand = (x & 0x7FFFFFu) | 0x800000u;
  const i32 drop = 23 - kFraction + below;
  const u32 odd = (significand >> drop) & 1;
  const u32 rounded = (significand + ((u32{1} << (drop - 1)) - 1) + odd) >> drop;
  // A carry out of the fraction walks into the exponent field, also from the subnormals to the smallest normal.
  return below > 0 ? rounded : (static_cast<u32>(exponent + kBias - 1) << kFraction) + rounded;
}

constexpr u16 f32_to_bf16(float value) {
  const u32 x = f32_bits(value);
  if ((x & 0x7FFFFFFFu) > 0x7F800000u) return 0x7FFF;
  return static_cast<u16>((x + 0x7FFF + ((x >> 16) & 1)) >> 16);
}

constexpr u16 f32_to_f16(float value) {
  const u32 x = f32_bits(value);
  const u32 magnitude = x & 0x7FFFFFFFu;
  if (magnitude > 0x7F800000u) return 0x7FFF;
  const u32 rounded = round_magnitude<10, 15>(magnitude);
  return static_cast<u16>((x >> 16 & 0x8000u) | (rounded < 0x7C00u ? rounded : 0x7C00u));
}

constexpr u8 f32_to_e4m3_satfinite(float value) {
  const u32 x = f32_bits(value);
  const u32 magnitude = x & 0x7FFFFFFFu;
  if (magnitude > 0x7F800000u) return 0x7F;
  const u32 rounded = round_magnitude<3, 7>(magnitude);
  return static_cast<u8>((x >> 24 & 0x80u) | (rounded < 0x7Eu ? rounded : 0x7Eu));
}

/// The finite value of narrow magnitude bits.
template <int kFraction, int kBias> constexpr float widen_magnitude(u32 magnitude) {
  const i32 field = static_cast<i32>(magnitude >> kFraction);
  if (field != 0) return f32_from_bits((magnitude << (23 - kFraction)) + (static_cast<u32>(127 - kBias) << 23));
  constexpr float kStep = f32_from_bits(static_cast<u32>(127 + 1 - kBias - kFraction) << 23);
  return static_cast<float>(magnitude) * kStep;
}

constexpr float bf16_to_f32(u16 bits) { return f32_from_bits(static_cast<u32>(bits) << 16); }

constexpr float f16_to_f32(u16 bits) {
  const u32 magnitude = bits & 0x7FFFu;
  const u32 sign = static_cast<u32>(bits & 0x8000u) << 16;
  if (magnitude > 0x7C00u) return f32_from_bits(0x7FFFFFFFu);
  if (magnitude == 0x7C00u) return f32_from_bits(sign | 0x7F800000u);
  return f32_from_bits(sign | f32_bits(widen_magnitude<10, 15>(magnitude)));
}

constexpr float e4m3_to_f32(u8 bits) {
  const u32 magnitude = bits & 0x7Fu;
  const u32 sign = static_cast<u32>(bits & 0x80u) << 24;
  if (magnitude == 0x7Fu) return f32_from_bits(0x7FFFFFFFu);
  return f32_from_bits(sign | f32_bits(widen_magnitude<3, 7>(magnitude)));
}

}  // namespace ww::emu
