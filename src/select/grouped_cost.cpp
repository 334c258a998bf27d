// SPDX-License-Identifier: Apache-2.0
// Computes the clocks of a k-block of a tile, the tiles that groups of each size make, and then the launch.
#include "select/grouped_cost.hpp"

#include <algorithm>
#include <cmath>

#include "select/sm100_grouped.hpp"
#include "warpwright/config/sizes.hpp"
#include "warpwright/config/token_widths.hpp"

namespace ww::select {
namespace {

constexpr double kOutputsPerClock = kH200.mma_bytes_per_clock / config::kRowBytes;
constexpr std::size_t kMostShares = 24;

/// A kind of tile of a launch: how many there are, and what one takes in microseconds at the full clock.
struct Tiles {
  double count = 0, rows = 0;  // tokens that it holds
  double neighbours = 0;       // token tiles of one weight tile
  double tensor = 0, shared = 0, issue = 0, promotion = 0, epilogue = 0, loads = 0;
  double total() const { return tensor + shared + issue + promotion + epilogue; }
};

double exposed_promotion(const GemmConfig& c, const GroupedConstants& k) {
  if (c.sm90.consumer_warpgroups == 3) return k.promotion_three;
  if (c.sm90.consumer_warpgroups == 1) return k.promotion_one;
  const int m_side = c.row_groups.variant == GroupedVariant::ragged ? c.tile.n : c.tile.m;
  return m_side > 2 * config::kWarpgroupRows ? k.promotion_wide : k.promotion_two;
}

/// Returns how many tokens the instructions of a tile with `rows` cover.
double covered(const GemmConfig& c, double rows) {
  const int whole = static_cast<int>(std::ceil(rows));
  if (c.row_groups.variant == GroupedVariant::ragged)
    return config::token_width(config::token_class(std::clamp(whole, 1, c.tile.m)));
  if (c.row_groups.variant == GroupedVariant::descriptors) return c.tile.m;
  // Consumer warpgroups without rows issue no product.
  const int each = c.tile.m / c.sm90.consumer_warpgroups;
  return std::min<double>(c.tile.m, 1.0 * each * ceil_div(whole, each));
}

Tiles tile_of(const GemmConfig& c, double rows, double k_blocks, const GroupedConstants& k) {
  const bool raster =
      c.row_groups.variant == GroupedVariant::contiguous || c.row_groups.variant == GroupedVariant::masked;
  const double width = covered(c, rows), weights = c.tile.n, outputs = width * weights;
  const bool swapped = !raster && std::fmod(width, config::kWarpgroupRows) != 0;
  const double m_side = swapped ? weights : width, n_side = swapped ? width : weights;
  constexpr double kRow = config::kRowBytes;
  const double tensor = outputs / kOutputsPerClock;
  const double read = kRow * std::ceil(m_side / config::kWarpgroupRows) * (config::kWarpgroupRows + n_side);
  const double stage = kRow * (rows + weights);
  const double shared = (read + stage) / k.shared_bytes_per_clock;
  const double asked = kRow * (rows + weights / c.cluster.m);
  const double busy = std::max({tensor, shared, asked / k.load_bytes_per_clock});
  const double slowest = std::max(busy, (busy + k.ring_clocks) / std::max(1, c.sm90.stages - 1));
  const double block_us = k_blocks / (kH200.ghz * 1e3);
  Tiles t{.rows = rows};
  t.tensor = tensor * block_us;
  t.shared = (slowest - tensor) * block_us;
  t.loads = asked / 64 * block_us;
  double issue = k.block_clocks + k.cluster_clocks * (c.cluster.m - 1);
  if (config::promotes(c)) {
    issue += swapped ? k.swapped_clocks + k.token_clocks * width : k.scale_clocks;
    t.promotion = exposed_promotion(c, k) * outputs / kH200.fma_per_clock * block_us;
  }
  t.issue = issue * block_us;
  const double d_kib = rows * config::output_columns(c.epilogue, c.tile.n) * bytes_of(c.operands.d) / 1024;
  t.epilogue =
      ((raster ? k.raster_tile_clocks : k.ragged_tile_clocks) + k.store_clocks_per_kib * d_kib) / (kH200.ghz * 1e3);
  return t;
}

/// Adds the tiles of `groups` groups with `rows` rows each.
void add_tiles(const GemmConfig& c, const GroupShare& share, double tiles_n, double k_blocks, const GroupedConstants& k,
               std::vector<Tiles>& tiles) {
  const double step = c.tile.m * c.cluster.m, of_group = std::ceil(share.rows / step) * c.cluster.m;
  if (share.rows <= 0 || share.groups <= 0) return;
  const auto add = [&](double count, double rows) {
    Tiles t = tile_of(c, rows, k_blocks, k);
    t.count = count * share.groups * tiles_n, t.neighbours = of_group;
    tiles.push_back(t);
  };
  if (c.row_groups.variant == GroupedVariant::ragged) return add(of_group, share.rows / of_group);
  const double whole = std::floor(share.rows / c.tile.m), rest = share.rows - whole * c.tile.m;
  if (whole > 0) add(whole, c.tile.m);
  // The second tile of a pair runs, though it may have no rows.
  if (of_group > whole) add(of_group - whole, rest > 0 ? rest : 1);
}

}  // namespace

GroupSizes assumed_sizes(const GroupedProblem& p) {
  if (p.groups == 0 || p.rows == 0) return {};
  if (p.encoding == GroupEncoding::masked)
    return {{static_cast<double>(p.groups), std::ceil(static_cast<double>(p.rows) / 2)}};
  const double groups = static_cast<double>(min(p.groups, p.rows));
  return {{groups, static_cast<double>(p.rows) / groups}};
}

GroupSizes sizes_of(std::span<const std::int64_t> counts) {
  std::vector<std::int64_t> sorted;
  for (std::int64_t count : counts)
    if (count > 0) sorted.push_back(count);
  std::sort(sorted.begin(), sorted.end());
  GroupSizes sizes;
  for (std::size_t i = 0; i < kMostShares; ++i) {
    const std::size_t first = sorted.size() * i / kMostShares, last = sorted.size() * (i + 1) / kMostShares;
    GroupShare share;
    for (std::size_t g = first; g < last; ++g) share.groups += 1, share.rows += static_cast<double>(sorted[g]);
    if (share.groups > 0) share.rows /= share.groups, sizes.push_back(share);
  }
  return sizes;
}

Cost cost_of(const GroupedProblem& p, const GroupSizes& sizes, const GemmConfig& c, int sms,
             const GroupedConstants& k) {
  if (config::is_sm100(c)) return sm100_grouped_cost(p, sizes, c, sms);
  Cost cost;
  const bool raster =
      c.row_groups.variant == GroupedVariant::contiguous || c.row_groups.variant == GroupedVariant::masked;
  cost[Term::fill_drain] = k.launch_us + (raster ? k.raster_us : 0);
  if (c.row_groups.variant == GroupedVariant::descriptors) cost[Term::fill_drain] += k.update_us;
  const int split = max(1, c.cluster.k), in_cluster = c.cluster.m * split, occupancy = max(1, c.sm90.occupancy);
  cost[Term::fill_drain] += k.cluster_us * std::log2(1.0 * in_cluster);
  const double k_blocks = static_cast<double>(ceil_div(p.k, std::int64_t{c.tile.k}));
  const double tiles_n = static_cast<double>(ceil_div(p.n, std::int64_t{c.tile.n}));
  std::vector<Tiles> tiles;
  tiles.reserve(2 * sizes.size());
  for (const GroupShare& share : sizes) add_tiles(c, share, tiles_n, std::ceil(k_blocks / split), k, tiles);
  if (tiles.empty()) return cost;

  // Tiles of the average CTA; `exact` has neither edges nor instructions for rows that no group has.
  const double ctas = 1.0 * resident_ctas(in_cluster, max(sms, in_cluster)) / split;
  Tiles sum;
  double count = 0, longest = 0, own_rows = 0, together = 0, groups = 0, rows = 0, shares = 0;
  for (const Tiles& t : tiles) {
    sum.tensor += t.count * t.tensor, sum.shared += t.count * t.shared, sum.issue += t.count * t.issue;
    sum.promotion += t.count * t.promotion, sum.epilogue += t.count * t.epilogue, sum.loads += t.count * t.loads;
    count += t.count, longest = std::max(longest, t.total());
    // Sixteen neighbours work on the token tiles of few weight tiles at once.
    const double fast = std::min(t.neighbours, kH200.sharing_ctas);
    own_rows += t.count * (t.rows + c.tile.n / c.cluster.m);
    together += t.count * (t.rows * std::max(1.0, fast / c.cluster.m) + c.tile.n * kH200.sharing_ctas / fast) /
                kH200.sharing_ctas;
    shares += t.count * t.rows;
  }
  for (const GroupShare& share : sizes) groups += share.groups, rows += share.groups * share.rows;

  // CTAs of one SM hide each other's waits, but not what keeps a resource busy.
  const double mean = sum.total() / count, per_sm = ctas * occupancy;
  const double busy = std::max(sum.tensor + sum.shared, sum.total() / occupancy) / count;
  const double units = count / per_sm;
  const double in_use = std::min(1.0 * occupancy, std::max(1.0, count / ctas));
  const double step = std::max(mean, busy * in_use);  // from a tile of a CTA to its next
  const double wait = c.sm90.tile_scheduler == TileScheduler::dynamic ? k.uneven_wait : k.static_wait;
  const double waves = units <= 1 ? 1 : units + wait * (std::ceil(units - 1e-9) - units);
  cost.waves = static_cast<int>(std::ceil(units));
  cost.resident = static_cast<int>(per_sm) * split;
  const double scale = step / mean / per_sm;
  cost[Term::tensor] = sum.tensor * scale, cost[Term::shared] = sum.shared * scale;
  cost[Term::issue] = sum.issue * scale, cost[Term::promotion] = sum.promotion * scale;
  cost[Term::epilogue] = sum.epilogue * scale;
  cost[Term::last_wave] = (waves - units) * step;
  if (waves * step < longest) cost[Term::last_wave] += longest - waves * step;
  if (split > 1)
    cost[Term::sums] = waves * (k.split_exchange_us + (split - 1) * 4.0 * covered(c, shares / count) * c.tile.n /
                                                          (k.dsmem_bytes_per_clock * kH200.ghz * 1e3));
  const double sm_us = std::max(waves * step, longest) + cost[Term::sums];

  const double row_bytes = config::kRowBytes * k_blocks, element = bytes_of(p.a);
  const double l2_bytes = (together + k.lag * (own_rows - together)) * row_bytes;
  const double d_bytes = rows * static_cast<double>(config::output_columns(p.epilogue, p.n)) * bytes_of(p.d);
  const double once = (groups * static_cast<double>(p.n) + rows) * static_cast<double>(p.k) * element;
  cost.hbm_bytes = once + d_bytes;
  const double stage_bytes = (shares / count + c.tile.n) * config::kRowBytes;
  const double in_flight = std::min(1.0, units) * cost.resident * c.sm90.stages * stage_bytes *
                           std::min(1.0, once / std::max(1.0, own_rows * row_bytes) * std::max(1.0, units));
  const double hbm_rate =
      in_flight > 0 ? std::min(k.hbm_bytes_per_us, in_flight / k.hbm_latency_us) : k.hbm_bytes_per_us;
  const auto raised = [&](double us) { return std::pow(us, k.memory_overlap); };
  const double all = raised(sm_us) + raised(l2_bytes / k.l2_bytes_per_us) + raised(cost.hbm_bytes / hbm_rate);
  cost[Term::memory] = std::max(0.0, std::pow(all, 1 / k.memory_overlap) - sm_us);

  // The power limit reduces the clock until the dynamic power fits.
  const double products = sum.tensor * (is_fp8(p.a) ? k.power_fp8 : k.power_16);
  const double power = (products + sum.loads * k.power_load) * split / sms / cost.total();
  cost[Term::power] = cost.total() * (std::pow(std::max(1.0, power), k.power_share) - 1);
  return cost;
}

}  // namespace ww::select
