// SPDX-License-Identifier: Apache-2.0
// Choices for grouped products, all measured on an H200 (bench/results):
//   block scales with at least 224 rows per group: contiguous, 192 x 128 with three consumer warpgroups. Compared with
//     ragged it is a tenth faster at 261 rows per group; at 194 rows, in two cases, 5 % slower and level.
//   at most 32 rows per group and few tiles, though enough for most SMs: ragged, 32 tokens x 64 weights, two or three
//   CTAs
//     on each SM. For launches up to 60 us it is between level with the next entry and a fifth faster than it.
//   everything else: ragged, 128 tokens x 256 weights, whose tiles take the width of each group. 32 or 64 tokens for
//   all
//     short groups would be a percent faster in long launches, but 1 to 11 % slower where a few groups have most rows,
//     because each tile of tokens reads the weights again.
//   fewer tiles than SMs: the tiles of ragged with K split between the CTAs of a cluster, where this clearly reduces
//   the
//     loads of the busiest CTA
//   SwiGLU and quantised outputs: contiguous; masked groups: masked
// Variant masked is used only on request, because the host knows only the capacity for rows, not their number. Variant
// descriptors is used only on request: token tiles as wide as the average group, at most 64 rows.
#include "select/grouped_configs.hpp"

#include "select/grouped_list.hpp"
#include "select/ranking.hpp"
#include "select/sm100_grouped.hpp"
#include "warpwright/config/faults.hpp"
#include "warpwright/config/group_encoding.hpp"
#include "warpwright/config/resolve.hpp"
#include "warpwright/config/shared_memory.hpp"
#include "warpwright/config/sizes.hpp"

