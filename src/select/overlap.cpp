// SPDX-License-Identifier: Apache-2.0
// The rules, found on an H200 with pairs of times (bench/results/2026-11-28_h200_shapes_raster.json).
#include "select/overlap.hpp"

#include <algorithm>

#include "select/grouped_cost.hpp"
#include "select/swap_ab.hpp"
#include "warpwright/config/sizes.hpp"

namespace ww::select {
namespace {

constexpr int kWideTile = 128;      // rows on the M side from which a tile reads little for its products
constexpr double kManyTiles = 1.5;  // for each SM: their order hardly matters
constexpr double kMostSms = 0.8;    // share of SMs with a CTA; fewer CTAs are spread unevenly when launches overlap
constexpr double kAllSms = 0.95;
constexpr double kMemoryIsMinor = 0.2;  // share of HBM in the modelled time, of tiles that share rows with neighbours
constexpr double kMemoryIsHalf = 0.42;  // the same of tiles that do not
constexpr double kMemoryIsMost = 0.55;  // the same of wide tiles of groups
constexpr int kShortK = 1024;           // of groups whose tiles are less wide
// Launches that take longer gain nothing that matters. At the power limit those in bf16 lose 1 to 4 %.
constexpr double kLongestUs = 60;

/// Returns the share of the modelled time that HBM needs for the bytes of the launch.
double memory_share(const Cost& cost) {
  return cost.hbm_bytes / kH200.hbm_bytes_per_us / (cost.total() - cost[Term::uncertainty]);
}

}  // namespace

bool overlap_pays(const GemmProblem& given, const GemmConfig& chosen, int sms, const Cost& cost) {
  if (given.batch != 1 || given.m == 0 || given.n == 0 || given.k == 0) return false;
  // Blackwell is unmeasured and keeps an earlier rule, for few rows and short K.
  if (config::is_sm100(chosen)) return given.m <= 64 && given.k <= 8192;
  const GemmProblem p = kernel_problem(given, chosen);
  const GemmConfig c = config::kernel_config(chosen);
  if (cost.total() > kLongestUs) return false;
  const double tiles_m = tiles_in(p.m, c.tile.m), tiles_n = tiles_in(p.n, c.tile.n);
  const double share = tiles_m * tiles_n * max(1, max(c.sm90.split, c.cluster.k)) / sms;  // CTAs for each SM
  const bool wide = c.tile.m >= kWideTile, apart = config::cluster_of(c).size() > 1 || std::min(tiles_m, tiles_n) == 1;
  if (share >= kManyTiles) return wide;
  if (share < kMostSms) return memory_share(cost) < (apart ? kMemoryIsHalf : kMemoryIsMinor);
  return wide || (apart && share >= kAllSms) || memory_share(cost) < kMemoryIsMinor;
}

bool overlap_pays(const GemmProblem& p, const GemmConfig& c, int sms) {
  if (config::is_sm100(c)) return overlap_pays(p, c, sms, {});
  CostConstants without;
  without.overlap_us = 0, without.corrected = false;
  return overlap_pays(p, c, sms, cost_of(p, c, sms, without));
}

bool overlap_pays(const GroupedProblem& p, const GemmConfig& c, int sms) {
  if (p.total_rows() == 0 || p.n == 0 || p.k == 0) return false;
  const std::int64_t groups = min(p.groups, p.total_rows()), tiles_n = ceil_div(p.n, c.tile.n);
  const bool ragged = c.row_groups.variant == GroupedVariant::ragged;
  if (ragged && groups * tiles_n * max(1, c.cluster.k) >= sms) return true;
  if (config::is_sm100(c) || (!ragged && c.row_groups.variant != GroupedVariant::contiguous)) return false;
  if (ragged && c.cluster.k > 1) return true;
  GroupedConstants without;
  without.corrected = false;
  const Cost cost = cost_of(p, assumed_sizes(p), c, sms, without);
  if (cost.total() > kLongestUs) return false;
  if (ragged) return memory_share(cost) < kMemoryIsHalf;
  if (c.tile.m < kWideTile) return p.k <= kShortK;
  // Every other group has a tile that is not full; a group may be empty.
  const std::int64_t tiles = max(groups, ceil_div(p.total_rows(), std::int64_t{c.tile.m}) + groups / 2) * tiles_n;
  return static_cast<double>(tiles) >= kMostSms * sms && memory_share(cost) < kMemoryIsMost;
}

}  // namespace ww::select
