// SPDX-License-Identifier: Apache-2.0
// The verdict on D. Right results come from a model of the tensor core written here from its definition
// (docs/numerics.md section 2): none of them may be called wrong. Every mistake a kernel could make must be.
#include "reference/verify.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <limits>

#include "reference/element.hpp"
#include "reference/operands.hpp"
#include "warpwright/core/meta.hpp"

namespace ww::ref {
namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

/// One instruction: products and the addend `c`, truncated `fraction` bits below the largest exponent, summed exactly.
double fused_sum(DType type, const double* a, const double* b, int count, double c) {
  const int fraction = type == e4m3 ? 13 : 25, kept = type == e4m3 ? 13 : 23;
  const auto exponent = [&](double x) { return std::max(std::ilogb(x), format_of(type).min_exponent); };
  double special = c;  // the IEEE sum decides what NaN and Inf give
  int largest = c == 0 ? INT32_MIN : std::max(std::ilogb(c), -126);
  for (int i = 0; i < count; ++i) {
    special += a[i] * b[i];
    if (a[i] != 0 && b[i] != 0 && std::isfinite(a[i] * b[i]))
      largest = std::max(largest, exponent(a[i]) + exponent(b[i]));
  }
  if (!std::isfinite(special)) return special;
  if (largest == INT32_MIN) return 0;
  const auto truncate = [](double x, double unit) { return std::trunc(x / unit) * unit; };
  const double unit = std::ldexp(1.0, largest - fraction);
  double sum = truncate(c, unit);
  for (int i = 0; i < count; ++i) sum += truncate(a[i] * b[i], unit);
  if (sum == 0) return 0;
  return truncate(sum, std::ldexp(1.0, std::max(std::ilogb(sum), -126) - kept));
}

struct Case {
  DType type = e4m3, out = f32;
  Scale scale = Scale::none;
  EmuMath math = EmuMath::exact;
  std::int64_t m = 0, n = 0, k = 0;
  std::uint64_t seed = 0;
};

struct Data {
  explicit Data(const Case& c) : problem(c) {
    const std::int64_t blocks = (c.k + 127) / 128;
    const bool tensor = c.scale == Scale::tensor;
    a = Matrix::allocate(c.type, c.m, c.k, c.k + 8, "a").value();
    b = Matrix::allocate(c.type, c.n, c.k, c.k, "b").value();
    d = Matrix::allocate(c.out, c.m, c.n, c.n, "d").value();
    const bool column = c.scale == Scale::row_column;
    const std::int64_t across_a = tensor || column ? 1 : blocks, across_b = tensor ? 1 : column ? c.n : blocks;
    scale_a = Matrix::allocate(f32, tensor ? 1 : c.m, across_a, across_a, "scale_a").value();
    const std::int64_t rows_b = tensor || column ? 1 : ceil_div(c.n, columns_of_scale(c.scale));
    scale_b = Matrix::allocate(f32, rows_b, across_b, across_b, "scale_b").value();
    fill_normal(a, c.seed, Operand::a), fill_normal(b, c.seed, Operand::b);
    fill_scales(scale_a, c.seed, Operand::scale_a), fill_scales(scale_b, c.seed, Operand::scale_b);
  }

  Comparison judge() const { return verify({a, b, d, problem.scale, &scale_a, &scale_b, problem.math}); }

  void set(Matrix& matrix, std::int64_t row, std::int64_t col, std::uint32_t bits) {
    std::memcpy(matrix.row(row) + col * bytes_of(matrix.type()), &bits,
                static_cast<std::size_t>(bytes_of(matrix.type())));
  }
  void scale_by(Matrix& matrix, double factor) {
    for (std::int64_t r = 0; r < matrix.rows(); ++r)
      for (std::int64_t c = 0; c < matrix.cols(); ++c) {
        std::byte* at = matrix.row(r) + c * bytes_of(matrix.type());
        set(matrix, r, c, encode(matrix.type(), decode(matrix.type(), at) * factor));
      }
  }

