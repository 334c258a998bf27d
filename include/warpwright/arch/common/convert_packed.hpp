// SPDX-License-Identifier: Apache-2.0
// Conversions from FP32 to e2m1, e3m2 and e2m3 by integer arithmetic on every executor, because only sm_100a has
// instructions for them (cvt.rn.satfinite), with the results of those: round to nearest even, saturate, NaN becomes the
// largest positive number.
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

/// Returns the code of `v` in a packed type.
template <DType kType>
requires(is_packed(kType)) WW_HOST_DEVICE u32 to_packed(float v) {
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

}  // namespace ww::arch
