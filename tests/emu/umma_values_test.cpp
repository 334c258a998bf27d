// SPDX-License-Identifier: Apache-2.0
// Single outputs of tcgen05.mma as plain numbers: what is truncated, how FP16 is rounded, and values that are not
// finite.
#include "umma_cases.hpp"

namespace ww::emu::sm100 {
namespace {

/// Output (0, 0) with the first elements of A and B given and the rest zero.
u32 first_output(const Umma& how, const std::vector<u32>& a, const std::vector<u32>& b, u32 c, MmaTarget target,
                 const std::vector<u8>& scale_a = {}, const std::vector<u8>& scale_b = {}) {
  std::vector<u8> rows_a(8 * 32), rows_b(8 * 32);
  const int depth = reference::depth(how.kind);
  const auto put = [&](std::vector<u8>& to, size_t k, u32 bits) {
    if (depth == 64) to[k / 2] |= static_cast<u8>(bits << (k % 2 * 4));
    else std::memcpy(&to[k * 32 / static_cast<size_t>(depth)], &bits, 32 / static_cast<size_t>(depth));
  };
  for (size_t k = 0; k < a.size(); ++k) put(rows_a, k, a[k]), put(rows_b, k, b[k]);
  std::vector<u8> scales_a(static_cast<size_t>(8 * how.scale_vector)), scales_b = scales_a;
  std::copy(scale_a.begin(), scale_a.end(), scales_a.begin());
  std::copy(scale_b.begin(), scale_b.end(), scales_b.begin());
  std::vector<u32> d(64, c);
  multiply_on(target, arithmetic(how), 8, 8, rows_a.data(), rows_b.data(), scales_a.data(), scales_b.data(), d.data(),
              8, true, MmaMath::exact);
  return d[0];
}

constexpr u32 kOne = 0x3F800000u;

TEST(Umma, TwentyFiveBitsAreKept) {
  const Umma how{MmaKind::f8f6f4, Format::e4m3, Format::e4m3};
  for (MmaTarget target : kTargets) {
    if (!mma_supports(target)) continue;
    const auto sum = [&](std::vector<u32> a, std::vector<u32> b, float c) {
      return first_output(how, a, b, arch::bits_of(c), target);
    };
    // 1 * 1 - 1 * 1 + c: the 25th fraction bit stays, also when the large terms cancel, and the 26th goes.
    EXPECT_EQ(sum({0x38, 0x38}, {0x38, 0xB8}, 0x1p-25f), arch::bits_of(0x1p-25f));
    EXPECT_EQ(sum({0x38, 0x38}, {0x38, 0xB8}, 0x1.8p-25f), arch::bits_of(0x1p-25f));
    EXPECT_EQ(sum({0x38, 0x38}, {0x38, 0xB8}, -0x1.fp-25f), arch::bits_of(-0x1p-25f));
    EXPECT_EQ(sum({0x38, 0x38}, {0x38, 0xB8}, 0x1.fp-26f), 0u);
    // C dominates: beside 2^16 nothing is left of 2^-9 * 2^-9.
    EXPECT_EQ(sum({0x01}, {0x01}, 0x1p16f), arch::bits_of(0x1p16f));
    // 2^7 - 2^7 + 2^-9 * 2^-9: of 2^-18 the bit is the 25th; beside 2^8 it is gone.
    EXPECT_EQ(sum({0x01, 0x38, 0x38}, {0x01, 0x70, 0xF0}, 0.0f), arch::bits_of(0x1p-18f));
    EXPECT_EQ(sum({0x01, 0x38, 0x38}, {0x01, 0x78, 0xF8}, 0.0f), 0u);
    // The result is truncated: 1 + 2^-24 - 2^-25 and -1 - 2^-24.
    EXPECT_EQ(sum({0x38}, {0x38}, 0x1.8p-24f), kOne);
    EXPECT_EQ(sum({0xB8}, {0x38}, -0x1.fp-24f), arch::bits_of(-1.0f));
    EXPECT_EQ(sum({0x38}, {0x38}, -0x1p-25f), arch::bits_of(0x1.fffffep-1f));
    EXPECT_EQ(sum({0x38}, {0x38}, -0x1.8p-25f), arch::bits_of(0x1.fffffep-1f));
    EXPECT_EQ(sum({0x38}, {0x38}, -0x1.8p-26f), kOne);  // the addend is truncated to zero before it is subtracted
    EXPECT_EQ(sum({0x38}, {0x38}, -1.0f), 0u);
    EXPECT_EQ(sum({0x80}, {0x38}, -0.0f), 0u);
  }
}

TEST(Umma, Fp16ResultsAreRoundedToNearestEven) {
  const Umma how{MmaKind::f16, Format::f16, Format::f16, true};
  for (MmaTarget target : kTargets) {
    if (!mma_supports(target)) continue;
    const auto sum = [&](std::vector<u32> a, std::vector<u32> b, u32 c) { return first_output(how, a, b, c, target); };
    EXPECT_EQ(sum({0x3C00}, {0x3C00}, 0xFFFF3C00u), 0x4000u);                        // the upper half is not read
    EXPECT_EQ(sum({0x3C00, 0x1000}, {0x3C00, 0x3C00}, 0), 0x3C00u);                  // 1 + 2^-11: a tie, down to even
    EXPECT_EQ(sum({0x3C01, 0x1000}, {0x3C00, 0x3C00}, 0), 0x3C02u);                  // 1 + 3 * 2^-11: a tie, up to even
    EXPECT_EQ(sum({0x3C00, 0x1000, 0x0001}, {0x3C00, 0x3C00, 0x3C00}, 0), 0x3C01u);  // above the tie
    EXPECT_EQ(sum({0x7BFF, 0x4BFF}, {0x3C00, 0x3C00}, 0), 0x7BFFu);                  // 65504 + 15.99
    EXPECT_EQ(sum({0x7BFF, 0x4C00}, {0x3C00, 0x3C00}, 0), 0x7C00u);                  // 65520 rounds to 65536: Inf
    EXPECT_EQ(sum({0xFBFF}, {0x7BFF}, 0), 0xFC00u);
    EXPECT_EQ(sum({0x0001}, {0x3800}, 0), 0u);  // 2^-25: a tie, down to zero
    EXPECT_EQ(sum({0x8001}, {0x3800}, 0), 0u);  // +0
    EXPECT_EQ(sum({0x0003}, {0x3800}, 0), 0x0002u);
    EXPECT_EQ(sum({0x03FF, 0x0001}, {0x3C00, 0x3800}, 0), 0x0400u);  // subnormal into normal
    EXPECT_EQ(sum({0x7C01}, {0x0000}, 0), 0x7FFFu);
    EXPECT_EQ(sum({0x3C00}, {0x3C00}, 0xFE01u), 0x7FFFu);
    EXPECT_EQ(sum({0x3C00}, {0x3C00}, 0xFC00u), 0xFC00u);
    EXPECT_EQ(sum({0x7C00}, {0x3C00}, 0xFC00u), 0x7FFFu);
  }
}

TEST(Umma, NanAndInfinity) {
  const Umma five{MmaKind::f8f6f4, Format::e5m2, Format::e5m2}, mixed{MmaKind::f8f6f4, Format::e2m1, Format::e5m2};
  const Umma scaled{MmaKind::mxf8f6f4, Format::e5m2, Format::e4m3, false, false, false, 0, 1};
  for (MmaTarget target : kTargets) {
    if (!mma_supports(target)) continue;
    EXPECT_EQ(first_output(five, {0x7C}, {0xBC}, kOne, target), 0xFF800000u);
    EXPECT_EQ(first_output(five, {0x7C}, {0x00}, kOne, target), 0x7FFFFFFFu);
    EXPECT_EQ(first_output(five, {0x7C, 0x7C}, {0x3C, 0xBC}, kOne, target), 0x7FFFFFFFu);
    EXPECT_EQ(first_output(five, {0x3C}, {0x3C}, 0xFF800000u, target), 0xFF800000u);
    EXPECT_EQ(first_output(five, {0x7C}, {0x3C}, 0xFF800000u, target), 0x7FFFFFFFu);
    EXPECT_EQ(first_output(five, {0x7D}, {0x00}, kOne, target), 0x7FFFFFFFu);
    EXPECT_EQ(first_output(mixed, {0x7}, {0x7C}, kOne, target), 0x7F800000u);  // 6 * Inf: all ones is a number of e2m1
    EXPECT_EQ(first_output(mixed, {0x0}, {0x7C}, kOne, target), 0x7FFFFFFFu);
    EXPECT_EQ(first_output(scaled, {0x7C}, {0x38}, kOne, target, {0}, {0}), 0x7F800000u);
    EXPECT_EQ(first_output(scaled, {0x3C}, {0x38}, kOne, target, {255}, {127}), 0x7FFFFFFFu);
    EXPECT_EQ(first_output(scaled, {0x00}, {0x00}, kOne, target, {127}, {255}), 0x7FFFFFFFu);
    EXPECT_EQ(first_output(scaled, {0x3C}, {0x38}, 0, target, {254}, {128}), 0x7F800000u);  // 2^128
    EXPECT_EQ(first_output(scaled, {0x3C}, {0x38}, 0, target, {254}, {0}), kOne);           // 2^127 * 2^-127
    EXPECT_EQ(first_output(kMxf4, {0x2}, {0x2}, 0, target, {255, 127}, {127, 127}), 0x7FFFFFFFu);
    EXPECT_EQ(first_output(kMxf4, {0x2}, {0x2}, 0, target, {127, 127}, {127, 255}), 0x7FFFFFFFu);  // of zeros, too
    EXPECT_EQ(first_output(kNvf4, {0x2}, {0x2}, 0, target, {0x38}, {0xB8}), kOne);  // the sign is ignored
    EXPECT_EQ(first_output(kNvf4, {0x2}, {0x2}, 0, target, {0x38}, {0xFF}), 0x7FFFFFFFu);
    EXPECT_EQ(first_output(kMxf4, {0x2}, {0x2}, 0x7F800000u, target, {127}, {127}), 0x7F800000u);
    EXPECT_EQ(first_output(kMxf4, {0x2}, {0x2}, 0xFFC00001u, target, {127}, {127}), 0x7FFFFFFFu);
  }
}

TEST(Umma, GroupsAreAlignedByTheirScalesAlone) {
  for (MmaTarget target : kTargets) {
    if (!mma_supports(target)) continue;
    const auto sum = [&](const Umma& how, std::vector<u32> a, std::vector<u32> b, float c, std::vector<u8> scale_a,
                         std::vector<u8> scale_b) {
      return first_output(how, a, b, arch::bits_of(c), target, scale_a, scale_b);
    };
    const std::vector<u8> ones(4, 127);
    // 1 - 1 + c in a group of exponent 0: 35 fraction bits of C stay.
    EXPECT_EQ(sum(kMxf4, {2, 2}, {2, 10}, 0x1p-35f, ones, ones), arch::bits_of(0x1p-35f));
    EXPECT_EQ(sum(kMxf4, {2, 2}, {2, 10}, 0x1.fp-36f, ones, ones), 0u);
    // A group of zeros counts with the exponent of its scales, 2^10 here; so does the second half of a block of 32.
    EXPECT_EQ(sum(kNvf4Four, {2}, {2}, 0x1p-25f, {127, 137, 127, 127}, ones), kOne);
    EXPECT_EQ(sum(kNvf4Four, {0}, {0}, 0x1p-25f, {127, 137, 127, 127}, ones), arch::bits_of(0x1p-25f));
    EXPECT_EQ(sum(kNvf4Four, {0}, {0}, 0x1p-26f, {127, 137, 127, 127}, ones), 0u);
    EXPECT_EQ(sum(kMxf4, {0}, {0}, 0x1p-26f, {137, 127}, ones), 0u);
    // A scale of zero has no exponent, so that C keeps all of its bits.
    EXPECT_EQ(sum(kNvf4, {7}, {7}, 0x1.fffffep-100f, {0, 0, 0, 0}, {0x7E, 0x7E, 0x7E, 0x7E}),
              arch::bits_of(0x1.fffffep-100f));
    // Not normalised: 16 * 6 * 6 = 576 with exponent 0 truncates C at 2^-35, not at 2^-26.
    EXPECT_EQ(sum(kMxf4, std::vector<u32>(16, 7), std::vector<u32>(16, 7), 0x1p-14f, ones, ones),
              arch::bits_of(576.0f + 0x1p-14f));
    // ue4m3: 1.875 * 1.875 * 0.25, the smallest product; subnormal scales 2^-9 * 2^-9.
    EXPECT_EQ(sum(kNvf4, {1}, {1}, 0.0f, {0x3F}, {0x3F}), arch::bits_of(1.875f * 1.875f * 0.25f));
    EXPECT_EQ(sum(kNvf4, {1}, {1}, 0.0f, {0x01}, {0x01}), arch::bits_of(0x1p-20f));
  }
}

}  // namespace
}  // namespace ww::emu::sm100
