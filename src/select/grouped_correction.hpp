// SPDX-License-Identifier: Apache-2.0
// The correction of a modelled time of a grouped product by recorded ones: trees like those of single products
// (correction.hpp), fitted to the times of bench/grouped_random.py with the sizes that the groups had. Where the sizes
// are not known, it is the expectation over those that are assumed. Recorded products have no epilogue, K-major
// operands and D in bf16; others are corrected alike. Products at the power limit and Blackwell are not corrected.
#pragma once

#include <array>
#include <span>
#include <vector>

#include "select/correction.hpp"
#include "select/grouped_cost.hpp"

namespace ww::select {

/// What the trees know of a launch, in the order of their feature numbers. `Share` is of the modelled time.
enum class GroupedFeature {
  tensor_share,
  power_share,
  shared_share,
  issue_share,
  epilogue_share,
  last_wave_share,
  memory_share,
  fill_drain_share,
  sums_share,
  hbm_share,
  modelled_us,
  groups,
  occupied,   // groups with rows
  mean_rows,  // of those
  spread,     // standard deviation of their rows over the mean
  largest,    // rows of the largest share of groups
  k_blocks,
  tiles_n,
  tiles,
  units,    // tiles for each CTA
  idle,     // by how many the units are less than whole
  covered,  // area of all tiles over that of D
  waves,
  resident,          // CTAs at a time
  weight_megabytes,  // of groups with rows
  ragged,
  tile_m,
  tile_n,
  cluster_m,
  split,
  scheduler,  // TileScheduler
  stages,
  warpgroups,
  occupancy,
  raster_width,
  fp8,
  promotes,
};
inline constexpr int kGroupedFeatures = 37;
using GroupedFeatures = std::array<float, kGroupedFeatures>;
const char* name_of(GroupedFeature feature);

/// Returns the features of `config` for groups of these sizes, where its modelled cost is `cost`.
GroupedFeatures features_of(const GroupedProblem& problem, const GroupSizes& sizes, const GemmConfig& config,
                            const Cost& cost);

/// Returns whether modelled times of this product are corrected.
bool has_correction(const GroupedProblem& problem, const GroupSizes& sizes, const GemmConfig& config);

/// Sets the correction of each candidate, whose cost is the expectation over `sizes` by `constants`. Many at once take
/// a fraction of their time one by one (trees.hpp).
void correct(const GroupedProblem& problem, const std::vector<LikelySizes>& sizes, int sms,
             std::span<Candidate> candidates, GroupedConstants constants = {});

}  // namespace ww::select
