// SPDX-License-Identifier: Apache-2.0
// Fills rotating buffers, spot-checks a result.
#include "bench/native/data.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <numbers>
#include <random>

#include "reference/element.hpp"
#include "warpwright/core/meta.hpp"

namespace ww::bench {

using namespace ref;
using operations::DotProduct;
using operations::OperandBytes;
using operations::ProductExtents;

namespace {

constexpr std::size_t kRotationBytes = 240'000'000;  // four times the L2 of an H200
constexpr std::size_t kMaxSets = 256;
constexpr std::size_t kPoolElements = (1u << 22) - 3;  // prime: no row length divides it, so rows do not repeat
constexpr std::int64_t kBlock = 128;
constexpr int kSamples = 24;

/// Bytes of the elements of A, B and D that a call reads and writes.
std::size_t useful_bytes(const Operation& operation, const BenchOptions& options) {
  const std::int64_t in = bytes_of(options.dtype), out = bytes_of(options.out);
  std::int64_t bytes = 0;
  for (const ProductExtents& p : operation.products()) bytes += (p.m * p.k + p.n * p.k) * in + p.m * p.n * out;
  return static_cast<std::size_t>(std::max<std::int64_t>(bytes, 1));
}

/// One scale for each 128 of K.
Result<std::vector<double>> scales_of(const Device& device, const void* scales, std::int64_t first, std::int64_t step,
                                      std::int64_t blocks) {
  if (step != 0) return fetch(device, scales, first, step, blocks, DType::f32);
  WW_TRY(const std::vector<double> one, fetch(device, scales, first, 1, 1, DType::f32));
  return std::vector<double>(static_cast<std::size_t>(blocks), one[0]);
}

/// The scale of every product in a block of K.
Result<std::vector<double>> factors_of(const Device& device, const DotProduct& dot, const BufferSet& set, Recipe recipe,
                                       std::int64_t k) {
  const std::int64_t blocks = ceil_div(k, kBlock);
  std::vector<double> factors(static_cast<std::size_t>(blocks), 1.0);
  if (blocks == 0 || recipe == Recipe::unscaled || (recipe == Recipe::problem && !dot.scaled)) return factors;
  const bool own = recipe == Recipe::problem;
  WW_TRY(const std::vector<double> a, own ? scales_of(device, set.scale_a.data(), dot.scale_a, dot.scale_a_step, blocks)
                                          : scales_of(device, set.tensor_scale_a(), 0, 0, blocks));
  WW_TRY(const std::vector<double> b, own ? scales_of(device, set.scale_b.data(), dot.scale_b, dot.scale_b_step, blocks)
                                          : scales_of(device, set.tensor_scale_b(), 0, 0, blocks));
  for (std::size_t i = 0; i < factors.size(); ++i) factors[i] = a[i] * b[i];
  return factors;
}

Result<double> error_of(const Device& device, const DotProduct& dot, std::int64_t k, const BenchOptions& options,
                        const BufferSet& set, Recipe recipe) {
  WW_TRY(const std::vector<double> a, fetch(device, set.a.data(), dot.a, dot.a_step, k, options.dtype));
  WW_TRY(const std::vector<double> b, fetch(device, set.b.data(), dot.b, dot.b_step, k, options.dtype));
  WW_TRY(const std::vector<double> d, fetch(device, set.d.data(), dot.d, 1, 1, options.out));
  WW_TRY(const std::vector<double> factors, factors_of(device, dot, set, recipe, k));
  if (!std::isfinite(d[0])) return INFINITY;
  double sum = 0, squares = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    const double term = a[i] * b[i] * factors[i / kBlock];
    sum += term;
    squares += term * term;
  }
  // The rounding of D itself to 8 bits or more is no error of the product.
  return std::max(0.0, std::fabs(d[0] - sum) - 0x1p-8 * std::fabs(sum)) / std::max(std::sqrt(squares), 1e-30);
}

}  // namespace

DataPool::DataPool(DType type, std::uint64_t seed) : element_(static_cast<std::size_t>(bytes_of(type))) {
  bytes_.resize(kPoolElements * element_);
  std::mt19937_64 random(seed);
  const auto uniform = [&] { return (static_cast<double>(random() >> 11) + 0.5) * 0x1p-53; };
  double spare = 0;
  for (std::size_t i = 0; i < kPoolElements; ++i) {
    if (type == DType::f32) {  // scales: near 1, every bit of the fraction in use
      const auto value = static_cast<float>(0.75 + 0.5 * uniform());
      std::memcpy(&bytes_[i * element_], &value, sizeof(value));
      continue;
    }
    double value = spare;
    if (i % 2 == 0) {  // Box and Muller give normal numbers in pairs
      const double radius = std::sqrt(-2 * std::log(uniform())), angle = 2 * std::numbers::pi * uniform();
      value = radius * std::cos(angle);
      spare = radius * std::sin(angle);
    }
    const std::uint16_t bits = encode(type, value);
    std::memcpy(&bytes_[i * element_], &bits, element_);
  }
}

