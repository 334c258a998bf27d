// SPDX-License-Identifier: Apache-2.0
// The functions of arch/common/math.hpp against long double: the error bounds that the header states, and its
// special values. Samples are dense over all exponents and over the range where a function is neither constant nor
// overflowing.
#include "warpwright/arch/common/math.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>

namespace ww::arch {
namespace {

constexpr float kInf = std::numeric_limits<float>::infinity();

/// |got - want| in units of the last place of a float near `want`.
double ulps(float got, long double want) {
  int exponent = 0;
  std::frexp(want, &exponent);
  return static_cast<double>(std::fabs(got - want) / std::ldexp(1.0L, std::max(exponent - 1, -126) - 23));
}

struct Worst {
  double normal = 0, subnormal = 0;
  float at = 0;
};

template <class Function, class Reference> void compare(float x, Function function, Reference reference, Worst& worst) {
  const long double want = reference(static_cast<long double>(x));
  const float got = function(x), nearest = static_cast<float>(want);
  if (std::isnan(want)) {
    ASSERT_EQ(bits_of(got), kNanBits) << std::hexfloat << "at " << x;
  } else if (std::isinf(nearest) || std::isinf(got)) {
    // the largest float may be taken for Inf, or Inf for it, within the bound
    const bool near_the_top = std::fabs(want) >= 0x1.fffffcp127L;
    ASSERT_TRUE(got == nearest || near_the_top) << std::hexfloat << "at " << x << " got " << got;
  } else {
    double& side = std::fabs(want) < 0x1p-126L ? worst.subnormal : worst.normal;
    const double error = ulps(got, want);
    if (error > side) side = error, worst.at = x;
    ASSERT_TRUE(want != 0 || bits_of(got) == bits_of(nearest)) << "sign of zero at " << x;
  }
}

template <class Function, class Reference>
Worst worst_error(Function function, Reference reference, float low, float high) {
  Worst worst;
  std::mt19937 generator(5);
  for (u32 top = 0; top < 512 * 2048; ++top)  // sign, exponent and 11 bits of fraction; the rest at random
    compare(float_of(top << 12 | (generator() & 0xfff)), function, reference, worst);
  for (int i = 0; i < 1'000'000; ++i)
    compare(low + (high - low) * (static_cast<float>(generator()) * 0x1p-32f), function, reference, worst);
  testing::Test::RecordProperty("worst_normal", std::to_string(worst.normal));
  testing::Test::RecordProperty("worst_subnormal", std::to_string(worst.subnormal));
  return worst;
}

#define EXPECT_BOUND(worst, bound, subnormal_bound)                                              \
  EXPECT_LE((worst).normal, bound) << std::hexfloat << "worst near " << (worst).at;              \
  EXPECT_LE((worst).subnormal, subnormal_bound) << std::hexfloat << "worst near " << (worst).at; \
  EXPECT_GT((worst).normal, 0.3) << "no function rounds better than this: was it compared?"

TEST(Math, Exp2IsWithinOneUlp) {
  const Worst w = worst_error([](float x) { return exp2(x); }, [](long double x) { return std::exp2(x); }, -150, 128);
  EXPECT_BOUND(w, 1.0, 1.0);
}
TEST(Math, ExpIsWithinOneUlp) {
  const Worst w = worst_error([](float x) { return exp(x); }, [](long double x) { return std::exp(x); }, -104, 89);
  EXPECT_BOUND(w, 1.0, 1.0);
}
TEST(Math, TanhIsWithinTwoUlp) {
  const Worst w = worst_error([](float x) { return tanh(x); }, [](long double x) { return std::tanh(x); }, -10, 10);
  EXPECT_BOUND(w, 2.0, 0.5);
}
TEST(Math, SigmoidIsWithinThreeUlp) {
  const auto reference = [](long double x) { return 1 / (1 + std::exp(-x)); };
  const Worst w = worst_error([](float x) { return sigmoid(x); }, reference, -100, 20);
  EXPECT_BOUND(w, 3.0, 1.0);
}
TEST(Math, ReciprocalIsRoundedAlmostAlwaysRight) {
  const auto reference = [](long double x) { return 1 / x; };
  const Worst w = worst_error([](float x) { return reciprocal(x); }, reference, 1, 2);
  EXPECT_BOUND(w, 0.51, 1.0);
}
TEST(Math, RsqrtIsRoundedAlmostAlwaysRight) {
  const auto reference = [](long double x) { return 1 / std::sqrt(x); };
  const Worst w = worst_error([](float x) { return rsqrt(x); }, reference, 1, 4);
  EXPECT_BOUND(w, 0.51, 0);
}

TEST(Math, GeluOfErfIsWithinItsBounds) {
  const auto reference = [](long double x) { return 0.5L * x * std::erfc(-x * std::sqrt(0.5L)); };
  const Worst above = worst_error([](float x) { return gelu_erf(std::fabs(x)); },
                                  [&](long double x) { return reference(std::fabs(x)); }, 0, 10);
  EXPECT_BOUND(above, 4.0, 1.0);
  // -Inf times 0 has no value in FP64; the limit is checked below
  const auto below = [&](long double x) { return std::isinf(x) ? -0.0L : reference(-std::fabs(x)); };
  const Worst w = worst_error([](float x) { return gelu_erf(-std::fabs(x)); }, below, 0, 14.5f);
  EXPECT_BOUND(w, 7.0, 3.5);
}

/// Every pair of exponents, among them those of zeros, subnormals, Inf and NaN. A quotient of 64 digits rounds to FP32
/// as the exact one does, because no inexact quotient of two floats is that close to a tie.
TEST(Math, DivisionIsThatOfIeee754) {
  std::mt19937 generator(11);
  const auto of_exponent = [&](u32 exponent, int i) {
    const u32 fraction = i == 0 ? 0 : i == 1 ? 0x7fffffu : generator() & 0x7fffffu;
    return float_of((generator() & 1) << 31 | exponent << 23 | fraction);
  };
  for (u32 x = 0; x < 256; ++x)
    for (u32 y = 0; y < 256; ++y)
      for (int i = 0; i < 6; ++i) {
        const float a = of_exponent(x, i % 3), b = of_exponent(y, (i + i / 3) % 3);
        const long double quotient = static_cast<long double>(a) / static_cast<long double>(b);
        const float want = static_cast<float>(quotient), got = div(a, b);
        ASSERT_EQ(bits_of(got), std::isnan(want) ? kNanBits : bits_of(want)) << std::hexfloat << a << " / " << b;
      }
}

TEST(Math, SpecialValues) {
  for (float nan : {float_of(0x7f800001u), float_of(0xffc00000u), float_of(0x7fffffffu)})
    for (float v : {exp2(nan), exp(nan), tanh(nan), sigmoid(nan), reciprocal(nan), rsqrt(nan), gelu_erf(nan),
                    div(nan, 1.0f), div(1.0f, nan), div(nan, 0.0f)})
      EXPECT_EQ(bits_of(v), kNanBits);
  EXPECT_EQ(bits_of(div(0.0f, -0.0f)), kNanBits);
  EXPECT_EQ(bits_of(div(-kInf, kInf)), kNanBits);
  EXPECT_EQ(div(-1.0f, 0.0f), -kInf);
  EXPECT_EQ(div(0x1p-149f, -0.0f), -kInf);
  EXPECT_EQ(bits_of(div(-1.0f, kInf)), 0x80000000u);
  EXPECT_EQ(bits_of(gelu_erf(-kInf)), 0x80000000u);
  EXPECT_EQ(bits_of(gelu_erf(-20.0f)), 0x80000000u);
  EXPECT_EQ(bits_of(gelu_erf(-0.0f)), 0x80000000u);
  EXPECT_EQ(bits_of(gelu_erf(0.0f)), 0u);
  EXPECT_EQ(gelu_erf(kInf), kInf);
  EXPECT_EQ(gelu_erf(20.0f), 20.0f);
  EXPECT_EQ(exp2(kInf), kInf);
  EXPECT_EQ(bits_of(exp2(-kInf)), 0u);
  EXPECT_EQ(exp2(128.0f), kInf);
  EXPECT_EQ(exp2(-149.0f), 0x1p-149f);
  EXPECT_EQ(bits_of(exp2(-150.0f)), 0u);
  for (int n = -149; n < 128; ++n) EXPECT_EQ(exp2(static_cast<float>(n)), std::ldexp(1.0f, n)) << n;
  EXPECT_EQ(exp(kInf), kInf);
  EXPECT_EQ(bits_of(exp(-kInf)), 0u);
  EXPECT_EQ(exp(0.0f), 1.0f);
  EXPECT_EQ(bits_of(tanh(-0.0f)), 0x80000000u);
  EXPECT_EQ(tanh(0x1p-149f), 0x1p-149f);
  EXPECT_EQ(tanh(kInf), 1.0f);
  EXPECT_EQ(tanh(-kInf), -1.0f);
  EXPECT_EQ(sigmoid(0.0f), 0.5f);
  EXPECT_EQ(sigmoid(kInf), 1.0f);
  EXPECT_EQ(bits_of(sigmoid(-kInf)), 0u);
  EXPECT_EQ(reciprocal(0.0f), kInf);
  EXPECT_EQ(reciprocal(-0.0f), -kInf);
  EXPECT_EQ(bits_of(reciprocal(-kInf)), 0x80000000u);
  EXPECT_EQ(reciprocal(0x1p-149f), kInf);
  EXPECT_EQ(reciprocal(0x1p127f), 0x1p-127f);
  EXPECT_EQ(rsqrt(0.0f), kInf);
  EXPECT_EQ(rsqrt(-0.0f), -kInf);
  EXPECT_EQ(bits_of(rsqrt(kInf)), 0u);
  EXPECT_EQ(bits_of(rsqrt(-1.0f)), kNanBits);
  EXPECT_EQ(rsqrt(0x1p-148f), 0x1p74f);
  EXPECT_EQ(rsqrt(4.0f), 0.5f);
}

}  // namespace
}  // namespace ww::arch
