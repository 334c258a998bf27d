// SPDX-License-Identifier: Apache-2.0
// The arithmetic of tcgen05.mma against a slow reference, on every target that this CPU supports, bit for bit.
// Every failure names the seed and the case.
#include "umma_cases.hpp"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

#include "emu/sm90/numerics/mma.hpp"

namespace ww::emu::sm100 {
namespace {

/// Compares every target with `want`; cells between the rows must stay as they are.
void check_exact(const Case& x, bool accumulate) {
  std::vector<u32> want = x.c;
  for (int i = 0; i < x.m; ++i) {
    for (int j = 0; j < x.n; ++j) {
      u32& cell = want[static_cast<size_t>(i * x.stride + j)];
      cell = reference::umma_output(x.how, x.row_a(i), x.row_b(j), x.scales_a(i), x.scales_b(j), accumulate, cell);
    }
  }
  for (MmaTarget target : kTargets) {
    if (!mma_supports(target)) continue;
    expect_cells(run(x, target, accumulate), want, x.stride,
                 x.name() + (accumulate ? " accumulate" : "") + name_of(target));
  }
}

TEST(Umma, EveryKindAndPairOfTypesMatchesTheReference) {
  for (const Umma& how : every_instruction()) {
    for (Mix mix : kMixes) check_exact(make_case(how, 16, 24, mix, 1), true);
  }
}

TEST(Umma, EveryShapeMatchesTheReference) {
  for (const Umma& how :
       {Umma{MmaKind::f8f6f4, Format::e4m3, Format::e4m3}, Umma{MmaKind::f16, Format::bf16, Format::bf16},
        Umma{MmaKind::tf32, Format::tf32, Format::tf32}, kNvf4}) {
    for (int n : {8, 16, 40, 120, 256}) {
      for (int m : {64, 128}) check_exact(make_case(how, m, n, n == 40 ? Mix::raw : Mix::tame, 2), true);
    }
    check_exact(make_case(how, 256, 8, Mix::finite, 3), true);
  }
}

TEST(Umma, WithoutAccumulateTheOldCellsAreIgnored) {
  for (const Umma& how : every_instruction()) {
    for (Mix mix : {Mix::raw, Mix::tame, Mix::wild}) check_exact(make_case(how, 8, 16, mix, 4), false);
  }
}

TEST(Umma, OperandsCanBeNegated) {
  for (Umma how : every_instruction()) {
    for (int which = 1; which < 4; ++which) {
      how.negate_a = which & 1, how.negate_b = which & 2;
      for (Mix mix : {Mix::raw, Mix::wild}) check_exact(make_case(how, 8, 24, mix, 5), true);
    }
  }
}

TEST(Umma, TheAddendCanBeScaledDown) {
  for (Umma how : every_instruction()) {
    if (how.kind != MmaKind::f16 && how.kind != MmaKind::tf32) continue;
    for (int scale = 1; scale < 16; ++scale) {
      how.scale_input_d = scale;
      for (Mix mix : {Mix::raw, Mix::tame, Mix::tiny}) check_exact(make_case(how, 8, 16, mix, 6), true);
    }
  }
}

/// The sums of f16 and tf32 are those of Hopper's wgmma.
TEST(Umma, SixteenBitTypesAndTf32AreAsOnSm90) {
  const std::pair<Umma, MmaTypes> same[] = {{{MmaKind::f16, Format::f16, Format::f16}, DType::f16},
                                            {{MmaKind::f16, Format::bf16, Format::bf16}, DType::bf16},
                                            {{MmaKind::tf32, Format::tf32, Format::tf32}, DType::tf32}};
  for (const auto& [how, types] : same) {
    for (Mix mix : kMixes) {
      Case x = make_case(how, 64, 128, mix, 7);
      x.stride = x.n;
      x.c.resize(static_cast<size_t>(x.m * x.n));
      std::vector<float> d(x.c.size());
      std::memcpy(d.data(), x.c.data(), d.size() * 4);
      mma_m64(types, x.n, x.a.data(), x.b.data(), d.data(), true, 1, 1, MmaMath::exact);
      std::vector<u32> want(d.size());
      std::memcpy(want.data(), d.data(), d.size() * 4);
      expect_cells(run(x, mma_best_target(), true), want, x.stride, x.name());
    }
  }
}

TEST(Umma, ChainedCallsMatchAChainOfReferences) {
  for (const Umma& how : {Umma{MmaKind::mxf8f6f4, Format::e4m3, Format::e4m3, false, false, false, 0, 1}, kNvf4, kMxf4,
                          Umma{MmaKind::f8f6f4, Format::e2m3, Format::e5m2}}) {
    for (MmaTarget target : kTargets) {
      if (!mma_supports(target)) continue;
      std::vector<u32> want(64 * 16), got(64 * 16);
      for (unsigned step = 0; step < 8; ++step) {
        Case x = make_case(how, 64, 16, step % 2 != 0 ? Mix::tame : Mix::finite, 100 + step);
        x.stride = 16, x.c = got;
        for (int i = 0; i < 64 * 16; ++i) {
          u32& cell = want[static_cast<size_t>(i)];
          cell = reference::umma_output(how, x.row_a(i / 16), x.row_b(i % 16), x.scales_a(i / 16), x.scales_b(i % 16),
                                        step != 0, cell);
        }
        got = run(x, target, step != 0);
        expect_cells(got, want, 16, x.name() + name_of(target));
      }
    }
  }
}

// --- the plain chain -----------------------------------------------------------------------------

u32 chain_output(const Case& x, int row, int column, u32 cell) {
  const Umma& how = x.how;
  const int depth = reference::depth(how.kind);
  float sum = std::ldexp(
      static_cast<float>(reference::to_double(reference::addend({how.kind, how.a, how.b, how.f16_result}, true, cell))),
      -how.scale_input_d);
  for (int k = 0; k < depth; ++k) {
    const auto operand = [&](Format format, const u8* bytes, const u8* scales, bool negate) {
      float value =
          static_cast<float>(reference::to_double(reference::decode(format, reference::element(how.kind, bytes, k))));
      if (negate) value = -value;
      if (how.scale_vector == 0) return value;
      return value * static_cast<float>(reference::to_double(
                         reference::decode_scale(how.ue4m3, scales[k * how.scale_vector / depth])));
    };
    sum = std::fma(operand(how.a, x.row_a(row), x.scales_a(row), how.negate_a),
                   operand(how.b, x.row_b(column), x.scales_b(column), how.negate_b), sum);
  }
  if (std::isnan(sum)) return how.f16_result ? 0x7FFFu : 0x7FFFFFFFu;
  if (!how.f16_result) return arch::bits_of(sum);
  if (std::isinf(sum)) return sum < 0 ? 0xFC00u : 0x7C00u;
  return (std::signbit(sum) ? 0x8000u : 0) | reference::round_to_f16(std::fabs(sum));
}

TEST(UmmaChain, IsOneFmaAfterAnother) {
  for (Umma how : every_instruction()) {
    how.negate_a = true;
    if (how.kind == MmaKind::f16) how.scale_input_d = 3;
    for (Mix mix : {Mix::raw, Mix::tame, Mix::wide, Mix::wild}) {
      const Case x = make_case(how, 8, 24, mix, 10);
      std::vector<u32> want = x.c;
      for (int i = 0; i < x.m; ++i) {
        for (int j = 0; j < x.n; ++j) {
          u32& cell = want[static_cast<size_t>(i * x.stride + j)];
          cell = chain_output(x, i, j, cell);
        }
      }
      for (MmaTarget target : kTargets) {
        if (mma_supports(target))
          expect_cells(run(x, target, true, MmaMath::fp32_chain), want, x.stride, x.name() + name_of(target));
      }
    }
  }
}

#if defined(__x86_64__)
TEST(Umma, HostFloatingPointModesDoNotMatter) {
  const unsigned saved = _mm_getcsr();
  for (const Umma& how : every_instruction()) {
    for (Mix mix : {Mix::tame, Mix::tiny}) {
      const Case x = make_case(how, 8, 16, mix, 12);
      for (MmaMath math : {MmaMath::exact, MmaMath::fp32_chain}) {
        for (MmaTarget target : kTargets) {
          if (!mma_supports(target)) continue;
          const std::vector<u32> plain = run(x, target, true, math);
          _mm_setcsr(0x1F80 | 0x8040 | 0x4000);  // flush to zero, subnormals are zeros, round up
          const std::vector<u32> odd = run(x, target, true, math);
          const unsigned left = _mm_getcsr();
          _mm_setcsr(saved);
          EXPECT_EQ(left & 0xE040, 0x8040u | 0x4000u) << "the caller's modes were not restored";
          ASSERT_EQ(plain, odd) << x.name() << name_of(target);
        }
      }
    }
  }
}
#endif

}  // namespace
}  // namespace ww::emu::sm100
