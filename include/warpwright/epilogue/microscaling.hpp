// SPDX-License-Identifier: Apache-2.0
// The scale of a block of mx or nv, and the codes of its elements: what casts (kernel/microscale.hpp) and epilogues
// round to, bit for bit.
#pragma once

#include "warpwright/arch/common/convert_packed.hpp"
#include "warpwright/arch/common/math.hpp"
#include "warpwright/config/enumerations.hpp"

namespace ww::epilogue {

/// The largest number of a type is (1 + fraction / 2^23) 2^exponent.
struct LargestNumber {
  int exponent;
  u32 fraction;
};
WW_HOST_DEVICE constexpr LargestNumber largest_number(DType type) {
  return type == DType::e4m3   ? LargestNumber{8, 0x600000u}   // 448
         : type == DType::e5m2 ? LargestNumber{15, 0x600000u}  // 57344
         : type == DType::e3m2 ? LargestNumber{4, 0x600000u}   // 28
         : type == DType::e2m3 ? LargestNumber{2, 0x700000u}   // 7.5
                               : LargestNumber{2, 0x400000u};  // 6
}

/// A scale as it is stored, and the number by which elements are multiplied.
struct Scaling {
  u32 byte;
  float factor;
};

/// Returns the least 2^e from 2^-127 to 2^127 with amax <= largest 2^e, where largest is that of the type.
template <DType kType> WW_DEVICE Scaling power_of_two(float amax) {
  constexpr LargestNumber kLargest = largest_number(kType);
  const u32 bits = arch::bits_of(amax);
  if (bits > 0x7f800000u) return {255, arch::float_of(0x7fffffffu)};
  const int exponent = static_cast<int>(bits >> 23) - kLargest.exponent + ((bits & 0x7fffffu) > kLargest.fraction);
  const u32 byte = static_cast<u32>(exponent > 0 ? exponent : 0);
  return {byte, arch::float_of((254 - byte) << 23)};
}

/// Returns amax / 6 times `inverse` in e4m3; `inverse` is one over the tensor's scale.
WW_DEVICE Scaling e4m3_scale(float amax, float inverse) {
  const u32 byte = arch::to_e4m3(arch::mul(arch::div(amax, 6.0f), inverse));
  return {byte, byte == 0 ? 0.0f : arch::div(inverse, arch::from_e4m3(static_cast<u8>(byte)))};
}

/// Returns the scale of a block of kType whose largest magnitude is `amax`, by the recipe.
template <Scale kScale, DType kType> WW_DEVICE Scaling microscaling(float amax, float inverse) {
  if constexpr (kScale == Scale::mx) return power_of_two<kType>(amax);
  else return e4m3_scale(amax, inverse);
}

/// Returns the code of an element that has been multiplied by its factor.
template <DType kType> WW_DEVICE u32 microscale_code(float v) {
  if constexpr (kType == DType::e4m3) return arch::to_e4m3(v);
  else if constexpr (kType == DType::e5m2) return arch::to_e5m2(v);
  else return arch::to_packed<kType>(v);
}

}  // namespace ww::epilogue
