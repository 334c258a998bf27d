// SPDX-License-Identifier: Apache-2.0
// Generated operands: a function of (seed, which, row, column), with the distribution that is promised.
#include "reference/operands.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <utility>

#include "reference/element.hpp"

namespace ww::ref {
namespace {

Matrix normal(DType type, std::int64_t rows, std::int64_t cols, std::int64_t ld, std::uint64_t seed, Operand which) {
  Matrix matrix = Matrix::allocate(type, rows, cols, ld, "a").value();
  fill_normal(matrix, seed, which);
  return matrix;
}

double at(const Matrix& m, std::int64_t row, std::int64_t col) {
  return decode(m.type(), m.row(row) + col * bytes_of(m.type()));
}

bool equal(const Matrix& x, const Matrix& y) {
  for (std::int64_t r = 0; r < std::min(x.rows(), y.rows()); ++r)
    if (std::memcmp(x.row(r), y.row(r), static_cast<std::size_t>(std::min(x.cols(), y.cols()) * bytes_of(x.type()))) !=
        0)
      return false;
  return true;
}

TEST(Element, EncodeInvertsDecodeForEveryFiniteValue) {
  for (DType type : {e4m3, bf16, f16})
    for (int bits = 0; bits < (bytes_of(type) == 1 ? 256 : 65536); ++bits) {
      const std::uint8_t bytes[4] = {static_cast<std::uint8_t>(bits), static_cast<std::uint8_t>(bits >> 8)};
      const double value = decode(type, bytes);
      if (!std::isfinite(value)) continue;
      ASSERT_EQ(encode(type, value), bits) << name_of(type);
    }
}

TEST(Element, RoundsToNearestEvenAndSaturates) {
  EXPECT_EQ(round_to(e4m3, 17), 16);  // between 16 and 18
  EXPECT_EQ(round_to(e4m3, 19), 20);
  EXPECT_EQ(round_to(e4m3, 1e9), 448);
  EXPECT_EQ(round_to(e4m3, -1e9), -448);
  EXPECT_EQ(round_to(e4m3, 0x1p-10), 0);  // half of the smallest subnormal
  EXPECT_EQ(round_to(e4m3, 0x1.8p-9), 0x1p-8);
  EXPECT_EQ(round_to(bf16, 1 + 0x1p-8), 1);
  EXPECT_EQ(round_to(bf16, 1 + 0x1.8p-7), 1 + 0x1p-6);
  EXPECT_EQ(round_to(f16, 2049), 2048);
  EXPECT_TRUE(std::isnan(decode_e4m3(0x7f)));
  EXPECT_EQ(decode_e4m3(0x7e), 448);
  EXPECT_EQ(decode_f16(0x7c00), INFINITY);
}

TEST(Operands, AnElementDependsOnItsPositionAlone) {
  for (DType type : {e4m3, bf16, f16, f32}) {
    const Matrix large = normal(type, 40, 100, 112, 7, Operand::a);
    EXPECT_TRUE(equal(large, normal(type, 40, 100, 112, 7, Operand::a)));
    EXPECT_TRUE(equal(large, normal(type, 17, 33, 33, 7, Operand::a)));
    EXPECT_FALSE(equal(large, normal(type, 40, 100, 112, 8, Operand::a)));
    EXPECT_FALSE(equal(large, normal(type, 40, 100, 112, 7, Operand::b)));
  }
}

TEST(Operands, SomeValuesNeverChange) {
  const Matrix a = normal(e4m3, 2, 4, 4, 0, Operand::a);
  const std::uint8_t expected[2][4] = {{188, 68, 171, 52}, {18, 57, 184, 65}};
  for (int r = 0; r < 2; ++r)
    for (int c = 0; c < 4; ++c) EXPECT_EQ(static_cast<int>(a.row(r)[c]), expected[r][c]) << r << ", " << c;
}

/// Recorded results are of these operands, so that no way of computing them faster may change a bit.
TEST(Operands, NoElementOfAnyTypeChanges) {
  const std::pair<DType, std::uint64_t> expected[] = {{e4m3, 0x60802cf888ca28de}, {e5m2, 0xb747c35c4901e1fd},
                                                      {bf16, 0x38812ad2a19ae416}, {f16, 0x719862c7bef672e4},
                                                      {f32, 0x6e513a1774d43804},  {tf32, 0x6e513a1774d43804}};
  for (const auto& [type, hash] : expected) {
    const Matrix m = normal(type, 300, 1003, 1003, 5, Operand::b);
    std::uint64_t fnv = 0xcbf29ce484222325;
    for (std::int64_t r = 0; r < m.rows(); ++r)
      for (std::int64_t i = 0; i < m.cols() * bytes_of(type); ++i)
        fnv = (fnv ^ static_cast<std::uint8_t>(m.row(r)[i])) * 0x100000001b3;
    EXPECT_EQ(fnv, hash) << name_of(type);
  }
}

TEST(Operands, AreStandardNormal) {
  for (DType type : {e4m3, bf16, f16, f32}) {
    const Matrix m = normal(type, 500, 400, 400, 1, Operand::b);
    double moment[5] = {};
    for (std::int64_t r = 0; r < m.rows(); ++r)
      for (std::int64_t c = 0; c < m.cols(); ++c)
        for (int power = 1; power < 5; ++power) moment[power] += std::pow(at(m, r, c), power) / 200'000;
    EXPECT_NEAR(moment[1], 0, 0.01);
    EXPECT_NEAR(moment[2], 1, 0.015);
    EXPECT_NEAR(moment[3], 0, 0.04);
    EXPECT_NEAR(moment[4], 3, 0.08);
    // neighbours along a row and a column have nothing in common
    double along_row = 0, along_column = 0;
    for (std::int64_t r = 0; r + 1 < m.rows(); ++r)
      for (std::int64_t c = 0; c + 1 < m.cols(); ++c)
        along_row += at(m, r, c) * at(m, r, c + 1) / 200'000, along_column += at(m, r, c) * at(m, r + 1, c) / 200'000;
    EXPECT_NEAR(along_row, 0, 0.01);
    EXPECT_NEAR(along_column, 0, 0.01);
  }
}

TEST(Operands, ScalesSpanFourPowersOfTwo) {
  Matrix m = Matrix::allocate(f32, 100, 100, 100, "scale_a").value();
  fill_scales(m, 3, Operand::scale_a);
  int counts[4] = {};
  for (int i = 0; i < 10'000; ++i) {
    const float scale = m.floats()[i];
    ASSERT_GE(scale, 0.25f);
    ASSERT_LT(scale, 4.0f);
    ++counts[std::ilogb(scale) + 2];
  }
  for (int count : counts) EXPECT_NEAR(count, 2500, 250);
}

}  // namespace
}  // namespace ww::ref
