// SPDX-License-Identifier: Apache-2.0
// Computes the clocks of a tile, the tiles of the busiest CTA, and the memory time that they do not hide.
#include "select/sm100_cost.hpp"

#include <algorithm>
#include <cmath>

#include "warpwright/config/sizes.hpp"

namespace ww::select {
namespace {

constexpr double kClocksPerUs = kB200.ghz * 1e3;
constexpr double kSteps = config::kRowBytes / MachineTraits::kInstructionBytes;  // instructions of a k-block

double count(std::int64_t extent, int step) { return static_cast<double>(ceil_div(extent, step)); }

/// The tiles of a launch, and how they are cut and shared out.
struct Shares {
  double cluster_tiles = 0, tiles = 0, exact = 0;  // with and without what reaches past the edges
  double splits = 1, cut = 1;                      // shares of K of a tile: through workspace, and in all
  double clusters = 0;                             // at once
  double units = 0, busiest = 0;                   // tiles of each cluster: on average, and of the last to end
  bool streams = false;
};

Shares shares_of(const GemmProblem& p, const GemmConfig& c, double k_blocks, int resident) {
  Shares s;
  const int along_k = std::max(1, c.cluster.k);
  if (c.sm90.tile_scheduler == TileScheduler::split_k)
    s.splits = std::max(1.0, std::min(1.0 * (c.sm90.split / along_k), k_blocks));
  s.cut = s.splits * along_k;
  s.cluster_tiles =
      count(p.m, c.tile.m * c.cluster.m) * count(p.n, c.tile.n * c.cluster.n) * static_cast<double>(p.batch);
  s.tiles = s.cluster_tiles * c.cluster.m * c.cluster.n;
  s.exact = static_cast<double>(p.m) * static_cast<double>(p.n) * static_cast<double>(p.batch) / c.tile.m / c.tile.n;
  s.clusters = 1.0 * resident / config::cluster_of(c).size();
  s.units = s.cluster_tiles * s.splits / s.clusters;
  s.streams =
      c.sm90.tile_scheduler == TileScheduler::stream_k && k_blocks > 0 && std::fmod(s.cluster_tiles, s.clusters) != 0;
  s.busiest = s.streams ? s.units : std::ceil(s.units);
  return s;
}

/// Returns the time of L2 or HBM, whichever takes longer.
double memory_us(const GemmProblem& p, const GemmConfig& c, const Shares& s, Cost& cost) {
  const double k = static_cast<double>(p.k), a_row = k * bits_of(p.a) / 8, b_row = k * bits_of(p.b) / 8;
  const double rows_a = std::min<double>(c.cluster.m * c.tile.m, static_cast<double>(p.m));
  const double rows_b = std::min<double>(c.cluster.n * c.tile.n, static_cast<double>(p.n));
  const double of_tile = rows_a * a_row + rows_b * b_row;  // CTAs of a cluster share them by multicast
  cost.hbm_bytes = hbm_bytes(p, c, s.units, cost.resident / s.cut, kB200.l2_bytes);
  // All rings together wait for these bytes; tiles that share an operand wait for the same bytes.
  const double once =
      (static_cast<double>(p.m) * a_row + static_cast<double>(p.n) * b_row) * static_cast<double>(p.batch);
  const double inside_a = static_cast<double>(p.m) / (count(p.m, c.tile.m) * c.tile.m);
  const double inside_b = static_cast<double>(p.n) / (count(p.n, c.tile.n) * c.tile.n);
  const double stage_bytes = (c.tile.m * inside_a + c.tile.n * inside_b / config::ctas_of_mma(c)) * config::kRowBytes;
  const double in_flight = std::min(1.0, s.units) * cost.resident * c.sm90.stages * stage_bytes *
                           std::min(1.0, once / std::max(1.0, s.cluster_tiles * of_tile) * std::max(1.0, s.units));
  const double hbm_rate =
      in_flight > 0 ? std::min(kB200.hbm_bytes_per_us, in_flight / kB200.hbm_latency_us) : kB200.hbm_bytes_per_us;
  return std::max(s.cluster_tiles * of_tile / kB200.l2_bytes_per_us, cost.hbm_bytes / hbm_rate);
}

}  // namespace

Sm100Tile sm100_tile(const GemmConfig& c, double k_blocks) {
  const double outputs = static_cast<double>(c.tile.m) * c.tile.n;
  const double rows = c.tile.m + 1.0 * c.tile.n / config::ctas_of_mma(c);  // in the CTA's own shared memory
  const double mma = kSteps * c.tile.n / 2;                                // 64 rows take as long as 128
  const double reads = kSteps * MachineTraits::kInstructionBytes * rows / kB200.shared_bytes_per_clock;
  const double reading = 4 * outputs / kB200.tensor_load_bytes_per_clock;  // an accumulator
  const bool promoted = config::promotes(c);
  // Scales of both operands that differ by row and column are multiplied before they multiply a partial sum.
  const double products = config::scale_form(c.operands.scale) == config::ScaleForm::both ? 2 : 1;
  Sm100Tile t;
  t.tensor = k_blocks * mma;
  t.shared = k_blocks * std::max(0.0, reads - mma);
  if (promoted) t.promotion = k_blocks * (reading + products * outputs / kB200.fma_per_clock);
  // D is written to shared memory and read from it.
  const double d_bytes = c.tile.m * 1.0 * config::output_columns(c) * bytes_of(c.operands.d);
  t.epilogue = (promoted ? 0 : reading) + 2 * d_bytes / kB200.shared_bytes_per_clock;
  const double main = t.tensor + t.shared, consumers = t.promotion + t.epilogue;
  const bool overlaps = c.sm100.accumulators > 1 && c.sm90.tile_scheduler != TileScheduler::single;
  const double seen = overlaps ? std::max(0.0, consumers - main) : std::max(0.0, t.promotion - main) + t.epilogue;
  t.promotion_seen = std::min(seen, std::max(0.0, t.promotion - main));
  t.epilogue_seen = seen - t.promotion_seen;
  return t;
}

Cost sm100_cost(const GemmProblem& p, const GemmConfig& c, int sms) {
  Cost cost;
  if (p.m == 0 || p.n == 0 || p.batch == 0) return cost;
  const int in_cluster = config::cluster_of(c).size();
  const double k_blocks = count(p.k, c.tile.k);
  cost.resident = resident_ctas(in_cluster, std::max(sms, in_cluster), kB200);
  const Shares s = shares_of(p, c, k_blocks, cost.resident);
  cost.waves = static_cast<int>(std::ceil(s.units));
  const Sm100Tile tile = sm100_tile(c, std::ceil(k_blocks / s.cut));
  const double total = tile.total() / kClocksPerUs;

  const double share = s.exact * s.cut / sms;  // units of an SM if all had equally many and no tile had an edge
  cost[Term::tensor] = share * tile.tensor / kClocksPerUs;
  cost[Term::shared] = share * tile.shared / kClocksPerUs;
  cost[Term::promotion] = share * tile.promotion_seen / kClocksPerUs;
  cost[Term::epilogue] = share * tile.epilogue_seen / kClocksPerUs;
  cost[Term::edges] = (s.tiles - s.exact) * s.cut / sms * total;
  cost[Term::clusters] = std::max(0.0, s.units - s.tiles * s.cut / sms) * total;
  cost[Term::last_wave] = (s.busiest - s.units) * total;
  const bool even = std::fmod(s.clusters, s.cluster_tiles) == 0;
  const double exchanges = !s.streams ? 0 : even ? 1 : 2;
  cost[Term::sums] = sums_us(c, exchanges, s.splits, s.busiest, {});
  // The last epilogue of a CTA follows its loads, whether it is in `total` or below.
  const bool overlaps = tile.epilogue_seen < tile.epilogue;
  const double sm_us = s.busiest * total + cost[Term::sums] - (overlaps ? 0 : tile.epilogue / kClocksPerUs);
  cost[Term::memory] = std::max(0.0, memory_us(p, c, s, cost) - sm_us);

  // The first load, and the epilogue behind the last instructions. A CTA of a single tile loads nothing ahead.
  cost[Term::fill_drain] = kB200.first_load_us;
  if (overlaps) cost[Term::fill_drain] += std::min(tile.epilogue, tile.tensor + tile.shared) / kClocksPerUs;
  if (c.sm90.tile_scheduler == TileScheduler::single) cost[Term::fill_drain] += (s.busiest - 1) * kB200.first_load_us;
  if (c.sm90.tile_scheduler == TileScheduler::dynamic) cost[Term::fill_drain] += CostConstants{}.work_tile_us;
  return cost;
}

}  // namespace ww::select