namespace ww::select {
namespace {

constexpr std::int64_t kManyRows = 224;                                        // of a group, on average
constexpr std::int64_t kTokenStep = 8, kWidestTile = 64, kShortExtent = 1024;  // of descriptors
constexpr std::int64_t kLongK = 1024;                                          // a shorter K is not split
// rows of a group; weights of a tile; tiles for each SM
constexpr std::int64_t kShortRows = 32, kShortWeights = 64, kShortTiles = 15;
constexpr int kGroupTiers[] = {128, 512, config::kGroupLimit};

GemmConfig ragged(GemmConfig config) {
  config.row_groups.variant = GroupedVariant::ragged;
  if (config.sm90.tile_scheduler == TileScheduler::split_k) return config::resolve_grouped(config);
  config.tile.m = 128;
  config.tile.n = 256;
  return config::resolve_grouped(config);
}

/// Returns the number of tiles of with_occupancy() if every group has rows, and few.
std::int64_t short_tiles(const GroupedProblem& p) { return min(p.groups, p.rows) * ceil_div(p.n, kShortWeights); }

/// Returns the rows of weights, times the share of K, that the busiest CTA loads if all groups have the average number
/// of rows. With few tiles, this maximum and not the sum determines the time of a launch.
double longest_cta(const GroupedProblem& p, const GemmConfig& c, int sms) {
  const std::int64_t groups = min(p.groups, p.rows), rows = ceil_div(p.rows, max<std::int64_t>(groups, 1));
  const std::int64_t tiles = groups * ceil_div(rows, c.tile.m) * ceil_div(p.n, c.tile.n);
  const int split = max(1, c.cluster.k);
  return static_cast<double>(ceil_div(tiles, max(1, sms / split))) * c.tile.n / split;
}

/// Returns `config` of ragged, with K split if that leaves the busiest CTA at most 7/8 of the work. The margin pays for
/// the later start of a cluster and for the sum, which is another round trip between SMs.
GemmConfig split_where_few(const GemmConfig& config, const GroupedProblem& p, int sms) {
  if (p.k < kLongK || p.rows == 0 || p.groups == 0 || sms < 2) return config;
  GemmConfig split = config;
  split.sm90.tile_scheduler = TileScheduler::split_k;
  split.tile.m = split.tile.n = split.sm90.stages = 0;
  split = config::resolve_grouped(split);
  const double whole = longest_cta(p, config, sms), halves = longest_cta(p, split, sms);
  const bool few = whole <= config.tile.n;  // at most one tile for each CTA
  return few && halves <= 0.875 * whole ? split : config;
}

/// Returns whether each group has few rows and there are few tiles, though not so few that SMs idle. Thousands of
/// groups are excluded, because their tables would leave too little shared memory to the rings.
bool gains_from_occupancy(const GroupedProblem& p, int sms) {
  const std::int64_t tiles = short_tiles(p);
  return p.rows <= kShortRows * p.groups && p.groups <= kGroupTiers[1] && tiles <= kShortTiles * sms &&
         4 * tiles >= 3 * sms;
}
/// Returns `config` with narrow tiles, all of which load at once.
GemmConfig with_occupancy(GemmConfig config, int occupancy) {
  config.row_groups.variant = GroupedVariant::ragged;
  config.sm90.occupancy = occupancy;
  return config::resolve_grouped(config);
}
/// Returns 2 CTAs per SM if that gives each at most one tile, otherwise 3. A third CTA would shrink the ring of each.
int occupancy_for(const GroupedProblem& p, int sms) { return short_tiles(p) <= 2 * sms ? 2 : 3; }

/// Fits the tile and the cluster to an N-major B, of which a slice is whole blocks of 128 bytes of N.
void fit_slices(GemmConfig& config) {
  const int block = config::mn_block(config.operands.b), two = 2 * block;
  if (config::pairs_halves(config) || config.tile.n >= two) config.tile.n = max(two, config.tile.n / 128 * 128);
  else config.tile.n = max(128, block), config.cluster.m = block == 128 ? 1 : config.cluster.m;
}

/// `n`: columns of the product, where SwiGLU pairs its halves.
GemmConfig rasterised(GemmConfig config, GroupedVariant variant, std::int64_t n = 0) {
  const bool promoted = config::promotes(config), words = config.operands.d == DType::f32;
  config.row_groups.variant = variant;
  // 256 columns are too wide here: promotion needs those registers, and FP32 outputs that shared memory.
  const bool tall = promoted && !words && config.arch == Arch::sm90;
  config.tile.m = tall ? 192 : 128;
  config.tile.n = promoted || words ? 128 : 256;
  if (n > 0 && config::pairs_halves(config)) config.tile.n = config::tile_of_halves(config, n, config.tile.n);
  config.cluster.m = tall ? 1 : 2;
  if (config.operands.layout.b == Major::mn) fit_slices(config);
  config.cluster.n = 1;
  return config::resolve_grouped(config);
}

/// Sets one token width for all groups; the tail of any group costs a whole tile of it. The order follows hpc-ops: the
/// weight tiles of a group are consecutive if there are few of them or they are short; otherwise the token tiles of all
/// groups are consecutive.
GemmConfig with_descriptors(GemmConfig config, const GroupedProblem& p) {
  const std::int64_t groups = max<std::int64_t>(p.encoding == GroupEncoding::masked ? 1 : p.groups, 1);
  const std::int64_t rows = max<std::int64_t>(min(ceil_div(p.rows, groups), kWidestTile), 1);
  if (config.tile.m == 0) config.tile.m = static_cast<int>(round_up(rows, kTokenStep));
  if (config.sm90.tile_scheduler == TileScheduler::automatic)
    config.sm90.tile_scheduler = min(p.n, p.k) <= kShortExtent ? TileScheduler::horizontal : TileScheduler::vertical;
  return config::resolve_grouped(config);
}

GroupedVariant variant_for(const GroupedProblem& p, const GemmConfig& requested) {
  if (requested.row_groups.variant != GroupedVariant::automatic) return requested.row_groups.variant;
  const bool masked = p.encoding == GroupEncoding::masked;
  if (requested.arch == Arch::sm100) return masked ? GroupedVariant::masked : GroupedVariant::contiguous;
  if (requested.sm90.tile_scheduler == TileScheduler::horizontal ||
      requested.sm90.tile_scheduler == TileScheduler::vertical)
    return GroupedVariant::descriptors;
  if (requested.sm90.tile_scheduler == TileScheduler::dynamic ||
      requested.sm90.tile_scheduler == TileScheduler::split_k)
    return GroupedVariant::ragged;
  if (requested.sm90.occupancy > 1) return GroupedVariant::ragged;
  if (combines_columns(p.epilogue)) return masked ? GroupedVariant::masked : GroupedVariant::contiguous;
  if (masked) return GroupedVariant::ragged;
  const bool many = p.rows >= kManyRows * max<std::int64_t>(p.groups, 1);
  return many && p.scale == Scale::block_1x128_128x128 && p.d != DType::f32 ? GroupedVariant::contiguous
                                                                            : GroupedVariant::ragged;
}

}  // namespace

int group_capacity_for(std::int64_t groups) {
  for (int tier : kGroupTiers)
    if (groups <= tier) return tier;
  return config::kGroupLimit;
}

std::vector<GemmConfig> default_grouped_configs(DType a, DType d, Scale scale) {
  const GemmConfig base{.operands = {.a = a, .b = a, .d = d, .scale = scale},
                        .row_groups = {.capacity = kGroupTiers[0]}};
  std::vector<GemmConfig> configs;
  for (const GemmConfig& config :
       {ragged(base), with_occupancy(base, 2), with_occupancy(base, 3), rasterised(base, GroupedVariant::contiguous),
        rasterised(base, GroupedVariant::masked)})
    if (!config::fault_of_grouped(config)) configs.push_back(config);
  return configs;
}

std::vector<GemmConfig> shipped_grouped_configs() {
  std::vector<GemmConfig> shipped;
  for (const auto& [a, scale] :
       {std::pair{e4m3, Scale::block_1x128_128x128}, std::pair{e4m3, Scale::tensor}, std::pair{bf16, Scale::none}})
    for (const GemmConfig& config : default_grouped_configs(a, bf16, scale))
      if (config.row_groups.variant != GroupedVariant::masked) shipped.push_back(config);
  return shipped;
}

GemmConfig choose_grouped(const GroupedProblem& problem, const GemmConfig& requested, int sms) {
  GemmConfig config = of_problem(problem, requested);
  config.row_groups.variant = variant_for(problem, requested);
  const bool shaped = config.tile.m || config.tile.n || config.tile.k || config.cluster.m || config.cluster.n ||
                      config.sm90.stages || config.sm90.consumer_warpgroups || config.cluster.k ||
                      config.sm90.occupancy > 1;
  if (config.row_groups.variant == GroupedVariant::descriptors) return with_descriptors(config, problem);
  if (shaped) return config::resolve_grouped(config);
  if (config.row_groups.variant == GroupedVariant::ragged) {
    const bool open = requested.row_groups.variant == GroupedVariant::automatic &&
                      requested.sm90.tile_scheduler == TileScheduler::automatic;
    if (!open || problem.encoding == GroupEncoding::masked) return ragged(config);
    return requested.sm90.occupancy == 0 && gains_from_occupancy(problem, sms)
               ? with_occupancy(config, occupancy_for(problem, sms))
               : split_where_few(ragged(config), problem, sms);
  }
  const GemmConfig usual = rasterised(config, config.row_groups.variant, problem.n);
  return config.arch == Arch::sm100 ? choose_sm100_grouped(problem, config, sms, usual) : usual;
}

/// Returns the tiles of a dense product with such outputs, as if a group's K were as long as that product's.
GemmConfig choose_k_grouped(const GemmProblem& p, const GemmConfig& requested) {
  GemmConfig config = of_problem(p, requested);
  if (config.k_groups.capacity == 0) config.k_groups.capacity = group_capacity_for(p.batch);
  const bool shaped = config.tile.m || config.tile.n || config.tile.k || config.cluster.m > 1 || config.cluster.n ||
                      config.sm90.stages || config.sm90.consumer_warpgroups;
  if (!shaped) {
    const bool small = p.m <= 64 && p.n <= 64 && !config.sm100.pair;
    config.tile.m = small && !config::scales_in_mma(config) ? 64 : 128;
    config.tile.n = small ? 64 : config::promotes(config) || config.operands.d == DType::f32 ? 128 : 256;
    if (config.cluster.m == 0) config.cluster.m = p.m > config.tile.m || config.sm100.pair ? 2 : 1;
    config.cluster.n = 1;
    if (config.operands.layout.b == Major::mn && bits_of(config.operands.b) == 8) fit_slices(config);
    if (config.arch == Arch::sm100 && !small && config.cluster.m % 2 == 0) config.sm100.pair = true;
  }
  return config::resolve_k_grouped(config);
}

}  // namespace ww::select
