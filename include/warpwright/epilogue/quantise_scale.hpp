// SPDX-License-Identifier: Apache-2.0
// The scale of a block of FP8 values: amax / largest, as one product with the rounded reciprocal of `largest`.
// A block of zeros has scale 1. A scale is at least 2^-126, so that its reciprocal is finite. NaN stays NaN.
#pragma once

#include "warpwright/arch/common/math.hpp"

namespace ww::epilogue {

/// The reciprocal of the type's largest value, rounded: 1 / 448 or 1 / 57344.
template <DType kType> inline constexpr float kFp8Step = kType == DType::e4m3 ? 0x1.24924ap-9f : 0x1.24924ap-16f;

/// Returns the scale of a block whose largest magnitude is `amax`, for values up to 1 / `step`; with `power_of_two`,
/// the smallest power of two that is not below it.
WW_DEVICE float quantise_scale(float amax, float step, bool power_of_two) {
  if (arch::bits_of(amax) == 0) return 1.0f;
  float scale = arch::mul(amax, step);
  if (power_of_two) {
    const u32 bits = arch::bits_of(scale);
    if (bits < arch::kInfinityBits) scale = arch::float_of((bits + 0x7fffffu) & arch::kInfinityBits);
  }
  return scale < 0x1p-126f ? 0x1p-126f : scale;
}

}  // namespace ww::epilogue
