// SPDX-License-Identifier: Apache-2.0
// A slow second implementation of the tensor core's fused sum, one output at a time, straight from its definition.
// Terms are integers with an exponent, alignment is a division of a 128-bit integer, and normalisation is arithmetic on
// doubles that hold every step exactly. It shares no code with src/emu/sm90/numerics.
#pragma once

#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <optional>
#include <vector>

#include "warpwright/core/dtype.hpp"

namespace reference {

struct Value {
  enum Kind { zero, finite, infinite, nan } kind = zero;
  bool negative = false;
  int64_t significand = 0;  // an integer; the value is significand * 2^(exponent - fraction)
  int exponent = 0;
  int fraction = 0;
};

/// A number of `exponent_bits` and `fraction` bits; formats without Inf keep their top exponent for numbers but one.
inline Value decode(uint32_t bits, int exponent_bits, int fraction, bool has_infinity) {
  Value v;
  const int bias = (1 << (exponent_bits - 1)) - 1, last = (1 << exponent_bits) - 1;
  const uint32_t fraction_bits = bits % (1u << fraction);
  const int field = static_cast<int>(bits >> fraction) & last;
  v.negative = (bits >> (fraction + exponent_bits)) & 1;
  v.fraction = fraction;
  if (has_infinity && field == last) {
    v.kind = fraction_bits == 0 ? Value::infinite : Value::nan;
  } else if (!has_infinity && field == last && fraction_bits == (1u << fraction) - 1) {
    v.kind = Value::nan;
  } else if (field == 0) {
    v.kind = fraction_bits == 0 ? Value::zero : Value::finite;
    v.significand = fraction_bits;
    v.exponent = 1 - bias;
  } else {
    v.kind = Value::finite;
    v.significand = fraction_bits + (1 << fraction);
    v.exponent = field - bias;
  }
  return v;
}

inline Value decode(ww::DType type, uint32_t bits) {
  switch (type) {
    case ww::DType::e4m3: return decode(bits, 4, 3, false);
    case ww::DType::bf16: return decode(bits, 8, 7, true);
    case ww::DType::f16: return decode(bits, 5, 10, true);
    case ww::DType::e5m2: return decode(bits, 5, 2, true);
    case ww::DType::tf32: return decode(bits >> 13, 8, 10, true);
    default: return decode(bits, 8, 23, true);
  }
}

/// The value of a finite number or zero; exact.
inline double to_double(const Value& v) {
  if (v.kind == Value::infinite) return v.negative ? -INFINITY : INFINITY;
  if (v.kind == Value::nan) return NAN;
  const double magnitude = std::ldexp(static_cast<double>(v.significand), v.exponent - v.fraction);
  return v.negative ? -magnitude : magnitude;
}

inline Value product(const Value& a, const Value& b) {
  Value p;
  p.negative = a.negative != b.negative;
  if (a.kind == Value::nan || b.kind == Value::nan) p.kind = Value::nan;
  else if (a.kind == Value::infinite || b.kind == Value::infinite)
    p.kind = a.kind == Value::zero || b.kind == Value::zero ? Value::nan : Value::infinite;
  else if (a.kind == Value::zero || b.kind == Value::zero) p.kind = Value::zero;
  else p.kind = Value::finite;
  p.significand = a.significand * b.significand;
  p.exponent = a.exponent + b.exponent;
  p.fraction = a.fraction + b.fraction;
  return p;
}

/// Truncates `x` to `digits` significant bits, then at 2^-149, towards zero. Returns the bits of the FP32: Inf past its
/// range, +0 when nothing is left.
inline uint32_t cut_to_f32(double x, int digits) {
  const uint32_t sign = std::signbit(x) ? 0x80000000u : 0;
  int exponent = 0;
  const double half = std::frexp(std::fabs(x), &exponent);  // in [1/2, 1)
  double cut = std::ldexp(std::trunc(std::ldexp(half, digits)), exponent - digits);
  if (cut >= std::ldexp(1.0, 128)) return sign | 0x7F800000u;
  cut = std::ldexp(std::trunc(std::ldexp(cut, 149)), -149);
  if (cut == 0) return 0;
  const float narrow = static_cast<float>(cut);  // exact: at most 24 bits on the grid
  uint32_t bits;
  std::memcpy(&bits, &narrow, sizeof bits);
  return sign | bits;
}

/// Returns the fused sum of `terms` with `sum_fraction` kept bits, as FP32 of `out_digits` significant bits.
inline uint32_t fused_sum(const std::vector<Value>& terms, int sum_fraction, int out_digits) {
  bool nan = false, plus = false, minus = false;
  std::optional<int> top;
  for (const Value& t : terms) {
    nan |= t.kind == Value::nan;
    if (t.kind == Value::infinite) (t.negative ? minus : plus) = true;
    if (t.kind == Value::finite && (!top || t.exponent > *top)) top = t.exponent;
  }
  if (nan || (plus && minus)) return 0x7FFFFFFFu;
  if (plus || minus) return plus ? 0x7F800000u : 0xFF800000u;
  __int128 sum = 0;
  for (const Value& t : terms) {
    if (t.kind != Value::finite) continue;
    // significand * 2^-fraction / 2^(top - exponent), in units of 2^-sum_fraction
    const int divide = t.fraction + (*top - t.exponent);
    const __int128 scaled = static_cast<__int128>(t.significand) << sum_fraction;  // below 2^50
    const __int128 aligned = divide > 100 ? 0 : scaled / (static_cast<__int128>(1) << divide);
    sum += t.negative ? -aligned : aligned;
  }
  if (sum == 0) return 0;
  return cut_to_f32(std::ldexp(static_cast<double>(sum), *top - sum_fraction), out_digits);
}

/// One output of wgmma: row . row + c.
inline uint32_t mma_output(ww::DType type_a, ww::DType type_b, const uint8_t* a, const uint8_t* b, uint32_t c,
                           bool negate_a, bool negate_b) {
  const int bytes = ww::bytes_of(type_a);
  std::vector<Value> terms{decode(c, 8, 23, true)};
  for (int k = 0; k < 32 / bytes; ++k) {
    uint32_t x = 0, y = 0;
    std::memcpy(&x, a + k * bytes, static_cast<size_t>(bytes));
    std::memcpy(&y, b + k * bytes, static_cast<size_t>(bytes));
    Value p = product(decode(type_a, x), decode(type_b, y));
    if (negate_a != negate_b) p.negative = !p.negative;
    terms.push_back(p);
  }
  return bytes == 1 ? fused_sum(terms, 13, 14) : fused_sum(terms, 25, 24);
}

}  // namespace reference
