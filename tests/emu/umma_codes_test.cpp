// SPDX-License-Identifier: Apache-2.0
// tcgen05.mma with every code of the small types and every block scale. An output has one product, or two.
#include "umma_cases.hpp"

namespace ww::emu::sm100 {
namespace {

/// A row i holds code i at position k, B row j code j; the other products are zero, or one product is 1 * 1.
TEST(Umma, EveryPairOfCodesAloneAndBesideOne) {
  for (Format fa : kSmall) {
    for (Format fb : kSmall) {
      for (const bool beside_one : {false, true}) {
        Case x = make_case({MmaKind::f8f6f4, fa, fb}, 256, 256, Mix::tame, 8);
        std::fill(x.a.begin(), x.a.end(), u8{0});
        std::fill(x.b.begin(), x.b.end(), u8{0});
        const auto one = [](Format f) {
          const auto [bits, fraction] = layout_of(f);
          const int exponent_bits = bits - 1 - fraction;
          return static_cast<u8>(((1 << (exponent_bits - 1)) - 1) << fraction);
        };
        for (int i = 0; i < 256; ++i) {
          const size_t at = static_cast<size_t>(i * 32);
          x.a[at + 3] = x.b[at + 3] = static_cast<u8>(i);
          if (beside_one) x.a[at + 30] = one(fa), x.b[at + 30] = one(fb);
        }
        std::vector<u32> want = x.c;
        for (int i = 0; i < 256; ++i) {
          for (int j = 0; j < 256; ++j) {
            std::vector<reference::Value> terms{reference::product(reference::decode(fa, static_cast<u32>(i)),
                                                                   reference::decode(fb, static_cast<u32>(j)))};
            if (beside_one) terms.push_back(reference::decode(0x3F800000u, 8, 23, true));
            want[static_cast<size_t>(i * x.stride + j)] = reference::fused_sum(terms, 25, 24);
          }
        }
        for (MmaTarget target : kTargets)
          if (mma_supports(target)) expect_cells(run(x, target, false), want, x.stride, x.name() + name_of(target));
      }
    }
  }
}

/// Every code of every type with every scale, beside a B of few values. An output has one product.
TEST(Umma, EveryCodeWithEveryScale) {
  for (Format format : kSmall) {
    for (int scale = 0; scale < 256; ++scale) {
      Case x = make_case({MmaKind::mxf8f6f4, format, Format::e4m3, false, false, false, 0, 1}, 256, 8, Mix::finite, 9);
      std::fill(x.a.begin(), x.a.end(), u8{0});
      const int k = scale % 32;
      for (int i = 0; i < 256; ++i) x.a[static_cast<size_t>(i * 32 + k)] = static_cast<u8>(i);
      std::fill(x.scale_a.begin(), x.scale_a.end(), static_cast<u8>(scale));
      for (int j = 0; j < 8; ++j)
        x.scale_b[static_cast<size_t>(j)] = static_cast<u8>(j == 7 ? 255 - scale : 100 + 8 * j);
      std::vector<u32> want = x.c;
      for (int i = 0; i < 256; ++i) {
        for (int j = 0; j < 8; ++j) {
          reference::Value p = reference::product(reference::decode(format, static_cast<u32>(i)),
                                                  reference::decode(Format::e4m3, x.row_b(j)[k]));
          p.exponent += scale - 127 + x.scale_b[static_cast<size_t>(j)] - 127;
          if (scale == 255 || x.scale_b[static_cast<size_t>(j)] == 255) p.kind = reference::Value::nan;
          want[static_cast<size_t>(i * x.stride + j)] = reference::fused_sum({p}, 25, 24);
        }
      }
      for (MmaTarget target : kTargets) {
        if (mma_supports(target))
          expect_cells(run(x, target, false), want, x.stride,
                       x.name() + " scale " + std::to_string(scale) + name_of(target));
      }
    }
  }
}

/// The product of two nibbles at position k under every pair of scales; the other elements are zero.
void check_nibbles(const Umma& how, int left, int right, int k, const std::vector<double>& scales, MmaTarget target) {
  Case x{how, 256, 256, 256, Mix::raw, 0, {}, {}, {}, {}, {}};
  x.a.resize(256 * 32), x.b.resize(256 * 32), x.c.resize(256 * 256);
  for (int i = 0; i < 256; ++i) {
    x.a[static_cast<size_t>(i * 32 + k / 2)] = static_cast<u8>(left << (k % 2 * 4));
    x.b[static_cast<size_t>(i * 32 + k / 2)] = static_cast<u8>(right << (k % 2 * 4));
    for (int s = 0; s < how.scale_vector; ++s) {  // only the scale of k counts
      const bool own = s == k * how.scale_vector / 64;
      x.scale_a.push_back(static_cast<u8>(own ? i : 0)), x.scale_b.push_back(static_cast<u8>(own ? i : 0));
    }
  }
  const double product = reference::to_double(reference::decode(Format::e2m1, static_cast<u32>(left))) *
                         reference::to_double(reference::decode(Format::e2m1, static_cast<u32>(right)));
  std::vector<u32> want;
  for (const double a : scales) {
    for (const double b : scales)
      want.push_back(std::isnan(a * b)      ? 0x7FFFFFFFu
                     : product * a * b == 0 ? 0
                                            : reference::cut_to_f32(product * a * b, 24));
  }
  expect_cells(run(x, target, false), want, 256,
               name_of(how) + " nibbles " + std::to_string(left) + ", " + std::to_string(right) + name_of(target));
}

TEST(Umma, EveryNibbleWithEveryScale) {
  for (const Umma& how : {kMxf4, kNvf4Four, kNvf4}) {
    std::vector<double> scales;
    for (int i = 0; i < 256; ++i)
      scales.push_back(reference::to_double(reference::decode_scale(how.ue4m3, static_cast<u8>(i))));
    for (int pair = 0; pair < 256; ++pair) {
      const int k = pair * 7 % 64;
      // The portable engines are slower, and see each nibble with one of the other side.
      for (MmaTarget target : kTargets) {
        const bool all = target == mma_best_target() && target == MmaTarget::avx512;
        if (mma_supports(target) && (all || pair % 16 == (pair / 16 * 5 + 3) % 16))
          check_nibbles(how, pair / 16, pair % 16, k, scales, target);
      }
    }
  }
}

}  // namespace
}  // namespace ww::emu::sm100