Result<void> DataPool::fill(const Device& device, void* destination, std::size_t bytes, std::size_t offset) const {
  std::size_t from = offset % kPoolElements * element_;
  for (std::size_t done = 0; done < bytes;) {
    const std::size_t part = std::min(bytes - done, bytes_.size() - from);
    WW_CHECK(device.upload(static_cast<std::uint8_t*>(destination) + done, &bytes_[from], part));
    done += part;
    from = 0;
  }
  return {};
}

BenchData::BenchData(const BenchOptions& options)
    : a(options.dtype, options.seed * 3),
      b(options.dtype, options.seed * 3 + 1),
      scales(DType::f32, options.seed * 3 + 2) {}

Result<std::vector<BufferSet>> make_sets(const Device& device, std::span<const Operation* const> operations,
                                         const BenchOptions& options, const BenchData& data) {
  OperandBytes room;
  for (const Operation* operation : operations) {
    const OperandBytes one = operation->operand_bytes();
    for (const auto member :
         {&OperandBytes::a, &OperandBytes::b, &OperandBytes::scale_a, &OperandBytes::scale_b, &OperandBytes::d})
      room.*member = std::max(room.*member, one.*member);
  }
  room.scale_a += 16, room.scale_b += 16;  // peers read whole vectors of four at the end of the last row
  const std::size_t useful = useful_bytes(*operations.front(), options);
  const std::size_t count =
      device.info().emulated ? 1 : std::clamp((kRotationBytes + useful - 1) / useful, std::size_t{2}, kMaxSets);
  std::vector<BufferSet> sets(count);
  for (std::size_t i = 0; i < count; ++i) {
    BufferSet& set = sets[i];
    const std::size_t offset = i * 1'000'003;  // every set another part of the pool
    const auto fill = [&](const DataPool& pool, const Buffer& buffer, std::size_t from) {
      return pool.fill(device, buffer.data(), buffer.bytes(), from);
    };
    WW_TRY(static_cast<operations::OperandSet&>(set), operations::allocate(device, room));
    WW_TRY(set.tensor_scales, device.allocate(BufferSet::kTensorScales * sizeof(float)));
    WW_CHECK(fill(data.a, set.a, offset));
    WW_CHECK(fill(data.b, set.b, offset));
    WW_CHECK(fill(data.scales, set.d, 0));
    WW_CHECK(fill(data.scales, set.tensor_scales, offset));
    WW_CHECK(fill(data.scales, set.scale_a, offset));
    WW_CHECK(fill(data.scales, set.scale_b, offset + 500));
  }
  return sets;
}

Result<std::vector<double>> fetch(const Device& device, const void* base, std::int64_t first, std::int64_t step,
                                  std::int64_t count, DType type) {
  std::vector<double> values(static_cast<std::size_t>(count));
  if (values.empty()) return values;
  const auto width = static_cast<std::size_t>(bytes_of(type)), apart = width * static_cast<std::size_t>(step);
  std::vector<std::uint8_t> bytes(apart * (values.size() - 1) + width);
  const auto* source = static_cast<const std::uint8_t*>(base) + static_cast<std::size_t>(first) * width;
  WW_CHECK(device.download(bytes.data(), source, bytes.size()));
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = decode(type, &bytes[i * apart]);
  return values;
}

Result<double> spot_check(const Device& device, const Operation& operation, const BenchOptions& options,
                          const BufferSet& set, Recipe recipe) {
  const std::vector<ProductExtents> products = operation.products();
  std::vector<std::size_t> used;
  for (std::size_t i = 0; i < products.size(); ++i)
    if (products[i].m > 0 && products[i].n > 0) used.push_back(i);
  if (used.empty()) return 0.0;
  std::mt19937_64 random(7);
  const int corners = used.size() == 1 ? 4 : 8;
  double worst = 0;
  for (int sample = 0; sample < kSamples; ++sample) {
    // Corners of the first and the last product first, because kernels tend to fail at tails.
    const bool corner = sample < corners;
    const auto any = [&](std::int64_t extent) {
      return static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(extent));
    };
    const std::size_t number = corner             ? (sample & 4 ? used.back() : used.front())
                               : used.size() == 1 ? used.front()
                                                  : used[static_cast<std::size_t>(random() % used.size())];
    const ProductExtents& p = products[number];
    const std::int64_t row = corner ? (sample & 1) * (p.m - 1) : any(p.m);
    const std::int64_t column = corner ? (sample >> 1 & 1) * (p.n - 1) : any(p.n);
    const DotProduct dot = operation.dot_product(static_cast<std::int64_t>(number), row, column);
    WW_TRY(const double error, error_of(device, dot, p.k, options, set, recipe));
    worst = std::max(worst, error);
  }
  return worst;
}

}  // namespace ww::bench
