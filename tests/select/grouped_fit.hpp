// SPDX-License-Identifier: Apache-2.0
// How well constants of the model of grouped products match recorded times, and the constants that match them best.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "config/config_text.hpp"
#include "coordinate_descent.hpp"
#include "select/grouped_configs.hpp"
#include "select/grouped_cost.hpp"
#include "warpwright/config/resolve.hpp"

namespace ww::testing {

using select::GroupedConstants;

struct GroupedTime {
  GemmConfig config;  // fully resolved
  double us = 0;
  bool rough = false;  // of a few calls, because it is far from the best
};

/// One grouped problem and the configs that ran on it.
struct GroupedCase {
  std::string name, kind;  // kind: "decode", "middle" or "large"
  GroupedProblem problem;
  select::GroupSizes known, assumed;
  std::vector<GroupedTime> times;
  double best = 0;

  const GroupedTime* find(const GemmConfig& config) const {
    for (const GroupedTime& t : times)
      if (t.config == config) return &t;
    return nullptr;
  }
};
using GroupedCases = std::vector<GroupedCase>;

using Constant = FittedConstant<GroupedConstants>;
inline constexpr Constant kGroupedFitted[] = {
    {"launch_us", &GroupedConstants::launch_us, 1, 10},
    {"raster_us", &GroupedConstants::raster_us, -3, 5},
    {"update_us", &GroupedConstants::update_us, 0, 10},
    {"block_clocks", &GroupedConstants::block_clocks, 0, 300},
    {"scale_clocks", &GroupedConstants::scale_clocks, 0, 300},
    {"swapped_clocks", &GroupedConstants::swapped_clocks, 0, 300},
    {"token_clocks", &GroupedConstants::token_clocks, 0, 10},
    {"shared_bytes_per_clock", &GroupedConstants::shared_bytes_per_clock, 64, 300},
    {"load_bytes_per_clock", &GroupedConstants::load_bytes_per_clock, 24, 200},
    {"ring_clocks", &GroupedConstants::ring_clocks, 0, 4000},
    {"cluster_clocks", &GroupedConstants::cluster_clocks, 0, 300},
    {"promotion_one", &GroupedConstants::promotion_one, 0, 2},
    {"promotion_two", &GroupedConstants::promotion_two, 0, 2},
    {"promotion_wide", &GroupedConstants::promotion_wide, 0, 2},
    {"promotion_three", &GroupedConstants::promotion_three, 0, 2},
    {"raster_tile_clocks", &GroupedConstants::raster_tile_clocks, 0, 4000},
    {"ragged_tile_clocks", &GroupedConstants::ragged_tile_clocks, 0, 4000},
    {"store_clocks_per_kib", &GroupedConstants::store_clocks_per_kib, 2, 100},
    {"uneven_wait", &GroupedConstants::uneven_wait, 0, 1},
    {"static_wait", &GroupedConstants::static_wait, 0, 1},
    {"lag", &GroupedConstants::lag, 0, 1},
    {"l2_bytes_per_us", &GroupedConstants::l2_bytes_per_us, 4e6, 30e6},
    {"hbm_bytes_per_us", &GroupedConstants::hbm_bytes_per_us, 3e6, 4.7e6},
    {"hbm_latency_us", &GroupedConstants::hbm_latency_us, 0.2, 4},
    {"memory_overlap", &GroupedConstants::memory_overlap, 1, 12},
    {"power_fp8", &GroupedConstants::power_fp8, 0, 4},
    {"power_16", &GroupedConstants::power_16, 0, 4},
    {"power_load", &GroupedConstants::power_load, 0, 4},
    {"power_share", &GroupedConstants::power_share, 0.2, 1},
    {"split_exchange_us", &GroupedConstants::split_exchange_us, 0, 6},
    {"dsmem_bytes_per_clock", &GroupedConstants::dsmem_bytes_per_clock, 4, 128},
    {"cluster_us", &GroupedConstants::cluster_us, 0, 3},
};
inline constexpr int kGroupedSms = 132;

inline std::string kind_of(double mean) { return mean <= 32 ? "decode" : mean <= 512 ? "middle" : "large"; }

/// Adds the cases of a result of bench/grouped_random.py or bench/grouped_torch.py, one for each recipe and encoding.
inline bool read_grouped(const std::string& path, GroupedCases& cases) {
  std::ifstream file(path);
  const nlohmann::json result = nlohmann::json::parse(file, nullptr, false);
  if (!result.is_object() || !result.contains("cases")) return false;
  for (const auto& one : result["cases"]) {
    if (!one.contains("tokens_per_group") || !one.contains("contenders")) continue;
    const auto counts = one["tokens_per_group"].get<std::vector<std::int64_t>>();
    std::map<std::pair<int, bool>, GroupedCase> by_recipe;
    for (const auto& contender : one["contenders"]) {
      const std::string text = contender.value("config", "");
      if (!text.starts_with("arch=") || contender.value("us", 0.0) <= 0) continue;
      const auto parsed = parse_config(text);
      if (!parsed) return false;
      const GemmConfig config = config::resolve_grouped(*parsed);  // older results left out fields at their defaults
      const bool masked = one.value("masked", config.row_groups.variant == GroupedVariant::masked);
      GroupedCase& made = by_recipe[{static_cast<int>(config.operands.scale), masked}];
      GroupedProblem& p = made.problem;
      p.groups = static_cast<std::int64_t>(counts.size()), p.n = one["n"], p.k = one["k"];
      p.a = p.b = config.operands.a, p.d = config.operands.d, p.scale = config.operands.scale;
      p.encoding = masked ? GroupEncoding::masked : GroupEncoding::offsets;
      std::int64_t sum = 0;
      for (std::int64_t count : counts) sum += count;
      p.rows = masked ? *std::max_element(counts.begin(), counts.end()) : sum;
      made.kind = one.value("class", kind_of(static_cast<double>(sum) / static_cast<double>(counts.size())));
      made.name = fmt::format("{} {} G={} M={} N={} K={}{}", made.kind, name_of(p.scale), p.groups, sum, p.n, p.k,
                              masked ? " masked" : "");
      const double us = contender["us"];
      const auto at =
          std::find_if(made.times.begin(), made.times.end(), [&](const GroupedTime& t) { return t.config == config; });
      // The least time, because launches of one config ran with and without overlap.
      if (at != made.times.end()) at->us = std::min(at->us, us);
      else made.times.push_back({config, us, contender.value("rough", false)});
    }
    for (auto& [recipe, made] : by_recipe) {
      made.known = select::sizes_of(counts), made.assumed = select::assumed_sizes(made.problem);
      made.best = std::numeric_limits<double>::infinity();
      for (const GroupedTime& t : made.times) made.best = std::min(made.best, t.us);
      if (made.times.size() > 1) cases.push_back(made);
    }
  }
  return true;
}

inline double modelled_us(const GroupedCase& one, const select::GroupSizes& sizes, const GemmConfig& c,
                          const GroupedConstants& k) {
  return select::cost_of(one.problem, sizes, c, kGroupedSms, k).total();
}

/// Returns the weight of a time in the error: slow configs need to be told from fast ones, not from each other.
inline double weight_of(const GroupedCase& one, const GroupedTime& t) {
  return std::pow(one.best / t.us, 2) * (t.rough ? 0.3 : 1);
}

inline double error_of(const GroupedCases& cases, const GroupedConstants& k) {
  double sum = 0, weights = 0;
  for (const GroupedCase& one : cases)
    for (const GroupedTime& t : one.times) {
      const double weight = weight_of(one, t);
      sum += weight * std::pow(std::log(modelled_us(one, one.known, t.config, k) / t.us), 2);
      weights += weight;
    }
  return std::sqrt(sum / weights);
}

/// Returns the config of those that ran with the least modelled time.
inline const GroupedTime& taken(const GroupedCase& one, const select::GroupSizes& sizes, const GroupedConstants& k) {
  const GroupedTime* best = nullptr;
  double least = 0;
  for (const GroupedTime& t : one.times)
    if (const double us = modelled_us(one, sizes, t.config, k); best == nullptr || us < least) best = &t, least = us;
  return *best;
}

/// Returns the error plus the mean loss of the choices. A choice counts as if it were random among configs within a few
/// percent of the least modelled time, so that the objective has no steps. Sizes are assumed for choices, because a
/// plan does not know them, and known for times.
inline double objective_of(const GroupedCases& cases, const GroupedConstants& k) {
  constexpr double kHair = 0.02;
  double loss = 0, sum = 0, weights = 0;
  std::vector<double> logs;
  for (const GroupedCase& one : cases) {
    logs.clear();
    for (const GroupedTime& t : one.times) {
      const double weight = weight_of(one, t);
      sum += weight * std::pow(std::log(modelled_us(one, one.known, t.config, k) / t.us), 2);
      weights += weight;
      logs.push_back(std::log(modelled_us(one, one.assumed, t.config, k)));
    }
    const double least = *std::min_element(logs.begin(), logs.end());
    double lots = 0, over = 0;
    for (std::size_t i = 0; i < logs.size(); ++i) {
      const double lot = std::exp((least - logs[i]) / kHair);
      lots += lot, over += lot * std::log(one.times[i].us / one.best);
    }
    loss += over / lots;
  }
  return std::sqrt(sum / weights) + 2 * loss / static_cast<double>(cases.size());
}

inline GroupedConstants fit(const GroupedCases& cases, const GroupedConstants& k, int rounds = 40) {
  return descend(
      k, kGroupedFitted, [&](const GroupedConstants& trial) { return objective_of(cases, trial); }, rounds);
}

}  // namespace ww::testing
