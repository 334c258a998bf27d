// SPDX-License-Identifier: Apache-2.0
// Conversions of arch/common/convert.hpp and convert_packed.hpp on the host against neighbours in the list of all
// values of a format.
// The PTX bodies are single instructions; gpu/parity_test.cpp compares them with these.
#include "warpwright/arch/common/convert_packed.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <vector>

#include "emu/numerics_reference.hpp"

namespace ww::arch {
namespace {

constexpr DType kTypes[] = {DType::e4m3, DType::e5m2, DType::bf16, DType::f16};

TEST(Convert, WideningIsExactForEveryPattern) {
  const auto expect = [](DType type, u32 bits, float got) {
    const reference::Value v = reference::decode(type, bits);
    if (v.kind == reference::Value::nan) {
      const u32 want = type == DType::bf16 ? bits << 16 : 0x7FFFFFFFu;
      ASSERT_EQ(bits_of(got), want) << name_of(type) << " 0x" << std::hex << bits;
    } else {
      ASSERT_EQ(bits_of(got), bits_of(static_cast<float>(reference::to_double(v))))
          << name_of(type) << " 0x" << std::hex << bits;
    }
  };
  for (u32 bits = 0; bits < 0x10000; ++bits) {
    expect(DType::bf16, bits, from_bf16(static_cast<u16>(bits)));
    expect(DType::f16, bits, from_f16(static_cast<u16>(bits)));
    if (bits >= 0x100) continue;
    expect(DType::e4m3, bits, from_e4m3(static_cast<u8>(bits)));
    expect(DType::e5m2, bits, from_e5m2(static_cast<u8>(bits)));
  }
}

/// Rounds to nearest even by comparing with the two neighbours in the list of all magnitudes of the format.
class Neighbours {
 public:
  explicit Neighbours(DType type) : type_(type) {
    const u32 end = type == DType::e4m3 ? 0x7F : type == DType::e5m2 ? 0x7C : type == DType::bf16 ? 0x7F80 : 0x7C00;
    for (u32 bits = 0; bits < end; ++bits) {
      values_.push_back(reference::to_double(reference::decode(type, bits)));
    }
  }
  u32 count() const { return static_cast<u32>(values_.size()); }
  double value(u32 i) const { return values_[i]; }

  u32 nearest(float x) const {
    if (std::isnan(x)) return is_fp8(type_) ? 0x7F : 0x7FFF;
    const u32 sign = std::signbit(x) ? (is_fp8(type_) ? 0x80u : 0x8000u) : 0;
    const double magnitude = std::fabs(static_cast<double>(x));
    const u32 last = count() - 1;
    if (magnitude >= values_[last]) {
      if (is_fp8(type_)) return sign | last;
      const double step = values_[last] - values_[last - 1];
      return sign | (magnitude < values_[last] + step / 2 ? last : last + 1);  // last + 1 is Inf; the last is odd
    }
    const u32 above = static_cast<u32>(std::upper_bound(values_.begin(), values_.end(), magnitude) - values_.begin());
    const double down = magnitude - values_[above - 1], up = values_[above] - magnitude;
    if (down != up) return sign | (down < up ? above - 1 : above);
    return sign | ((above - 1) % 2 == 0 ? above - 1 : above);
  }

