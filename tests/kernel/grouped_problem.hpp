// SPDX-License-Identifier: Apache-2.0
// Ragged problems with any encoding, and their exact answer: the dense plan run on each group alone. Every mechanism
// accumulates in the same order as the dense kernel, so the two agree in every bit.
#pragma once

#include <memory>
#include <stdexcept>

#include "random_problem.hpp"
#include "warpwright/host/grouped.hpp"

namespace ww::testing {

struct GroupRows {
  std::int32_t start, count;
};

/// `counts` rows for each group, laid out as the encoding allows: gaps where it can say so.
struct HostGrouped {
  GroupedProblem problem;  // strides of 0 filled in
  std::uint64_t seed = 0;
  std::vector<GroupRows> groups;
  std::vector<std::int32_t> sizes, sizes2;
  std::vector<std::uint8_t> a, b;
  std::vector<float> scale_a, scale_b;

  std::string replay() const {
    std::string counts;
    for (const GroupRows& g : groups) counts += fmt::format("{}{}", counts.empty() ? "" : ",", g.count);
    return fmt::format("groups={} rows={} n={} k={} a={} d={} scale={} encoding={} alignment={} counts={} seed={}",
                       problem.groups, problem.rows, problem.n, problem.k, name_of(problem.a), name_of(problem.d),
                       name_of(problem.scale), name_of(problem.encoding), problem.alignment, counts, seed);
  }
};

/// Rows of the groups, and the arrays that say so. `gap` rows precede each group where the encoding allows gaps.
inline void lay_out(HostGrouped& host, const std::vector<std::int32_t>& counts, std::int32_t gap) {
  GroupedProblem& p = host.problem;
  const GroupEncoding e = p.encoding;
  const bool gaps = e == GroupEncoding::starts_counts || e == GroupEncoding::row_ids;
  std::int32_t end = 0;
  host.groups.clear(), host.sizes.clear(), host.sizes2.clear();
  if (e == GroupEncoding::indptr) host.sizes.push_back(0);
  for (std::int32_t count : counts) {
    std::int32_t start = end + (gaps ? gap : 0);
    if (e == GroupEncoding::offsets) start = static_cast<std::int32_t>(round_up(std::int64_t{end}, p.alignment));
    if (e == GroupEncoding::masked) start = static_cast<std::int32_t>(p.rows * static_cast<int>(host.groups.size()));
    // why: the end of an empty group is not rounded up, so that the next group starts where it would without it
    end = e == GroupEncoding::offsets && count == 0 ? end : start + count;
    host.groups.push_back({start, count});
    if (e == GroupEncoding::offsets || e == GroupEncoding::indptr) host.sizes.push_back(end);
    if (e == GroupEncoding::masked) host.sizes.push_back(count);
    if (e == GroupEncoding::starts_counts) host.sizes.push_back(start), host.sizes2.push_back(count);
  }
  if (e == GroupEncoding::row_ids) {
    host.sizes.assign(static_cast<std::size_t>(p.rows), -1);
    for (std::size_t g = 0; g < host.groups.size(); ++g)
      for (std::int32_t r = 0; r < host.groups[g].count; ++r)
        host.sizes[static_cast<std::size_t>(host.groups[g].start + r)] = static_cast<std::int32_t>(g);
  }
}

/// Random operands; rows of A outside every group, and their scales, are NaN.
inline HostGrouped make_grouped(GroupedProblem p, const std::vector<std::int32_t>& counts, std::int32_t gap,
                                std::uint64_t seed) {
  HostGrouped host{p, seed, {}, {}, {}, {}, {}, {}, {}};
  lay_out(host, counts, gap);
  std::mt19937_64 rng(seed);
  fill_matrix(host.a, rng, p.a, p.total_rows(), p.k, p.k);
  fill_matrix(host.b, rng, p.b, p.groups * p.n, p.k, p.k);
  const auto scales = [&](std::int64_t count) {
    std::vector<float> values(static_cast<std::size_t>(count));
    for (float& v : values) v = 0.25f + static_cast<float>(rng() % 4096) / 1024.0f;
    return values;
  };
  const std::int64_t blocks = ceil_div(p.k, 128);
  if (p.scale == Scale::tensor) {
    host.problem.scale_a_group = host.problem.scale_b_group = 1;
    host.scale_a = scales(p.groups), host.scale_b = scales(p.groups);
  }
  if (p.scale == Scale::row_column) host.scale_a = scales(p.total_rows()), host.scale_b = scales(p.groups * p.n);
  if (p.scale == Scale::block_1x128_128x128)
    host.scale_a = scales(p.total_rows() * blocks), host.scale_b = scales(p.groups * ceil_div(p.n, 128) * blocks);

  std::vector<bool> used(static_cast<std::size_t>(p.total_rows()));
  for (const GroupRows& g : host.groups)
    for (std::int32_t r = 0; r < g.count; ++r) used[static_cast<std::size_t>(g.start + r)] = true;
  const std::size_t row_bytes = static_cast<std::size_t>(p.k) * bytes_of(p.a);
  const std::size_t row_scales = p.scale == Scale::row_column            ? 1
                                 : p.scale == Scale::block_1x128_128x128 ? static_cast<std::size_t>(blocks)
                                                                         : 0;
  for (std::size_t r = 0; r < used.size(); ++r) {
    if (used[r]) continue;
    std::fill_n(host.a.begin() + static_cast<std::ptrdiff_t>(r * row_bytes), row_bytes, 0xff);
    std::fill_n(host.scale_a.begin() + static_cast<std::ptrdiff_t>(r * row_scales), row_scales, __builtin_nanf(""));
  }
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
    const std::vector<std::uint8_t> fresh(d_bytes(), 0xa5);
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
    const std::vector<std::uint8_t> fresh(d_bytes(), 0xa5);
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
  const auto row_bytes = static_cast<std::size_t>(p.n) * bytes_of(p.d);
  std::vector<std::uint8_t> d(static_cast<std::size_t>(p.total_rows()) * row_bytes, outside);
  const std::int64_t blocks = ceil_div(p.k, 128);
  for (std::size_t g = 0; g < host.groups.size(); ++g) {
    const GroupRows rows = host.groups[g];
    HostProblem one{{.m = rows.count, .n = p.n, .k = p.k, .a = p.a, .b = p.b, .d = p.d, .scale = p.scale},
                    config,
                    host.seed,
                    {},
                    {},
                    {},
                    {}};
    one.problem.lda = one.problem.ldb = p.k;
    one.problem.ldd = p.n;
    const auto slice = [](const auto& from, std::int64_t at, std::int64_t count) {
      return std::decay_t<decltype(from)>(from.begin() + at, from.begin() + at + count);
    };
    const std::int64_t element = bytes_of(p.a), group = static_cast<std::int64_t>(g);
    one.a = slice(host.a, rows.start * p.k * element, rows.count * p.k * element);
    one.b = slice(host.b, group * p.n * p.k * element, p.n * p.k * element);
    const std::int64_t a_scales = p.scale == Scale::row_column ? 1 : blocks;
    const std::int64_t b_scales = p.scale == Scale::row_column ? p.n : ceil_div(p.n, 128) * blocks;
    if (p.scale == Scale::tensor)
      one.scale_a = slice(host.scale_a, group, 1), one.scale_b = slice(host.scale_b, group, 1);
    else if (p.scale != Scale::none)
      one.scale_a = slice(host.scale_a, rows.start * a_scales, rows.count * a_scales),
      one.scale_b = slice(host.scale_b, group * b_scales, b_scales);
    const auto product = run_on(device, one);
    if (!product) throw std::runtime_error(product.error().message + "\n" + host.replay());
    std::copy(product->begin(), product->end(),
              d.begin() + static_cast<std::ptrdiff_t>(static_cast<std::size_t>(rows.start) * row_bytes));
  }
  return d;
}

/// "" when equal, else the first wrong element and how many differ.
inline std::string difference(const HostGrouped& host, const std::vector<std::uint8_t>& got,
                              const std::vector<std::uint8_t>& want) {
  HostProblem shape{{.m = host.problem.total_rows(), .n = host.problem.n, .d = host.problem.d}, {}, 0, {}, {}, {}, {}};
  const std::string text = difference(shape, got, want);
  return text.empty() ? "" : text.substr(0, text.find(';')) + "; " + host.replay();
}

}  // namespace ww::testing
