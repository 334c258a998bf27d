// SPDX-License-Identifier: Apache-2.0
// Reads and writes case files. One row for each operation says which sizes its cases have.
#include "bench/native/case.hpp"

#include <algorithm>
#include <fstream>
#include <numeric>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "bench/native/random_cases.hpp"
#include "reference/group_layout.hpp"

namespace ww::bench {
namespace {

using Size = std::int64_t BenchCase::*;

struct CaseShape {
  const char* op;
  std::vector<std::pair<const char*, Size>> sizes;
  bool groups;
  const char* flags;  // of a case without work
};
const CaseShape& shape_of(const std::string& op) {
  constexpr Size m = &BenchCase::m, n = &BenchCase::n, k = &BenchCase::k;
  static const CaseShape kShapes[] = {{"dense", {{"m", m}, {"n", n}, {"k", k}}, false, "--m, --n, --k"},
                                      {"grouped", {{"n", n}, {"k", k}}, true, "--rows, --n, --k"},
                                      {"k-grouped", {{"m", m}, {"n", n}}, true, "--ks, --m, --n"}};
  for (const CaseShape& shape : kShapes)
    if (op == shape.op) return shape;
  return kShapes[0];
}

Result<nlohmann::json> parse_case_file(const std::filesystem::path& path) {
  std::ifstream file(path);
  if (!file) return failure(ErrorCode::invalid, "--cases", "a readable JSON file", path.string());
  nlohmann::json parsed = nlohmann::json::parse(file, nullptr, false);
  if (parsed.is_discarded() || !parsed.is_object() || !parsed.contains("cases") || !parsed["cases"].is_array())
    return failure(ErrorCode::invalid, "--cases", "a JSON object with an array \"cases\"", path.string());
  return parsed;
}

Result<BenchCase> parse_case(const CaseShape& shape, const nlohmann::json& entry, std::size_t index) {
  BenchCase made;
  const auto refuse = [&](const char* key, const char* expected) {
    return failure(ErrorCode::invalid, "--cases", fmt::format("{} as cases[{}].{}", expected, index, key),
                   entry.contains(key) ? entry[key].dump().substr(0, 80) : "nothing");
  };
  for (const auto& [key, size] : shape.sizes) {
    if (!entry.contains(key) || !entry[key].is_number_integer() || entry[key].get<std::int64_t>() < 1)
      return refuse(key, "a positive integer");
    made.*size = entry[key].get<std::int64_t>();
  }
  const nlohmann::json counts = entry.value("tokens_per_group", nlohmann::json());
  if (shape.groups && (!counts.is_array() || counts.empty() || counts.size() > ref::kMostGroups))
    return refuse("tokens_per_group", "an array of rows of at most 4096 groups");
  for (std::size_t g = 0; shape.groups && g < counts.size(); ++g) {
    if (!counts[g].is_number_integer() || counts[g].get<std::int64_t>() < 0 ||
        counts[g].get<std::int64_t>() > ref::kMostRows)
      return refuse("tokens_per_group", "integers from 0");
    made.counts.push_back(counts[g]);
  }
  if (shape.groups && (made.rows() < 1 || made.rows() > ref::kMostRows))
    return refuse("tokens_per_group", "1 to 2147483647 rows in all");
  if (entry.contains("regime") && entry["regime"].is_string()) made.regime = entry["regime"];
  if (entry.contains("roof_us") && entry["roof_us"].is_number()) made.roof_us = entry["roof_us"];
  if (entry.contains("peers_us") && entry["peers_us"].is_object())
    for (const auto& [name, us] : entry["peers_us"].items())
      if (us.is_number()) made.peers_us[name] = us;
  return made;
}

Result<BenchCase> case_of_flags(const CaseShape& shape, const BenchOptions& options) {
  BenchCase made;
  made.m = options.m, made.n = options.n, made.k = options.k, made.counts = options.counts;
  if (shape.groups) {
    const bool empty =
        std::any_of(shape.sizes.begin(), shape.sizes.end(), [&](const auto& size) { return made.*size.second < 1; });
    if (empty || made.rows() < 1)
      return failure(ErrorCode::invalid, shape.flags, "at least one row, column and product", "none");
    return made;
  }
  for (const auto& [key, size] : shape.sizes)
    if (made.*size < 1)
      return failure(ErrorCode::invalid, fmt::format("--{}", key), "a positive size", fmt::format("{}", made.*size));
  return made;
}

}  // namespace

std::int64_t BenchCase::rows() const { return std::accumulate(counts.begin(), counts.end(), std::int64_t{0}); }
std::int64_t BenchCase::most() const { return *std::max_element(counts.begin(), counts.end()); }
double BenchCase::flops() const {
  double products = counts.empty() ? 1 : static_cast<double>(rows());
  for (const std::int64_t size : {m, n, k})
    if (size > 0) products *= static_cast<double>(size);
  return 2 * products;
}

io::Fields case_fields(const BenchCase& bench_case, const std::string& op) {
  io::Fields fields{{"op", op}};
  for (const auto& [key, size] : shape_of(op).sizes) fields.emplace_back(key, bench_case.*size);
  if (!bench_case.counts.empty()) {
    io::List counts;
    for (const std::int64_t count : bench_case.counts) counts.emplace_back(count);
    fields.emplace_back("groups", bench_case.groups());
    fields.emplace_back("tokens_per_group", std::move(counts));
  }
  if (!bench_case.regime.empty()) fields.emplace_back("regime", bench_case.regime);
  if (bench_case.roof_us > 0) fields.emplace_back("roof_us", bench_case.roof_us);
  return fields;
}

double table_us(const BenchCase& bench_case, const std::string& name) {
  const auto found = bench_case.peers_us.find(name);
  return found == bench_case.peers_us.end() ? 0 : found->second;
}

Result<std::vector<BenchCase>> bench_cases(const BenchOptions& options, const std::string& op, int& skipped) {
  const CaseShape& shape = shape_of(op);
  skipped = 0;
  if (options.random > 0) return random_cases(op, options.random, options.seed, options.dtype);
  std::vector<BenchCase> cases;
  if (options.cases.empty()) {
    WW_TRY(BenchCase one, case_of_flags(shape, options));
    cases.push_back(std::move(one));
    return cases;
  }
  WW_TRY(const nlohmann::json file, parse_case_file(options.cases));
  for (std::size_t i = 0; i < file["cases"].size(); ++i) {
    const nlohmann::json& entry = file["cases"][i];
    if (!entry.is_object() || entry.value("op", "dense") != op) {
      ++skipped;
      continue;
    }
    WW_TRY(BenchCase parsed, parse_case(shape, entry, i));
    if (parsed.m < options.min_m) ++skipped;
    else cases.push_back(std::move(parsed));
  }
  if (cases.empty())
    return failure(ErrorCode::invalid, "--cases", fmt::format("at least one {} case", op), options.cases.string());
  return cases;
}

}  // namespace ww::bench
