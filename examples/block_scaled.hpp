// SPDX-License-Identifier: Apache-2.0
// e4m3 with FP32 scales, on the host: activations share one for 1 x 128 values, weights one for 128 x 128, or each row
// has one. The functions convert floats to such operands, and compute a product of two, and SwiGLU of it, in FP64, with
// the error that a kernel may make.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <random>
#include <vector>

#include "warpwright/arch/common/convert.hpp"

namespace example {

constexpr std::int64_t kBlock = 128;

/// A row-major matrix (rows, k); weights of all groups stand below each other, k and their rows are multiples of 128.
struct BlockScaled {
  std::int64_t k = 0, block_rows = 0, block_k = kBlock;
  std::vector<ww::u8> values;  // (rows, k) e4m3
  std::vector<float> scales;   // (rows / block_rows, k / block_k)
};

/// Every block is stretched so that its largest value becomes 448, the largest of e4m3. block_rows: 1 or 128; block_k:
/// 128 or k.
inline BlockScaled quantise(const std::vector<float>& x, std::int64_t k, std::int64_t block_rows,
                            std::int64_t block_k = kBlock) {
  const std::int64_t rows = static_cast<std::int64_t>(x.size()) / k, blocks = k / block_k;
  const auto count = static_cast<std::size_t>(rows / block_rows * blocks);
  BlockScaled q{k, block_rows, block_k, std::vector<ww::u8>(x.size()), std::vector<float>(count)};
  const auto scale_of = [&](std::size_t i) -> float& {
    const std::int64_t row = static_cast<std::int64_t>(i) / k, column = static_cast<std::int64_t>(i) % k;
    return q.scales[static_cast<std::size_t>(row / block_rows * blocks + column / block_k)];
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

/// Row `m` of a times row `n` of b, as the tensor core may round it in FP32: docs/numerics.md, section 7.
inline Within product(const BlockScaled& a, std::int64_t m, const BlockScaled& b, std::int64_t n) {
  constexpr double kStep = 0x1p-13, kHalfUlp = 0x1p-24, kTiny = 0x1p-149, kSmallestNormal = 0x1p-6;
  const std::int64_t span = a.block_k;
  const ww::u8 *const x = a.values.data() + m * a.k, *const w = b.values.data() + n * b.k;
  const auto ceiling = [&](double v) { return v == 0 ? 0 : std::max(std::fabs(v), kSmallestNormal); };
  double total = 0, error = 0, magnitude = 0;
  for (std::int64_t block = 0; block < a.k / span; ++block) {
    double sum = 0, bound = 0, absolute = 0;  // of what is scaled at once: instructions of 32 products
    for (std::int64_t first = block * span; first < (block + 1) * span; first += 32) {
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
    const auto scale = [&](const BlockScaled& q, std::int64_t row) {
      return double(q.scales[static_cast<std::size_t>(row / q.block_rows * (q.k / span) + block)]);
    };
    const double t = scale(a, m) * scale(b, n), reach = std::fabs(sum) + bound;
    total += t * sum;
    magnitude += t * absolute;
    error += t * bound + kHalfUlp * t * reach + kTiny * (reach + 1);
    error += kHalfUlp * (std::fabs(total) + error);
  }
  error += double(a.k) * 0x1p-52 * magnitude;  // of this FP64 sum itself
  return {total, error};
}

/// `x` rounded to bf16.
inline Within to_bf16(const Within& x) {
  return {x.value, x.bound + 0x1p-8 * (std::fabs(x.value) + x.bound) + 0x1p-134};
}

inline double silu(double x) { return x / (1 + std::exp(-x)); }

/// silu(gate) up: no slope of silu is steeper than 1.1, and FP32 on the way costs less than 2^-20.
inline Within swiglu(const Within& gate, const Within& up) {
  const double value = silu(gate.value) * up.value, off = 1.1 * gate.bound;
  const double bound = off * (std::fabs(up.value) + up.bound) + (std::fabs(silu(gate.value)) + off) * up.bound;
  return {value, bound + 0x1p-20 * std::fabs(value)};
}

/// Whether 128 values with their scale are `want` quantised: the largest becomes 448, and each is within half a step.
inline bool holds_block(const std::vector<Within>& want, const ww::u8* values, double scale) {
  Within largest;
  for (const Within& x : want) {
    const double reach = std::fabs(x.value) + x.bound, fp32 = 0x1p-20 * reach;
    largest = {std::max(largest.value, std::fabs(x.value)), std::max(largest.bound, x.bound + fp32)};
    const double half_step = std::max(0x1p-4 * reach, 0x1p-10 * scale);
    if (!Within{x.value, x.bound + half_step + fp32}.holds(double(ww::arch::from_e4m3(*values++)) * scale))
      return false;
  }
  return largest.holds(448 * scale);
}

/// The same on every machine: uniform in [-1, 1).
inline std::vector<float> random_values(std::mt19937& rng, std::int64_t count) {
  std::vector<float> values(static_cast<std::size_t>(count));
  for (float& v : values) v = static_cast<float>(rng() >> 8) * 0x1p-23f - 1.0f;
  return values;
}

}  // namespace example
