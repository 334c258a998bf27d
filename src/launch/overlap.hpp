// SPDX-License-Identifier: Apache-2.0
// Decides whether a plan's launches may start before their predecessors have ended, if the caller does not say: they
// may where measurements showed a gain (bench/results/diary.md). Launches that leave a few SMs idle lose up to a fifth
// with it, because their successor's first CTAs take just those SMs, and all of its tiles may end up in one corner of
// the chip.
#pragma once

#include <cstdint>

#include "warpwright/core/meta.hpp"
#include "warpwright/host/grouped.hpp"

namespace ww::adapters {

inline bool overlaps(Pdl asked, bool pays) { return asked == Pdl::on || (asked == Pdl::automatic && pays); }

/// Returns true for one product of few rows, with K not so long that weights take most of the time.
inline bool overlap_pays(const GemmProblem& p) { return p.batch == 1 && p.m <= 64 && p.k <= 8192; }

/// Returns true for ragged groups with a tile for each SM, if none is empty.
inline bool overlap_pays(const GroupedProblem& p, const GemmConfig& c, int sms) {
  const std::int64_t tiles = min(p.groups, p.total_rows()) * ceil_div(p.n, c.tile.n) * max(1, c.cluster.k);
  return c.row_groups.variant == GroupedVariant::ragged && tiles >= sms;
}

}  // namespace ww::adapters
