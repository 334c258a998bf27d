// SPDX-License-Identifier: Apache-2.0
// Instructions, random operands and a runner for the tests of tcgen05.mma's arithmetic. Operands are a function of the
// case and its seed.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <random>
#include <string>

#include "emu/sm100/numerics/umma.hpp"
#include "umma_reference.hpp"
#include "warpwright/arch/common/convert.hpp"

namespace ww::emu::sm100 {

using arch::MmaKind;
using Format = arch::MmaFormat;
using reference::Umma;

constexpr MmaTarget kTargets[] = {MmaTarget::portable, MmaTarget::avx2, MmaTarget::avx512};
constexpr Format kSmall[] = {Format::e4m3, Format::e5m2, Format::e2m3, Format::e3m2, Format::e2m1};
constexpr const char* kKindNames[] = {"f16", "tf32", "f8f6f4", "mxf8f6f4", "mxf4", "mxf4nvf4"};
constexpr const char* kFormatNames[] = {"f16", "bf16", "tf32", "e4m3", "e5m2", "e2m3", "e3m2", "e2m1"};

inline const Umma kMxf4{MmaKind::mxf4, Format::e2m1, Format::e2m1, false, false, false, 0, 2, false};
inline const Umma kNvf4Two{MmaKind::mxf4nvf4, Format::e2m1, Format::e2m1, false, false, false, 0, 2, false};
inline const Umma kNvf4Four{MmaKind::mxf4nvf4, Format::e2m1, Format::e2m1, false, false, false, 0, 4, false};
inline const Umma kNvf4{MmaKind::mxf4nvf4, Format::e2m1, Format::e2m1, false, false, false, 0, 4, true};

/// Every kind with every pair of types and both types of D that it has.
inline std::vector<Umma> every_instruction() {
  std::vector<Umma> all{{MmaKind::tf32, Format::tf32, Format::tf32}, kMxf4, kNvf4Two, kNvf4Four, kNvf4};
  for (const bool f16_result : {false, true}) {
    for (Format a : {Format::f16, Format::bf16}) {
      for (Format b : {Format::f16, Format::bf16}) all.push_back({MmaKind::f16, a, b, f16_result});
    }
    for (Format a : kSmall) {
      for (Format b : kSmall) all.push_back({MmaKind::f8f6f4, a, b, f16_result});
    }
  }
  for (Format a : kSmall) {
    for (Format b : kSmall) all.push_back({MmaKind::mxf8f6f4, a, b, false, false, false, 0, 1});
  }
  return all;
}

inline UmmaArithmetic arithmetic(const Umma& how) {
  return {how.kind,
          how.a,
          how.b,
          how.f16_result ? arch::MmaResult::f16 : arch::MmaResult::f32,
          how.negate_a,
          how.negate_b,
          static_cast<u8>(how.scale_input_d),
          static_cast<u8>(how.scale_vector),
          how.ue4m3 ? arch::ScaleFormat::ue4m3 : arch::ScaleFormat::ue8m0};
}

inline std::string name_of(const Umma& how) {
  std::string name = std::string(kKindNames[static_cast<int>(how.kind)]) + " " + kFormatNames[static_cast<int>(how.a)] +
                     " x " + kFormatNames[static_cast<int>(how.b)] + " -> " + (how.f16_result ? "f16" : "f32");
  if (how.scale_vector != 0) name += " " + std::to_string(how.scale_vector) + (how.ue4m3 ? "X ue4m3" : "X ue8m0");
  return name;
}

inline std::string name_of(MmaTarget target) {
  return target == MmaTarget::avx512 ? " avx512" : target == MmaTarget::avx2 ? " avx2" : " portable";
}

/// The kind of random operands. raw: every bit; finite: every exponent but the last; tame: a few exponents around one;
/// sparse: mostly zeros; cancelling: plus and minus one; tiny: subnormals; wide: the ends of the range of exponents;
/// wild: zeros, ones, infinities.
enum class Mix { raw, finite, tame, sparse, cancelling, tiny, wide, wild };
constexpr Mix kMixes[] = {Mix::raw,        Mix::finite, Mix::tame, Mix::sparse,
                          Mix::cancelling, Mix::tiny,   Mix::wide, Mix::wild};

struct Layout {
  int bits, fraction;
};
inline Layout layout_of(Format format) {
  switch (format) {
    case Format::f16: return {16, 10};
    case Format::bf16: return {16, 7};
    case Format::tf32: return {19, 10};
    case Format::e4m3: return {8, 3};
    case Format::e5m2: return {8, 2};
    case Format::e2m3: return {6, 3};
    case Format::e3m2: return {6, 2};
    default: return {4, 1};
  }
}

inline u32 random_bits(Format format, Mix mix, std::mt19937& rng) {
  const auto [bits, fraction] = layout_of(format);
  const u32 sign = rng() & (1u << (bits - 1)), raw = rng() & ((1u << bits) - 1);
  const u32 last = ((1u << (bits - 1)) - 1) >> fraction, middle = last / 2;
  const auto with_field = [&](u32 field) { return sign | field << fraction | (raw & ((1u << fraction) - 1)); };
  switch (mix) {
    case Mix::raw: return raw;
    case Mix::finite: return with_field(rng() % last);
    case Mix::tame: return with_field(middle - std::min(middle, 2u) + rng() % std::min(4u, last));
    case Mix::sparse: return rng() % 4 != 0 ? sign : rng() % 64 == 0 ? raw : with_field(middle + rng() % 2);
    case Mix::cancelling: return sign | middle << fraction;
    case Mix::tiny: return with_field(rng() % 2);
    case Mix::wide: return rng() % 3 == 0 ? sign : with_field(rng() % 2 != 0 ? rng() % 3 % last : last - 1);
    default: return sign | (rng() % 2 != 0 ? 0 : rng() % 16 != 0 ? middle : last) << fraction;
  }
}

inline u8 random_scale(bool ue4m3, Mix mix, std::mt19937& rng) {
  if (mix == Mix::raw && rng() % 8 == 0) return static_cast<u8>(rng());
  if (ue4m3) {
    if (rng() % 8 == 0) return static_cast<u8>(rng() % 8 | (rng() & 0x80));  // zero and subnormal, of any sign
    return static_cast<u8>(mix == Mix::wide ? (rng() % 2 ? 0x7E : 0x08) : 0x20 + rng() % 0x20);
  }
  if (mix == Mix::wide || mix == Mix::tiny) return static_cast<u8>(rng() % 255);
  return static_cast<u8>(118 + rng() % 18);
}

inline u32 random_cell(const Umma& how, Mix mix, std::mt19937& rng) {
  const u32 raw = static_cast<u32>(rng()), sign = raw & 0x80000000u;
  const bool special = mix == Mix::raw || mix == Mix::wild;
  if (how.f16_result) {  // what is above an FP16 does not count
    const u32 half = special ? raw & 0xFFFF : raw & 0xFBFF;
    return (raw & 0xFFFF0000u) | (rng() % 3 != 0 ? half : rng() % 2 != 0 ? half & 0x83FF : half & 0x8000);
  }
  switch (rng() % 10) {
    case 0: return sign;
    case 1: return sign | (raw & 0x7FFFFF);
    case 2: return sign | 0x7F000000u | (raw & 0x7FFFFF);
    case 3: return special ? sign | 0x7F800000u : 0x3F800000u;
    case 4: return special ? raw | 0x7F800000u : 0xBF800000u;
    case 5: return raw & 0xFF7FFFFFu;
    case 6: return sign | (0x3FFFFFFFu - (raw & 1));
    default: return sign | (100 + raw % 50) << 23 | (rng() & 0x7FFFFF);
  }
}

struct Case {
  Umma how;
  int m, n, stride;
  Mix mix;
  unsigned seed;
  std::vector<u8> a, b, scale_a, scale_b;
  std::vector<u32> c;
  std::string name() const {
    return name_of(how) + " m=" + std::to_string(m) + " n=" + std::to_string(n) +
           " mix=" + std::to_string(static_cast<int>(mix)) + " seed=" + std::to_string(seed);
  }
  const u8* row_a(int row) const { return &a[static_cast<size_t>(row * 32)]; }
  const u8* row_b(int row) const { return &b[static_cast<size_t>(row * 32)]; }
  const u8* scales_a(int row) const { return scale_a.data() + row * how.scale_vector; }
  const u8* scales_b(int row) const { return scale_b.data() + row * how.scale_vector; }
};

inline std::vector<u8> random_rows(const Umma& how, Format format, int rows, Mix mix, std::mt19937& rng) {
  const int depth = reference::depth(how.kind);
  std::vector<u8> out(static_cast<size_t>(rows) * 32);
  for (int i = 0; i < rows * depth; ++i) {
    // Whole rows of plain numbers stand beside wild ones, so that one output does not hide another.
    const Mix local = mix == Mix::raw && i / depth % 3 != 0 && rng() % 64 != 0 ? Mix::finite : mix;
    const u32 bits = random_bits(format, local, rng);
    u8* row = &out[static_cast<size_t>(i / depth * 32)];
    const int k = i % depth;
    if (depth == 64) row[k / 2] |= static_cast<u8>(bits << (k % 2 * 4));
    else if (depth == 32) row[k] = static_cast<u8>(bits | rng() << layout_of(format).bits);  // padding is not read
    else if (depth == 16) std::memcpy(row + 2 * k, &bits, 2);
    else {
      const u32 word = bits << 13 | (rng() & 0x1FFF);
      std::memcpy(row + 4 * k, &word, 4);
    }
  }
  return out;
}

inline Case make_case(const Umma& how, int m, int n, Mix mix, unsigned seed) {
  std::mt19937 rng(seed * 7919 + static_cast<unsigned>(m * 257 + n) * 31 + static_cast<unsigned>(mix) * 5 +
                   static_cast<unsigned>(how.a) * 11 + static_cast<unsigned>(how.b) * 13);
  Case x{how, m, n, n + 3, mix, seed, {}, {}, {}, {}, {}};
  x.a = random_rows(how, how.a, m, mix, rng);
  x.b = random_rows(how, how.b, n, mix, rng);
  for (int i = 0; i < m * how.scale_vector; ++i) x.scale_a.push_back(random_scale(how.ue4m3, mix, rng));
  for (int i = 0; i < n * how.scale_vector; ++i) x.scale_b.push_back(random_scale(how.ue4m3, mix, rng));
  for (int i = 0; i < m * x.stride; ++i) x.c.push_back(random_cell(how, mix, rng));
  return x;
}

inline std::vector<u32> run(const Case& x, MmaTarget target, bool accumulate, MmaMath math = MmaMath::exact) {
  std::vector<u32> d = x.c;
  multiply_on(target, arithmetic(x.how), x.m, x.n, x.a.data(), x.b.data(), x.scale_a.data(), x.scale_b.data(), d.data(),
              x.stride, accumulate, math);
  return d;
}

inline void expect_cells(const std::vector<u32>& got, const std::vector<u32>& want, int stride,
                         const std::string& what) {
  int wrong = 0;
  for (size_t i = 0; i < want.size(); ++i) {
    if (got[i] == want[i]) continue;
    if (++wrong <= 3) {
      ADD_FAILURE() << what << " at (" << i / static_cast<size_t>(stride) << ", " << i % static_cast<size_t>(stride)
                    << "): got 0x" << std::hex << got[i] << ", expected 0x" << want[i];
    }
  }
  EXPECT_EQ(wrong, 0) << what;
}

}  // namespace ww::emu::sm100
