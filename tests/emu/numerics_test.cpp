// SPDX-License-Identifier: Apache-2.0
// The tensor core's arithmetic against a slow reference, on every target that this CPU supports, bit for bit.
// Every failure names the seed and the case; operands are a function of both.
#include "emu/sm90/numerics/mma.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cfloat>
#include <cstring>
#include <random>
#include <string>
#if defined(__x86_64__)
#include <immintrin.h>
#endif

#include "numerics_reference.hpp"
#include "warpwright/arch/common/convert.hpp"

namespace ww::emu {
namespace {

constexpr MmaTypes kTypes[] = {
    DType::e4m3, DType::e5m2, {DType::e4m3, DType::e5m2}, {DType::e5m2, DType::e4m3}, DType::bf16,
    DType::f16,  DType::tf32};
constexpr int kColumns[] = {8, 16, 24, 64, 120, 128, 200, 256};
constexpr MmaTarget kTargets[] = {MmaTarget::portable, MmaTarget::avx2, MmaTarget::avx512};

/// The kind of random operands. Raw bits contain NaN in nearly every row of 32; the others reach the finite paths.
/// heavy: sums at the top of their range; edge: products around the FP32 subnormals; wild: zeros, ones and infinities.
enum class Mix { raw, finite, tame, sparse, cancelling, tiny, heavy, edge, wild };
constexpr Mix kMixes[] = {Mix::raw,  Mix::finite, Mix::tame, Mix::sparse, Mix::cancelling,
                          Mix::tiny, Mix::heavy,  Mix::edge, Mix::wild};

struct Case {
  MmaTypes types;
  int n;
  Mix mix;
  unsigned seed;
  std::vector<u8> a, b;
  std::vector<float> c;
  std::string name() const {
    return std::string(name_of(types.a)) + " x " + name_of(types.b) + " n=" + std::to_string(n) +
           " mix=" + std::to_string(static_cast<int>(mix)) + " seed=" + std::to_string(seed);
  }
};

/// `fraction` of `bits` bits are the fraction.
u32 random_bits(int bits, int fraction, Mix mix, std::mt19937& rng) {
  const bool wide = bits - fraction == 9;  // the exponents of FP32
  const u32 sign = rng() & (1u << (bits - 1));
  const u32 raw = rng() & ((1u << bits) - 1);
  const auto with_field = [&](u32 field) { return sign | field << fraction | (raw & ((1u << fraction) - 1)); };
  const u32 last = ((1u << (bits - 1)) - 1) >> fraction;
  const u32 middle = last / 2;
  switch (mix) {
    case Mix::raw: return raw;
    case Mix::finite: return with_field(rng() % last);
    case Mix::tame: return with_field(middle - 2 + rng() % 4);
    case Mix::sparse: return rng() % 4 != 0 ? sign : rng() % 64 == 0 ? raw : with_field(middle + rng() % 2);
    case Mix::cancelling: return sign | middle << fraction;
    case Mix::tiny: return with_field(rng() % 2);
    case Mix::heavy: return (rng() % 256 != 0 ? 0 : sign) | (((middle + 1) << fraction) - 1);
    case Mix::edge: return with_field(wide ? middle / 2 - 9 + rng() % 10 : rng() % 3);
    case Mix::wild:
      return sign | (rng() % 2 != 0 ? 0 : rng() % 16 != 0 ? middle : rng() % 8 != 0 ? last : last - 1) << fraction;
  }
  return 0;
}

u32 random_element(DType type, Mix mix, std::mt19937& rng) {
  // tf32: 19 bits at the top of 32; what is below them does not count
  if (type == DType::tf32) return random_bits(19, 10, mix, rng) << 13 | (rng() & 0x1FFF);
  if (is_fp8(type)) return random_bits(8, type == DType::e4m3 ? 3 : 2, mix, rng);
  return random_bits(16, type == DType::bf16 ? 7 : 10, mix, rng);
}

float random_addend(Mix mix, std::mt19937& rng) {
  const u32 raw = static_cast<u32>(rng());
  const u32 sign = raw & 0x80000000u;
  switch (rng() % 12) {
    case 0: return arch::float_of(sign);
    case 1: return arch::float_of(sign | (raw & 0x7FFFFF));                // subnormal
    case 2: return arch::float_of(sign | 0x7F000000u | (raw & 0x7FFFFF));  // the top binade
    case 3: return mix == Mix::raw || mix == Mix::wild ? arch::float_of(sign | 0x7F800000u) : 1.0f;
    case 4: return mix == Mix::raw || mix == Mix::wild ? arch::float_of(raw | 0x7F800000u) : -1.0f;
    case 5: return arch::float_of(raw & 0xFF7FFFFFu);                 // any exponent but the last
    case 7: return arch::float_of(sign | (0x3FFFFFFFu - (raw & 1)));  // just below 2
    case 6: return static_cast<float>(static_cast<int>(raw % 65) - 32);
    default: return arch::float_of(sign | (110 + raw % 30) << 23 | (rng() & 0x7FFFFF));
  }
}

Case make_case(MmaTypes types, int n, Mix mix, unsigned seed) {
  Case x{types, n, mix, seed, {}, {}, {}};
  std::mt19937 rng(seed * 7919 + static_cast<unsigned>(n) * 31 + static_cast<unsigned>(mix) * 5 +
                   static_cast<unsigned>(types.a) + 3 * static_cast<unsigned>(types.b));
  const auto fill = [&](std::vector<u8>& to, int rows, DType type) {
    to.resize(static_cast<size_t>(rows) * 32);
    const int bytes = bytes_of(type);
    for (size_t i = 0; i < to.size(); i += static_cast<size_t>(bytes)) {
      // Whole rows of plain numbers stand beside wild ones, so that one output does not hide another.
      const Mix local = mix == Mix::raw && (i / 32) % 3 != 0 && rng() % 64 != 0 ? Mix::finite : mix;
      const u32 element = random_element(type, local, rng);
      std::memcpy(&to[i], &element, static_cast<size_t>(bytes));
    }
  };
  fill(x.a, 64, types.a);
  fill(x.b, n, types.b);
  x.c.resize(static_cast<size_t>(64 * n));
  for (float& value : x.c) value = random_addend(mix, rng);
  return x;
}

void expect_bits(const std::vector<float>& got, const std::vector<u32>& want, int n, const std::string& what) {
  int wrong = 0;
  for (size_t i = 0; i < want.size(); ++i) {
    if (arch::bits_of(got[i]) == want[i]) continue;
    if (++wrong <= 3) {
      ADD_FAILURE() << what << " at (" << i / static_cast<size_t>(n) << ", " << i % static_cast<size_t>(n)
                    << "): got 0x" << std::hex << arch::bits_of(got[i]) << ", expected 0x" << want[i];
    }
  }
  EXPECT_EQ(wrong, 0) << what;
}

std::string target_name(MmaTarget target) {
  return target == MmaTarget::avx512 ? " avx512" : target == MmaTarget::avx2 ? " avx2" : " portable";
}

void check_exact(const Case& x, bool accumulate, int scale_a, int scale_b) {
  std::vector<u32> want(x.c.size());
  for (size_t i = 0; i < want.size(); ++i) {
    const size_t row = i / static_cast<size_t>(x.n), column = i % static_cast<size_t>(x.n);
    want[i] = reference::mma_output(x.types.a, x.types.b, &x.a[row * 32], &x.b[column * 32],
                                    accumulate ? arch::bits_of(x.c[i]) : 0, scale_a < 0, scale_b < 0);
  }
  for (MmaTarget target : kTargets) {
    if (!mma_supports(target)) continue;
    std::vector<float> d = x.c;
    mma_m64_on(target, x.types, x.n, x.a.data(), x.b.data(), d.data(), accumulate, scale_a, scale_b, MmaMath::exact);
    expect_bits(d, want, x.n,
                x.name() + (accumulate ? " accumulate" : "") + " scales " + std::to_string(scale_a) + "," +
                    std::to_string(scale_b) + target_name(target));
  }
}

TEST(Mma, EveryTargetMatchesTheReferenceForEveryTypeAndWidth) {
  for (MmaTypes type : kTypes) {
    for (int n : kColumns) {
      for (Mix mix : kMixes) check_exact(make_case(type, n, mix, 1), true, 1, 1);
    }
  }
}

TEST(Mma, WithoutAccumulateTheOldValuesAreIgnored) {
  for (MmaTypes type : kTypes) {
    for (int n : {8, 24, 128}) {
      for (Mix mix : kMixes) check_exact(make_case(type, n, mix, 2), false, 1, 1);
    }
  }
}

TEST(Mma, ScalesOfMinusOneNegateAnOperand) {
  for (MmaTypes type : kTypes) {
    for (Mix mix : kMixes) {
      check_exact(make_case(type, 24, mix, 3), true, -1, 1);
      check_exact(make_case(type, 40, mix, 4), true, 1, -1);
      check_exact(make_case(type, 16, mix, 5), true, -1, -1);
    }
  }
}

TEST(Mma, InfinitiesOfE5m2) {
  for (MmaTarget target : kTargets) {
    if (!mma_supports(target)) continue;
    const auto one = [&](MmaTypes types, u8 a, u8 b, float c) {
      std::vector<u8> rows_a(64 * 32), rows_b(8 * 32);
      rows_a[5] = a, rows_b[5] = b;
      std::vector<float> d(64 * 8, c);
      mma_m64_on(target, types, 8, rows_a.data(), rows_b.data(), d.data(), true, 1, 1, MmaMath::exact);
      return arch::bits_of(d[0]);
    };
    EXPECT_EQ(one(DType::e5m2, 0x7C, 0x3C, 1.0f), 0x7F800000u);
    EXPECT_EQ(one(DType::e5m2, 0x7C, 0xBC, 1.0f), 0xFF800000u);
    EXPECT_EQ(one(DType::e5m2, 0x7C, 0x00, 1.0f), 0x7FFFFFFFu);                 // Inf * 0
    EXPECT_EQ(one({DType::e4m3, DType::e5m2}, 0x00, 0x7C, 1.0f), 0x7FFFFFFFu);  // the zero is of the other type
    EXPECT_EQ(one({DType::e5m2, DType::e4m3}, 0x7C, 0x7E, -INFINITY), 0x7FFFFFFFu);
    EXPECT_EQ(one({DType::e4m3, DType::e5m2}, 0x7F, 0x3C, 1.0f), 0x7FFFFFFFu);  // NaN
    EXPECT_EQ(one(DType::e5m2, 0x7B, 0x7B, 0.0f), arch::bits_of(57344.0f * 57344.0f));
    EXPECT_EQ(one(DType::e5m2, 0x01, 0x01, 0.0f), arch::bits_of(0x1p-32f));  // subnormals
  }
}

TEST(Mma, OfTf32TheLowThirteenBitsAreNotThere) {
  Case plain = make_case(DType::tf32, 64, Mix::tame, 7), noisy = plain;
  std::mt19937 rng(8);
  for (std::vector<u8>* rows : {&noisy.a, &noisy.b})
    for (size_t i = 0; i < rows->size(); i += 4) (*rows)[i] = static_cast<u8>(rng()), (*rows)[i + 1] ^= rng() & 0x1F;
  for (MmaMath math : {MmaMath::exact, MmaMath::fp32_chain}) {
    std::vector<float> first = plain.c, second = plain.c;
    mma_m64(DType::tf32, 64, plain.a.data(), plain.b.data(), first.data(), true, 1, 1, math);
    mma_m64(DType::tf32, 64, noisy.a.data(), noisy.b.data(), second.data(), true, 1, 1, math);
    EXPECT_EQ(std::memcmp(first.data(), second.data(), first.size() * 4), 0);
  }
}

TEST(Mma, EveryPairOfE4m3BitsAloneAndBesideOne) {
  // A row i holds the pair's left element, B row j its right one; the other 31 products are zero or 1 * 1.
  for (const u8 other : {u8{0}, u8{0x38}}) {
    for (int quarter = 0; quarter < 4; ++quarter) {
      Case x = make_case(DType::e4m3, 256, Mix::tame, 6);
      std::fill(x.a.begin(), x.a.end(), other);
      std::fill(x.b.begin(), x.b.end(), u8{0});
      for (int j = 0; j < 256; ++j)
        x.b[static_cast<size_t>(j * 32 + 3)] = static_cast<u8>(j), x.b[static_cast<size_t>(j * 32 + 30)] = other;
      for (int i = 0; i < 64; ++i) x.a[static_cast<size_t>(i * 32 + 3)] = static_cast<u8>(i + 64 * quarter);
      check_exact(x, false, 1, 1);
    }
  }
}

TEST(Mma, ChainedCallsMatchAChainOfReferences) {
  for (MmaTypes type : kTypes) {
    for (Mix mix : {Mix::finite, Mix::tame, Mix::sparse}) {
      std::vector<u32> want(64 * 64, 0);
      std::vector<std::vector<float>> d(3, std::vector<float>(64 * 64, NAN));
      for (unsigned step = 0; step < 8; ++step) {
        const Case x = make_case(type, 64, mix, 100 + step);
        for (size_t i = 0; i < want.size(); ++i) {
          want[i] = reference::mma_output(type.a, type.b, &x.a[i / 64 * 32], &x.b[i % 64 * 32], want[i], false, false);
        }
        for (size_t t = 0; t < 3; ++t) {
          if (!mma_supports(kTargets[t])) continue;
          mma_m64_on(kTargets[t], type, 64, x.a.data(), x.b.data(), d[t].data(), step != 0, 1, 1, MmaMath::exact);
          expect_bits(d[t], want, 64, x.name() + target_name(kTargets[t]));
        }
      }
    }
  }
}

// --- single outputs, as plain numbers -------------------------------------------------------------

/// Output (0, 0) with the first elements of A and B given and the rest zero.
u32 first_output(DType type, std::vector<u16> a, std::vector<u16> b, float c, MmaTarget target) {
  std::vector<u8> rows_a(64 * 32), rows_b(8 * 32);
  const auto put = [&](std::vector<u8>& to, size_t k, u16 bits) {
    if (type == DType::e4m3) to[k] = static_cast<u8>(bits);
    else to[2 * k] = static_cast<u8>(bits), to[2 * k + 1] = static_cast<u8>(bits >> 8);
  };
  for (size_t k = 0; k < a.size(); ++k) put(rows_a, k, a[k]), put(rows_b, k, b[k]);
  std::vector<float> d(64 * 8, c);
  mma_m64_on(target, type, 8, rows_a.data(), rows_b.data(), d.data(), true, 1, 1, MmaMath::exact);
  return arch::bits_of(d[0]);
}

TEST(Mma, SpecialValues) {
  for (MmaTarget target : kTargets) {
    if (!mma_supports(target)) continue;
    const auto bf = [&](std::vector<u16> a, std::vector<u16> b, float c) {
      return first_output(DType::bf16, a, b, c, target);
    };
    const auto e4 = [&](std::vector<u16> a, std::vector<u16> b, float c) {
      return first_output(DType::e4m3, a, b, c, target);
    };
    EXPECT_EQ(e4({0x7F}, {0x00}, 1.0f), 0x7FFFFFFFu);  // NaN * 0
    EXPECT_EQ(e4({0x38}, {0xFF}, INFINITY), 0x7FFFFFFFu);
    EXPECT_EQ(e4({0x38}, {0x38}, -INFINITY), 0xFF800000u);
    EXPECT_EQ(e4({0x38}, {0x38}, arch::float_of(0xFFC12345u)), 0x7FFFFFFFu);
    EXPECT_EQ(e4({0x38}, {0x38}, -1.0f), 0u);                                 // exact cancellation
    EXPECT_EQ(e4({0x80}, {0x38}, -0.0f), 0u);                                 // -0 plus zero products
    EXPECT_EQ(e4({0x38}, {0x38}, 0x1p-13f), arch::bits_of(1.0f + 0x1p-13f));  // the thirteenth fraction bit stays,
    EXPECT_EQ(e4({0x38}, {0x38}, 0x1p-14f), arch::bits_of(1.0f));             // the fourteenth goes,
    EXPECT_EQ(e4({0x38, 0x38}, {0x38, 0xB8}, 0x1p-14f), 0u);                  // also when the large terms cancel
    EXPECT_EQ(e4({0xB8}, {0x38}, 0x1.fp-14f), arch::bits_of(-1.0f));
    EXPECT_EQ(bf({0x3F80, 0x3F80}, {0x3F80, 0xBF80}, 0x1p-25f), arch::bits_of(0x1p-25f));
    EXPECT_EQ(bf({0x3F80, 0x3F80}, {0x3F80, 0xBF80}, 0x1p-26f), 0u);
    EXPECT_EQ(bf({0x7F80}, {0x0000}, 1.0f), 0x7FFFFFFFu);  // Inf * 0
    EXPECT_EQ(bf({0x0000}, {0xFF80}, 1.0f), 0x7FFFFFFFu);
    EXPECT_EQ(bf({0x7F80}, {0xBF80}, 1.0f), 0xFF800000u);
    EXPECT_EQ(bf({0x7F80, 0x7F80}, {0x3F80, 0xBF80}, 1.0f), 0x7FFFFFFFu);
    EXPECT_EQ(bf({0x7F80}, {0x3F80}, -INFINITY), 0x7FFFFFFFu);
    EXPECT_EQ(bf({0x7F7F}, {0x7F7F}, 0.0f), 0x7F800000u);  // overflow
    EXPECT_EQ(bf({0x7F00}, {0xBF80}, -FLT_MAX), 0xFF800000u);
    EXPECT_EQ(bf({0x0080}, {0xBF00}, 0.0f), 0x80400000u);  // subnormal result
    EXPECT_EQ(bf({0x0001}, {0x8001}, 0.0f), 0u);           // below the subnormal grid: +0
  }
}

// --- the plain chain -----------------------------------------------------------------------------

TEST(MmaChain, IsOneFmaAfterAnother) {
  for (MmaTypes type : kTypes) {
    for (Mix mix : kMixes) {
      const Case x = make_case(type, 40, mix, 9);
      std::vector<u32> want(x.c.size());
      const int bytes = bytes_of(type.a);
      for (size_t i = 0; i < want.size(); ++i) {
        const u8 *a = &x.a[i / 40 * 32], *b = &x.b[i % 40 * 32];
        float sum = x.c[i];
        for (int k = 0; k < 32 / bytes; ++k) {
          u32 p = 0, q = 0;
          std::memcpy(&p, a + k * bytes, static_cast<size_t>(bytes));
          std::memcpy(&q, b + k * bytes, static_cast<size_t>(bytes));
          sum = std::fma(-static_cast<float>(reference::to_double(reference::decode(type.a, p))),
                         static_cast<float>(reference::to_double(reference::decode(type.b, q))), sum);
        }
        want[i] = std::isnan(sum) ? 0x7FFFFFFFu : arch::bits_of(sum);
      }
      for (MmaTarget target : kTargets) {
        if (!mma_supports(target)) continue;
        std::vector<float> d = x.c;
        mma_m64_on(target, type, 40, x.a.data(), x.b.data(), d.data(), true, -1, 1, MmaMath::fp32_chain);
        expect_bits(d, want, 40, x.name() + target_name(target));
      }
    }
  }
}

#if defined(__x86_64__)
TEST(Mma, HostFloatingPointModesDoNotMatter) {
  const unsigned saved = _mm_getcsr();
  for (MmaTypes type : kTypes) {
    for (Mix mix : {Mix::tame, Mix::tiny, Mix::edge}) {
      const Case x = make_case(type, 32, mix, 12);
      for (MmaMath math : {MmaMath::exact, MmaMath::fp32_chain}) {
        for (MmaTarget target : kTargets) {
          if (!mma_supports(target)) continue;
          std::vector<float> plain = x.c, odd = x.c;
          mma_m64_on(target, type, 32, x.a.data(), x.b.data(), plain.data(), true, 1, 1, math);
          _mm_setcsr(0x1F80 | 0x8040 | 0x4000);  // flush to zero, subnormals are zeros, round up
          mma_m64_on(target, type, 32, x.a.data(), x.b.data(), odd.data(), true, 1, 1, math);
          const unsigned left = _mm_getcsr();
          _mm_setcsr(saved);
          EXPECT_EQ(left & 0xE040, 0x8040u | 0x4000u) << "the caller's modes were not restored";
          ASSERT_EQ(std::memcmp(plain.data(), odd.data(), plain.size() * 4), 0) << x.name() << target_name(target);
        }
      }
    }
  }
}
#endif

}  // namespace
}  // namespace ww::emu
