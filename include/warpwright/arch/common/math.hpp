// SPDX-License-Identifier: Apache-2.0
// FP32 arithmetic with the same meaning on both executors. A multiply-add is written as fma; nothing else is ever fused
// (-fmad=false for PTX, -ffp-contract=off on the host). The functions below are built from fma, mul, add and
// bit patterns, one source for both executors, so that their results are bit-equal. None is `.approx`.
//   function     largest error (ulp)   at the edges
//   div          0.5 (IEEE 754)        x / +-0 = +-Inf, 0 / 0 and Inf / Inf are NaN; subnormal quotients are kept
//   exp2, exp    1.0                   overflow gives Inf; subnormal results are kept, then 0
//   tanh         2.0                   +-1 past |x| = 9.02; tanh(x) = x for tiny and subnormal x, -0 included
//   sigmoid      3.0                   subnormal results are kept
//   reciprocal   0.51 (subnormal: 1)   1/+-0 = +-Inf, 1/+-Inf = +-0; below 2^-128 the reciprocal is Inf
//   rsqrt        0.51                  +-0 gives +-Inf, Inf gives 0, x < 0 gives NaN
//   gelu_erf     4 (x < 0: 7)          +-0 stays, Inf gives Inf, -Inf gives the limit -0; subnormal results within 3.5
// Every NaN that these functions return, fma, mul, add and div included, is 0x7FFFFFFF. FP32 subnormals are kept.
// PTX ISA: fma.rn, mul.rn, add.rn, div.rn.
#pragma once

#include "warpwright/arch/common/convert.hpp"

