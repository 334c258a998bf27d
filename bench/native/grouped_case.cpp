// SPDX-License-Identifier: Apache-2.0
// Reads grouped cases, fills rotating buffers, spot-checks results of ragged problems.
#include "bench/native/grouped_case.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <random>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "reference/group_layout.hpp"

namespace ww::bench {

using namespace ref;

namespace {

constexpr int kSamples = 24;

std::int64_t blocks_of(std::int64_t size) { return (size + 127) / 128; }

std::size_t bytes_for(std::int64_t rows, std::int64_t columns, DType type) {
  return static_cast<std::size_t>(rows) * static_cast<std::size_t>(columns) * static_cast<std::size_t>(bytes_of(type));
}

Result<GroupedCase> parse_grouped(const nlohmann::json& entry, std::size_t index) {
  GroupedCase grouped;
  const auto refuse = [&](const char* key, const char* expected) {
    return failure(ErrorCode::invalid, "--cases", fmt::format("{} as cases[{}].{}", expected, index, key),
                   entry.contains(key) ? entry[key].dump().substr(0, 80) : "nothing");
  };
  for (const auto& [key, value] : {std::pair{"n", &grouped.n}, {"k", &grouped.k}}) {
    if (!entry.contains(key) || !entry[key].is_number_integer() || entry[key].get<std::int64_t>() < 1)
      return refuse(key, "a positive integer");
    *value = entry[key].get<std::int64_t>();
  }
  const nlohmann::json counts = entry.value("tokens_per_group", nlohmann::json());
  if (!counts.is_array() || counts.empty() || counts.size() > kMostGroups)
    return refuse("tokens_per_group", "an array of rows of at most 4096 groups");
  for (const nlohmann::json& count : counts) {
    if (!count.is_number_integer() || count.get<std::int64_t>() < 0 || count.get<std::int64_t>() > kMostRows)
      return refuse("tokens_per_group", "integers from 0");
    grouped.counts.push_back(count);
  }
  if (grouped.rows() < 1 || grouped.rows() > kMostRows)
    return refuse("tokens_per_group", "1 to 2147483647 rows in all");
  if (entry.contains("regime") && entry["regime"].is_string()) grouped.regime = entry["regime"];
  read_peers(entry, grouped.peers_us, grouped.roof_us);
  return grouped;
}

}  // namespace

std::int64_t GroupedCase::rows() const { return std::accumulate(counts.begin(), counts.end(), std::int64_t{0}); }
std::int64_t GroupedCase::most() const { return *std::max_element(counts.begin(), counts.end()); }

Result<std::vector<GroupedCase>> grouped_cases(const std::filesystem::path& path, int& skipped) {
  WW_TRY(const nlohmann::json file, parse_case_file(path));
  std::vector<GroupedCase> cases;
  skipped = 0;
  for (std::size_t i = 0; i < file["cases"].size(); ++i) {
    const nlohmann::json& entry = file["cases"][i];
    if (!entry.is_object() || entry.value("op", "dense") != "grouped") {
      ++skipped;
      continue;
    }
    WW_TRY(GroupedCase grouped, parse_grouped(entry, i));
    cases.push_back(std::move(grouped));
  }
  if (cases.empty()) return failure(ErrorCode::invalid, "--cases", "at least one grouped case", path.string());
  return cases;
}

GroupedProblem problem_of(const GroupedCase& grouped, const BenchOptions& options, bool masked) {
  GroupedProblem p;
  p.groups = grouped.groups();
  p.rows = masked ? grouped.most() : grouped.rows();
  p.n = grouped.n, p.k = grouped.k;
  p.a = p.b = options.dtype, p.d = options.out, p.scale = options.scale;
  p.encoding = masked ? GroupEncoding::masked : GroupEncoding::offsets;
  if (p.scale == Scale::block_1x128_128x128) {
    p.scale_a_row = 1, p.scale_a_k = (p.total_rows() + 3) / 4 * 4;
    p.scale_b_n = blocks_of(p.k), p.scale_b_k = 1, p.scale_b_group = blocks_of(p.n) * blocks_of(p.k);
  }
  return p;
}

Result<GroupedSets> make_grouped_sets(const Device& device, const GroupedCase& grouped, const BenchOptions& options,
                                      const BenchData& data) {
  const std::int64_t groups = grouped.groups(), n = grouped.n, k = grouped.k;
  // The larger of both, because offsets and masked counts share the buffers; the rotation is counted in useful bytes.
  const std::int64_t room = std::max(grouped.rows(), groups * grouped.most());
  const std::size_t useful = bytes_for(grouped.rows(), k, options.dtype) + bytes_for(groups * n, k, options.dtype) +
                             bytes_for(grouped.rows(), n, options.out);
  const std::size_t count = device.info().emulated ? 1 : rotation_sets(useful);
  GroupedSets result;
  result.sets.resize(count);
  for (std::size_t i = 0; i < count; ++i) {
    BufferSet& set = result.sets[i];
    const std::size_t offset = i * 1'000'003;  // every set another part of the pool
    const auto filled = [&](const DataPool& pool, std::size_t bytes, std::size_t from) -> Result<Buffer> {
      WW_TRY(Buffer buffer, device.allocate(std::max<std::size_t>(bytes, 16)));
      WW_CHECK(pool.fill(device, buffer.data(), bytes, from));
      return buffer;
    };
    WW_TRY(set.a, filled(data.a, bytes_for(room, k, options.dtype), offset));
    WW_TRY(set.b, filled(data.b, bytes_for(groups * n, k, options.dtype), offset));
    WW_TRY(set.d, filled(data.scales, bytes_for(room, n, options.out), 0));
    WW_TRY(set.tensor_scales, filled(data.scales, BufferSet::kTensorScales * sizeof(float), offset));
    if (options.scale != Scale::row_column && options.scale != Scale::block_1x128_128x128) continue;
    const bool block = options.scale == Scale::block_1x128_128x128;
    const std::int64_t of_a = block ? (room + 3) / 4 * 4 * blocks_of(k) : room;
    const std::int64_t of_b = block ? groups * blocks_of(n) * blocks_of(k) : groups * n;
    WW_TRY(set.scale_a, filled(data.scales, bytes_for(of_a, 1, DType::f32), offset));
    WW_TRY(set.scale_b, filled(data.scales, bytes_for(of_b, 1, DType::f32), offset + 500));
  }
  const auto copied = [&](const std::vector<std::int32_t>& values) -> Result<Buffer> {
    WW_TRY(Buffer buffer, device.allocate(std::max<std::size_t>(values.size() * 4, 16)));
    WW_CHECK(device.upload(buffer.data(), values.data(), values.size() * 4));
    return buffer;
  };
  const GroupSpacing packed;
  WW_TRY(const GroupLayout offsets, make_layout(GroupEncoding::offsets, grouped.counts, packed));
  WW_TRY(const GroupLayout counts, make_layout(GroupEncoding::masked, grouped.counts, packed));
  WW_TRY(result.offsets, copied(offsets.sizes));
  WW_TRY(result.counts, copied(counts.sizes));
  return result;
}

GroupedOperands operands_of(const GroupedProblem& problem, const GroupedSets& sets, const BufferSet& set) {
  GroupedOperands operands{.a = set.a.data(), .b = set.b.data(), .d = set.d.data()};
  if (problem.scale == Scale::tensor) {
    operands.scale_a = set.tensor_scale_a(), operands.scale_b = set.tensor_scale_b();
  } else if (problem.scale != Scale::none) {
    operands.scale_a = static_cast<const float*>(set.scale_a.data());
    operands.scale_b = static_cast<const float*>(set.scale_b.data());
  }
  const bool masked = problem.encoding == GroupEncoding::masked;
  operands.sizes = static_cast<const std::int32_t*>((masked ? sets.counts : sets.offsets).data());
  return operands;
}

namespace {

/// Product of the two scales of element (row, column) of group g, in block `kb` of K.
Result<double> scale_of(const Device& device, const GroupedProblem& p, const BufferSet& set, std::int64_t g,
                        std::int64_t row, std::int64_t column, std::int64_t kb) {
  if (p.scale == Scale::none) return 1.0;
  std::int64_t at_a = 0, at_b = 0;
  if (p.scale == Scale::row_column) at_a = row, at_b = g * p.n + column;
  if (p.scale == Scale::block_1x128_128x128) {
    at_a = row * p.scale_a_row + kb * p.scale_a_k;
    at_b = g * p.scale_b_group + column / 128 * p.scale_b_n + kb * p.scale_b_k;
  }
  const bool tensor = p.scale == Scale::tensor;
  const void* a = tensor ? set.tensor_scale_a() : set.scale_a.data();
  const void* b = tensor ? set.tensor_scale_b() : set.scale_b.data();
  WW_TRY(const std::vector<double> x, fetch(device, a, at_a, 1, DType::f32));
  WW_TRY(const std::vector<double> y, fetch(device, b, at_b, 1, DType::f32));
  return x[0] * y[0];
}

}  // namespace

Result<double> spot_check(const Device& device, const GroupedCase& grouped, const GroupedProblem& p,
                          const BufferSet& set) {
  std::mt19937_64 random(7);
  std::vector<std::int64_t> used, first(grouped.counts.size());
  std::int64_t start = 0;
  for (std::size_t g = 0; g < grouped.counts.size(); ++g) {
    if (grouped.counts[g] > 0) used.push_back(static_cast<std::int64_t>(g));
    first[g] = p.encoding == GroupEncoding::masked ? static_cast<std::int64_t>(g) * p.rows : start;
    start += grouped.counts[g];
  }
  double worst = 0;
  for (int sample = 0; sample < kSamples; ++sample) {
    // Corners of the first and the last group first, because kernels tend to fail at tails.
    const bool corner = sample < 8;
    const std::int64_t g = corner ? (sample & 4 ? used.back() : used.front()) : used[random() % used.size()];
    const std::int64_t count = grouped.counts[static_cast<std::size_t>(g)];
    const auto any = [&](std::int64_t extent) {
      return static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(extent));
    };
    const std::int64_t row = first[static_cast<std::size_t>(g)] + (corner ? (sample & 1) * (count - 1) : any(count));
    const std::int64_t column = corner ? (sample >> 1 & 1) * (p.n - 1) : any(p.n);
    WW_TRY(const std::vector<double> a, fetch(device, set.a.data(), row * p.k, p.k, p.a));
    WW_TRY(const std::vector<double> b, fetch(device, set.b.data(), (g * p.n + column) * p.k, p.k, p.b));
    WW_TRY(const std::vector<double> d, fetch(device, set.d.data(), row * p.n + column, 1, p.d));
    double sum = 0, squares = 0;
    for (std::int64_t kb = 0; kb < blocks_of(p.k); ++kb) {
      WW_TRY(const double scale, scale_of(device, p, set, g, row, column, kb));
      for (std::int64_t k = kb * 128; k < std::min(p.k, kb * 128 + 128); ++k) {
        const double term = a[static_cast<std::size_t>(k)] * b[static_cast<std::size_t>(k)] * scale;
        sum += term;
        squares += term * term;
      }
    }
    // The rounding of D itself to 8 bits or more is no error of the product.
    const double error =
        std::max(0.0, std::fabs(d[0] - sum) - 0x1p-8 * std::fabs(sum)) / std::max(std::sqrt(squares), 1e-30);
    worst = std::isfinite(d[0]) ? std::max(worst, error) : INFINITY;
  }
  return worst;
}

}  // namespace ww::bench
