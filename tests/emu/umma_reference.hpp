// SPDX-License-Identifier: Apache-2.0
// A slow second implementation of tcgen05.mma's arithmetic, one output at a time, straight from its definition in
// docs/numerics.md. Terms are integers with an exponent, alignment is a division of a 128-bit integer, and the last
// rounding is arithmetic on doubles that hold every step exactly. It shares no code with src/emu.
#pragma once

#include "numerics_reference.hpp"
#include "warpwright/arch/sm100/formats.hpp"

namespace reference {

/// What an instruction is, in the words of its PTX name.
struct Umma {
  ww::arch::MmaKind kind;
  ww::arch::MmaFormat a, b;
  bool f16_result = false, negate_a = false, negate_b = false;
  int scale_input_d = 0, scale_vector = 0;
  bool ue4m3 = false;
};

/// A small format, all of whose codes are finite.
inline Value decode_finite(uint32_t code, int exponent_bits, int fraction, int bias) {
  Value v;
  const int field = static_cast<int>(code >> fraction) % (1 << exponent_bits);
  const int hidden = field == 0 ? 0 : 1 << fraction;
  v.negative = (code >> (fraction + exponent_bits)) % 2 == 1;
  v.fraction = fraction;
  v.significand = static_cast<int64_t>(code % (1u << fraction)) + hidden;
  v.exponent = (field == 0 ? 1 : field) - bias;
  v.kind = v.significand == 0 ? Value::zero : Value::finite;
  return v;
}

inline Value decode(ww::arch::MmaFormat format, uint32_t bits) {
  using ww::arch::MmaFormat;
  switch (format) {
    case MmaFormat::f16: return decode(bits, 5, 10, true);
    case MmaFormat::bf16: return decode(bits, 8, 7, true);
    case MmaFormat::tf32: return decode(bits >> 13, 8, 10, true);
    case MmaFormat::e4m3: return decode(bits, 4, 3, false);
    case MmaFormat::e5m2: return decode(bits, 5, 2, true);
    case MmaFormat::e2m3: return decode_finite(bits, 2, 3, 1);
    case MmaFormat::e3m2: return decode_finite(bits, 3, 2, 3);
    default: return decode_finite(bits, 2, 1, 1);
  }
}

inline Value decode_scale(bool ue4m3, uint8_t bits) {
  if (ue4m3) return decode(bits % 128u, 4, 3, false);
  Value v;
  v.kind = bits == 255 ? Value::nan : Value::finite;
  v.significand = 1;
  v.exponent = bits - 127;
  return v;
}

/// Element k of 32 bytes.
inline uint32_t element(ww::arch::MmaKind kind, const uint8_t* row, int k) {
  using ww::arch::MmaKind;
  if (kind == MmaKind::mxf4 || kind == MmaKind::mxf4nvf4) return k % 2 == 0 ? row[k / 2] % 16u : row[k / 2] / 16u;
  if (kind == MmaKind::f16) return row[2 * k] + 256u * row[2 * k + 1];
  if (kind != MmaKind::tf32) return row[k];
  uint32_t bits;
  std::memcpy(&bits, row + 4 * k, 4);
  return bits;
}

inline int depth(ww::arch::MmaKind kind) {
  using ww::arch::MmaKind;
  return kind == MmaKind::tf32 ? 8 : kind == MmaKind::f16 ? 16 : kind <= MmaKind::mxf8f6f4 ? 32 : 64;
}

/// Rounds x to FP16, nearest even; +0 when nothing is left.
inline uint32_t round_to_f16(double x) {
  const uint32_t sign = std::signbit(x) ? 0x8000u : 0;
  int exponent = 0;
  std::frexp(x, &exponent);  // |x| in [1/2, 1) * 2^exponent
  const int unit = (exponent - 1 < -14 ? -14 : exponent - 1) - 10;
  const double last_place = std::ldexp(std::fabs(x), -unit), whole = std::floor(last_place), rest = last_place - whole;
  const double rounded = std::ldexp(whole + (rest > 0.5 || (rest == 0.5 && std::fmod(whole, 2) == 1) ? 1 : 0), unit);
  if (rounded >= 65536) return sign | 0x7C00u;
  if (rounded == 0) return 0;
  if (rounded < std::ldexp(1.0, -14)) return sign | static_cast<uint32_t>(std::ldexp(rounded, 24));
  const double half = std::frexp(rounded, &exponent);
  return sign | static_cast<uint32_t>((exponent + 14) * 1024 + static_cast<int>((half * 2 - 1) * 1024));
}

/// The truncated sum of `terms` as FP32, or rounded to FP16.
inline uint32_t umma_sum(const std::vector<Value>& terms, int sum_fraction, bool f16_result) {
  if (!f16_result) return fused_sum(terms, sum_fraction, 24);
  const uint32_t wide = fused_sum(terms, sum_fraction, 24);
  if (wide == 0x7FFFFFFFu) return 0x7FFFu;
  std::optional<int> top;
  for (const Value& t : terms) {
    if (t.kind == Value::infinite) return wide >> 31 ? 0xFC00u : 0x7C00u;
    if (t.kind == Value::finite && (!top || t.exponent > *top)) top = t.exponent;
  }
  double sum = 0;  // exact: multiples of one unit below 2^40 of it
  for (const Value& t : terms) {
    if (t.kind != Value::finite) continue;
    const double units =
        std::trunc(std::ldexp(static_cast<double>(t.significand), t.exponent - t.fraction - *top + sum_fraction));
    sum += t.negative ? -units : units;
  }
  return sum == 0 ? 0 : round_to_f16(std::ldexp(sum, *top - sum_fraction));
}

inline Value addend(const Umma& how, bool accumulate, uint32_t cell) {
  if (!accumulate) cell = 0;
  Value c = how.f16_result ? decode(cell % 65536u, 5, 10, true) : decode(cell, 8, 23, true);
  c.exponent -= how.scale_input_d;
  return c;
}

/// One term for each group of 16: the exact sum times the significands of the scales, with the scales' exponent.
inline uint32_t umma_groups(const Umma& how, const uint8_t* a, const uint8_t* b, const uint8_t* scale_a,
                            const uint8_t* scale_b, const Value& c) {
  std::vector<Value> terms{c};
  for (int group = 0; group < 4; ++group) {
    int quarters = 0;
    for (int k = 16 * group; k < 16 * group + 16; ++k) {
      const double x = to_double(decode(how.a, element(how.kind, a, k)));
      const double y = to_double(decode(how.b, element(how.kind, b, k)));
      quarters += static_cast<int>(x * y * 4);
    }
    if (how.negate_a != how.negate_b) quarters = -quarters;
    const int which = group * how.scale_vector / 4;
    Value term = product(decode_scale(how.ue4m3, scale_a[which]), decode_scale(how.ue4m3, scale_b[which]));
    term.negative = quarters < 0;
    term.significand *= std::abs(quarters);  // zero too: the term stays finite, and its exponent counts
    term.fraction += 2;
    terms.push_back(term);
  }
  return fused_sum(terms, 35, 24);
}

/// One output of tcgen05.mma.
inline uint32_t umma_output(const Umma& how, const uint8_t* a, const uint8_t* b, const uint8_t* scale_a,
                            const uint8_t* scale_b, bool accumulate, uint32_t cell) {
  const Value c = addend(how, accumulate, cell);
  if (depth(how.kind) == 64) return umma_groups(how, a, b, scale_a, scale_b, c);
  std::vector<Value> terms{c};
  for (int k = 0; k < depth(how.kind); ++k) {
    Value p = product(decode(how.a, element(how.kind, a, k)), decode(how.b, element(how.kind, b, k)));
    if (how.negate_a != how.negate_b) p.negative = !p.negative;
    if (how.kind == ww::arch::MmaKind::mxf8f6f4) {
      const Value x = decode_scale(false, *scale_a), y = decode_scale(false, *scale_b);
      if (x.kind == Value::nan || y.kind == Value::nan) p.kind = Value::nan;
      p.exponent += x.exponent + y.exponent;
    }
    terms.push_back(p);
  }
  return umma_sum(terms, 25, how.f16_result);
}

}  // namespace reference