  Case problem;
  Matrix a, b, d, scale_a, scale_b;
};

float raw_sum(const Data& x, std::int64_t row, std::int64_t col, std::int64_t from, std::int64_t to) {
  const DType type = x.problem.type;
  const std::int64_t step = type == e4m3 ? 32 : 16;
  double acc = 0;
  for (std::int64_t k = from; k < to; k += step) {
    double a[32] = {}, b[32] = {};
    const int count = static_cast<int>(std::min(step, to - k));
    for (int i = 0; i < count; ++i) {
      a[i] = decode(type, x.a.row(row) + (k + i) * bytes_of(type));
      b[i] = decode(type, x.b.row(col) + (k + i) * bytes_of(type));
    }
    if (x.problem.math == EmuMath::exact) acc = fused_sum(type, a, b, count, acc);
    else
      for (int i = 0; i < count; ++i)
        acc = std::fmaf(static_cast<float>(a[i]), static_cast<float>(b[i]), static_cast<float>(acc));
  }
  return static_cast<float>(acc);
}

/// D as the kernels compute it, element by element; `skip_block` of K is left out when it is not negative.
void compute(Data& x, std::int64_t skip_block = -1) {
  const Case& c = x.problem;
  for (std::int64_t row = 0; row < c.m; ++row)
    for (std::int64_t col = 0; col < c.n; ++col) {
      float value = 0;
      if (is_block(c.scale)) {
        for (std::int64_t k = 0; k < c.k; k += 128) {
          if (k / 128 == skip_block) continue;
          const float s = x.scale_a.floats()[row * x.scale_a.ld() + k / 128] *
                          x.scale_b.floats()[col / columns_of_scale(c.scale) * x.scale_b.ld() + k / 128];
          value = std::fmaf(raw_sum(x, row, col, k, std::min(c.k, k + 128)), s, value);
        }
      } else {
        value = raw_sum(x, row, col, skip_block == 0 ? 128 : 0, c.k);
        if (c.scale == Scale::tensor && c.k > 0) value *= x.scale_a.floats()[0] * x.scale_b.floats()[0];
        if (c.scale == Scale::row_column) value *= x.scale_a.floats()[row] * x.scale_b.floats()[col];
      }
      std::uint32_t bits = std::bit_cast<std::uint32_t>(value);
      if (c.out != f32) {
        bits = std::isfinite(value) ? encode(c.out, value) : 0;
        const double top = format_of(c.out).largest, half = c.out == bf16 ? 0x1p119 : 16;
        const std::uint32_t infinity = c.out == bf16 ? 0x7f80 : 0x7c00;
        if (std::isnan(value)) bits = 0x7fff;
        else if (std::fabs(value) >= top + half) bits = infinity | (value < 0 ? 0x8000 : 0);
      }
      x.set(x.d, row, col, bits);
    }
}

std::string describe(const Case& c) {
  return std::string(name_of(c.type)) + " -> " + name_of(c.out) + ", scale " + name_of(c.scale) + ", " +
         std::to_string(c.m) + " x " + std::to_string(c.n) + " x " + std::to_string(c.k) + ", seed " +
         std::to_string(c.seed);
}

void for_every_kind(const std::function<void(Case)>& body) {
  for (DType type : {e4m3, bf16, f16})
    for (DType out : {bf16, f16, f32})
      for (Scale scale :
           {Scale::none, Scale::tensor, Scale::row_column, Scale::block_1x128_128x128, Scale::block_1x128_1x128})
        for (EmuMath math : {EmuMath::exact, EmuMath::fp32_chain})
          body({.type = type, .out = out, .scale = scale, .math = math});
}

TEST(Verify, RightResultsAreNeverCalledWrong) {
  std::uint64_t seed = 0;
  double tightest = 0;
  for_every_kind([&](Case c) {
    for (const auto& [m, n, k] : {std::tuple{3, 136, 400}, {70, 9, 17}, {1, 1, 1}, {2, 40, 1024}, {4, 4, 0}}) {
      c.m = m, c.n = n, c.k = k, c.seed = ++seed;
      Data data(c);
      compute(data);
      const Comparison verdict = data.judge();
      ASSERT_EQ(verdict.wrong, 0) << describe(c) << " at " << verdict.first->row << ", " << verdict.first->column
                                  << " got " << verdict.first->got << " expected " << verdict.first->expected << " +- "
                                  << verdict.first->bound;
      ASSERT_LE(verdict.max_error_of_bound, 1);
      tightest = std::max(tightest, verdict.max_error_of_bound);
    }
  });
  EXPECT_GT(tightest, 0.3) << "a bound that no rounding comes near would catch nothing";
}

TEST(Verify, RightResultsOfVerySmallAndVeryLargeInputsAreNeverCalledWrong) {
  std::uint64_t seed = 100;
  for_every_kind([&](Case c) {
    for (double factor : {0x1p-8, 0x1p-13, 0x1p6, 0x1p12}) {
      c.m = 6, c.n = 40, c.k = 272, c.seed = ++seed;
      Data data(c);
      data.scale_by(data.a, factor), data.scale_by(data.b, factor);
      compute(data);
      ASSERT_EQ(data.judge().wrong, 0) << describe(c) << " times " << factor;
    }
  });
}

TEST(Verify, OneWrongElementIsFoundWhereItIs) {
  for_every_kind([&](Case c) {
    c.m = 70, c.n = 136, c.k = 256, c.seed = 5;
    Data data(c);
    if (c.out != f32 || c.type != e4m3 || c.math != EmuMath::exact) return;  // one type pair: the model is slow
    compute(data);
    const std::byte* at = data.d.row(65) + 130 * 4;
    const float value = static_cast<float>(decode(f32, at));
    data.set(data.d, 65, 130, std::bit_cast<std::uint32_t>(value + 8));
    data.set(data.d, 69, 2, std::bit_cast<std::uint32_t>(static_cast<float>(kNan)));
    const Comparison verdict = data.judge();
    EXPECT_EQ(verdict.wrong, 2);
    ASSERT_TRUE(verdict.first) << describe(c);
    EXPECT_EQ(verdict.first->row, 65);
    EXPECT_EQ(verdict.first->column, 130);
    EXPECT_EQ(verdict.first->got, double{value + 8});
    EXPECT_NEAR(verdict.first->expected, double{value}, verdict.first->bound);
    EXPECT_EQ(verdict.worst.row, 65);
    EXPECT_GT(verdict.max_error_of_bound, 1);
  });
}

TEST(Verify, ADroppedBlockOfKIsCaughtInMostElements) {
  for_every_kind([&](Case c) {
    if (c.out == f16 || c.math != EmuMath::exact) return;
    c.m = 8, c.n = 64, c.k = 512, c.seed = 9;
    Data data(c);
    compute(data, 0);
    EXPECT_GT(data.judge().wrong, c.m * c.n * 3 / 4) << describe(c);
  });
}

TEST(Verify, SwappedScalesAreCaught) {
  Data data({.out = bf16, .scale = Scale::block_1x128_128x128, .m = 8, .n = 64, .k = 512, .seed = 11});
  compute(data);
  for (int block = 0; block < 4; ++block) std::swap(data.scale_a.floats()[block], data.scale_a.floats()[4 + block]);
  const Comparison verdict = data.judge();
  EXPECT_GT(verdict.wrong, 2 * 64 * 3 / 4);
  EXPECT_LE(verdict.wrong, 2 * 64) << "the other rows are right";
  compute(data);
  std::swap(data.scale_b.floats()[1], data.scale_b.floats()[2]);
  EXPECT_GT(data.judge().wrong, 8 * 64 * 3 / 4);
}

TEST(Verify, NanAndInfMustBeWhereTheyBelong) {
  Data data({.type = bf16, .out = bf16, .m = 4, .n = 16, .k = 64, .seed = 13});
  data.set(data.a, 1, 5, 0x7fc0);  // NaN
  data.set(data.a, 2, 6, 0x7f80);  // Inf
  data.set(data.b, 3, 6, 0);       // Inf * 0
  compute(data);
  EXPECT_EQ(data.judge().wrong, 0);
  data.set(data.d, 1, 0, 0x3f80);  // a number where NaN belongs
  data.set(data.d, 2, 0, 0x7fff);  // NaN where Inf belongs
  data.set(data.d, 2, 3, 0x7f80);  // Inf where NaN belongs
  data.set(data.d, 0, 0, 0x7f80);  // Inf where a number belongs
  EXPECT_EQ(data.judge().wrong, 4);
}

TEST(Verify, NanAndInfScalesPropagate) {
  for (Scale scale : {Scale::tensor, Scale::block_1x128_128x128})
    for (float value : {static_cast<float>(kNan), INFINITY, 0.0f, -1.5f, 1e38f, 1e-40f}) {
      Data data({.out = bf16, .scale = scale, .m = 4, .n = 136, .k = 256, .seed = 17});
      data.scale_a.floats()[scale == Scale::tensor ? 0 : 3] = value;
      compute(data);
      EXPECT_EQ(data.judge().wrong, 0) << name_of(scale) << " " << value;
      if (!std::isnan(value)) continue;
      data.set(data.d, scale == Scale::tensor ? 0 : 1, 7, 0x3f80);
      EXPECT_EQ(data.judge().wrong, 1) << name_of(scale);
    }
}

TEST(Verify, OverflowOfTheOutputTypeIsInf) {
  Data data({.type = f16, .out = f16, .m = 2, .n = 8, .k = 64, .seed = 19});
  data.scale_by(data.a, 16384);
  compute(data);
  EXPECT_EQ(data.judge().wrong, 0);
  bool some = false;
  for (int column = 0; column < 8; ++column) some |= std::isinf(decode(f16, data.d.row(0) + column * 2));
  EXPECT_TRUE(some);
  data.set(data.d, 0, 0, 0xfc00 ^ (std::signbit(decode(f16, data.d.row(0))) ? 0x8000 : 0));  // Inf of the other sign
  EXPECT_EQ(data.judge().wrong, 1);
}

TEST(Verify, EmptyProblemsAreRight) {
  EXPECT_EQ(Data({.m = 0, .n = 8, .k = 16}).judge().wrong, 0);
  EXPECT_EQ(Data({.m = 8, .n = 0, .k = 16}).judge().wrong, 0);
}

// --- groups of rows ------------------------------------------------------------------------------------

/// Right results of dense problems, one under another with two rows of `outside` before each, as one grouped claim.
struct Groups {
  Groups(const Case& kind, const std::vector<std::int64_t>& counts, unsigned char outside)
      : problem(kind), fill(outside) {
    Case c = kind;
    for (std::int64_t count : counts) {
      c.m = count, ++c.seed;
      parts.emplace_back(c);
      compute(parts.back());
      groups.push_back({rows + 2, count});
      rows += 2 + count;
    }
    const auto joined = [&](Matrix Data::*part, bool of_rows) {
      const Matrix& first = parts[0].*part;
      const std::int64_t height = of_rows ? rows : first.rows() * static_cast<std::int64_t>(parts.size());
      Matrix all = Matrix::allocate(first.type(), height, first.cols(), first.cols(), "joined").value();
      std::memset(all.data(), outside, all.bytes());
      for (std::size_t g = 0; g < parts.size(); ++g)
        for (std::int64_t r = 0; r < (parts[g].*part).rows(); ++r)
          std::memcpy(all.row((of_rows ? groups[g].first : static_cast<std::int64_t>(g) * first.rows()) + r),
                      (parts[g].*part).row(r), static_cast<std::size_t>(first.cols() * bytes_of(first.type())));
      return all;
    };
    a = joined(&Data::a, true), d = joined(&Data::d, true), b = joined(&Data::b, false);
    scale_a = joined(&Data::scale_a, kind.scale != Scale::tensor), scale_b = joined(&Data::scale_b, false);
  }
  Comparison judge() const { return verify({a, b, d, problem.scale, &scale_a, &scale_b, problem.math, &groups, fill}); }

