// SPDX-License-Identifier: Apache-2.0
// Ragged problems with given groups in any encoding, their operands in device memory, and their exact answer: the dense
// plan run on each group alone. Every variant accumulates in the same order as the dense kernel, so the two agree in
// every bit.
#pragma once

#include <cstdint>
#include <memory>
#include <stdexcept>

#include "random_grouped.hpp"

namespace ww::testing {

/// Rows of `counts` in the problem's, as the encoding allows: `gap` rows precede each group where it can say so.
inline void lay_out(HostGrouped& host, const std::vector<std::int64_t>& counts, std::int64_t gap) {
  const GroupedProblem& p = host.problem;
  const GroupEncoding e = p.encoding;
  const bool gaps = e == GroupEncoding::starts_counts || e == GroupEncoding::row_ids;
  std::int64_t end = 0;
  host.ranges.clear();
  for (std::int64_t count : counts) {
    std::int64_t start = end + (gaps ? gap : 0);
    // The end of an empty group is not rounded up, so that the next group starts where it would without it.
    if (e == GroupEncoding::offsets && count > 0) start = round_up(end, p.alignment);
    if (e == GroupEncoding::masked) start = p.rows * static_cast<std::int64_t>(host.ranges.size());
    end = start + count;
    host.ranges.emplace_back(start, count);
  }
  write_sizes(host);
}

/// Random operands in packed rows; rows of A outside every group, and their scales, are NaN. Tensor scales: one for
/// each group.
inline HostGrouped make_grouped(const GroupedProblem& problem, const std::vector<std::int64_t>& counts,
                                std::int64_t gap, std::uint64_t seed) {
  HostGrouped host;
  host.problem = problem, host.number = seed;
  GroupedProblem& p = host.problem;
  p.lda = p.k, p.ldb = host.columns_of_b(), p.ldd = p.n, p.stride_b_group = p.n * p.k;
  lay_out(host, counts, gap);
  std::mt19937_64 rng(seed);
  fill_grouped(host, rng);
  if (p.scale == Scale::tensor) {
    p.scale_a_group = p.scale_b_group = 1;
    for (std::vector<float>* scales : {&host.scale_a, &host.scale_b}) {
      scales->resize(static_cast<std::size_t>(p.groups));
      for (float& v : *scales) v = 0.25f + static_cast<float>(rng() % 4096) / 1024.0f;
    }
  }
  std::vector<bool> used(static_cast<std::size_t>(p.total_rows()));
  for (const auto& [start, count] : host.ranges) std::fill_n(used.begin() + start, count, true);
  const std::int64_t of_row = p.scale == Scale::row_column ? 1 : is_block(p.scale) ? ceil_div(p.k, 128) : 0;
  for (std::size_t r = 0; r < used.size(); ++r)
    for (std::int64_t i = 0; i < of_row && !used[r]; ++i)
      host.scale_a[r * static_cast<std::size_t>(p.scale_a_row) + static_cast<std::size_t>(i * p.scale_a_k)] =
          __builtin_nanf("");
  return host;
}

/// The operands in device memory.
class DeviceGrouped {
 public:
  DeviceGrouped(const Device& device, const HostGrouped& host, std::size_t workspace_bytes)
      : device_(device), host_(host) {
    operands_.a = put(host.a.data(), host.a.size());
    operands_.b = put(host.b.data(), host.b.size());
    operands_.scale_a = static_cast<const float*>(put(host.scale_a.data(), host.scale_a.size() * 4));
    operands_.scale_b = static_cast<const float*>(put(host.scale_b.data(), host.scale_b.size() * 4));
    const std::vector<std::uint8_t> fresh(d_bytes(), kUntouched);
    operands_.d = put(fresh.data(), fresh.size());
    const std::vector<std::uint8_t> zeros(workspace_bytes + 4);
    operands_.workspace = put(zeros.data(), workspace_bytes);
    operands_.workspace_bytes = workspace_bytes;
    operands_.status = static_cast<std::uint32_t*>(put(zeros.data(), 4));
    put_sizes(host);
  }

  /// Other sizes for the same problem, in fresh arrays; D is filled again.
  void put_sizes(const HostGrouped& host) {
    operands_.sizes = static_cast<const std::int32_t*>(put(host.sizes.data(), host.sizes.size() * 4));
    operands_.sizes2 = static_cast<const std::int32_t*>(put(host.sizes2.data(), host.sizes2.size() * 4));
    const std::vector<std::uint8_t> fresh(d_bytes(), kUntouched);
    check(device_.upload(operands_.d, fresh.data(), fresh.size()));
  }

  GroupedOperands& operands() { return operands_; }
  std::vector<std::uint8_t> d() const {
    std::vector<std::uint8_t> bytes(d_bytes());
    check(device_.download(bytes.data(), operands_.d, bytes.size()));
    return bytes;
  }
  std::uint32_t status() const {
    std::uint32_t word = 0;
    check(device_.download(&word, operands_.status, sizeof word));
    return word;
  }

  static void check(const Result<void>& result) {
    if (!result) throw std::runtime_error(result.error().message);
  }

 private:
  std::size_t d_bytes() const {
    const GroupedProblem& p = host_.problem;
    return static_cast<std::size_t>(p.total_rows() * p.n) * bytes_of(p.d);
  }
  void* put(const void* data, std::size_t bytes) {
    auto buffer = device_.allocate(std::max<std::size_t>(bytes, 16));
    if (!buffer) throw std::runtime_error(buffer.error().message);
    check(device_.upload(buffer->data(), data, bytes));
    buffers_.push_back(*buffer);
    return buffer->data();
  }

  const Device& device_;
  const HostGrouped& host_;
  GroupedOperands operands_;
  std::vector<Buffer> buffers_;
};

/// D as it must be: each group by the dense plan with `config`, rows outside groups as `outside` bytes.
inline std::vector<std::uint8_t> dense_answer(const Device& device, const HostGrouped& host, const GemmConfig& config,
                                              std::uint8_t outside) {
  const GroupedProblem& p = host.problem;
  const std::int64_t row_bytes = p.n * bytes_of(p.d);
  std::vector<std::uint8_t> d(static_cast<std::size_t>(p.total_rows() * row_bytes), outside);
  for (std::int64_t g = 0; g < p.groups; ++g) {
    HostProblem one = problem_of_group(host, g);
    one.config = config;
    const auto product = run_on(device, one);
    if (!product) throw std::runtime_error(product.error().message + "\n" + host.replay());
    std::copy(product->begin(), product->end(), d.begin() + host.ranges[static_cast<std::size_t>(g)].first * row_bytes);
  }
  return d;
}

}  // namespace ww::testing
