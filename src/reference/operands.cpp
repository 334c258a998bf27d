// SPDX-License-Identifier: Apache-2.0
// A counter-based generator: one 64-bit hash of the position gives four table indices of 16 bits.
// A table is used, because rounding a normal variate to 8 or 16 bits leaves little to compute per element, and no
// element then depends on a libm call whose last bit differs between machines.
#include "reference/operands.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <vector>

#include "reference/element.hpp"
#include "reference/parallel.hpp"

namespace ww::ref {
namespace {

constexpr std::uint64_t kGolden = 0x9e3779b97f4a7c15;

/// The finaliser of SplitMix64 (Steele, Lea, Flood 2014).
constexpr std::uint64_t mix(std::uint64_t x) {
  x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9;
  x = (x ^ x >> 27) * 0x94d049bb133111eb;
  return x ^ x >> 31;
}

std::uint64_t row_key(std::uint64_t seed, Operand which, std::int64_t row) {
  return mix(mix(mix(seed + kGolden) + static_cast<std::uint64_t>(which)) + static_cast<std::uint64_t>(row) * kGolden);
}

std::uint64_t draw(std::uint64_t key, std::int64_t counter) {
  return mix(key + (static_cast<std::uint64_t>(counter) + 1) * kGolden);
}

double polynomial(const double (&coefficients)[8], double x) {
  double value = 0;
  for (int i = 7; i >= 0; --i) value = value * x + coefficients[i];
  return value;
}

/// The quantile of N(0, 1): algorithm AS 241 (Wichura 1988), relative error about 1e-16.
double normal_quantile(double p) {
  constexpr double kCentre[2][8] = {
      {3.3871328727963666080e0, 1.3314166789178437745e2, 1.9715909503065514427e3, 1.3731693765509461125e4,
       4.5921953931549871457e4, 6.7265770927008700853e4, 3.3430575583588128105e4, 2.5090809287301226727e3},
      {1.0, 4.2313330701600911252e1, 6.8718700749205790830e2, 5.3941960214247511077e3, 2.1213794301586595867e4,
       3.9307895800092710610e4, 2.8729085735721942674e4, 5.2264952788528545610e3}};
  constexpr double kTail[2][8] = {
      {1.42343711074968357734e0, 4.63033784615654529590e0, 5.76949722146069140550e0, 3.64784832476320460504e0,
       1.27045825245236838258e0, 2.41780725177450611770e-1, 2.27238449892691845833e-2, 7.74545014278341407640e-4},
      {1.0, 2.05319162663775882187e0, 1.67638483018380384940e0, 6.89767334985100004550e-1, 1.48103976427480074590e-1,
       1.51986665636164571966e-2, 5.47593808499534494600e-4, 1.05075007164441684324e-9}};
  const double q = p - 0.5;
  if (std::fabs(q) <= 0.425) {
    const double r = 0.180625 - q * q;
    return q * polynomial(kCentre[0], r) / polynomial(kCentre[1], r);
  }
  const double r = std::sqrt(-std::log(q < 0 ? p : 1 - p)) - 1.6;  // p >= 2^-17 keeps r below 5 - 1.6
  const double value = polynomial(kTail[0], r) / polynomial(kTail[1], r);
  return q < 0 ? -value : value;
}

constexpr int kQuantiles = 1 << 16;

/// Returns the bits of `type` for the middle of interval `i` of kQuantiles equally likely ones.
template <class Bits> Bits quantile(DType type, int i) {
  const double value = normal_quantile((i + 0.5) / kQuantiles);
  if constexpr (sizeof(Bits) == 4) return std::bit_cast<std::uint32_t>(static_cast<float>(value));
  else return static_cast<Bits>(encode(type, value));
}

/// Fills in what lies between two quantiles that are known. Quantiles do not fall, so that between two equal ones all
/// are equal; of a type of one byte, few are ever computed.
template <class Bits> void fill_between(std::vector<Bits>& table, DType type, int first, int last) {
  if (last - first < 2) return;
  if (table[first] == table[last]) {
    std::fill(table.begin() + first + 1, table.begin() + last, table[first]);
    return;
  }
  const int middle = (first + last) / 2;
  table[middle] = quantile<Bits>(type, middle);
  fill_between(table, type, first, middle);
  fill_between(table, type, middle, last);
}

/// Returns the bits of all quantiles. Those below the median are the others' with the sign.
template <class Bits> std::vector<Bits> quantile_table(DType type) {
  std::vector<Bits> table(kQuantiles);
  constexpr int kMedian = kQuantiles / 2;
  const Bits sign = static_cast<Bits>(Bits{1} << (bits_of(type) - 1));
  for (const int i : {kMedian, kQuantiles - 1}) table[i] = quantile<Bits>(type, i);
  fill_between(table, type, kMedian, kQuantiles - 1);
  for (int i = 0; i < kMedian; ++i) table[i] = static_cast<Bits>(table[kQuantiles - 1 - i] | sign);
  return table;
}

template <class Bits> void fill_with_table(Matrix& matrix, std::uint64_t seed, Operand which) {
  const std::vector<Bits> quantiles = quantile_table<Bits>(matrix.type());
  const Bits* const table = quantiles.data();
  constexpr std::int64_t kRowsAtOnce = 16;
  parallel_for((matrix.rows() + kRowsAtOnce - 1) / kRowsAtOnce, [&](std::int64_t group) {
    const std::int64_t last = std::min(matrix.rows(), (group + 1) * kRowsAtOnce);
    for (std::int64_t row = group * kRowsAtOnce; row < last; ++row) {
      const std::uint64_t key = row_key(seed, which, row);
      std::byte* const out = matrix.row(row);
      const std::int64_t columns = matrix.cols();
      for (std::int64_t column = 0; column < columns; column += 4) {
        const std::uint64_t bits = draw(key, column / 4);
        const Bits four[] = {table[bits & 0xffff], table[bits >> 16 & 0xffff], table[bits >> 32 & 0xffff],
                             table[bits >> 48]};
        std::byte* const to = out + column * static_cast<std::int64_t>(sizeof(Bits));
        if (columns - column >= 4) std::memcpy(to, four, sizeof four);
        else std::memcpy(to, four, static_cast<std::size_t>(columns - column) * sizeof(Bits));
      }
    }
  });
}

/// Of packed types; a matrix of their codes, one a byte, is filled first.
void fill_packed(Matrix& matrix, std::uint64_t seed, Operand which) {
  const std::vector<std::uint8_t> table = quantile_table<std::uint8_t>(matrix.type());
  parallel_for(matrix.rows(), [&](std::int64_t row) {
    const std::uint64_t key = row_key(seed, which, row);
    for (std::int64_t column = 0; column < matrix.cols(); ++column)
      set_packed_code(matrix.type(), matrix.row(row), column, table[draw(key, column / 4) >> column % 4 * 16 & 0xffff]);
  });
}

}  // namespace

void fill_normal(Matrix& matrix, std::uint64_t seed, Operand which) {
  if (is_packed(matrix.type())) return fill_packed(matrix, seed, which);
  switch (bytes_of(matrix.type())) {
    case 1: return fill_with_table<std::uint8_t>(matrix, seed, which);
    case 2: return fill_with_table<std::uint16_t>(matrix, seed, which);
    default: return fill_with_table<std::uint32_t>(matrix, seed, which);
  }
}

void fill_scales(Matrix& matrix, std::uint64_t seed, Operand which) {
  for (std::int64_t row = 0; row < matrix.rows(); ++row) {
    const std::uint64_t key = row_key(seed, which, row);
    std::byte* const out = matrix.row(row);
    for (std::int64_t column = 0; column < matrix.cols(); ++column) {
      const std::uint64_t bits = draw(key, column);
      const std::uint32_t exponent = static_cast<std::uint32_t>(bits >> 62);  // of 1/4, plus this
      if (matrix.type() == DType::e8m0) out[column] = static_cast<std::byte>(127 - 2 + exponent);
      else if (matrix.type() == DType::e4m3) out[column] = static_cast<std::byte>((7 - 2 + exponent) << 3 | (bits & 7));
      else
        reinterpret_cast<float*>(out)[column] =
            std::bit_cast<float>((127 - 2 + exponent) << 23 | static_cast<std::uint32_t>(bits & 0x7fffff));
    }
  }
}

}  // namespace ww::ref