  Case problem;
  unsigned char fill;
  std::int64_t rows = 0;
  std::vector<Data> parts;
  std::vector<GroupRows> groups;
  Matrix a, b, d, scale_a, scale_b;
};

void for_every_grouped(const std::function<void(Case)>& body) {
  for (Scale scale : {Scale::none, Scale::tensor, Scale::row_column, Scale::block_1x128_128x128})
    for (DType type : {e4m3, bf16}) body({.type = type, .out = bf16, .scale = scale, .n = 136, .k = 272, .seed = 31});
}

TEST(VerifyGroups, EveryRowIsJudgedWithTheBAndTheScalesOfItsGroup) {
  for_every_grouped([](Case c) {
    Groups x(c, {3, 0, 66, 1}, 0xff);
    Comparison verdict = x.judge();
    EXPECT_EQ(verdict.wrong, 0) << describe(c);
    EXPECT_EQ(verdict.outside, 4 * 2 * 136);
    EXPECT_EQ(verdict.outside_wrong, 0);
    std::swap_ranges(x.b.row(2 * 136), x.b.row(3 * 136), x.b.row(3 * 136));  // groups 2 and 3 exchange their weights
    verdict = x.judge();
    EXPECT_GT(verdict.wrong, 67 * 136 * 3 / 4) << describe(c);
    ASSERT_TRUE(verdict.first);
    EXPECT_EQ(verdict.first->row, x.groups[2].first);
  });
}

TEST(VerifyGroups, AnotherGroupsScalesAreCaught) {
  for_every_grouped([](Case c) {
    if (c.scale == Scale::none) return;
    Groups x(c, {3, 40, 9}, 0);
    const std::int64_t each = x.scale_b.rows() / 3;
    std::swap_ranges(x.scale_b.row(each), x.scale_b.row(2 * each), x.scale_b.row(2 * each));
    EXPECT_GT(x.judge().wrong, 49 * 136 / 2) << describe(c);
  });
}

TEST(VerifyGroups, WhatIsWrittenOutsideIsFoundWhereItIs) {
  for (unsigned char outside : {0xff, 0x00}) {
    const Case c{.type = e4m3, .out = bf16, .scale = Scale::none, .n = 40, .k = 32, .seed = 3};
    Groups x(c, {5, 6}, outside);
    EXPECT_FALSE(x.judge().first_outside);
    x.d.row(8)[2 * 39] = std::byte{0x12};  // between the groups: rows 0, 1, 7 and 8 are nobody's
    const Comparison verdict = x.judge();
    EXPECT_EQ(verdict.wrong, 0);
    EXPECT_EQ(verdict.outside_wrong, 1);
    ASSERT_TRUE(verdict.first_outside);
    EXPECT_EQ(verdict.first_outside->row, 8);
    EXPECT_EQ(verdict.first_outside->column, 39);
  }
}

TEST(Verify, ASpecialRowOrColumnScaleJudgesItsOwnElementsOnly) {
  Data x({.type = bf16, .out = f32, .scale = Scale::row_column, .m = 5, .n = 70, .k = 64, .seed = 12});
  x.scale_b.floats()[33] = std::numeric_limits<float>::infinity();
  compute(x);
  EXPECT_EQ(x.judge().wrong, 0);
  x.set(x.d, 2, 33, std::bit_cast<std::uint32_t>(1.0f));
  x.set(x.d, 2, 34, std::bit_cast<std::uint32_t>(1e6f));
  EXPECT_EQ(x.judge().wrong, 2);
}

}  // namespace
}  // namespace ww::ref
