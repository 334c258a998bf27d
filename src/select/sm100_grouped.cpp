// SPDX-License-Identifier: Apache-2.0
// Counts the tiles that groups of each size make, then takes waves of them, L2 or HBM, whichever is slowest.
#include "select/sm100_grouped.hpp"

#include <algorithm>
#include <cmath>

#include "select/grouped_list.hpp"
#include "select/sm100_cost.hpp"
#include "warpwright/config/sizes.hpp"

namespace ww::select {

Cost sm100_grouped_cost(const GroupedProblem& p, const GroupSizes& sizes, const GemmConfig& c, int sms) {
  constexpr double kClocksPerUs = kB200.ghz * 1e3;
  Cost cost;
  double tiles = 0, groups = 0, rows = 0, loaded_rows = 0;
  const double tiles_n = static_cast<double>(ceil_div(p.n, std::int64_t{c.tile.n}));
  for (const GroupShare& share : sizes) {
    if (share.rows <= 0) continue;
    const double clusters = std::ceil(share.rows / (c.tile.m * c.cluster.m)) * share.groups * tiles_n;
    tiles += clusters * c.cluster.m;
    groups += share.groups, rows += share.groups * share.rows;
    loaded_rows += share.groups * share.rows * tiles_n + clusters * c.tile.n;
  }
  if (tiles == 0 || p.n == 0) return cost;
  cost.resident = resident_ctas(c.cluster.m, std::max(sms, c.cluster.m), kB200);
  const double units = tiles / cost.resident, exact = rows * static_cast<double>(p.n) / c.tile.m / c.tile.n;
  cost.waves = static_cast<int>(std::ceil(units));
  const Sm100Tile tile = sm100_tile(c, static_cast<double>(ceil_div(p.k, std::int64_t{c.tile.k})));
  const double total = tile.total() / kClocksPerUs, share = exact / sms;
  cost[Term::tensor] = share * tile.tensor / kClocksPerUs;
  cost[Term::shared] = share * tile.shared / kClocksPerUs;
  cost[Term::promotion] = share * tile.promotion_seen / kClocksPerUs;
  cost[Term::epilogue] = share * tile.epilogue_seen / kClocksPerUs;
  cost[Term::edges] = (tiles - exact) / sms * total;
  cost[Term::clusters] = std::max(0.0, units - tiles / sms) * total;
  cost[Term::last_wave] = (std::ceil(units) - units) * total;
  const double element = bits_of(p.a) / 8.0, row_bytes = static_cast<double>(p.k) * element;
  const double d_bytes = rows * static_cast<double>(config::output_columns(p.epilogue, p.n)) * bytes_of(p.d);
  cost.hbm_bytes = (groups * static_cast<double>(p.n) + rows) * row_bytes + d_bytes;
  const double memory =
      std::max(loaded_rows * row_bytes / kB200.l2_bytes_per_us, cost.hbm_bytes / kB200.hbm_bytes_per_us);
  cost[Term::memory] = std::max(0.0, memory - std::ceil(units) * total);
  cost[Term::fill_drain] = kB200.first_load_us;
  if (tile.epilogue_seen < tile.epilogue)
    cost[Term::fill_drain] += std::min(tile.epilogue, tile.tensor + tile.shared) / kClocksPerUs;
  return cost;
}

GemmConfig choose_sm100_grouped(const GroupedProblem& p, const GemmConfig& requested, int sms,
                                const GemmConfig& otherwise) {
  const std::vector<LikelySizes> sizes = assumed_sizes(p);
  const GemmConfig* best = nullptr;
  double least = 0;
  const std::vector<GemmConfig> list = grouped_list(requested, p.encoding, p.n);
  for (const GemmConfig& config : list) {
    if (config.row_groups.variant != requested.row_groups.variant || config.cluster.m > sms ||
        !config::fits_halves(config, p.n))
      continue;
    const double us = cost_of(p, sizes, config, sms).total();
    if (best == nullptr || us < least) best = &config, least = us;
  }
  return best != nullptr ? *best : otherwise;
}

}  // namespace ww::select
