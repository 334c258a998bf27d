// SPDX-License-Identifier: Apache-2.0
// Computes the clocks of a k-block, of a tile, and of the tiles of a CTA, then adds the effects of the whole machine.
#include "select/cost_model.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "select/correction.hpp"
#include "select/overlap.hpp"
#include "select/sm100_cost.hpp"
#include "select/swap_ab.hpp"
#include "warpwright/config/sizes.hpp"
#include "warpwright/config/swap_ab.hpp"

namespace ww::select {
namespace {

// Outputs of one k-block. A k-block of a wider type has proportionally fewer but dearer products.
constexpr double kOutputsPerClock = kH200.mma_bytes_per_clock / config::kRowBytes;

/// Microseconds of each part of one tile, or of its share of K, at the full clock.
struct TileCost {
  double tensor = 0, shared = 0, issue = 0, promotion = 0, epilogue = 0;
  // For the power that they draw, the time of operands that MMAs read, and that the CTA loads, at 128 bytes a clock.
  double reads = 0, loads = 0;
  double total() const { return tensor + shared + issue + promotion + epilogue; }
};

/// Returns the share of promotion that no MMAs hide.
double promotion_in_sight(const GemmConfig& c, const CostConstants& k) {
  return c.sm90.consumer_warpgroups == 3        ? k.promotion_exposed_three
         : config::partial_accumulators(c) == 2 ? k.promotion_exposed_two
         : config::tiles_in_flight(c) > 1       ? k.promotion_exposed_two
         : config::mma_blocks_of(c) > 1         ? k.promotion_exposed_blocks
                                                : k.promotion_exposed_one;
}

/// The share of the rows of A's tiles that lie inside A, and the same for B.
struct Inside {
  double a = 1, b = 1;
};

TileCost tile_cost(const GemmConfig& c, double k_blocks, const Inside& inside, const CostConstants& k) {
  const double outputs = static_cast<double>(c.tile.m) * c.tile.n;
  const double stage_bytes = (c.tile.m + c.tile.n) * double{config::kRowBytes};
  constexpr double kSteps = config::kRowBytes / MachineTraits::kInstructionBytes;
  const double read_rows = config::kWarpgroupRows + 1.0 * c.tile.n;  // by one MMA
  const double operand_bytes =
      kSteps * c.tile.m / config::kWarpgroupRows * MachineTraits::kInstructionBytes * read_rows;
  const double tensor = outputs / kOutputsPerClock;
  const double shared = (operand_bytes + stage_bytes) / k.shared_bytes_per_clock;
  // With multicast, each CTA of a cluster issues its part of the shared operands.
  const double a_bytes = double{config::kRowBytes} * c.tile.m / c.cluster.n;
  const double b_bytes = double{config::kRowBytes} * c.tile.n / c.cluster.m;
  const double loaded = a_bytes * inside.a + b_bytes * inside.b, filled = a_bytes + b_bytes - loaded;
  const double loads = loaded / k.load_bytes_per_clock + filled / k.fill_bytes_per_clock;
  const double busy = std::max({tensor, shared, loads});
  // A stage is in use from the start of its load to the end of its products.
  const double slowest = std::max(busy, (busy + k.ring_clocks) / c.sm90.stages);
  const bool pingpong = config::tiles_in_flight(c) > 1, roles = config::has_roles(c);

  TileCost t;
  const double block_us = k_blocks / (k.ghz * 1e3);
  t.tensor = tensor * block_us;
  t.shared = (slowest - tensor) * block_us;
  t.reads = operand_bytes / 128 * block_us;
  t.loads = loaded / 128 * block_us;
  // Block clocks count twice without warp specialisation, because the thread that loads also multiplies.
  t.issue = (k.block_clocks * (roles ? 1 : 2) + (config::promotes(c) ? k.scale_clocks : 0) +
             (config::scales_columns(c) ? k.column_clocks * c.tile.n : 0)) *
            block_us;
  if (config::promotes(c)) t.promotion = promotion_in_sight(c, k) * outputs / kH200.fma_per_clock * block_us;
  const double d_kib = c.tile.m * double{1.0 * config::output_columns(c)} * bytes_of(c.operands.d) / 1024;
  const double halvings = std::log2(1.0 * config::kRowBytes / config::panel_bytes(c));
  const double store_clocks = k.store_clocks_per_kib * d_kib * (1 + k.narrow_panels * halvings);
  const double epilogue = (k.tile_clocks + store_clocks) / (k.ghz * 1e3);
  // One warpgroup stores while the other multiplies; only the excess is exposed.
  t.epilogue = pingpong ? std::max(0.0, epilogue - t.total()) : epilogue;
  if (!roles) t.epilogue += k.single_us;  // without warp specialisation no load runs ahead across tiles
  return t;
}

/// Rows of A and of B that a cluster tile takes.
struct Rows {
  double a = 0, b = 0;
};

/// Returns the rows of both operands that L2 delivers for one cluster tile. CTAs on neighbouring SMs that read a line
/// at the same time read it once. They work on consecutive tiles of the order, with `splits` of them at different K;
/// clusters are distributed in pairs.
Rows shared_rows(const GemmProblem& p, const GemmConfig& c, const Inside& inside, double splits,
                 const CostConstants& k) {
  const int in_cluster = config::cluster_of(c).size(), step = in_cluster == 1 ? 1 : 2;
  const double tiles_m = tiles_in(p.m, c.tile.m * c.cluster.m), tiles_n = tiles_in(p.n, c.tile.n * c.cluster.n);
  const double all = tiles_m * tiles_n * static_cast<double>(p.batch);
  const double tiles = std::max(1.0, std::min(k.sharing_ctas / in_cluster / splits, all / step));
  const bool along_m = c.raster.band == RasterBand::along_m;
  const double width = std::min(1.0 * c.raster.width, along_m ? tiles_m : tiles_n);
  // Distinct tiles along the extent that runs fastest, and along the other.
  const double fast = std::min(tiles, width / std::gcd(static_cast<int>(width), step));
  const double slow = std::min(tiles, std::max(1.0, tiles * step / width));
  return {(along_m ? fast : slow) * c.cluster.m * c.tile.m * inside.a / tiles,
          (along_m ? slow : fast) * c.cluster.n * c.tile.n * inside.b / tiles};
}

/// Returns whether bench/results has measurements of this tile.
bool tile_is_recorded(const GemmConfig& c, bool swapped) {
  if (swapped) return c.tile.m <= 128;
  if (c.tile.m == 64) return c.tile.n >= 32;
  if (c.tile.m == 128) return c.tile.n >= 64;
  return c.tile.m == 192 ? c.tile.n >= 128 && c.tile.n <= 160 : c.tile.n == 128;
}

/// Returns the share of its time by which a config may be slower than modelled.
double uncertainty_of(const GemmConfig& c, bool swapped, const CostConstants& k) {
  const int plane = c.cluster.m * c.cluster.n, along_k = std::max(1, c.cluster.k);
  // Pingpong has few recorded times, all of them longer than modelled.
  if (!config::has_roles(c) || config::tiles_in_flight(c) > 1) return k.uncertainty;
  if (c.sm90.tile_scheduler == TileScheduler::single || c.sm90.tile_scheduler == TileScheduler::dynamic)
    return k.uncertainty;
  if (c.sm90.tile_scheduler == TileScheduler::split_k && c.sm90.split != along_k)
    return c.tile.m > 128                    ? k.uncertainty
           : c.tile.m == 128 && along_k == 1 ? k.uncertainty_wide_splits
           : along_k > 1                     ? k.uncertainty_plain
                                             : k.uncertainty_workspace;
  if (along_k > 1 && c.tile.m > 128) return k.uncertainty;
  if (!tile_is_recorded(c, swapped) || plane > 8 || along_k > 4) return k.uncertainty_plain;
  return along_k > 1 || c.sm90.tile_scheduler == TileScheduler::stream_k ? k.uncertainty_sums : 0;
}

Cost cost_of_kernel(const GemmProblem& p, const GemmConfig& c, bool swapped, int sms, const CostConstants& k);
double least_of_kernel(const GemmProblem& p, const GemmConfig& c, bool swapped, int sms, const CostConstants& k);

}  // namespace

double Cost::total() const {
  double sum = 0;
  for (double term : us) sum += term;
  return sum;
}

int resident_ctas(int cluster, int sms, const MachineRates& rates) {
  const int size = cluster <= 2 ? 0 : cluster <= 4 ? 1 : cluster <= 8 ? 2 : 3;
  const MachineRates& known = rates.resident[size] > 0 ? rates : kH200;
  const double share = 1.0 * known.resident[size] / known.sms;
  return std::max(1, static_cast<int>(sms * share) / cluster) * cluster;
}

double hbm_bytes(const GemmProblem& p, const GemmConfig& c, double waves, double at_once, double l2_bytes) {
  const double element = bits_of(p.a) / 8.0, batch = static_cast<double>(p.batch);
  const double once = static_cast<double>(p.m + p.n) * static_cast<double>(p.k) * element * batch;
  const double d =
      static_cast<double>(p.m) * static_cast<double>(config::output_columns(p.epilogue, p.n)) * bytes_of(p.d) * batch;
  if (once <= l2_bytes) return once + d;
  // A wave covers a band of tiles `raster` cluster tiles wide.
  const bool along_m = c.raster.band == RasterBand::along_m;
  const int step = along_m ? c.cluster.m * c.tile.m : c.cluster.n * c.tile.n;
  const auto across = static_cast<double>(along_m ? p.m : p.n), along = static_cast<double>(along_m ? p.n : p.m);
  const double width = std::min(double{1.0 * c.raster.width * step}, std::ceil(across / step) * step);
  const double length = at_once * c.tile.m * c.tile.n / width;
  const double of_a_wave = (std::min(width, across) + std::min(length, along)) * static_cast<double>(p.k) * element;
  return std::max(once, of_a_wave * waves) + d;
}

double sums_us(const GemmConfig& c, double exchanges, double splits, double units, const CostConstants& k) {
  const double tile_bytes = 4.0 * c.tile.m * c.tile.n;
  const double way = tile_bytes / (k.workspace_bytes_per_clock * k.ghz * 1e3);
  double us = 0;
  us += exchanges * (k.exchange_us + way);
  if (splits > 1) {
    const int values = c.tile.m * c.tile.n / (MachineTraits::kWarpgroupThreads * config::warpgroups_of_tile(c));
    const double turns = std::ceil((splits - 1) / config::partial_tiles_at_once(values));
    us += k.exchange_us + (turns - 1) * k.further_us + splits * way;
  }
  if (c.cluster.k > 1)
    us += units * (k.cluster_exchange_us + (c.cluster.k - 1) * tile_bytes / (k.dsmem_bytes_per_clock * k.ghz * 1e3));
  return us;
}

Cost cost_of(const GemmProblem& p, const GemmConfig& c, int sms, const CostConstants& k) {
  if (config::is_sm100(c))
    return config::swaps(c) ? sm100_cost(exchanged(p), config::exchanged(c), sms) : sm100_cost(p, c, sms);
  Cost cost = config::swaps(c) ? cost_of_kernel(exchanged(p), config::exchanged(c), true, sms, k)
                               : cost_of_kernel(p, c, false, sms, k);
  if (k.overlap_us > 0 && overlap_pays(p, c, sms, cost)) cost[Term::fill_drain] -= k.overlap_us;
  if (!k.corrected) return cost;
  Candidate only{c, cost};
  correct(p, {&only, 1});
  return only.cost;
}

double least_us(const GemmProblem& p, const GemmConfig& c, int sms, const CostConstants& k) {
  if (config::is_sm100(c) || p.m == 0 || p.n == 0 || p.batch == 0) return 0;
  const double us = config::swaps(c) ? least_of_kernel(exchanged(p), config::exchanged(c), true, sms, k)
                                     : least_of_kernel(p, c, false, sms, k);
  return k.corrected && has_correction(p, c) ? us * std::exp(kLeastCorrection) : us;
}

namespace {

/// The tiles of a launch, and how they are cut and shared out. The unit of work of a CTA is a tile, or a share of its
/// k-blocks.
struct Work {
  double k_blocks = 0, splits = 1, cut = 1;        // shares of K of a tile: through workspace, and in all
  double cluster_tiles = 0, tiles = 0, exact = 0;  // including those past the edge, and without edges
  double clusters = 0;                             // at once
  double units = 0, busiest = 0;                   // of each cluster: on average, and of the last to end
  bool streams = false, even = false;              // stream-K; with equal shares of every tile
};

Work work_of(const GemmProblem& p, const GemmConfig& c, int resident) {
  const int along_k = std::max(1, c.cluster.k);
  const double batch = static_cast<double>(p.batch);
  Work w;
  w.k_blocks = tiles_in(p.k, c.tile.k);
  if (c.sm90.tile_scheduler == TileScheduler::split_k)
    w.splits = std::max(1.0, std::min(1.0 * (c.sm90.split / along_k), w.k_blocks));
  w.cut = w.splits * along_k;
  w.cluster_tiles = tiles_in(p.m, c.tile.m * c.cluster.m) * tiles_in(p.n, c.tile.n * c.cluster.n) * batch;
  w.tiles = w.cluster_tiles * c.cluster.m * c.cluster.n;
  w.exact = static_cast<double>(p.m) * static_cast<double>(p.n) * batch / c.tile.m / c.tile.n;
  w.clusters = 1.0 * resident / config::cluster_of(c).size();
  w.units = w.cluster_tiles * w.splits / w.clusters;
  w.streams =
      c.sm90.tile_scheduler == TileScheduler::stream_k && w.k_blocks > 0 && std::fmod(w.cluster_tiles, w.clusters) != 0;
  w.even = std::fmod(w.clusters, w.cluster_tiles) == 0;
  w.busiest = w.streams ? w.units : std::ceil(w.units);
  return w;
}

/// Returns the time by which L2 and HBM exceed the `sm_us` of the SMs, and sets the bytes of HBM.
double memory_us(const GemmProblem& p, const GemmConfig& c, const Work& w, const Inside& inside, double sm_us,
                 const CostConstants& k, Cost& cost) {
  const double row_bytes = config::kRowBytes * w.k_blocks;
  // If K is cut evenly, neighbours are at the same K and share reads of L2. Otherwise only the CTAs of this line, the
  // last wave and the one before it read separately.
  const Rows own{c.cluster.m * c.tile.m * inside.a, c.cluster.n * c.tile.n * inside.b};
  const double shares = w.streams && w.even ? w.clusters / w.cluster_tiles : 1;
  const bool aligned = !w.streams || (w.even && std::fmod(w.k_blocks, shares) == 0);
  const double in_line = aligned ? 0 : std::min(1.0, (1 + w.units - std::floor(w.units)) / w.units);
  const double splits = k.older_kernels ? w.splits : 1;
  const Rows together = shared_rows(p, c, inside, aligned ? splits * shares : 1, k);
  const bool clusters = config::cluster_of(c).size() > 1;
  // CTAs start together; in their third tile and later those that promote are no longer all at the same K.
  const double drift = config::promotes(c) ? k.drift_apart * std::max(0.0, 1 - 2 / std::max(1.0, w.units)) : 0;
  const auto rows_of = [&](double alone, double shared, double kept) {
    const double apart = (1 - in_line) * (clusters ? 1 - kept : drift) + in_line * (1 - k.lag_shared);
    return shared + apart * (alone - shared);
  };
  const double rows = rows_of(own.a, together.a, p.m > p.n ? k.large_shared : k.small_shared) +
                      rows_of(own.b, together.b, p.m > p.n ? k.small_shared : k.large_shared);
  const double l2_bytes = w.cluster_tiles * rows * row_bytes;
  cost.hbm_bytes = hbm_bytes(p, c, w.units, cost.resident / w.cut, k.l2_bytes);
  // All rings together wait for these bytes; tiles that share an operand wait for the same bytes.
  const double stage_bytes = (c.tile.m * inside.a + c.tile.n * inside.b) * config::kRowBytes;
  const double once = static_cast<double>(p.m + p.n) * row_bytes * static_cast<double>(p.batch);
  const double asked = w.tiles * w.k_blocks * stage_bytes;
  const double in_flight = std::min(1.0, w.units) * cost.resident * c.sm90.stages * stage_bytes *
                           std::min(1.0, once / std::max(1.0, asked) * std::max(1.0, w.units));
  const double hbm_rate =  // without operands (K = 0) only D is written
      in_flight > 0 ? std::min(k.hbm_bytes_per_us, in_flight / k.hbm_latency_us) : k.hbm_bytes_per_us;
  const auto mean = [](double a, double b, double exponent) {
    return std::pow(std::pow(a, exponent) + std::pow(b, exponent), 1 / exponent);
  };
  const double caches = mean(sm_us, l2_bytes / k.l2_bytes_per_us, k.l2_overlap);
  return std::max(0.0, mean(caches, cost.hbm_bytes / hbm_rate, k.memory_overlap) - sm_us);
}

/// The tiles of a launch, and what one of them, or its share of K, takes.
struct Tiles {
  Work work;
  Inside inside;
  TileCost tile;
};

Tiles tiles_of(const GemmProblem& p, const GemmConfig& c, bool swapped, int resident, const CostConstants& k) {
  const Work w = work_of(p, c, resident);
  const auto share_inside = [&](std::int64_t extent, int step) { return extent / (tiles_in(extent, step) * step); };
  // Not always B's share: the constants are fitted this way, with rows of B past N that affect no numbers.
  const Inside inside{share_inside(p.m, c.tile.m * c.cluster.m),
                      swapped ? share_inside(p.n, c.tile.n * c.cluster.n) : 1};
  return {w, inside, tile_cost(c, std::ceil(w.k_blocks / w.cut), inside, k)};
}

int resident_of(const GemmConfig& c, int sms) {
  const int in_cluster = config::cluster_of(c).size();
  return resident_ctas(in_cluster, std::max(sms, in_cluster));
}

double least_of_kernel(const GemmProblem& p, const GemmConfig& c, bool swapped, int sms, const CostConstants& k) {
  const Tiles all = tiles_of(p, c, swapped, resident_of(c, sms), k);
  return k.launch_us - k.overlap_us + all.work.busiest * all.tile.total();
}

/// The terms at the clock of the constants but for power, and the energy of an SM at the full clock, as the time that
/// it lasts at the power limit.
struct AtClock {
  Cost cost;
  double energy = 0;
};

AtClock cost_at_clock(const GemmProblem& p, const GemmConfig& c, bool swapped, int sms, const CostConstants& k) {
  Cost cost;
  cost[Term::fill_drain] = k.launch_us;
  if (p.m == 0 || p.n == 0 || p.batch == 0) return {cost, 0};
  const int in_cluster = config::cluster_of(c).size();
  cost.resident = resident_of(c, sms);
  const auto [w, inside, tile] = tiles_of(p, c, swapped, cost.resident, k);
  cost.waves = static_cast<int>(std::ceil(w.units));

  const double share = w.exact * w.cut / sms;  // units of an SM if all SMs had equally many and no tile had an edge
  cost[Term::tensor] = share * tile.tensor;
  cost[Term::shared] = share * tile.shared;
  cost[Term::issue] = share * tile.issue;
  cost[Term::promotion] = share * tile.promotion;
  cost[Term::epilogue] = share * tile.epilogue;
  cost[Term::edges] = (w.tiles - w.exact) * w.cut / sms * tile.total();
  cost[Term::clusters] = std::max(0.0, w.units - w.tiles * w.cut / sms) * tile.total();
  cost[Term::last_wave] = (w.busiest - w.units) * tile.total();
  // With even shares of every tile, partial sums meet once; otherwise a CTA hands on the end of one tile and waits for
  // another's.
  const double exchanges = !w.streams ? 0 : w.even ? 1 : 2;
  cost[Term::sums] = sums_us(c, exchanges, w.splits, w.busiest, k);
  if (w.streams) cost[Term::sums] += k.stream_share * w.units * tile.total();
  cost[Term::memory] = memory_us(p, c, w, inside, w.busiest * tile.total(), k, cost);

  cost[Term::fill_drain] += k.cluster_us * std::log2(1.0 * in_cluster);
  const bool waits = c.cluster.k > 1 || c.sm90.tile_scheduler == TileScheduler::dynamic || !config::has_roles(c);
  if (in_cluster > 1 && !k.older_kernels && !waits) cost[Term::fill_drain] -= k.leave_us;
  if (c.sm90.tile_scheduler == TileScheduler::single) cost[Term::fill_drain] += (w.busiest - 1) * k.single_us;
  if (c.sm90.tile_scheduler == TileScheduler::dynamic) cost[Term::fill_drain] += k.work_tile_us;

  // Products of 16-bit operands draw nothing beside their reads, by the fit.
  const double products = is_fp8(c.operands.a) ? tile.tensor * k.power_fp8 : 0;
  return {cost, w.tiles * w.cut / sms * (products + tile.reads * k.power_read + tile.loads * k.power_load)};
}

/// The power limit reduces the clock until the energy of the launch at its voltage fits its time. Clocks then take
/// longer, but latencies and rates of memory stay what they are, so that fewer stages suffice.
Cost cost_of_kernel(const GemmProblem& p, const GemmConfig& c, bool swapped, int sms, const CostConstants& k) {
  AtClock full = cost_at_clock(p, c, swapped, sms, k);
  const double at_full = full.cost.total();
  double clock = 1, limited = at_full;
  constexpr int kSteps = 3;  // each is exact where the time is all clocks
  for (int i = 0; i < kSteps && full.energy > at_full; ++i) {
    clock *= std::pow(limited / (full.energy * std::pow(clock, 1 / k.power_share - 1)), k.power_share);
    CostConstants slow = k;
    slow.ghz *= clock, slow.ring_clocks *= clock;
    limited = cost_at_clock(p, c, swapped, sms, slow).cost.total();
  }
  full.cost[Term::power] = std::max(0.0, limited - at_full);
  // Only one such tile has been measured alone at the power limit: 64 x 232 per tensor took 9 % longer than modelled.
  const double outputs = static_cast<double>(p.m) * static_cast<double>(p.n) * static_cast<double>(p.batch);
  const double operations = 2 * outputs * static_cast<double>(p.k);
  const bool narrow = operations > kAtPowerLimit && c.tile.m == config::kWarpgroupRows && c.tile.n > 192;
  full.cost[Term::uncertainty] =
      std::max(uncertainty_of(c, swapped, k), narrow ? k.uncertainty_plain : 0) * full.cost.total();
  return full.cost;
}

}  // namespace

const char* name_of(Term term) {
  constexpr const char* kNames[kTerms] = {"tensor",         "power", "shared memory", "issue",     "promotion",
                                          "epilogue",       "edges", "clusters",      "last wave", "memory",
                                          "fill and drain", "sums",  "uncertainty",   "correction"};
  return kNames[static_cast<int>(term)];
}

const char* meaning_of(Term term) {
  constexpr const char* kMeanings[kTerms] = {
      "products on the tensor cores at the full clock",
      "the clock that the power limit takes while tensor cores are busy",
      "shared memory, or the way from L2, slower than the tensor cores",
      "waits and instruction issue of every k-block",
      "promotion that no other warpgroup's products hide",
      "epilogues that nothing hides",
      "tiles that reach past M or N",
      "SMs that clusters of this size leave idle",
      "SMs without a tile while others have one",
      "L2 and HBM traffic that is not hidden",
      "launch, first loads and last stores, less where launches overlap",
      "partial tiles handed from CTA to CTA",
      "a kind of config that no recorded measurement covers",
      "by how much recorded times of similar configs differ from the terms above"};
  return kMeanings[static_cast<int>(term)];
}

}  // namespace ww::select
