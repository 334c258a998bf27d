// SPDX-License-Identifier: Apache-2.0
// The correction of a modelled time by recorded ones, for what the model has no formula: which clusters suit a grid of
// tiles, say, or how many stages a short K fills. It is a sum of gradient-boosted regression trees over the model's
// terms and the launch's geometry, fitted by tools/fit_correction.py to the times of bench/dense_choice.py
// (docs/selection.md). The recorded products are single ones on Hopper below the power limit, with K-major operands, D
// by rows in bf16 and no epilogue. Those of other types, layouts and epilogues are corrected alike, because their
// configs differ in the same ways; batches, products at the limit and Blackwell are not.
#pragma once

#include <array>
#include <span>

#include "select/cost_model.hpp"

namespace ww::select {

/// What the trees know of a launch, in the order of their feature numbers. `Share` is of the modelled time.
enum class Feature {
  tensor_share,
  power_share,
  shared_share,
  issue_share,
  promotion_share,
  epilogue_share,
  edges_share,
  clusters_share,
  last_wave_share,
  memory_share,
  fill_drain_share,
  sums_share,
  hbm_share,
  modelled_us,
  tiles_m,
  tiles_n,
  tiles,
  k_blocks,     // of the product
  unit_blocks,  // of a tile, or of a CTA's share of one
  units,        // tiles, or shares of tiles, for each CTA
  idle,         // by how many the units are less than whole
  covered,      // area of all tiles over that of D
  tile_m,       // of the instruction: under swap-AB, rows of B
  tile_n,
  tile_area,
  cluster_m,
  cluster_n,
  cluster_k,
  scheduler,  // TileScheduler
  split,
  stages,
  warpgroups,
  partial_accumulators,
  swapped,
  fp8,
  promotes,
};
inline constexpr int kFeatures = 36;
using Features = std::array<float, kFeatures>;
const char* name_of(Feature feature);

/// Returns the features of `config`, whose modelled cost is `cost`.
Features features_of(const GemmProblem& problem, const GemmConfig& config, const Cost& cost);

/// The least and the largest correction, as a natural logarithm of the time over the modelled time. The bounds limit
/// what trees may claim of configs unlike those that ran, and let a choice leave out configs that no correction makes
/// the fastest.
inline constexpr double kLeastCorrection = -0.15, kLargestCorrection = 0.3;
/// Returns the correction relative to the modelled time for a sum of trees, which is a logarithm.
double share_of(double logarithm);

/// Returns whether modelled times of this product are corrected.
bool has_correction(const GemmProblem& problem, const GemmConfig& config);

/// Sets the correction of each candidate. Many at once take a fraction of their time one by
/// one, because a tree then stays in the cache.
void correct(const GemmProblem& problem, std::span<Candidate> candidates);

}  // namespace ww::select
