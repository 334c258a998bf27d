// SPDX-License-Identifier: Apache-2.0
// How well constants of the model of grouped products match recorded times, and the constants that match them best.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <fstream>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "config/config_text.hpp"
#include "coordinate_descent.hpp"
#include "recorded_times.hpp"
#include "select/common_shapes.hpp"
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
  select::GroupSizes known;
  std::vector<select::LikelySizes> assumed;
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
    {"ragged_us", &GroupedConstants::ragged_us, 0, 10},
    {"raster_us", &GroupedConstants::raster_us, 0, 10},
    {"ragged_list_us", &GroupedConstants::ragged_list_us, 0, 8},
    {"raster_list_us", &GroupedConstants::raster_list_us, 0, 8},
    {"update_us", &GroupedConstants::update_us, 0, 10},
    {"dynamic_us", &GroupedConstants::dynamic_us, 0, 3},
    {"occupancy_us", &GroupedConstants::occupancy_us, -3, 3},
    {"pair_us", &GroupedConstants::pair_us, 0, 3},
    {"split_us", &GroupedConstants::split_us, 0, 4},
    {"deeper_us", &GroupedConstants::deeper_us, 0, 3},
    {"write_share", &GroupedConstants::write_share, 0.5, 4},
    {"ragged_load_clocks", &GroupedConstants::ragged_load_clocks, 0, 1000},
    {"box_clocks", &GroupedConstants::box_clocks, 0, 400},
    {"raster_load_clocks", &GroupedConstants::raster_load_clocks, 0, 1000},
    {"swapped_clocks", &GroupedConstants::swapped_clocks, 0, 600},
    {"token_clocks", &GroupedConstants::token_clocks, 0, 10},
    {"scale_clocks", &GroupedConstants::scale_clocks, 0, 600},
    {"shared_bytes_per_clock", &GroupedConstants::shared_bytes_per_clock, 64, 300},
    {"load_bytes_per_clock", &GroupedConstants::load_bytes_per_clock, 24, 200},
    {"ring_clocks", &GroupedConstants::ring_clocks, 0, 6000},
    {"pair_clocks", &GroupedConstants::pair_clocks, 0, 300},
    {"pair_tile_clocks", &GroupedConstants::pair_tile_clocks, 0, 4000},
    {"ragged_tile_clocks", &GroupedConstants::ragged_tile_clocks, 0, 4000},
    {"raster_tile_clocks", &GroupedConstants::raster_tile_clocks, 0, 4000},
    {"ragged_store_clocks", &GroupedConstants::ragged_store_clocks, 0, 400},
    {"raster_store_clocks", &GroupedConstants::raster_store_clocks, 0, 400},
    {"dsmem_bytes_per_clock", &GroupedConstants::dsmem_bytes_per_clock, 4, 256},
    {"l2_bytes_per_us", &GroupedConstants::l2_bytes_per_us, 4000000.0, 40000000.0},
    {"l2_mbytes", &GroupedConstants::l2_mbytes, 2, 80},
    {"hbm_bytes_per_us", &GroupedConstants::hbm_bytes_per_us, 3000000.0, 5000000.0},
    {"overlap", &GroupedConstants::overlap, 1, 12},
    {"overlap_one", &GroupedConstants::overlap_one, 1, 12},
    {"overlap_few", &GroupedConstants::overlap_few, 0, 10},
    {"power_fp8", &GroupedConstants::power_fp8, 0, 6},
    {"power_16", &GroupedConstants::power_16, 0, 4},
    {"power_share", &GroupedConstants::power_share, 0.1, 1},
    {"ragged_128x256", &GroupedConstants::ragged_128x256, 0, 900},
    {"ragged_64x256", &GroupedConstants::ragged_64x256, 0, 900},
    {"ragged_32x256", &GroupedConstants::ragged_32x256, 0, 900},
    {"ragged_128x128", &GroupedConstants::ragged_128x128, 0, 900},
    {"ragged_64x128", &GroupedConstants::ragged_64x128, 0, 900},
    {"ragged_32x128", &GroupedConstants::ragged_32x128, 0, 900},
    {"ragged_64x128_one", &GroupedConstants::ragged_64x128_one, 0, 900},
    {"ragged_32x128_one", &GroupedConstants::ragged_32x128_one, 0, 900},
    {"ragged_128x64", &GroupedConstants::ragged_128x64, 0, 900},
    {"ragged_64x64", &GroupedConstants::ragged_64x64, 0, 900},
    {"ragged_32x64", &GroupedConstants::ragged_32x64, 0, 900},
    {"raster_128x256", &GroupedConstants::raster_128x256, 0, 900},
    {"raster_192x192", &GroupedConstants::raster_192x192, 0, 900},
    {"raster_128x192", &GroupedConstants::raster_128x192, 0, 900},
    {"raster_256x128", &GroupedConstants::raster_256x128, 0, 900},
    {"raster_192x128", &GroupedConstants::raster_192x128, 0, 900},
    {"raster_128x128", &GroupedConstants::raster_128x128, 0, 900},
    {"raster_64x256", &GroupedConstants::raster_64x256, 0, 900},
    {"raster_64x128", &GroupedConstants::raster_64x128, 0, 900},
    {"raster_128x64", &GroupedConstants::raster_128x64, 0, 900},
    {"raster_64x64", &GroupedConstants::raster_64x64, 0, 900},
    {"raster_64x32", &GroupedConstants::raster_64x32, 0, 900},
    {"scaled_256x128", &GroupedConstants::scaled_256x128, 0, 900},
    {"scaled_192x128", &GroupedConstants::scaled_192x128, 0, 900},
    {"scaled_128x192", &GroupedConstants::scaled_128x192, 0, 900},
    {"scaled_128x128", &GroupedConstants::scaled_128x128, 0, 900},
    {"scaled_64x128", &GroupedConstants::scaled_64x128, 0, 900},
    {"scaled_128x64", &GroupedConstants::scaled_128x64, 0, 900},
    {"scaled_64x64", &GroupedConstants::scaled_64x64, 0, 900},
    {"scaled_128x160", &GroupedConstants::scaled_128x160, 0, 900},
    {"scaled_64x192", &GroupedConstants::scaled_64x192, 0, 900},
    {"scaled_64x160", &GroupedConstants::scaled_64x160, 0, 900},
    {"scaled_128x96", &GroupedConstants::scaled_128x96, 0, 900},
    {"scaled_64x96", &GroupedConstants::scaled_64x96, 0, 900},
    {"scaled_64x32", &GroupedConstants::scaled_64x32, 0, 900},
};
inline constexpr int kGroupedSms = 132;

