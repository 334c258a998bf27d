// SPDX-License-Identifier: Apache-2.0
// Looks shapes up in the order that tests/select/order_kernels.cpp has found.
#include "select/common_shapes.hpp"

#include <algorithm>
#include <iterator>

#include "select/grouped_correction.hpp"
#include "warpwright/config/sizes.hpp"
#include "warpwright/config/swap_ab.hpp"

namespace ww::select {
namespace {

static_assert(static_cast<int>(GroupedVariant::contiguous) == 1 && static_cast<int>(GroupedVariant::masked) == 2 &&
                  static_cast<int>(GroupedVariant::ragged) == 4,
              "common_shapes.inc holds these numbers: make it again");
constexpr KernelShape kCommon[] = {
#include "select/common_shapes.inc"
};

void prefer_common(std::vector<Candidate>& candidates, double indistinct) {
  const double most = candidates.front().cost.total() * (1 + indistinct);
  const auto first = candidates.begin();
  const auto last = std::find_if(first, candidates.end(), [&](const Candidate& c) { return c.cost.total() > most; });
  const auto common = std::min_element(first, last, [](const Candidate& a, const Candidate& b) {
    return place_among_common(a.config) < place_among_common(b.config);
  });
  std::rotate(first, common, common + 1);
}

}  // namespace

KernelShape shape_of(const GemmConfig& c) {
  const auto number = [](auto value) { return static_cast<std::int16_t>(value); };
  const bool grouped = c.grouping == Grouping::row_groups;
  return {number(config::promotes(c)    ? 0
                 : is_fp8(c.operands.a) ? 1
                                        : 2),
          number(c.tile.m),
          number(c.tile.n),
          number(c.cluster.m),
          number(c.cluster.n),
          number(c.cluster.k),
          number(c.sm90.schedule),
          number(c.sm90.tile_scheduler),
          number(config::swaps(c)),
          number(grouped ? c.row_groups.variant : GroupedVariant::automatic),
          number(grouped ? c.sm90.consumer_warpgroups : 0),
          number(grouped ? c.sm90.occupancy : 0)};
}

int place_among_common(const GemmConfig& c) {
  return static_cast<int>(std::find(std::begin(kCommon), std::end(kCommon), shape_of(c)) - std::begin(kCommon));
}

void prefer_common(const GemmProblem& problem, std::vector<Candidate>& candidates) {
  if (!candidates.empty() && has_correction(problem, candidates.front().config)) prefer_common(candidates, kIndistinct);
}

void prefer_common(const GroupedProblem& problem, const std::vector<LikelySizes>& sizes,
                   std::vector<Candidate>& candidates) {
  if (candidates.empty() || sizes.empty()) return;
  if (has_correction(problem, sizes.front().sizes, candidates.front().config))
    prefer_common(candidates, kIndistinctGroups);
}

}  // namespace ww::select
