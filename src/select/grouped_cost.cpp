// SPDX-License-Identifier: Apache-2.0
// Computes the clocks of a k-block of a tile, the tiles that groups of each size make, and then the launch.
#include "select/grouped_cost.hpp"

#include <algorithm>
#include <cmath>

#include "select/grouped_correction.hpp"
#include "select/sm100_grouped.hpp"
#include "warpwright/config/sizes.hpp"
#include "warpwright/config/token_widths.hpp"

namespace ww::select {
namespace {

constexpr double kOutputsPerClock = kH200.mma_bytes_per_clock / config::kRowBytes;
constexpr std::size_t kMostShares = 12;
constexpr double kRounding = 1e-9;
// Of sizes that the caller has not told, with fewer groups than kManyGroups: the weight of equal ones, and the widths
// of the spread ones. With more groups, the widths of the two spreads beside equal sizes.
constexpr std::int64_t kManyGroups = 8;
constexpr double kEqualWeight = 0.4;
constexpr double kSpreads[] = {0.15, 0.4};
constexpr double kNarrow = 0.25, kWide = 0.7;

/// A kind of tile of a launch: how many there are, and what one takes in microseconds at the full clock.
struct Tiles {
  double count = 0, rows = 0;  // tokens that it holds
  double neighbours = 0;       // token tiles of one weight tile
  // Time of the products, of waits for operands beyond it, of issue and promotion, of the epilogue.
  double tensor = 0, wait = 0, issue = 0, epilogue = 0;
  double busy = 0;  // of the busiest resource of an SM, which CTAs beside each other share
  double total() const { return tensor + wait + issue + epilogue; }
};

bool is_raster(const GemmConfig& c) {
  return c.row_groups.variant == GroupedVariant::contiguous || c.row_groups.variant == GroupedVariant::masked;
}

/// The clocks of a k-block of a tile beside its products. `warpgroups` of 0: any number.
struct TileClocks {
  int m, n, warpgroups;
  double GroupedConstants::*clocks;
};
constexpr TileClocks kRagged[] = {
    {128, 256, 2, &GroupedConstants::ragged_128x256},   {64, 256, 2, &GroupedConstants::ragged_64x256},
    {32, 256, 2, &GroupedConstants::ragged_32x256},     {128, 128, 2, &GroupedConstants::ragged_128x128},
    {64, 128, 2, &GroupedConstants::ragged_64x128},     {32, 128, 2, &GroupedConstants::ragged_32x128},
    {64, 128, 1, &GroupedConstants::ragged_64x128_one}, {32, 128, 1, &GroupedConstants::ragged_32x128_one},
    {128, 64, 1, &GroupedConstants::ragged_128x64},     {64, 64, 1, &GroupedConstants::ragged_64x64},
    {32, 64, 1, &GroupedConstants::ragged_32x64}};
constexpr TileClocks kRaster[] = {
    {128, 256, 0, &GroupedConstants::raster_128x256}, {192, 192, 0, &GroupedConstants::raster_192x192},
    {128, 192, 0, &GroupedConstants::raster_128x192}, {256, 128, 0, &GroupedConstants::raster_256x128},
    {192, 128, 0, &GroupedConstants::raster_192x128}, {128, 128, 0, &GroupedConstants::raster_128x128},
    {64, 256, 0, &GroupedConstants::raster_64x256},   {64, 128, 0, &GroupedConstants::raster_64x128},
    {128, 64, 0, &GroupedConstants::raster_128x64},   {64, 64, 0, &GroupedConstants::raster_64x64},
    {64, 32, 0, &GroupedConstants::raster_64x32}};
constexpr TileClocks kScaled[] = {
    {256, 128, 0, &GroupedConstants::scaled_256x128}, {192, 128, 0, &GroupedConstants::scaled_192x128},
    {128, 192, 0, &GroupedConstants::scaled_128x192}, {128, 128, 0, &GroupedConstants::scaled_128x128},
    {64, 128, 0, &GroupedConstants::scaled_64x128},   {128, 64, 0, &GroupedConstants::scaled_128x64},
    {64, 64, 0, &GroupedConstants::scaled_64x64},     {128, 160, 0, &GroupedConstants::scaled_128x160},
    {64, 192, 0, &GroupedConstants::scaled_64x192},   {64, 160, 0, &GroupedConstants::scaled_64x160},
    {128, 96, 0, &GroupedConstants::scaled_128x96},   {64, 96, 0, &GroupedConstants::scaled_64x96},
    {64, 32, 0, &GroupedConstants::scaled_64x32}};

/// Returns the clocks of the tile, or of the nearest one that was measured.
template <std::size_t kCount>
double clocks_of(const TileClocks (&tiles)[kCount], const GemmConfig& c, const GroupedConstants& k) {
  for (const TileClocks& t : tiles)
    if (t.m == c.tile.m && t.n == c.tile.n && (t.warpgroups == 0 || t.warpgroups == c.sm90.consumer_warpgroups))
      return k.*t.clocks;
  const auto distance = [&](const TileClocks& t) {
    return std::abs(std::log2(1.0 * c.tile.m / t.m)) + std::abs(std::log2(1.0 * c.tile.n / t.n)) +
           (t.warpgroups != 0 && t.warpgroups != c.sm90.consumer_warpgroups ? 0.5 : 0);
  };
  return k.*std::min_element(std::begin(tiles), std::end(tiles), [&](const TileClocks& a, const TileClocks& b) {
              return distance(a) < distance(b);
            })->clocks;
}
double block_clocks(const GemmConfig& c, const GroupedConstants& k) {
  if (!is_raster(c)) return clocks_of(kRagged, c, k);
  return config::promotes(c) ? clocks_of(kScaled, c, k) : clocks_of(kRaster, c, k);
}

/// Returns how many tokens the instructions of a tile with `rows` cover.
double covered(const GemmConfig& c, double rows) {
  const int whole = static_cast<int>(std::ceil(rows - kRounding));
  if (c.row_groups.variant == GroupedVariant::ragged)
    return config::token_width(config::token_class(std::clamp(whole, 1, c.tile.m)));
  if (c.row_groups.variant == GroupedVariant::descriptors) return c.tile.m;
  // Consumer warpgroups without rows issue no product.
  const int each = c.tile.m / c.sm90.consumer_warpgroups;
  return std::min<double>(c.tile.m, 1.0 * each * ceil_div(whole, each));
}

/// Returns the boxes of 64, 32, 16 and 8 tokens that fill `width`.
double boxes_of(double width) {
  int boxes = 0, left = static_cast<int>(width);
  for (int box = 64; box >= 8; box /= 2) boxes += left / box, left %= box;
  return boxes;
}

/// `tile_clocks`: block_clocks() of `c`. `sharing`: how many CTAs of a cluster load one tile of weights together, on
/// average.
Tiles tile_of(const GemmConfig& c, double tile_clocks, double rows, double sharing, double k_blocks,
              const GroupedConstants& k) {
  const bool raster = is_raster(c), ragged = c.row_groups.variant == GroupedVariant::ragged;
  const double width = covered(c, rows), weights = c.tile.n, outputs = width * weights;
  const bool swapped = !raster && std::fmod(width, config::kWarpgroupRows) != 0;
  const double m_side = swapped ? weights : width, n_side = swapped ? width : weights;
  constexpr double kRow = config::kRowBytes;
  const double tensor = outputs / kOutputsPerClock;
  const double read = kRow * std::ceil(m_side / config::kWarpgroupRows) * (config::kWarpgroupRows + n_side);
  // Pairs load whole boxes, so that each CTA expects the same bytes.
  const double loaded = c.cluster.m > 1 ? c.tile.m : width;
  const double shared = (read + kRow * (loaded + weights)) / k.shared_bytes_per_clock;
  const double load = kRow * (loaded + weights / sharing) / k.load_bytes_per_clock;
  double issue = tile_clocks + k.pair_clocks * (c.cluster.m - 1), sums = 0;
  if (config::promotes(c)) {
    sums = outputs / kH200.fma_per_clock;
    if (!raster) issue += swapped ? k.swapped_clocks + k.token_clocks * width : k.scale_clocks;
  }
  const double products = std::max(tensor, shared), compute = products + issue;
  const double refill = (compute + load + k.ring_clocks) / c.sm90.stages;
  const double producer =
      raster ? k.raster_load_clocks : k.ragged_load_clocks + (ragged ? k.box_clocks * (boxes_of(width) - 1) : 0);
  const double block = std::max({compute, load, refill, producer});
  const double clocks_per_us = kH200.ghz * 1e3, block_us = k_blocks / clocks_per_us;
  const double d_kib =
      rows * config::output_columns(c.epilogue, c.tile.n) * bytes_of(c.operands.d) / 1024 / c.sm90.consumer_warpgroups;
  Tiles t{.rows = rows};
  t.tensor = tensor * block_us, t.issue = issue * block_us, t.wait = std::max(0.0, block - tensor - issue) * block_us;
  t.busy = std::max({products, load, sums}) * block_us;
  t.epilogue = ((raster ? k.raster_tile_clocks + k.raster_store_clocks * d_kib
                        : k.ragged_tile_clocks + k.ragged_store_clocks * d_kib) +
                (c.cluster.m > 1 ? k.pair_tile_clocks : 0)) /
               clocks_per_us;
  return t;
}

/// Adds the tiles of `share`, whose groups have `rows` rows each. `clocks`: block_clocks() of `c`.
void add_tiles(const GemmConfig& c, double clocks, const GroupShare& share, double tiles_n, double k_blocks,
               const GroupedConstants& k, std::vector<Tiles>& tiles) {
  if (share.rows <= 0 || share.groups <= 0) return;
  const double of_group = std::ceil(share.rows / c.tile.m - kRounding);
  // Neighbours in a cluster share weights if they belong to one group.
  const double sharing = c.cluster.m > 1 ? 1 + (of_group - 1) / of_group : 1;
  const auto add = [&](double count, double rows) {
    if (count <= 0) return;
    Tiles t = tile_of(c, clocks, rows, sharing, k_blocks, k);
    t.count = count * share.groups * tiles_n, t.neighbours = of_group;
    tiles.push_back(t);
  };
  if (!is_raster(c)) return add(of_group, share.rows / of_group);
  // The kernel spreads parts of one consumer warpgroup each evenly over the tiles of a group.
  const double part = 1.0 * c.tile.m / c.sm90.consumer_warpgroups, parts = std::ceil(share.rows / part - kRounding);
  const double each = std::floor(parts / of_group), more = parts - each * of_group;
  const double in_part = share.rows / parts;
  add(more, (each + 1) * in_part), add(of_group - more, each * in_part);
}

/// The launch: all of its tiles together.
struct Launch {
  double count = 0, tensor = 0, wait = 0, issue = 0, epilogue = 0, busy = 0, longest = 0, rows = 0, l2_rows = 0;
  double total() const { return tensor + wait + issue + epilogue; }
};
Launch launch_of(const GemmConfig& c, const std::vector<Tiles>& tiles) {
  Launch sum;
  for (const Tiles& t : tiles) {
    sum.count += t.count, sum.tensor += t.count * t.tensor, sum.wait += t.count * t.wait;
    sum.issue += t.count * t.issue, sum.epilogue += t.count * t.epilogue, sum.busy += t.count * t.busy;
    sum.rows += t.count * t.rows, sum.longest = std::max(sum.longest, t.total());
    // Sixteen neighbours work on the token tiles of few weight tiles at once, and share their reads.
    const double fast = std::min(t.neighbours, kH200.sharing_ctas);
    sum.l2_rows += t.count * (t.rows * std::max(1.0, fast / c.cluster.m) + c.tile.n * kH200.sharing_ctas / fast) /
                   kH200.sharing_ctas;
  }
  return sum;
}

/// Returns the bytes that come from HBM a second time, because L2 does not hold them so long: rows of a group for each
/// weight tile that is done with all of them, or weights for each sixteen token tiles of it.
double bytes_again(const GroupedProblem& p, const GemmConfig& c, const std::vector<Tiles>& tiles, double tiles_n,
                   const GroupedConstants& k) {
  const double held = k.l2_mbytes * 1e6, line = static_cast<double>(p.k * bytes_of(p.a)), n = static_cast<double>(p.n);
  double again = 0;
  for (const Tiles& t : tiles) {
    const double token_tiles = t.count / tiles_n;
    if (!is_raster(c)) {
      const double missed = std::max(0.0, 1 - held / (t.rows * t.neighbours * line));
      again += missed * token_tiles * t.rows * (tiles_n - 1) * line / 2;
    } else if (t.neighbours > kH200.sharing_ctas) {
      const double missed = std::max(0.0, 1 - held / ((n + t.rows * kH200.sharing_ctas) * line));
      again += missed * token_tiles * (1 / kH200.sharing_ctas - 1 / t.neighbours) * n * line;
    }
  }
  return again;
}

double launch_us(const GroupedProblem& p, const GemmConfig& c, const GroupedConstants& k) {
  const double tables = static_cast<double>(p.groups) / 128;
  double us = is_raster(c) ? k.raster_us + k.raster_list_us * tables : k.ragged_us + k.ragged_list_us * tables;
  if (c.row_groups.variant == GroupedVariant::descriptors) us += k.update_us;
  if (c.sm90.tile_scheduler == TileScheduler::dynamic) us += k.dynamic_us;
  if (c.sm90.occupancy > 1) us += k.occupancy_us;
  if (c.cluster.m > 1) us += k.pair_us;
  if (c.cluster.k > 1) us += k.split_us + k.deeper_us * std::log2(c.cluster.k / 2.0);
  return us;
}

/// Returns `rows` in `groups` groups whose sizes are spread like a log-logistic distribution, which is close to a
/// lognormal one: its quantiles in the middle of each group's share, at most `capacity`.
GroupSizes spread_sizes(double groups, double rows, double width, double capacity) {
  const int shares = static_cast<int>(std::min(groups, 1.0 * kMostShares));
  GroupSizes sizes;
  double sum = 0;
  for (int i = 0; i < shares; ++i) {
    const double below = (i + 0.5) / shares;
    sizes.push_back({groups / shares, std::pow(below / (1 - below), width)});
    sum += sizes.back().groups * sizes.back().rows;
  }
  for (GroupShare& share : sizes) share.rows = std::min(capacity, share.rows * rows / sum);
  return sizes;
}

}  // namespace

std::vector<LikelySizes> assumed_sizes(const GroupedProblem& p) {
  if (p.groups == 0 || p.rows == 0) return {};
  if (p.expected_sizes.size() == 1 && p.expected_sizes[0] > 0)
    return {{1, {{static_cast<double>(p.groups), static_cast<double>(p.expected_sizes[0])}}}};
  if (GroupSizes expected = sizes_of(p.expected_sizes); !expected.empty()) return {{1, expected}};
  const bool masked = p.encoding == GroupEncoding::masked;
  const double groups = static_cast<double>(masked ? p.groups : min(p.groups, p.rows));
  const double rows = masked ? groups * std::ceil(static_cast<double>(p.rows) / 2) : static_cast<double>(p.rows);
  const double capacity = static_cast<double>(p.rows);  // of one group, whatever the encoding
  if (groups == 1) return {{1, {{groups, rows}}}};
  const bool many = p.groups >= kManyGroups;
  std::vector<LikelySizes> likely{{many ? 0.25 : kEqualWeight, {{groups, rows / groups}}}};
  if (!many) {
    for (double width : kSpreads)
      likely.push_back({(1 - kEqualWeight) / std::size(kSpreads), spread_sizes(groups, rows, width, capacity)});
    return likely;
  }
  const double share = 0.25;
  for (double width : {kNarrow, kWide}) likely.push_back({share, spread_sizes(groups, rows, width, capacity)});
  likely.push_back({share, spread_sizes(std::ceil(groups / 2), rows, kNarrow, capacity)});
  return likely;
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

namespace {

/// The model without corrections.
Cost plain_cost(const GroupedProblem& p, const GroupSizes& sizes, const GemmConfig& c, int sms,
                const GroupedConstants& k) {
  Cost cost;
  cost[Term::fill_drain] = launch_us(p, c, k);
  const int split = max(1, c.cluster.k), in_cluster = c.cluster.m * split, occupancy = max(1, c.sm90.occupancy);
  const double k_blocks = static_cast<double>(ceil_div(p.k, std::int64_t{c.tile.k}));
  const double tiles_n = static_cast<double>(ceil_div(p.n, std::int64_t{c.tile.n}));
  std::vector<Tiles> tiles;
  tiles.reserve(2 * sizes.size());
  const double clocks = block_clocks(c, k);
  for (const GroupShare& share : sizes) add_tiles(c, clocks, share, tiles_n, std::ceil(k_blocks / split), k, tiles);
  if (tiles.empty()) return cost;
  const Launch sum = launch_of(c, tiles);
  if (sum.count == 0) return cost;  // N = 0

  // CTAs of one SM hide each other's waits, but not what keeps a resource busy.
  const double ctas = 1.0 * resident_ctas(in_cluster, max(sms, in_cluster)) / split, per_sm = ctas * occupancy;
  const double mean = sum.total() / sum.count, units = sum.count / per_sm;
  const double in_use = std::min(1.0 * occupancy, std::max(1.0, sum.count / ctas));
  const double step = std::max(mean, sum.busy / sum.count * in_use);  // from a tile of a CTA to its next
  const double waves = std::max(1.0, std::ceil(units - kRounding));
  cost.waves = static_cast<int>(waves);
  cost.resident = static_cast<int>(per_sm) * split;
  const double scale = step / mean / per_sm;
  cost[Term::tensor] = sum.tensor * scale, cost[Term::shared] = sum.wait * scale;
  cost[Term::issue] = sum.issue * scale, cost[Term::epilogue] = sum.epilogue * scale;
  const double last = std::max(waves * step, sum.longest);
  cost[Term::last_wave] = last - units * step;
  if (split > 1)
    cost[Term::sums] = waves * (split - 1) * 4.0 * covered(c, sum.rows / sum.count) * c.tile.n /
                       (k.dsmem_bytes_per_clock * kH200.ghz * 1e3);
  const double sm_us = last + cost[Term::sums];

  double groups = 0, rows = 0;
  for (const GroupShare& share : sizes) groups += share.groups, rows += share.groups * share.rows;
  const double columns = static_cast<double>(config::output_columns(p.epilogue, p.n));
  const double once = (groups * static_cast<double>(p.n) + rows) * static_cast<double>(p.k * bytes_of(p.a));
  cost.hbm_bytes = once + bytes_again(p, c, tiles, tiles_n, k) + rows * columns * bytes_of(p.d) * k.write_share;
  const double overlap =
      k.overlap + (k.overlap_one - k.overlap) / std::max(1.0, units) + k.overlap_few * std::max(0.0, 1 - units);
  const auto raised = [&](double us) { return std::pow(us, overlap); };
  const double all = raised(sm_us) + raised(sum.l2_rows * config::kRowBytes * k_blocks / k.l2_bytes_per_us) +
                     raised(cost.hbm_bytes / k.hbm_bytes_per_us);
  cost[Term::memory] = std::max(0.0, std::pow(all, 1 / overlap) - sm_us);

  // The power limit reduces the clock until the dynamic power fits.
  const double power = sum.tensor * (is_fp8(p.a) ? k.power_fp8 : k.power_16) * split / sms / cost.total();
  cost[Term::power] = cost.total() * (std::pow(std::max(1.0, power), k.power_share) - 1);
  return cost;
}

}  // namespace

Cost cost_of(const GroupedProblem& p, const GroupSizes& sizes, const GemmConfig& c, int sms,
             const GroupedConstants& k) {
  if (config::is_sm100(c)) return sm100_grouped_cost(p, sizes, c, sms);
  Candidate only{c, plain_cost(p, sizes, c, sms, k)};
  if (k.corrected) correct(p, {{1, sizes}}, sms, {&only, 1}, k);
  return only.cost;
}

Cost cost_of(const GroupedProblem& p, const std::vector<LikelySizes>& sizes, const GemmConfig& c, int sms,
             const GroupedConstants& k) {
  if (sizes.empty()) return cost_of(p, GroupSizes{}, c, sms, k);
  Cost mean;
  for (const LikelySizes& likely : sizes) {
    const Cost cost = cost_of(p, likely.sizes, c, sms, k);
    for (std::size_t i = 0; i < cost.us.size(); ++i) mean.us[i] += likely.weight * cost.us[i];
    if (&likely == &sizes.front()) mean.waves = cost.waves, mean.resident = cost.resident;
    mean.hbm_bytes += likely.weight * cost.hbm_bytes;
  }
  return mean;
}

}  // namespace ww::select
