// SPDX-License-Identifier: Apache-2.0
// Draws cases. Two of three come from a model's layer, whole or cut for tensor parallelism; the others have free N and
// K. Limits on weights and operations keep a case below a few milliseconds. The Python loops read what
// `bench --random N --dry-run --json` prints, so that there is one source of these distributions.
#include "bench/native/random_cases.hpp"

#include <array>
#include <cmath>
#include <numbers>
#include <random>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "bench/native/models.hpp"
#include "host/messages.hpp"
#include "warpwright/core/meta.hpp"

namespace ww::bench {
namespace {

struct Layer {
  std::int64_t experts = 0;  // 0: a dense layer
  std::int64_t n = 0, k = 0;
};

struct RowClass {
  const char* name;
  double dense[2], grouped[2];  // logarithms to base 2 of the rows of A, or of a group on average
};
constexpr RowClass kClasses[] = {
    {"decode", {0, 6}, {0, 5}}, {"middle", {6.02, 10}, {5.05, 9}}, {"large", {10.01, 14}, {9.5, 13}}};

constexpr double kLayerShare = 0.65;
constexpr double kLeastWeights = 1e6, kMostWeights = 2.5e9, kMostFlops = 2e12;  // bytes, operations
constexpr double kFlopsPerUs = 1500e6, kBytesPerUs = 4.3e6;  // the roof of bench/README.md, for 8-bit operands

/// Uniform numbers from the bits of the generator, because the standard's distributions differ between libraries.
class Draws {
 public:
  explicit Draws(std::uint64_t seed) : bits_(seed) {}
  double uniform(double low, double high) { return low + (high - low) * static_cast<double>(bits_() >> 11) * 0x1p-53; }
  std::size_t below(std::size_t count) { return static_cast<std::size_t>(uniform(0, static_cast<double>(count))); }
  std::int64_t power(double low, double high) { return std::llround(std::exp2(uniform(low, high))); }
  double lognormal(double sigma) {
    const double radius = std::sqrt(-2 * std::log(uniform(0x1p-53, 1)));
    return std::exp(sigma * radius * std::cos(2 * std::numbers::pi * uniform(0, 1)));
  }
  template <class T, std::size_t N> T one_of(const std::array<T, N>& values) { return values[below(N)]; }

