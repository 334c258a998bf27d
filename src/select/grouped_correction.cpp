// SPDX-License-Identifier: Apache-2.0
// Computes the features of a grouped launch, and its correction by the trees of grouped_correction_trees.inc.
#include "select/grouped_correction.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <iterator>

#include "select/trees.hpp"
#include "warpwright/config/sizes.hpp"

namespace ww::select {
namespace {

constexpr TreeNode kNodes[] = {
#include "select/grouped_correction_trees.inc"
};
constexpr double kRounding = 1e-9;

/// The sizes of the groups in total.
struct Totals {
  double groups = 0, rows = 0, squares = 0, largest = 0;
};
Totals totals_of(const GroupSizes& sizes) {
  Totals sum;
  for (const GroupShare& share : sizes) {
    sum.groups += share.groups, sum.rows += share.groups * share.rows;
    sum.squares += share.groups * share.rows * share.rows, sum.largest = std::max(sum.largest, share.rows);
  }
  return sum;
}

}  // namespace

const char* name_of(GroupedFeature feature) {
  constexpr const char* kNames[] = {"tensor_share",
                                    "power_share",
                                    "shared_share",
                                    "issue_share",
                                    "epilogue_share",
                                    "last_wave_share",
                                    "memory_share",
                                    "fill_drain_share",
                                    "sums_share",
                                    "hbm_share",
                                    "modelled_us",
                                    "groups",
                                    "occupied",
                                    "mean_rows",
                                    "spread",
                                    "largest",
                                    "k_blocks",
                                    "tiles_n",
                                    "tiles",
                                    "units",
                                    "idle",
                                    "covered",
                                    "waves",
                                    "resident",
                                    "weight_megabytes",
                                    "ragged",
                                    "tile_m",
                                    "tile_n",
                                    "cluster_m",
                                    "split",
                                    "scheduler",
                                    "stages",
                                    "warpgroups",
                                    "occupancy",
                                    "raster_width",
                                    "fp8",
                                    "promotes"};
  static_assert(std::size(kNames) == kGroupedFeatures);
  return kNames[static_cast<int>(feature)];
}

GroupedFeatures features_of(const GroupedProblem& p, const GroupSizes& sizes, const GemmConfig& c, const Cost& cost) {
  GroupedFeatures features{};
  const auto set = [&](GroupedFeature feature, double value) {
    features[static_cast<std::size_t>(feature)] = static_cast<float>(value);
  };
  using enum GroupedFeature;
  const double us = cost.total() - cost[Term::correction];
  constexpr Term kShares[] = {Term::tensor,    Term::power,  Term::shared,     Term::issue, Term::epilogue,
                              Term::last_wave, Term::memory, Term::fill_drain, Term::sums};
  for (std::size_t i = 0; i < std::size(kShares); ++i) features[i] = static_cast<float>(cost[kShares[i]] / us);
  set(hbm_share, cost.hbm_bytes / kH200.hbm_bytes_per_us / us), set(modelled_us, us);

  const Totals sum = totals_of(sizes);
  const double mean = sum.rows / sum.groups, k = static_cast<double>(p.k), n = static_cast<double>(p.n);
  set(groups, static_cast<double>(p.groups)), set(occupied, sum.groups), set(mean_rows, mean);
  set(spread, std::sqrt(std::max(0.0, sum.squares / sum.groups / (mean * mean) - 1))), set(largest, sum.largest);

  double tiles_m = 0;
  for (const GroupShare& share : sizes) tiles_m += share.groups * std::ceil(share.rows / c.tile.m - kRounding);
  const double of_n = tiles_in(p.n, c.tile.n), all = tiles_m * of_n, cut = max(1, c.cluster.k);
  const double per_cta = all * cut / cost.resident;
  set(k_blocks, tiles_in(p.k, c.tile.k)), set(tiles_n, of_n), set(tiles, all), set(units, per_cta);
  set(idle, std::ceil(per_cta - kRounding) - per_cta);
  set(covered, all * c.tile.m * c.tile.n / (sum.rows * n));
  set(waves, cost.waves), set(resident, cost.resident);
  set(weight_megabytes, 1e-6 * sum.groups * n * k * bytes_of(p.a));

  set(ragged, config::is_ragged(c)), set(tile_m, c.tile.m), set(tile_n, c.tile.n);
  set(cluster_m, c.cluster.m), set(split, c.cluster.k), set(scheduler, static_cast<int>(c.sm90.tile_scheduler));
  set(stages, c.sm90.stages), set(warpgroups, c.sm90.consumer_warpgroups), set(occupancy, c.sm90.occupancy);
  set(raster_width, c.raster.width), set(fp8, is_fp8(p.a)), set(promotes, config::promotes(c));
  return features;
}

bool has_correction(const GroupedProblem& p, const GroupSizes& sizes, const GemmConfig& c) {
  const double operations = 2 * totals_of(sizes).rows * static_cast<double>(p.n) * static_cast<double>(p.k);
  return !config::is_sm100(c) && operations > 0 && operations < kAtPowerLimit;
}

void correct(const GroupedProblem& p, const std::vector<LikelySizes>& sizes, int sms, std::span<Candidate> candidates,
             GroupedConstants constants) {
  struct Part {
    Cost* of;
    double us;  // weighted
  };
  std::vector<Part> parts;
  std::vector<GroupedFeatures> features;
  constants.corrected = false;
  for (Candidate& candidate : candidates) {
    candidate.cost[Term::correction] = 0;
    for (const LikelySizes& likely : sizes) {
      if (!has_correction(p, likely.sizes, candidate.config)) continue;
      const Cost cost = cost_of(p, likely.sizes, candidate.config, sms, constants);
      parts.push_back({&candidate.cost, likely.weight * cost.total()});
      features.push_back(features_of(p, likely.sizes, candidate.config, cost));
    }
  }
  const std::vector<double> sums = sums_of_trees<kNodes>(features);
  for (std::size_t i = 0; i < sums.size(); ++i) (*parts[i].of)[Term::correction] += parts[i].us * share_of(sums[i]);
}

}  // namespace ww::select
