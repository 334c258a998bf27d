// SPDX-License-Identifier: Apache-2.0
// Looks shapes up in the order that tests/select/order_kernels.cpp has found.
#include "select/common_shapes.hpp"

#include <algorithm>
#include <iterator>

#include "select/correction.hpp"
#include "warpwright/config/sizes.hpp"
#include "warpwright/config/swap_ab.hpp"

namespace ww::select {
namespace {

constexpr KernelShape kCommon[] = {
#include "select/common_shapes.inc"
};

}  // namespace

KernelShape shape_of(const GemmConfig& c) {
  const auto number = [](auto value) { return static_cast<std::int16_t>(value); };
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
          number(config::swaps(c))};
}

int place_among_common(const GemmConfig& c) {
  return static_cast<int>(std::find(std::begin(kCommon), std::end(kCommon), shape_of(c)) - std::begin(kCommon));
}

void prefer_common(const GemmProblem& problem, std::vector<Candidate>& candidates) {
  if (candidates.empty() || !has_correction(problem, candidates.front().config)) return;
  const double most = candidates.front().cost.total() * (1 + kIndistinct);
  const auto first = candidates.begin();
  const auto last = std::find_if(first, candidates.end(), [&](const Candidate& c) { return c.cost.total() > most; });
  const auto common = std::min_element(first, last, [](const Candidate& a, const Candidate& b) {
    return place_among_common(a.config) < place_among_common(b.config);
  });
  std::rotate(first, common, common + 1);
}

}  // namespace ww::select
