// SPDX-License-Identifier: Apache-2.0
// Converts bits of an element to a number and back, for generating operands and for judging results.
// It shares no code with arch/common/convert.hpp, so that a verification does not repeat a mistake of what it verifies.
// e4m3 is the OCP type: bias 7, no Inf, NaN is S.1111.111, largest 448.
#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>

#include "warpwright/core/dtype.hpp"

namespace ww::ref {

inline double decode_e4m3(std::uint8_t bits) {
  const int exponent = bits >> 3 & 15, fraction = bits & 7;
  double value = exponent ? std::ldexp(8 + fraction, exponent - 10) : std::ldexp(fraction, -9);
  if (exponent == 15 && fraction == 7) value = std::numeric_limits<double>::quiet_NaN();
  return bits & 0x80 ? -value : value;
}

/// Decodes e5m2: bias 15, Inf and NaN as in f16, largest 57344.
inline double decode_e5m2(std::uint8_t bits) {
  const int exponent = bits >> 2 & 31, fraction = bits & 3;
  double value = exponent ? std::ldexp(4 + fraction, exponent - 17) : std::ldexp(fraction, -16);
  if (exponent == 31)
    value = fraction ? std::numeric_limits<double>::quiet_NaN() : std::numeric_limits<double>::infinity();
  return bits & 0x80 ? -value : value;
}

/// Decodes a code of e2m1, e3m2 or e2m3: a sign, exponent and fraction without Inf or NaN.
inline double decode_small(std::uint8_t code, int exponent_bits, int fraction_bits) {
  const int exponent = code >> fraction_bits & ((1 << exponent_bits) - 1), fraction = code & ((1 << fraction_bits) - 1);
  const int bias = (1 << (exponent_bits - 1)) - 1, unit = (exponent ? exponent : 1) - bias - fraction_bits;
  const double value = std::ldexp((exponent ? 1 << fraction_bits : 0) + fraction, unit);
  return code >> (exponent_bits + fraction_bits) & 1 ? -value : value;
}

/// Decodes e8m0, 2^(bits - 127); 255 is NaN.
inline double decode_e8m0(std::uint8_t bits) {
  return bits == 255 ? std::numeric_limits<double>::quiet_NaN() : std::ldexp(1.0, bits - 127);
}

inline double decode_bf16(std::uint16_t bits) { return std::bit_cast<float>(std::uint32_t{bits} << 16); }

inline double decode_f16(std::uint16_t bits) {
  const int exponent = bits >> 10 & 31, fraction = bits & 1023;
  double value = exponent ? std::ldexp(1024 + fraction, exponent - 25) : std::ldexp(fraction, -24);
  if (exponent == 31)
    value = fraction ? std::numeric_limits<double>::quiet_NaN() : std::numeric_limits<double>::infinity();
  return bits & 0x8000 ? -value : value;
}

/// Decodes the element at `data` of any type; `data` needs no alignment. Of packed types it is the first element.
inline double decode(DType type, const void* data) {
  const auto* bytes = static_cast<const std::uint8_t*>(data);
  const std::uint16_t half = static_cast<std::uint16_t>(bytes[0] | (bits_of(type) > 8 ? bytes[1] << 8 : 0));
  switch (type) {
    case DType::e4m3: return decode_e4m3(bytes[0]);
    case DType::bf16: return decode_bf16(half);
    case DType::f16: return decode_f16(half);
    case DType::e5m2: return decode_e5m2(bytes[0]);
    case DType::e2m1: return decode_small(bytes[0], 2, 1);
    case DType::e3m2: return decode_small(bytes[0], 3, 2);
    case DType::e2m3: return decode_small(bytes[0], 2, 3);
    case DType::e8m0: return decode_e8m0(bytes[0]);
    case DType::f32:
    case DType::tf32: break;
  }
  const std::uint32_t word = std::uint32_t{half} | std::uint32_t{bytes[2]} << 16 | std::uint32_t{bytes[3]} << 24;
  return std::bit_cast<float>(type == DType::tf32 ? word & ~std::uint32_t{0x1fff}
                                                  : word);  // as the tensor core reads it
}

/// Returns the code of element `index` of a row of a packed type.
inline std::uint8_t packed_code(DType type, const void* row, std::int64_t index) {
  const auto* bytes = static_cast<const std::uint8_t*>(row);
  if (bits_of(type) == 4) return static_cast<std::uint8_t>(bytes[index / 2] >> index % 2 * 4 & 15);
  const auto* unit = bytes + index / 4 * 3;
  const std::uint32_t word = std::uint32_t{unit[0]} | std::uint32_t{unit[1]} << 8 | std::uint32_t{unit[2]} << 16;
  return static_cast<std::uint8_t>(word >> index % 4 * 6 & 63);
}
/// Replaces the code of element `index` of a row of a packed type.
inline void set_packed_code(DType type, void* row, std::int64_t index, std::uint8_t code) {
  auto* bytes = static_cast<std::uint8_t*>(row);
  const int width = bits_of(type), mask = (1 << width) - 1;
  for (int bit = 0; bit < width; bit += 2) {  // a code of 6 bits may span two bytes, a pair of bits never does
    const std::int64_t at = index * width + bit;
    std::uint8_t& byte = bytes[at / 8];
    byte = static_cast<std::uint8_t>((byte & ~(3 << at % 8)) | ((code & mask) >> bit & 3) << at % 8);
  }
}
/// Decodes element `index` of a row of any type.
inline double decode_at(DType type, const void* row, std::int64_t index) {
  if (is_packed(type)) {
    const std::uint8_t code = packed_code(type, row, index);
    return decode(type, &code);
  }
  return decode(type, static_cast<const std::uint8_t*>(row) + index * bytes_of(type));
}

/// The parameters of rounding to a type: kept fraction bits, smallest normal exponent, largest finite value.
struct Format {
  int fraction_bits;
  int min_exponent;
  double largest;
};
inline constexpr Format format_of(DType type) {
  switch (type) {
    case DType::e4m3: return {3, -6, 448};
    case DType::bf16: return {7, -126, 0x1.fep127};
    case DType::f16: return {10, -14, 65504};
    case DType::e5m2: return {2, -14, 57344};
    case DType::e2m1: return {1, 0, 6};
    case DType::e3m2: return {2, -2, 28};
    case DType::e2m3: return {3, 0, 7.5};
    case DType::e8m0: return {0, -127, 0x1p127};
    case DType::f32:
    case DType::tf32: break;
  }
  return {23, -126, 0x1.fffffep127};
}

/// Returns the nearest value of `type`, ties to even; finite values beyond the largest saturate. `value` is finite.
inline double round_to(DType type, double value) {
  const Format format = format_of(type);
  int exponent = 0;
  std::frexp(value, &exponent);
  const int unit = std::max(exponent - 1, format.min_exponent) - format.fraction_bits;
  const double rounded = std::ldexp(std::nearbyint(std::ldexp(value, -unit)), unit);
  return std::min(std::max(rounded, -format.largest), format.largest);
}

/// Returns the bits of `round_to(type, value)` for the types of at most two bytes. Not for e8m0, which has neither sign
/// nor zero.
inline std::uint16_t encode(DType type, double value) {
  const Format format = format_of(type);
  const int bias = 1 - format.min_exponent, width = bits_of(type);
  const double magnitude = std::fabs(round_to(type, value));
  int exponent = 0;
  std::frexp(magnitude, &exponent);
  --exponent;
  std::uint32_t bits;
  if (magnitude == 0 || exponent < format.min_exponent)
    bits = static_cast<std::uint32_t>(std::ldexp(magnitude, format.fraction_bits - format.min_exponent));
  else  // the leading one of the significand adds 1 to the exponent field
    bits = static_cast<std::uint32_t>(std::ldexp(magnitude, format.fraction_bits - exponent)) +
           (static_cast<std::uint32_t>(exponent + bias - 1) << format.fraction_bits);
  return static_cast<std::uint16_t>(bits | (std::signbit(value) ? 1u << (width - 1) : 0));
}

}  // namespace ww::ref
