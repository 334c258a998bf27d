// SPDX-License-Identifier: Apache-2.0
// Few kernels for many problems: configs whose times differ by less than the model can tell apart are not equally
// useful, because some of them serve many problems and others a single one. `auto` takes the more common one, so that a
// process compiles, and a pack holds, fewer kernels.
#pragma once

#include <cstdint>
#include <vector>

#include "select/cost_model.hpp"
#include "select/grouped_cost.hpp"

namespace ww::select {

/// A share of the time. Configs whose modelled times differ by less count as equally fast, below the power limit.
inline constexpr double kIndistinct = 0.01;
/// The same of groups of rows, of which a whole percent leaves fewer near the best (docs/selection.md).
inline constexpr double kIndistinctGroups = 0.006;

/// What tells the kernels of a recipe apart, in the order of the numbers of common_shapes.inc. Stages and the rest
/// follow from it; split counts belong to the launch.
struct KernelShape {
  std::int16_t recipe;  // 0: block scales, 1: FP8 without promotion, 2: 16-bit
  std::int16_t tile_m, tile_n, cluster_m, cluster_n, cluster_k;
  std::int16_t schedule, scheduler, swapped;  // Schedule, TileScheduler, 0 or 1
  // Of groups of rows; 0 for single products, whose other fields determine them.
  std::int16_t variant, warpgroups, occupancy;  // GroupedVariant, consumer warpgroups, CTAs on an SM
  bool operator==(const KernelShape&) const = default;
};
KernelShape shape_of(const GemmConfig& config);

/// Returns the place of the config's shape in the order of common_shapes.inc, which begins with those that serve the
/// most problems; one behind the last for all others.
int place_among_common(const GemmConfig& config);

/// Moves the most common of the candidates that count as fast as the first to the front, unless modelled times of the
/// product are not corrected. `candidates` are sorted by time.
void prefer_common(const GemmProblem& problem, std::vector<Candidate>& candidates);
void prefer_common(const GroupedProblem& problem, const std::vector<LikelySizes>& sizes,
                   std::vector<Candidate>& candidates);

}  // namespace ww::select
