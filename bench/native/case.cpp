// SPDX-License-Identifier: Apache-2.0
// Reads the case file, fills rotating buffers, spot-checks a result.
#include "bench/native/case.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <fstream>
#include <numbers>
#include <random>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "reference/element.hpp"
#include "warpwright/core/meta.hpp"

namespace ww::bench {

using namespace ref;

namespace {

constexpr std::size_t kRotationBytes = 240'000'000;  // four times the L2 of an H200
constexpr std::size_t kMaxSets = 256;
constexpr std::size_t kPoolElements = (1u << 22) - 3;  // prime: no row length divides it, so rows do not repeat
constexpr std::int64_t kBlock = 128;
constexpr int kSamples = 24;

std::int64_t round_up(std::int64_t value, std::int64_t step) { return (value + step - 1) / step * step; }
std::int64_t blocks(std::int64_t extent) { return (extent + kBlock - 1) / kBlock; }
std::size_t matrix_bytes(std::int64_t rows, std::int64_t columns, DType type) {
  return static_cast<std::size_t>(rows) * static_cast<std::size_t>(columns) * static_cast<std::size_t>(bytes_of(type));
}

Result<BenchCase> parse_case(const nlohmann::json& entry, std::size_t index) {
  BenchCase result;
  for (const auto& [key, value] : {std::pair{"m", &result.m}, {"n", &result.n}, {"k", &result.k}}) {
    if (!entry.contains(key) || !entry[key].is_number_integer() || entry[key].get<std::int64_t>() < 1)
      return failure(ErrorCode::invalid, "--cases", fmt::format("a positive integer as cases[{}].{}", index, key),
                     entry.contains(key) ? entry[key].dump() : "nothing");
    *value = entry[key].get<std::int64_t>();
  }
  read_peers(entry, result.peers_us, result.roof_us);
  return result;
}

struct SampleScales {
  std::vector<double> a, b;  // one per 128 of K
};

Result<SampleScales> sample_scales(const Device& device, const GemmProblem& p, const BufferSet& set, Recipe recipe,
                                   std::int64_t row, std::int64_t column) {
  const std::int64_t count = blocks(p.k);
  SampleScales scales{std::vector<double>(static_cast<std::size_t>(count), 1.0),
                      std::vector<double>(static_cast<std::size_t>(count), 1.0)};
  if (recipe == Recipe::tensor) {
    WW_TRY(const std::vector<double> both,
           fetch(device, set.tensor_scales.data(), 0, BufferSet::kTensorScales, DType::f32));
    std::fill(scales.a.begin(), scales.a.end(), both[0]);
    std::fill(scales.b.begin(), scales.b.end(), both[BufferSet::kTensorScaleB]);
  } else if (recipe == Recipe::block) {
    for (std::int64_t kb = 0; kb < count; ++kb) {
      WW_TRY(const std::vector<double> one,
             fetch(device, set.scale_a.data(), row * p.scale_a_row + kb * p.scale_a_k, 1, DType::f32));
      scales.a[static_cast<std::size_t>(kb)] = one[0];
    }
    WW_TRY(scales.b, fetch(device, set.scale_b.data(), column / kBlock * p.scale_b_n, count, DType::f32));
  }
  return scales;
}

}  // namespace

Result<nlohmann::json> parse_case_file(const std::filesystem::path& path) {
  std::ifstream file(path);
  if (!file) return failure(ErrorCode::invalid, "--cases", "a readable JSON file", path.string());
  nlohmann::json parsed = nlohmann::json::parse(file, nullptr, false);
  if (parsed.is_discarded() || !parsed.is_object() || !parsed.contains("cases") || !parsed["cases"].is_array())
    return failure(ErrorCode::invalid, "--cases", "a JSON object with an array \"cases\"", path.string());
  return parsed;
}

Result<std::vector<double>> fetch(const Device& device, const void* base, std::int64_t first, std::int64_t count,
                                  DType type) {
  const auto width = static_cast<std::size_t>(bytes_of(type));
  std::vector<std::uint8_t> bytes(static_cast<std::size_t>(count) * width);
  const auto* source = static_cast<const std::uint8_t*>(base) + static_cast<std::size_t>(first) * width;
  WW_CHECK(device.download(bytes.data(), source, bytes.size()));
  std::vector<double> values(static_cast<std::size_t>(count));
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = decode(type, &bytes[i * width]);
  return values;
}

void read_peers(const nlohmann::json& entry, std::map<std::string, double>& peers_us, double& roof_us) {
  if (entry.contains("roof_us") && entry["roof_us"].is_number()) roof_us = entry["roof_us"];
  if (entry.contains("peers_us") && entry["peers_us"].is_object())
    for (const auto& [name, us] : entry["peers_us"].items())
      if (us.is_number()) peers_us[name] = us;
}

std::size_t rotation_sets(std::size_t bytes) {
  return std::clamp((kRotationBytes + bytes - 1) / bytes, std::size_t{2}, kMaxSets);
}

double table_us(const BenchCase& bench_case, const std::string& name) {
  const auto found = bench_case.peers_us.find(name);
  return found == bench_case.peers_us.end() ? 0 : found->second;
}

Result<std::vector<BenchCase>> bench_cases(const BenchOptions& options, int& skipped) {
  skipped = 0;
  if (options.cases.empty()) {
    for (const auto& [name, value] : {std::pair{"--m", options.m}, {"--n", options.n}, {"--k", options.k}})
      if (value < 1) return failure(ErrorCode::invalid, name, "a positive size", fmt::format("{}", value));
    return std::vector<BenchCase>{{options.m, options.n, options.k, {}, 0}};
  }
  WW_TRY(const nlohmann::json file, parse_case_file(options.cases));
  std::vector<BenchCase> cases;
  for (std::size_t i = 0; i < file["cases"].size(); ++i) {
    const nlohmann::json& entry = file["cases"][i];
    if (!entry.is_object() || entry.value("op", "dense") != "dense") {
      ++skipped;
      continue;
    }
    WW_TRY(BenchCase parsed, parse_case(entry, i));
    if (parsed.m < options.min_m) ++skipped;
    else cases.push_back(std::move(parsed));
  }
  if (cases.empty()) return failure(ErrorCode::invalid, "--cases", "at least one dense case", options.cases.string());
  return cases;
}

GemmProblem problem_of(const BenchCase& bench_case, const BenchOptions& options) {
  GemmProblem p{.m = bench_case.m,
                .n = bench_case.n,
                .k = bench_case.k,
                .a = options.dtype,
                .b = options.dtype,
                .d = options.out,
                .scale = options.scale};
  if (p.scale == Scale::block_1x128_128x128) {
    p.scale_a_row = 1;
    p.scale_a_k = round_up(p.m, 4);
    p.scale_b_n = round_up(blocks(p.k), 4);
    p.scale_b_k = 1;
  }
  return p;
}

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

Result<std::vector<BufferSet>> make_sets(const Device& device, const GemmProblem& p, const BenchData& data) {
  const std::size_t a_bytes = matrix_bytes(p.m, p.k, p.a), b_bytes = matrix_bytes(p.n, p.k, p.b);
  const std::size_t d_bytes = matrix_bytes(p.m, p.n, p.d);
  const std::size_t one = a_bytes + b_bytes + d_bytes;
  const std::size_t count = device.info().emulated ? 1 : rotation_sets(one);
  const bool block = p.scale == Scale::block_1x128_128x128;
  const std::size_t scale_a_bytes = block ? matrix_bytes(p.scale_a_k, blocks(p.k), DType::f32) : 0;
  const std::size_t scale_b_bytes = block ? matrix_bytes(blocks(p.n), p.scale_b_n, DType::f32) : 0;

  std::vector<BufferSet> sets(count);
  for (std::size_t i = 0; i < count; ++i) {
    BufferSet& set = sets[i];
    const std::size_t offset = i * 1'000'003;  // every set another part of the pool
    const auto filled = [&](const DataPool& pool, std::size_t bytes, std::size_t from) -> Result<Buffer> {
      WW_TRY(Buffer buffer, device.allocate(bytes));
      WW_CHECK(pool.fill(device, buffer.data(), bytes, from));
      return buffer;
    };
    WW_TRY(set.a, filled(data.a, a_bytes, offset));
    WW_TRY(set.b, filled(data.b, b_bytes, offset));
    WW_TRY(set.d, filled(data.scales, d_bytes, 0));
    WW_TRY(set.tensor_scales, filled(data.scales, BufferSet::kTensorScales * sizeof(float), offset));
    if (!block) continue;
    WW_TRY(set.scale_a, filled(data.scales, scale_a_bytes, offset));
    WW_TRY(set.scale_b, filled(data.scales, scale_b_bytes, offset + 500));
  }
  return sets;
}

Result<double> spot_check(const Device& device, const GemmProblem& p, const BufferSet& set, Recipe recipe) {
  std::mt19937_64 random(7);
  double worst = 0;
  for (int sample = 0; sample < kSamples; ++sample) {
    // The four corners first, because kernels tend to fail at tails.
    const std::int64_t row =
        sample < 4 ? (sample & 1) * (p.m - 1) : static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(p.m));
    const std::int64_t column =
        sample < 4 ? (sample >> 1) * (p.n - 1) : static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(p.n));
    WW_TRY(const std::vector<double> a, fetch(device, set.a.data(), row * p.k, p.k, p.a));
    WW_TRY(const std::vector<double> b, fetch(device, set.b.data(), column * p.k, p.k, p.b));
    WW_TRY(const std::vector<double> d, fetch(device, set.d.data(), row * p.n + column, 1, p.d));
    WW_TRY(const SampleScales scales, sample_scales(device, p, set, recipe, row, column));
    double sum = 0, squares = 0;
    for (std::size_t k = 0; k < a.size(); ++k) {
      const double term = a[k] * b[k] * scales.a[k / kBlock] * scales.b[k / kBlock];
      sum += term;
      squares += term * term;
    }
    // The rounding of D itself to 8 bits or more is no error of the product.
    const double error =
        std::max(0.0, std::fabs(d[0] - sum) - 0x1p-8 * std::fabs(sum)) / std::max(std::sqrt(squares), 1e-30);
    worst = std::isfinite(d[0]) ? std::max(worst, error) : INFINITY;
  }
  return worst;
}

}  // namespace ww::bench