 private:
  DType type_;
  std::vector<double> values_;
};

u32 narrow(DType type, float x) {
  if (type == DType::e5m2) return to_e5m2(x);
  return type == DType::e4m3 ? to_e4m3(x) : type == DType::bf16 ? to_bf16(x) : to_f16(x);
}

TEST(Convert, NarrowingRoundsToNearestEven) {
  for (DType type : kTypes) {
    const Neighbours all(type);
    const auto expect = [&](u32 bits) {
      const float x = float_of(bits);
      ASSERT_EQ(narrow(type, x), all.nearest(x)) << name_of(type) << " of 0x" << std::hex << bits;
    };
    // every value and every halfway point, with the floats on either side, both signs
    for (u32 i = 0; i < all.count(); ++i) {
      const double next = i + 1 < all.count() ? all.value(i + 1) : 2 * all.value(i) - all.value(i - 1);
      for (double point : {all.value(i), (all.value(i) + next) / 2}) {
        const u32 bits = bits_of(static_cast<float>(point));
        for (u32 near : {bits - 1, bits, bits + 1}) {
          if (near == ~0u) continue;
          expect(near & 0x7FFFFFFFu);
          expect(near | 0x80000000u);
        }
      }
    }
    for (u32 bits : {0x7F800000u, 0x7F800001u, 0x7FFFFFFFu, 0xFF800000u, 0xFFC00000u, 0x7F7FFFFFu, 1u, 0x80000001u})
      expect(bits);
    std::mt19937 rng(11);
    for (int i = 0; i < 2'000'000; ++i) expect(static_cast<u32>(rng()));
    for (int i = 0; i < 1'000'000; ++i) expect((static_cast<u32>(rng()) & 0x80FFFFFFu) + ((95u + rng() % 60) << 23));
  }
}

/// Returns the value of a code of 4 or 6 bits without its sign.
template <DType kType> double packed_value(u32 code) {
  constexpr int kFraction = kType == DType::e2m1   ? 1
                            : kType == DType::e3m2 ? 2
                                                   : 3,
                kBias = kType == DType::e3m2 ? 3 : 1;
  const int exponent = static_cast<int>(code >> kFraction);
  const double fraction = static_cast<double>(code & ((1u << kFraction) - 1)) / (1 << kFraction);
  return exponent == 0 ? std::ldexp(fraction, 1 - kBias) : std::ldexp(1 + fraction, exponent - kBias);
}

template <DType kType> void expect_packed(float x) {
  constexpr u32 kSign = 1u << (ww::bits_of(kType) - 1), kShift = kType == DType::e2m1 ? 4 : 8;
  u32 want = kSign - 1;
  if (!std::isnan(x)) {
    const double most = packed_value<kType>(kSign - 1);  // what saturates; distances of huge numbers would round alike
    double least = INFINITY;
    want = 0;
    for (u32 code = 0; code < kSign; ++code) {
      const double away = std::fabs(packed_value<kType>(code) - std::min(most, std::fabs(double{x})));
      if (away < least || (away == least && code % 2 == 0)) least = away, want = code;
    }
    if (std::signbit(x)) want |= kSign;
  }
  ASSERT_EQ(to_packed<kType>(x), want) << name_of(kType) << " of " << x;
  ASSERT_EQ(to_packed_pair<kType>(x, 1.0f), want | to_packed<kType>(1.0f) << kShift);
  ASSERT_EQ(to_packed_pair<kType>(-1.0f, x), to_packed<kType>(-1.0f) | want << kShift);
}

template <DType kType> void expect_packed_type() {
  constexpr u32 kCodes = 1u << (ww::bits_of(kType) - 1);
  for (u32 code = 0; code < kCodes; ++code) {
    const double value = packed_value<kType>(code),
                 next = code + 1 < kCodes ? packed_value<kType>(code + 1) : 2 * value;
    for (const double point : {value, (value + next) / 2})
      for (const u32 near : {bits_of(static_cast<float>(point)) - 1, bits_of(static_cast<float>(point)),
                             bits_of(static_cast<float>(point)) + 1}) {
        expect_packed<kType>(float_of(near & 0x7FFFFFFFu));
        expect_packed<kType>(float_of(near | 0x80000000u));
      }
  }
  for (u32 bits : {0x7F800000u, 0x7F800001u, 0xFFC00000u, 0xFF800000u, 0x7F7FFFFFu, 1u, 0x80000001u})
    expect_packed<kType>(float_of(bits));
  std::mt19937 rng(13);
  for (int i = 0; i < 100'000; ++i) expect_packed<kType>(float_of(static_cast<u32>(rng())));
  for (int i = 0; i < 100'000; ++i)
    expect_packed<kType>(float_of((static_cast<u32>(rng()) & 0x807FFFFFu) | (120u + rng() % 14) << 23));
}

TEST(Convert, PackedTypesRoundToNearestEvenAndSaturate) {
  expect_packed_type<DType::e2m1>();
  expect_packed_type<DType::e3m2>();
  expect_packed_type<DType::e2m3>();
}

TEST(Convert, ConfirmedOnHardware) {
  EXPECT_EQ(to_bf16(float_of(0xFF800001u)), 0x7FFF);
  EXPECT_EQ(to_f16(-NAN), 0x7FFF);
  EXPECT_EQ(to_e4m3(-NAN), 0x7F);
  for (float x : {INFINITY, 464.0f, 480.0f, 500.0f, 65536.0f}) EXPECT_EQ(to_e4m3(x), 0x7E) << x;
  EXPECT_EQ(to_f16(65520.0f), 0x7C00);
}

}  // namespace
}  // namespace ww::arch