/// The model without corrections, which belong to the constants of today.
inline GroupedConstants uncorrected_groups() {
  GroupedConstants k;
  k.corrected = false;
  return k;
}

inline std::string kind_of(double mean) { return mean <= 32 ? "decode" : mean <= 512 ? "middle" : "large"; }

/// Adds the cases of a result of bench/grouped_random.py or bench/grouped_torch.py, one for each recipe and encoding.
inline bool read_grouped(const std::string& path, GroupedCases& cases) {
  std::ifstream file(path);
  const nlohmann::json result = nlohmann::json::parse(file, nullptr, false);
  if (!result.is_object() || !result.contains("cases")) return false;
  std::map<std::string, GemmConfig> configs;
  for (const auto& one : result["cases"]) {
    if (!one.contains("tokens_per_group")) continue;
    const auto counts = one["tokens_per_group"].get<std::vector<std::int64_t>>();
    std::map<std::pair<int, bool>, GroupedCase> by_recipe;
    for (const TimeText& time : times_of(result, one)) {
      if (time.us <= 0) continue;
      auto found = configs.find(time.config);
      if (found == configs.end()) {
        const auto parsed = parse_config(time.config);
        if (!parsed) return false;
        // Older results left out fields at their defaults.
        found = configs.emplace(time.config, config::resolve_grouped(*parsed)).first;
      }
      const GemmConfig& config = found->second;
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
      const auto at =
          std::find_if(made.times.begin(), made.times.end(), [&](const GroupedTime& t) { return t.config == config; });
      // The least time, because launches of one config ran with and without overlap.
      if (at != made.times.end()) at->us = std::min(at->us, time.us);
      else made.times.push_back({config, time.us, time.rough});
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

template <class Sizes>
double modelled_us(const GroupedCase& one, const Sizes& sizes, const GemmConfig& c, const GroupedConstants& k) {
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

inline std::vector<select::LikelySizes> likely(const select::GroupSizes& sizes) { return {{1, sizes}}; }
inline const std::vector<select::LikelySizes>& likely(const std::vector<select::LikelySizes>& sizes) { return sizes; }

/// Returns the config that `auto` would take of those that ran.
template <class Sizes> const GroupedTime& taken(const GroupedCase& one, const Sizes& sizes, const GroupedConstants& k) {
  std::vector<select::Candidate> candidates;
  for (const GroupedTime& t : one.times)
    candidates.push_back({t.config, select::cost_of(one.problem, sizes, t.config, kGroupedSms, k)});
  std::stable_sort(candidates.begin(), candidates.end(), [](const select::Candidate& a, const select::Candidate& b) {
    return a.cost.total() < b.cost.total();
  });
  if (k.corrected) select::prefer_common(one.problem, likely(sizes), candidates);
  return *one.find(candidates.front().config);
}

/// Returns the objective of the fit: the error of the modelled times plus the mean loss of the model's choices, where
/// the part of a loss above 3 % has weight 3. A choice is averaged over the configs within a few percent of the least
/// modelled time, because the objective would have steps otherwise. Choices are made for assumed group sizes, since a
/// plan does not know them; times are modelled for the recorded ones.
inline double objective_of(const GroupedCases& cases, const GroupedConstants& k) {
  constexpr double kHair = 0.015, kNear = 0.03, kChoices = 3;
  double loss = 0, sum = 0, weights = 0;
  std::vector<double> logs;
  for (const GroupedCase& one : cases) {
    logs.clear();
    for (const GroupedTime& t : one.times) {
      if (t.us < 2 * one.best) {
        const double weight = std::pow(weight_of(one, t), 2);
        sum += weight * std::pow(std::log(modelled_us(one, one.known, t.config, k) / t.us), 2);
        weights += weight;
      }
      logs.push_back(std::log(modelled_us(one, one.assumed, t.config, k)));
    }
    const double least = *std::min_element(logs.begin(), logs.end());
    double lots = 0, over = 0;
    for (std::size_t i = 0; i < logs.size(); ++i) {
      const double lot = std::exp((least - logs[i]) / kHair), lost = std::log(one.times[i].us / one.best);
      lots += lot, over += lot * (lost + 2 * std::max(0.0, lost - kNear));
    }
    loss += over / lots;
  }
  return std::sqrt(sum / weights) + kChoices * loss / static_cast<double>(cases.size());
}

/// Configs that take far longer than the best are left out, because neither term of the objective looks at them.
inline GroupedConstants fit(GroupedCases cases, const GroupedConstants& k,
                            std::span<const Constant> fitted = kGroupedFitted, int rounds = 40) {
  constexpr double kFar = 2.2;
  for (GroupedCase& one : cases) std::erase_if(one.times, [&](const GroupedTime& t) { return t.us > kFar * one.best; });
  return descend(
      k, fitted, [&](const GroupedConstants& trial) { return objective_of(cases, trial); }, rounds);
}

}  // namespace ww::testing
