// SPDX-License-Identifier: Apache-2.0
// e4m3 with FP32 scales, on the host: activations share one for 1 x 128 values, weights one for 128 x 128; how floats
// become such operands, and what a product of two of them is in FP64, with the error that a kernel may make.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <random>
#include <vector>

#include "warpwright/arch/convert.hpp"

namespace example {

constexpr std::int64_t kBlock = 128;

/// A row-major matrix (rows, k); weights of all groups stand below each other, k and their rows are multiples of 128.
struct BlockScaled {
  std::int64_t k = 0, block_rows = 0;
  std::vector<ww::u8> values;  // (rows, k) e4m3
  std::vector<float> scales;   // (rows / block_rows, k / 128)
};

/// Every block is stretched so that its largest value becomes 448, the largest of e4m3. block_rows: 1 or 128.
inline BlockScaled quantise(const std::vector<float>& x, std::int64_t k, std::int64_t block_rows) {
  const std::int64_t rows = static_cast<std::int64_t>(x.size()) / k, blocks = k / kBlock;
  const auto count = static_cast<std::size_t>(rows / block_rows * blocks);
  BlockScaled q{k, block_rows, std::vector<ww::u8>(x.size()), std::vector<float>(count)};
  const auto scale_of = [&](std::size_t i) -> float& {
    const std::int64_t row = static_cast<std::int64_t>(i) / k, column = static_cast<std::int64_t>(i) % k;
    return q.scales[static_cast<std::size_t>(row / block_rows * blocks + column / kBlock)];
  };
  for (std::size_t i = 0; i < x.size(); ++i) scale_of(i) = std::max(scale_of(i), std::fabs(x[i]) / 448.0f);
  for (float& scale : q.scales)
    if (scale == 0) scale = 1;
  for (std::size_t i = 0; i < x.size(); ++i) q.values[i] = ww::arch::to_e4m3(x[i] / scale_of(i));
  return q;
}

/// An exact value and how far from it a right answer may lie.
struct Within {
  double value = 0, bound = 0;
  bool holds(double got) const { return std::fabs(got - value) <= bound; }  // NaN never does
};

/// Row `m` of a times row `n` of b, as the tensor core may round it on the way to bf16: docs/numerics.md, section 7.
inline Within product(const BlockScaled& a, std::int64_t m, const BlockScaled& b, std::int64_t n) {
  constexpr double kStep = 0x1p-13, kHalfUlp = 0x1p-24, kTiny = 0x1p-149, kSmallestNormal = 0x1p-6;
  const ww::u8 *const x = a.values.data() + m * a.k, *const w = b.values.data() + n * b.k;
  const auto ceiling = [&](double v) { return v == 0 ? 0 : std::max(std::fabs(v), kSmallestNormal); };
  double total = 0, error = 0, magnitude = 0;
  for (std::int64_t block = 0; block < a.k / kBlock; ++block) {
    double sum = 0, bound = 0, absolute = 0;  // of one promotion: 4 instructions of 32 products
    for (std::int64_t first = block * kBlock; first < (block + 1) * kBlock; first += 32) {
      double largest = std::max(std::fabs(sum) + bound, 0x1p-126);
      for (std::int64_t k = first; k < first + 32; ++k) {
        const double u = double(ww::arch::from_e4m3(x[k])), v = double(ww::arch::from_e4m3(w[k]));
        sum += u * v;
        absolute += std::fabs(u * v);
        largest = std::max(largest, ceiling(u) * ceiling(v));
      }
      const double truncated = 33 * kStep * largest;
      bound += truncated + kStep * (std::fabs(sum) + bound + truncated) + kTiny;
    }
    const auto scale = [block](const BlockScaled& q, std::int64_t row) {
      return double(q.scales[static_cast<std::size_t>(row / q.block_rows * (q.k / kBlock) + block)]);
    };
    const double t = scale(a, m) * scale(b, n), reach = std::fabs(sum) + bound;
    total += t * sum;
    magnitude += t * absolute;
    error += t * bound + kHalfUlp * t * reach + kTiny * (reach + 1);
    error += kHalfUlp * (std::fabs(total) + error);
  }
  error += double(a.k) * 0x1p-52 * magnitude;  // of this FP64 sum itself
  return {total, error + 0x1p-8 * (std::fabs(total) + error) + 0x1p-134};
}

/// The same on every machine: uniform in [-1, 1).
inline std::vector<float> random_values(std::mt19937& rng, std::int64_t count) {
  std::vector<float> values(static_cast<std::size_t>(count));
  for (float& v : values) v = static_cast<float>(rng() >> 8) * 0x1p-23f - 1.0f;
  return values;
}

}  // namespace example
