// SPDX-License-Identifier: Apache-2.0
// Types of 4 and 6 bits, scales of 8 bits, their places in memory, and the verdict on products of mx and nv. Right
// results come from a model of the tensor core written here from its definition (docs/numerics.md).
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <limits>
#include <set>
#include <vector>

#include "reference/element.hpp"
#include "reference/operands.hpp"
#include "reference/scale_chunks.hpp"
#include "reference/verify.hpp"

namespace ww::ref {
namespace {

const DType kPacked[] = {e2m1, e3m2, e2m3};

TEST(PackedTypes, EveryCodeHasTheValueOfItsFields) {
  const double e2m1_values[] = {0, 0.5, 1, 1.5, 2, 3, 4, 6};
  for (int code = 0; code < 16; ++code) {
    const auto byte = static_cast<std::uint8_t>(code);
    EXPECT_EQ(decode(e2m1, &byte), (code & 8 ? -1 : 1) * e2m1_values[code & 7]);
    EXPECT_EQ(std::signbit(decode(e2m1, &byte)), (code & 8) != 0);
  }
  for (int code = 0; code < 64; ++code) {
    const auto byte = static_cast<std::uint8_t>(code);
    const double sign = code & 32 ? -1 : 1;
    const int e3 = code >> 2 & 7, f2 = code & 3, e2 = code >> 3 & 3, f3 = code & 7;
    EXPECT_EQ(decode(e3m2, &byte), sign * (e3 == 0 ? f2 / 16.0 : (1 + f2 / 4.0) * std::exp2(e3 - 3)));
    EXPECT_EQ(decode(e2m3, &byte), sign * (e2 == 0 ? f3 / 8.0 : (1 + f3 / 8.0) * std::exp2(e2 - 1)));
  }
  for (int byte = 0; byte < 255; ++byte)
    EXPECT_EQ(decode_e8m0(static_cast<std::uint8_t>(byte)), std::ldexp(1.0, byte - 127));
  EXPECT_TRUE(std::isnan(decode_e8m0(255)));
}

TEST(PackedTypes, EncodeInvertsDecodeAndRoundsTiesToEven) {
  for (const DType type : kPacked) {
    double largest = 0;
    for (int code = 0; code < 1 << bits_of(type); ++code) {
      const auto byte = static_cast<std::uint8_t>(code);
      const double value = decode(type, &byte);
      EXPECT_EQ(encode(type, value), code) << name_of(type);
      largest = std::max(largest, value);
    }
    EXPECT_EQ(format_of(type).largest, largest);
    const int top = (1 << (bits_of(type) - 1)) - 1;
    EXPECT_EQ(encode(type, 1e30), top) << name_of(type);
    EXPECT_EQ(encode(type, -1e30), top | 1 << (bits_of(type) - 1)) << name_of(type);
    for (int code = 0; code < top; ++code) {  // halfway between neighbours, and beside it
      const std::uint8_t low = static_cast<std::uint8_t>(code), high = static_cast<std::uint8_t>(code + 1);
      const double middle = (decode(type, &low) + decode(type, &high)) / 2;
      EXPECT_EQ(encode(type, middle), code % 2 == 0 ? code : code + 1) << name_of(type) << " " << middle;
      EXPECT_EQ(encode(type, std::nextafter(middle, 0)), code);
      EXPECT_EQ(encode(type, std::nextafter(middle, 100)), code + 1);
    }
  }
}

TEST(PackedTypes, TheFirstElementHasTheLowestBits) {
  std::uint8_t row[6] = {};
  set_packed_code(e2m1, row, 0, 0x3), set_packed_code(e2m1, row, 1, 0xA), set_packed_code(e2m1, row, 2, 0xF);
  EXPECT_EQ(row[0], 0xA3);
  EXPECT_EQ(row[1], 0x0F);
  std::uint8_t six[6] = {};
  const std::uint8_t codes[] = {0x01, 0x3F, 0x20, 0x15, 0x2A, 0x00, 0x3E, 0x11};
  for (int i = 0; i < 8; ++i) set_packed_code(e3m2, six, i, codes[i]);
  std::uint64_t word = 0;
  for (int i = 0; i < 8; ++i) word |= std::uint64_t{codes[i]} << (6 * i);
  for (int b = 0; b < 6; ++b) EXPECT_EQ(six[b], word >> (8 * b) & 255);
  for (int i = 0; i < 8; ++i) EXPECT_EQ(packed_code(e3m2, six, i), codes[i]);
  set_packed_code(e2m3, six, 2, 0x0C);  // neighbours keep their codes
  for (int i = 0; i < 8; ++i) EXPECT_EQ(packed_code(e2m3, six, i), i == 2 ? 0x0C : codes[i]);
}

TEST(PackedTypes, SizesAreAskedInBits) {
  EXPECT_EQ(bytes_in(e2m1, 32), 16);
  EXPECT_EQ(bytes_in(e2m1, 33), 17);
  EXPECT_EQ(bytes_in(e3m2, 128), 96);
  EXPECT_EQ(bytes_in(bf16, 3), 6);
  EXPECT_EQ(row_multiple(e2m1), 32);
  EXPECT_EQ(row_multiple(e2m3), 128);
  EXPECT_EQ(row_multiple(f32), 4);
  EXPECT_FALSE(is_fp8(e8m0) || is_fp8(e2m1));
  EXPECT_TRUE(is_f8f6f4(e2m1) && is_f8f6f4(e5m2) && !is_f8f6f4(e8m0) && !is_f8f6f4(bf16));
}

TEST(PackedTypes, GeneratedElementsDependOnTheirPlaceAndReachEveryUsualCode) {
  for (const DType type : kPacked) {
    Matrix large = Matrix::allocate(type, 40, 256, 384, "a").value(),
           small = Matrix::allocate(type, 7, 60, 64, "a").value();
    fill_normal(large, 5, Operand::a), fill_normal(small, 5, Operand::a);
    std::set<int> codes;
    for (int row = 0; row < 40; ++row)
      for (int column = 0; column < 256; ++column) {
        const std::uint8_t code = packed_code(type, large.row(row), column);
        codes.insert(code);
        if (row < 7 && column < 60) {
          EXPECT_EQ(code, packed_code(type, small.row(row), column));
        }
      }
    EXPECT_GT(codes.size(), type == e2m1 ? 11u : 30u) << name_of(type);
    for (int column = 256; column < 384; ++column) EXPECT_EQ(packed_code(type, large.row(3), column), 0);
  }
  for (const DType type : {e8m0, e4m3}) {
    Matrix scales = Matrix::allocate(type, 20, 9, 9, "scale").value();
    fill_scales(scales, 3, Operand::scale_a);
    std::set<double> values;
    for (int row = 0; row < 20; ++row)
      for (int column = 0; column < 9; ++column) values.insert(decode(type, scales.row(row) + column));
    EXPECT_EQ(values.size(), type == e8m0 ? 4u : 32u);
    EXPECT_EQ(*values.begin(), 0.25);
    EXPECT_LT(*values.rbegin(), 4);
  }
}

TEST(ScaleChunks, ScaleJOfRowRIsByte16TimesRMod32) {
  for (const std::int64_t rows : {1, 33, 128, 129, 300})
    for (const std::int64_t scales : {1, 4, 6, 9}) {
      Matrix plain = Matrix::allocate(e8m0, 2 * rows, scales, scales, "scale").value();
      for (std::int64_t i = 0; i < 2 * rows * scales; ++i) plain.data()[i] = static_cast<std::byte>(1 + i % 251);
      const Matrix chunks = chunked(plain, rows, "scale").value();
      const std::int64_t along_k = (scales + 3) / 4, set = (rows + 127) / 128 * along_k * 512;
      ASSERT_EQ(static_cast<std::int64_t>(chunks.bytes()), 2 * set);
      EXPECT_EQ(set, scale_bytes(rows, 32 * scales, 32));
      std::vector<int> expected(static_cast<std::size_t>(2 * set), 0xff);
      for (std::int64_t l = 0; l < 2; ++l)
        for (std::int64_t r = 0; r < rows; ++r)
          for (std::int64_t j = 0; j < scales; ++j)
            expected[static_cast<std::size_t>(l * set + (r / 128 * along_k + j / 4) * 512 + 16 * (r % 32) +
                                              4 * (r % 128 / 32) + j % 4)] =
                static_cast<int>(plain.row(l * rows + r)[j]);
      for (std::int64_t i = 0; i < 2 * set; ++i)
        ASSERT_EQ(static_cast<int>(chunks.data()[i]), expected[static_cast<std::size_t>(i)]) << i;
      const Matrix back = unchunked(chunks.data() + set, e8m0, rows, scales, "scale").value();
      EXPECT_EQ(std::memcmp(back.data(), plain.row(rows), back.bytes()), 0);
    }
}

double truncated(double x, double unit) { return std::trunc(x / unit) * unit; }

/// The sum of an instruction as FP32, its last bits dropped.
double to_fp32(double sum) {
  return sum == 0 ? 0 : truncated(sum, std::ldexp(1.0, std::max(std::ilogb(sum), -126) - 23));
}

struct Product {
  DType a = e4m3, b = e4m3;
  Scale scale = Scale::mx;
  std::int64_t m = 0, n = 0, k = 0;
};

struct Data {
  explicit Data(const Product& p, std::uint64_t seed) : problem(p) {
    const std::int64_t scales = ceil_div(p.k, std::int64_t{scale_vector(p.scale)});
    const DType type = p.scale == Scale::mx ? e8m0 : e4m3;
    a = Matrix::allocate(p.a, p.m, p.k, round_up(p.k, std::int64_t{128}), "a").value();
    b = Matrix::allocate(p.b, p.n, p.k, round_up(p.k, std::int64_t{128}), "b").value();
    d = Matrix::allocate(f32, p.m, p.n, p.n, "d").value();
    scale_a = Matrix::allocate(type, p.m, scales, scales, "scale_a").value();
    scale_b = Matrix::allocate(type, p.n, scales, scales, "scale_b").value();
    fill_normal(a, seed, Operand::a), fill_normal(b, seed, Operand::b);
    fill_scales(scale_a, seed, Operand::scale_a), fill_scales(scale_b, seed, Operand::scale_b);
  }
  double scale_of(const Matrix& scales, std::int64_t row, std::int64_t k) const {
    const auto byte = static_cast<std::uint8_t>(scales.row(row)[k / scale_vector(problem.scale)]);
    return problem.scale == Scale::mx ? decode_e8m0(byte) : std::fabs(decode_e4m3(byte));
  }
  Comparison judge() const {
    return verify({.a = a,
                   .b = b,
                   .d = d,
                   .scale = problem.scale,
                   .scale_a = &scale_a,
                   .scale_b = &scale_b,
                   .global_scale = global_scale,
                   .arch = Arch::sm100});
  }

