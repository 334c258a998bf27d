// SPDX-License-Identifier: Apache-2.0
// Conversions from FP32 to e2m1, e3m2 and e2m3: round to nearest even, saturate, NaN becomes the largest positive
// number. sm_100a has instructions for them (cvt.rn.satfinite); everywhere else integer arithmetic has their results.
// PTX ISA: cvt, .e2m1x2, .e3m2x2, .e2m3x2.
#pragma once

#include "warpwright/arch/common/convert.hpp"

namespace ww::arch {

/// The fraction and the exponent range of a packed type, and the bits of its largest number as FP32.
struct PackedFormat {
  int fraction_bits, min_exponent;
  u32 largest;
};
WW_HOST_DEVICE constexpr PackedFormat packed_format(DType type) {
  return type == DType::e2m1   ? PackedFormat{1, 0, 0x40c00000u}   // 6
         : type == DType::e3m2 ? PackedFormat{2, -2, 0x41e00000u}  // 28
                               : PackedFormat{3, 0, 0x40f00000u};  // 7.5
}

/// Returns the code of `v` in a packed type, by integer arithmetic.
template <DType kType>
requires(is_packed(kType)) WW_HOST_DEVICE u32 round_to_packed(float v) {
  constexpr PackedFormat kFormat = packed_format(kType);
  constexpr u32 kTop = (1u << (ww::bits_of(kType) - 1)) - 1;
  const u32 bits = bits_of(v), magnitude = bits & 0x7fffffffu;
  if (magnitude > 0x7f800000u) return kTop;
  const u32 sign = bits >> 31 << (ww::bits_of(kType) - 1);
  if (magnitude >= kFormat.largest) return sign | kTop;
  const int exponent = static_cast<int>(magnitude >> 23) - 127;
  const int below = exponent < kFormat.min_exponent ? kFormat.min_exponent - exponent : 0;
  const int shift = 23 - kFormat.fraction_bits + below;
  if (shift > 25) return sign;  // less than half of the smallest
  const u32 significand = (magnitude & 0x7fffffu) | 0x800000u;
  const u32 kept = significand >> shift, rest = significand & ((1u << shift) - 1), half = 1u << (shift - 1);
  const u32 rounded = kept + (rest > half || (rest == half && (kept & 1) != 0) ? 1 : 0);
  // The exponent is added, so that a carry out of the fraction raises it.
  const u32 code =
      below > 0 ? rounded : rounded + (static_cast<u32>(exponent - kFormat.min_exponent) << kFormat.fraction_bits);
  return sign | (code < kTop ? code : kTop);
}

#if defined(__CUDA_ARCH_FEAT_SM100_ALL)
inline namespace ptx {
/// Returns the code of `low` in the low bits of a nibble or byte, and that of `high` in the next.
template <DType kType>
requires(is_packed(kType)) WW_DEVICE u32 to_packed_pair(float low, float high) {
  u32 pair;
  if constexpr (kType == DType::e2m1) {
    asm("{\n.reg .b8 pair;\ncvt.rn.satfinite.e2m1x2.f32 pair, %1, %2;\ncvt.u32.u8 %0, pair;\n}"
        : "=r"(pair)
        : "f"(high), "f"(low));
  } else {
    u16 both;
    if constexpr (kType == DType::e3m2)
      asm("cvt.rn.satfinite.e3m2x2.f32 %0, %1, %2;" : "=h"(both) : "f"(high), "f"(low));
    else asm("cvt.rn.satfinite.e2m3x2.f32 %0, %1, %2;" : "=h"(both) : "f"(high), "f"(low));
    pair = both;
  }
  return pair;
}
}  // namespace ptx
#else
inline namespace emu {
template <DType kType>
requires(is_packed(kType)) WW_HOST_DEVICE u32 to_packed_pair(float low, float high) {
  return round_to_packed<kType>(low) | round_to_packed<kType>(high) << (kType == DType::e2m1 ? 4 : 8);
}
}  // namespace emu
#endif

/// Returns the code of `v` in a packed type.
template <DType kType>
requires(is_packed(kType)) WW_HOST_DEVICE u32 to_packed(float v) {
#if defined(__CUDA_ARCH_FEAT_SM100_ALL)
  return to_packed_pair<kType>(v, 0.0f);
#else
  return round_to_packed<kType>(v);
#endif
}

}  // namespace ww::arch