namespace ww::arch {

inline constexpr u32 kNanBits = 0x7fffffffu;
inline constexpr u32 kInfinityBits = 0x7f800000u;
inline constexpr u32 kSignBit = 0x80000000u;

#if defined(__CUDACC__)
inline namespace ptx {
WW_DEVICE float fma(float a, float b, float c) { return __fmaf_rn(a, b, c); }
WW_DEVICE float mul(float a, float b) { return __fmul_rn(a, b); }
WW_DEVICE float add(float a, float b) { return __fadd_rn(a, b); }
WW_DEVICE float div(float a, float b) { return __fdiv_rn(a, b); }
}  // namespace ptx
#else
inline namespace emu {
/// Returns the canonical NaN of the GPU's FP32 units for any NaN; the host's NaNs keep signs and payloads.
// Inlining is forced, because compilers do not inline an instrumented function into one that is not, such as
// wgmma::add_scaled.
__attribute__((always_inline)) WW_DEVICE float one_nan(float v) {
  return v != v ? __builtin_bit_cast(float, kNanBits) : v;
}
__attribute__((always_inline)) WW_DEVICE float fma(float a, float b, float c) {
  return one_nan(__builtin_fmaf(a, b, c));
}
WW_DEVICE float mul(float a, float b) { return one_nan(a * b); }
WW_DEVICE float add(float a, float b) { return one_nan(a + b); }
WW_DEVICE float div(float a, float b) { return one_nan(a / b); }
}  // namespace emu
#endif

/// Returns x * 2^n for -252 <= n <= 254, rounded once when the result is subnormal.
WW_DEVICE float scale_by_power(float x, i32 n) {
  const i32 half = n >> 1;
  // The scaling takes two steps, because 2^n itself may not be representable.
  const float low = float_of(static_cast<u32>(127 + half) << 23),
              high = float_of(static_cast<u32>(127 + n - half) << 23);
  return mul(mul(x, low), high);
}

/// The integer nearest to a float of magnitude below 2^22, found without a conversion instruction.
struct Rounded {
  i32 integer;
  float value;
};
WW_DEVICE Rounded integer_of(float biased) {
  // `biased` is x + 1.5 * 2^23. Its last bit has the value 1, so the addition has rounded x to an integer.
  return {static_cast<i32>(bits_of(biased) - 0x4b400000u), add(biased, -0x1.8p23f)};
}

/// Returns 2^x: n = round(x), r = x - n exactly, 2^r = 1 + r q(r) on |r| <= 1/2.
WW_DEVICE float exp2(float x) {
  if (x != x) return float_of(kNanBits);
  const float inside = x > 129.0f ? 129.0f : x < -151.0f ? -151.0f : x;  // the result is Inf or 0 beyond these limits
  const Rounded n = integer_of(add(inside, 0x1.8p23f));
  const float r = add(inside, -n.value);
  float q = 0x1.446de8p-13f;
  q = fma(q, r, 0x1.5f0a2p-10f);
  q = fma(q, r, 0x1.3b29e2p-7f);
  q = fma(q, r, 0x1.c6af6ap-5f);
  q = fma(q, r, 0x1.ebfbep-3f);
  q = fma(q, r, 0x1.62e43p-1f);
  return scale_by_power(fma(q, r, 1.0f), n.integer);
}

/// Returns e^x: n = round(x / ln 2), r = x - n ln 2 with ln 2 in two parts, e^r = 1 + (r + r^2 q(r)).
WW_DEVICE float exp(float x) {
  if (x != x) return float_of(kNanBits);
  const float inside = x > 90.0f ? 90.0f : x < -105.0f ? -105.0f : x;
  const Rounded n = integer_of(fma(inside, 0x1.715476p0f, 0x1.8p23f));
  float r = fma(-n.value, 0x1.62e43p-1f, inside);
  r = fma(n.value, 0x1.05c61p-29f, r);
  float q = 0x1.a17f68p-13f;
  q = fma(q, r, 0x1.6d444ep-10f);
  q = fma(q, r, 0x1.1110aap-7f);
  q = fma(q, r, 0x1.5554e8p-5f);
  q = fma(q, r, 0x1.555556p-3f);
  q = fma(q, r, 0.5f);
  return scale_by_power(add(1.0f, fma(mul(r, r), q, r)), n.integer);
}

/// A positive number as m * 2^exponent with 1 <= m < 2.
struct Decomposed {
  u32 fraction;
  i32 exponent;
};
WW_DEVICE Decomposed decompose(u32 magnitude) {
  const bool subnormal = magnitude < 0x00800000u;
  const u32 normal = subnormal ? bits_of(mul(float_of(magnitude), 0x1p24f)) : magnitude;
  return {normal & 0x7fffffu, static_cast<i32>(normal >> 23) - (subnormal ? 127 + 24 : 127)};
}

/// Returns 1 / x: a cubic estimate of the significand, then two Newton steps y + y (1 - m y), of which the last rounds
/// once.
WW_DEVICE float reciprocal(float x) {
  const u32 sign = bits_of(x) & kSignBit, magnitude = bits_of(x) & ~kSignBit;
  if (magnitude > kInfinityBits) return float_of(kNanBits);
  if (magnitude == kInfinityBits) return float_of(sign);
  if (magnitude == 0) return float_of(sign | kInfinityBits);
  const Decomposed d = decompose(magnitude);
  const float m = float_of(0x3f800000u | d.fraction);
  float y = fma(-0x1.c65286p-3f, m, 0x1.54bde4p0f);
  y = fma(y, m, -0x1.783c58p1f);
  y = fma(y, m, 0x1.6a09c2p1f);
  y = fma(fma(-m, y, 1.0f), y, y);
  y = fma(fma(-m, y, 1.0f), y, y);
  return float_of(bits_of(scale_by_power(y, -d.exponent)) | sign);
}

/// Returns 1 / sqrt(x). With h + l = m y exactly, the residual 1 - m y^2 of the second step is exact enough to round
/// once.
WW_DEVICE float rsqrt(float x) {
  const u32 bits = bits_of(x), magnitude = bits & ~kSignBit;
  if (magnitude > kInfinityBits) return float_of(kNanBits);
  if (magnitude == 0) return float_of(bits | kInfinityBits);
  if (bits & kSignBit) return float_of(kNanBits);
  if (magnitude == kInfinityBits) return 0.0f;
  const Decomposed d = decompose(magnitude);
  const float m =
      // 1 <= m < 4, which leaves an even power of two
      float_of((d.exponent & 1 ? 0x40000000u : 0x3f800000u) | d.fraction);
  float y = fma(-0x1.381f06p-6f, m, 0x1.8eb732p-3f);
  y = fma(y, m, -0x1.7a4c2ap-1f);
  y = fma(y, m, 0x1.8e6242p0f);
  y = fma(mul(0.5f, y), fma(-mul(m, y), y, 1.0f), y);
  const float h = mul(m, y), l = fma(m, y, -h);
  const float residual = fma(-l, y, fma(-h, y, 1.0f));
  y = fma(mul(y, residual), fma(residual, 0.375f, 0.5f), y);
  return scale_by_power(y, -(d.exponent >> 1));
}

/// Returns (e^x - e^-x) / (e^x + e^-x): an odd polynomial near zero, 1 - 2 / (e^2|x| + 1) elsewhere.
WW_DEVICE float tanh(float x) {
  if (x != x) return float_of(kNanBits);
  const u32 sign = bits_of(x) & kSignBit;
  const float magnitude = float_of(bits_of(x) & ~kSignBit);
  if (magnitude < 0.55f) {
    const float s = mul(magnitude, magnitude);
    float q = -0x1.b1eedap-8f;
    q = fma(q, s, 0x1.5d3e2ep-6f);
    q = fma(q, s, -0x1.b9a2eep-5f);
    q = fma(q, s, 0x1.110ff4p-3f);
    q = fma(q, s, -0x1.555554p-2f);
    return float_of(bits_of(fma(mul(q, s), magnitude, magnitude)) | sign);
  }
  const float inside = magnitude > 10.0f ? 10.0f : magnitude;
  const float denominator = add(exp(mul(2.0f, inside)), 1.0f);
  return float_of(bits_of(fma(-2.0f, reciprocal(denominator), 1.0f)) | sign);
}

/// Returns 1 / (1 + e^-x), for negative x as e^x / (1 + e^x), so that no step overflows.
WW_DEVICE float sigmoid(float x) {
  if (x != x) return float_of(kNanBits);
  const float e = exp(float_of(bits_of(x) | kSignBit));
  return mul(bits_of(x) & kSignBit ? e : 1.0f, reciprocal(add(1.0f, e)));
}

/// x (1 + erf(x / sqrt(2))) / 2, the exact GELU. With a = |x| and r(a) = erfc(a / sqrt(2)) e^(a^2 / 2) / 2 it is
/// x r e^(-a^2 / 2) for x < 0, which does not cancel, and x minus that for x > 0. r is s times a polynomial in
/// u = 1 - s with s = 1 / (1 + 0.3 a), off by 2^-28 on 0 <= a <= 16. a^2 is carried in two parts, because the
/// exponential turns its absolute error into a relative one.
WW_DEVICE float gelu_erf(float x) {
  const float inside = x > 16.0f ? 16.0f : x < -16.0f ? -16.0f : x;  // e^-128 is 0
  const float a = float_of(bits_of(inside) & ~kSignBit);
  const float part = mul(a, 0x1.333334p-2f), s = reciprocal(add(part, 1.0f));
  const float u = add(mul(part, s), -0.375f);
  float q = 0x1.520068p-6f;
  q = fma(q, u, -0x1.d41db4p-9f);
  q = fma(q, u, -0x1.6807dap-5f);
  q = fma(q, u, 0x1.696294p-13f);
  q = fma(q, u, 0x1.77309cp-4f);
  q = fma(q, u, -0x1.9da6dp-6f);
  q = fma(q, u, -0x1.c9878ap-3f);
  q = fma(q, u, 0x1.b8ea14p-2f);
  q = fma(q, u, -0x1.b479b2p-2f);
  q = fma(q, u, 0x1.136b18p-2f);
  const float tail = mul(mul(q, s), inside);  // x r
  const float high = mul(a, a), low = fma(a, a, -high);
  const float e = exp(mul(-0.5f, high)), power = fma(mul(e, -0.5f), low, e);
  return x > 0.0f ? fma(-tail, power, x) : mul(tail, power);
}

}  // namespace ww::arch