 private:
  std::mt19937_64 bits_;
};

void add(std::vector<Layer>& layers, std::int64_t experts, std::int64_t n, std::int64_t k) {
  if (n % 16 == 0 && k % 128 == 0 && n > 0 && k > 0) layers.push_back({experts, n, k});
}

/// The products of one model on one of `cut` GPUs: columns of the first of two layers are split, and rows of the
/// second.
void add_dense(const nlohmann::json& model, std::int64_t cut, std::vector<Layer>& layers) {
  const std::int64_t hidden = model.at("hidden"), ffn = model.value("ffn", std::int64_t{0});
  for (const nlohmann::json& shape : model.value("attention", nlohmann::json::array()))
    if (cut == 1) add(layers, 0, shape.at(0), shape.at(1));
  if (model.contains("heads")) {
    const std::int64_t width = model.at("head_dim"), heads = model.at("heads"), kv_heads = model.at("kv_heads");
    add(layers, 0, (heads + 2 * std::max(kv_heads, cut)) * width / cut, hidden);
    add(layers, 0, hidden, heads * width / cut);
  }
  add(layers, 0, 2 * ffn / cut, hidden);
  add(layers, 0, hidden, ffn / cut);
}

std::vector<Layer> layers_of(bool grouped) {
  std::vector<Layer> layers;
  const nlohmann::json file = nlohmann::json::parse(kModels);
  for (const nlohmann::json& model : file.at("models")) {
    const std::int64_t experts = model.value("experts", std::int64_t{0});
    for (const std::int64_t cut : {1, 2, 4, 8}) {
      if (!grouped) add_dense(model, cut, layers);
      if (!grouped || experts == 0) continue;
      const std::int64_t hidden = model.at("hidden"), ffn = model.at("expert_ffn").get<std::int64_t>() / cut;
      add(layers, experts, 2 * ffn, hidden);
      add(layers, experts, hidden, ffn);
    }
  }
  return layers;
}

/// Rows of every group: equal, uneven by up to a third, those of routed tokens, very uneven, or partly empty.
std::vector<std::int64_t> spread(Draws& draws, std::int64_t groups, double mean) {
  const std::size_t kind = draws.below(5);
  std::vector<double> weights;
  double sum = 0;
  for (std::int64_t g = 0; g < groups; ++g) {
    const double drawn[] = {1, draws.uniform(0.67, 1.33), draws.lognormal(0.5), draws.lognormal(1.2),
                            draws.uniform(0, 1) < 0.5 ? 0 : draws.uniform(0.5, 1.5)};
    weights.push_back(drawn[kind]), sum += drawn[kind];
  }
  if (sum == 0) weights[draws.below(weights.size())] = sum = 1;
  std::vector<std::int64_t> rows;
  for (const double weight : weights) rows.push_back(std::llround(weight * mean * static_cast<double>(groups) / sum));
  return rows;
}

/// Where a layer has many experts, a GPU holds a part of them. A free K is a multiple of `step`.
BenchCase draw_grouped(Draws& draws, const std::vector<Layer>& layers, const RowClass& rows, std::int64_t step) {
  BenchCase made;
  std::int64_t groups = 0;
  if (draws.uniform(0, 1) < kLayerShare) {
    const Layer& layer = layers[draws.below(layers.size())];
    groups = std::max<std::int64_t>(2, layer.experts / draws.one_of(std::array<std::int64_t, 6>{1, 2, 4, 8, 16, 32}));
    made.n = layer.n, made.k = layer.k;
  } else {
    groups = draws.one_of(std::array<std::int64_t, 13>{2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128});
    made.n = 16 * draws.power(5, 9), made.k = round_up(64 * draws.power(3, 7), step);
  }
  made.counts = spread(draws, groups, std::exp2(draws.uniform(rows.grouped[0], rows.grouped[1])));
  return made;
}

BenchCase draw_dense(Draws& draws, const std::vector<Layer>& layers, const RowClass& rows, std::int64_t step) {
  BenchCase made;
  if (draws.uniform(0, 1) < kLayerShare) {
    const Layer& layer = layers[draws.below(layers.size())];
    made.n = layer.n, made.k = layer.k;
  } else {
    made.n = 16 * draws.power(5, 10), made.k = round_up(64 * draws.power(3, 8), step);
  }
  made.m = draws.power(rows.dense[0], rows.dense[1]);
  return made;
}

/// Sets the roof of the case; returns whether its weights and operations are within the limits.
bool fits(BenchCase& made, DType type) {
  const auto bytes = static_cast<double>(bits_of(type)) / 8;
  const auto rows = static_cast<double>(made.counts.empty() ? made.m : made.rows());
  const auto n = static_cast<double>(made.n), k = static_cast<double>(made.k);
  const double weights = bytes * n * k * std::max(1.0, static_cast<double>(made.groups()));
  const double moved = weights + rows * (bytes * k + 2 * n);
  if (rows < 1 || weights < kLeastWeights || weights > kMostWeights || made.flops() * bytes > kMostFlops) return false;
  made.roof_us = std::max(made.flops() * bytes / kFlopsPerUs, moved / kBytesPerUs);
  return true;
}

}  // namespace

Result<std::vector<BenchCase>> random_cases(const std::string& op, std::int64_t count, std::uint64_t seed, DType type) {
  const bool grouped = op == "grouped";
  if (!grouped && op != "dense")
    return failure(ErrorCode::unsupported, "--random", "dense products or groups of rows", op);
  const std::vector<Layer> layers = layers_of(grouped);
  const std::int64_t step = is_packed(type) ? row_multiple(DType::e3m2) : 64;  // TMA widens packed types by 128
  Draws draws(seed);
  std::vector<BenchCase> cases;
  while (static_cast<std::int64_t>(cases.size()) < count) {
    const RowClass& rows = kClasses[cases.size() % std::size(kClasses)];
    BenchCase made = grouped ? draw_grouped(draws, layers, rows, step) : draw_dense(draws, layers, rows, step);
    made.regime = rows.name;
    if (fits(made, type)) cases.push_back(std::move(made));
  }
  return cases;
}

}  // namespace ww::bench