  Product problem;
  Matrix a, b, d, scale_a, scale_b;
  float global_scale = 1;
};

/// Kind mxf8f6f4: 32 products with the exponents of their scales, cut 25 bits below the largest exponent.
double multiply_mx(const Data& x, std::int64_t row, std::int64_t column, std::int64_t from, double c) {
  const Product& p = x.problem;
  const auto exponent = [](DType type, double v) { return std::max(std::ilogb(v), format_of(type).min_exponent); };
  std::vector<double> terms;
  int largest = c == 0 ? -100000 : std::max(std::ilogb(c), -126);
  for (std::int64_t k = from; k < std::min(p.k, from + 32); ++k) {
    const double a = decode_at(p.a, x.a.row(row), k), b = decode_at(p.b, x.b.row(column), k);
    const double scale = x.scale_of(x.scale_a, row, k) * x.scale_of(x.scale_b, column, k);
    terms.push_back(a * b * scale);
    if (a != 0 && b != 0) largest = std::max(largest, exponent(p.a, a) + exponent(p.b, b) + std::ilogb(scale));
  }
  const double unit = std::ldexp(1.0, largest - 25);
  double sum = truncated(c, unit);
  for (const double term : terms) sum += truncated(term, unit);
  return to_fp32(sum);
}

/// Kind mxf4nvf4: four groups of 16 with exact sums, cut 35 bits below the largest exponent of scales.
double multiply_nv(const Data& x, std::int64_t row, std::int64_t column, std::int64_t from, double c) {
  const Product& p = x.problem;
  double terms[4] = {};
  int largest = c == 0 ? -100000 : std::max(std::ilogb(c), -126);
  for (std::int64_t group = 0; group < 4 && from + 16 * group < p.k; ++group) {
    const std::int64_t first = from + 16 * group;
    for (std::int64_t k = first; k < std::min(p.k, first + 16); ++k)
      terms[group] += decode_at(p.a, x.a.row(row), k) * decode_at(p.b, x.b.row(column), k);
    const double sa = x.scale_of(x.scale_a, row, first), sb = x.scale_of(x.scale_b, column, first);
    terms[group] *= sa * sb;
    largest = std::max(largest, std::max(std::ilogb(sa), -6) + std::max(std::ilogb(sb), -6));
  }
  const double unit = std::ldexp(1.0, largest - 35);
  double sum = truncated(c, unit);
  for (const double term : terms) sum += truncated(term, unit);
  return to_fp32(sum);
}

/// D as a kernel computes it, without the K from `skip` to `skip_end`.
void compute(Data& x, std::int64_t skip = 0, std::int64_t skip_end = 0) {
  const Product& p = x.problem;
  const std::int64_t step = p.scale == Scale::nv ? 64 : 32;
  for (std::int64_t row = 0; row < p.m; ++row)
    for (std::int64_t column = 0; column < p.n; ++column) {
      double sum = 0;
      for (std::int64_t k = 0; k < p.k; k += step)
        if (k < skip || k >= skip_end)
          sum = p.scale == Scale::nv ? multiply_nv(x, row, column, k, sum) : multiply_mx(x, row, column, k, sum);
      reinterpret_cast<float*>(x.d.row(row))[column] = static_cast<float>(sum) * x.global_scale;
    }
}

const Product kProducts[] = {{e4m3, e4m3, Scale::mx, 70, 40, 320}, {e5m2, e4m3, Scale::mx, 20, 24, 128},
                             {e2m1, e2m1, Scale::mx, 33, 72, 384}, {e3m2, e2m3, Scale::mx, 65, 16, 256},
                             {e2m1, e4m3, Scale::mx, 16, 65, 640}, {e2m3, e5m2, Scale::mx, 8, 8, 128},
                             {e2m1, e2m1, Scale::nv, 70, 72, 320}, {e2m1, e2m1, Scale::nv, 9, 130, 96}};

TEST(VerifyBlockScales, TakesWhatTheTensorCoreComputes) {
  for (const Product& p : kProducts)
    for (std::uint64_t seed = 0; seed < 3; ++seed) {
      Data x(p, seed);
      if (p.scale == Scale::nv) x.global_scale = 0.37f;
      compute(x);
      const Comparison verdict = x.judge();
      EXPECT_EQ(verdict.wrong, 0) << name_of(p.a) << " " << name_of(p.b) << " " << verdict.max_error_of_bound;
    }
}

TEST(VerifyBlockScales, TakesScalesThatAreFarApart) {
  for (const Product& p : kProducts) {
    Data x(p, 9);
    const bool mx = p.scale == Scale::mx;
    for (Matrix* scales : {&x.scale_a, &x.scale_b})
      for (std::size_t i = 0; i < scales->bytes(); ++i)  // e8m0 2^-40 to 2^40; e4m3 with subnormals, signs and zero
        scales->data()[i] = static_cast<std::byte>(mx ? 87 + i * 37 % 81 : i * 53 % 127 | (i % 3 == 0 ? 128 : 0));
    compute(x);
    EXPECT_EQ(x.judge().wrong, 0) << name_of(p.a) << " " << name_of(p.b);
  }
}

TEST(VerifyBlockScales, RefusesEveryMistakeInScales) {
  for (const Product& p : kProducts) {
    const auto wrong = [&](const std::function<void(Data&)>& mistake) {
      Data x(p, 4);
      if (p.scale == Scale::nv) x.global_scale = 3;
      mistake(x);
      return static_cast<double>(x.judge().wrong) / static_cast<double>(p.m * p.n);
    };
    EXPECT_GT(wrong([](Data& x) { compute(x, 64, 128); }), 0.9) << "a step of K left out";
    EXPECT_GT(wrong([](Data& x) { compute(x), std::swap(x.scale_a.data()[0], x.scale_a.data()[1]); }) * p.m, 0.4);
    EXPECT_GT(wrong([](Data& x) {  // scales of the row above
                compute(x);
                for (std::int64_t row = x.scale_b.rows() - 1; row > 0; --row)
                  std::memcpy(x.scale_b.row(row), x.scale_b.row(row - 1), static_cast<std::size_t>(x.scale_b.ld()));
              }),
              0.8);
    if (p.scale == Scale::nv) {
      EXPECT_GT(wrong([](Data& x) { compute(x), x.global_scale = 1; }), 0.9);
    }
  }
}

TEST(VerifyBlockScales, NanScalesMakeNan) {
  for (const Product& p : kProducts) {
    Data x(p, 2);
    compute(x);
    x.scale_a.row(3)[1] = static_cast<std::byte>(p.scale == Scale::mx ? 255 : 127);
    EXPECT_EQ(x.judge().wrong, p.n);
    for (std::int64_t column = 0; column < p.n; ++column)
      reinterpret_cast<float*>(x.d.row(3))[column] = std::numeric_limits<float>::quiet_NaN();
    EXPECT_EQ(x.judge().wrong, 0);
  }
}

}  // namespace
}  // namespace ww::ref
