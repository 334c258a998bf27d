// SPDX-License-Identifier: Apache-2.0
// Computes the features of a launch, and its correction by the trees of correction_trees.inc.
#include "select/correction.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <iterator>
#include <vector>

#include "select/swap_ab.hpp"
#include "select/trees.hpp"
#include "warpwright/config/sizes.hpp"

namespace ww::select {
namespace {

static_assert(static_cast<int>(Schedule::cooperative) == 1 && static_cast<int>(TileScheduler::fixed) == 1 &&
                  static_cast<int>(TileScheduler::stream_k) == 6 && static_cast<int>(TileScheduler::split_k) == 7,
              "trees and common_shapes.inc hold these numbers: fit both again");
constexpr TreeNode kNodes[] = {
#include "select/correction_trees.inc"
};

}  // namespace

const char* name_of(Feature feature) {
  constexpr const char* kNames[] = {"tensor_share",
                                    "power_share",
                                    "shared_share",
                                    "issue_share",
                                    "promotion_share",
                                    "epilogue_share",
                                    "edges_share",
                                    "clusters_share",
                                    "last_wave_share",
                                    "memory_share",
                                    "fill_drain_share",
                                    "sums_share",
                                    "hbm_share",
                                    "modelled_us",
                                    "tiles_m",
                                    "tiles_n",
                                    "tiles",
                                    "k_blocks",
                                    "unit_blocks",
                                    "units",
                                    "idle",
                                    "covered",
                                    "tile_m",
                                    "tile_n",
                                    "tile_area",
                                    "cluster_m",
                                    "cluster_n",
                                    "cluster_k",
                                    "scheduler",
                                    "split",
                                    "stages",
                                    "warpgroups",
                                    "partial_accumulators",
                                    "swapped",
                                    "fp8",
                                    "promotes"};
  static_assert(std::size(kNames) == kFeatures);
  return kNames[static_cast<int>(feature)];
}

Features features_of(const GemmProblem& given, const GemmConfig& chosen, const Cost& cost) {
  const GemmProblem p = kernel_problem(given, chosen);
  const GemmConfig c = config::kernel_config(chosen);
  Features features{};
  const auto set = [&](Feature feature, double value) {
    features[static_cast<std::size_t>(feature)] = static_cast<float>(value);
  };
  const double us = cost.total() - cost[Term::uncertainty] - cost[Term::correction];
  constexpr Term kShares[] = {Term::tensor,    Term::power,    Term::shared,     Term::issue,
                              Term::promotion, Term::epilogue, Term::edges,      Term::clusters,
                              Term::last_wave, Term::memory,   Term::fill_drain, Term::sums};
  for (std::size_t i = 0; i < std::size(kShares); ++i) features[i] = static_cast<float>(cost[kShares[i]] / us);
  set(Feature::hbm_share, cost.hbm_bytes / kH200.hbm_bytes_per_us / us);
  set(Feature::modelled_us, us);
  const double tiles_m = tiles_in(p.m, c.tile.m), tiles_n = tiles_in(p.n, c.tile.n), tiles = tiles_m * tiles_n;
  const double cut = max(1, max(c.sm90.split, c.cluster.k)), k_blocks = tiles_in(p.k, c.tile.k);
  const double units = tiles * cut / cost.resident;
  set(Feature::tiles_m, tiles_m), set(Feature::tiles_n, tiles_n), set(Feature::tiles, tiles);
  set(Feature::k_blocks, k_blocks), set(Feature::unit_blocks, k_blocks / cut);
  set(Feature::units, units), set(Feature::idle, std::ceil(units) - units);
  set(Feature::covered, tiles * c.tile.m * c.tile.n / (static_cast<double>(p.m) * static_cast<double>(p.n)));
  set(Feature::tile_m, c.tile.m), set(Feature::tile_n, c.tile.n), set(Feature::tile_area, c.tile.m * c.tile.n);
  set(Feature::cluster_m, c.cluster.m), set(Feature::cluster_n, c.cluster.n), set(Feature::cluster_k, c.cluster.k);
  set(Feature::scheduler, static_cast<int>(c.sm90.tile_scheduler)), set(Feature::split, c.sm90.split);
  set(Feature::stages, c.sm90.stages), set(Feature::warpgroups, c.sm90.consumer_warpgroups);
  set(Feature::partial_accumulators, config::partial_accumulators(c));
  set(Feature::swapped, config::swaps(chosen)), set(Feature::fp8, is_fp8(c.operands.a));
  set(Feature::promotes, config::promotes(c));
  return features;
}

double share_of(double logarithm) { return std::expm1(std::clamp(logarithm, kLeastCorrection, kLargestCorrection)); }

bool has_correction(const GemmProblem& p, const GemmConfig& c) {
  const double operations = 2.0 * static_cast<double>(p.m) * static_cast<double>(p.n) * static_cast<double>(p.k);
  return !config::is_sm100(c) && p.batch == 1 && !p.pointer_array && operations > 0 && operations < kAtPowerLimit;
}

void correct(const GemmProblem& p, std::span<Candidate> candidates) {
  if (candidates.empty() || !has_correction(p, candidates.front().config)) return;
  std::vector<Features> features;
  features.reserve(candidates.size());
  for (const Candidate& c : candidates) features.push_back(features_of(p, c.config, c.cost));
  const std::vector<double> sums = sums_of_trees<kNodes>(features);
  for (std::size_t i = 0; i < sums.size(); ++i) {
    Cost& cost = candidates[i].cost;
    cost[Term::correction] = 0;
    cost[Term::correction] = cost.total() * share_of(sums[i]);
  }
}

}  // namespace ww::select
