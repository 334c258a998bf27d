// SPDX-License-Identifier: Apache-2.0
// The functions of arch/math.hpp against long double: the error bounds that the header states, and its special values.
// Samples are dense over all exponents and over the range where a function is neither constant nor overflowing.
#include "warpwright/arch/math.hpp"

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

TEST(Math, SpecialValues) {
  for (float nan : {float_of(0x7f800001u), float_of(0xffc00000u), float_of(0x7fffffffu)})
    for (float v : {exp2(nan), exp(nan), tanh(nan), sigmoid(nan), reciprocal(nan), rsqrt(nan)})
      EXPECT_EQ(bits_of(v), kNanBits);
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
