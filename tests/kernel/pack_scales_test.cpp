// SPDX-License-Identifier: Apache-2.0
// Exponents of scales on the emulated device: every word of several matrices and of groups of K, refusals.
#include "warpwright/host/pack_scales.hpp"

#include <gtest/gtest.h>

#include <bit>
#include <stdexcept>
#include <vector>

namespace ww {
namespace {

using Words = std::vector<std::uint32_t>;

/// Returns scales with the exponents 1, 2, 3 and so on.
std::vector<float> scales_of(std::int64_t count) {
  std::vector<float> scales;
  for (std::int64_t i = 0; i < count; ++i)
    scales.push_back(std::bit_cast<float>(static_cast<std::uint32_t>(i + 1) << 23));
  return scales;
}

/// Packs the scales of scales_of(). Words that the kernel leaves alone stay 0xffffffff.
Words packed(const PackScalesProblem& p, std::vector<std::int32_t> sizes = {}) {
  const auto device = Device::open("emu:sm90");
  if (!device) throw std::runtime_error(device.error().message);
  const auto plan = plan_pack_scales(*device, p);
  if (!plan) throw std::runtime_error(plan.error().message);
  const PackScalesProblem& made = plan->problem();
  const std::vector<float> scales = scales_of(p.batch * p.m * p.k);
  Words words(static_cast<std::size_t>(made.batch * made.batch_packed), 0xffffffff);
  const auto ran = plan->run({scales.data(), words.data(), sizes.empty() ? nullptr : sizes.data()});
  if (!ran) throw std::runtime_error(ran.error().message);
  return words;
}

TEST(PackScales, PutsFourExponentsOfARowIntoAWord) {
  const PackScalesProblem p{.m = 3, .k = 6, .batch = 2};
  const Words words = packed(p);
  ASSERT_EQ(words.size(), 16u);  // 2 matrices of 2 words by 3 rows, rounded up to 4
  for (std::uint32_t b = 0; b < 2; ++b)
    for (std::uint32_t w = 0; w < 2; ++w)
      for (std::uint32_t m = 0; m < 4; ++m) {
        std::uint32_t expected = m < 3 ? 0 : 0xffffffff;
        for (std::uint32_t i = 0; m < 3 && i < (w == 0 ? 4u : 2u); ++i)
          expected |= (18 * b + 6 * m + 4 * w + i + 1) << 8 * i;
        EXPECT_EQ(words[8 * b + 4 * w + m], expected) << "matrix " << b << ", word " << w << ", row " << m;
      }
}

TEST(PackScales, BeginsAWordWithEveryGroup) {
  PackScalesProblem p{.m = 1, .k = 9, .packed_m = 5, .packed_k = 1, .groups = 4, .words = 5};
  const Words words = packed(p, {128, 641, 0, 200});  // 1, 6, 0 and 2 scales
  EXPECT_EQ(words, (Words{0x01, 0x05040302, 0x0706, 0x0908, 0}));
}

TEST(PackScales, RefusesWhatItCannotPack) {
  const auto argument = [](const PackScalesProblem& p) {
    const auto result = can_implement(p);
    return result ? std::string() : result.error().argument;
  };
  EXPECT_EQ(argument({.m = 4, .k = 8}), "");
  EXPECT_EQ(argument({.m = 4, .k = 8, .words = 3}), "words");
  EXPECT_EQ(argument({.m = 4, .k = 8, .groups = 2}), "words");
  EXPECT_EQ(argument({.m = 4, .k = 8, .groups = 2, .span = 0, .words = 3}), "span");
  EXPECT_EQ(argument({.m = 4, .k = 8, .batch = 2, .groups = 2, .words = 3}), "batch");
  EXPECT_EQ(argument({.m = 4, .k = 8, .packed_m = 1, .packed_k = 3}), "packed (strides)");
  EXPECT_EQ(argument({.m = -1, .k = 8}), "m");
}

}  // namespace
}  // namespace ww
