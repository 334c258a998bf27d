// SPDX-License-Identifier: Apache-2.0
// A first-order model of a config's time in microseconds, term by term (docs/selection.md). For Hopper (Blackwell's is
// sm100_cost.hpp):
//   a k-block of a tile takes the clocks of its slowest resource: tensor cores, shared memory, or the path from L2
//   a tile takes its k-blocks, and the exposed parts of promotion and epilogue
//   a launch takes the tiles of its busiest SM, exposed memory time, fill, drain, and sums between CTAs
// The model is pure arithmetic on a resolved config. Its constants are fitted to recorded measurements
// (tests/select/fit_cost_model.cpp).
#pragma once

#include <array>
#include <cstdint>
#include <string>

#include "select/machine_rates.hpp"
#include "warpwright/core/meta.hpp"
#include "warpwright/host/gemm.hpp"

namespace ww::select {

/// The terms of the model. Their sum is the modelled time.
enum class Term {
  tensor,       // the products, with busy tensor cores on every SM at the full clock
  power,        // the clock that the power limit takes from busy tensor cores; idle SMs leave power to the others
  shared,       // excess of shared memory or of the path from L2 over the tensor cores
  issue,        // waits, fences and instruction issue of each k-block
  promotion,    // block scales: FP32 sums that no other warpgroup's MMAs hide
  epilogue,     // epilogues that no MMAs hide
  edges,        // tiles that reach past M or N
  clusters,     // SMs that a cluster of this size leaves idle
  last_wave,    // SMs without a tile while others have one
  memory,       // L2 and HBM time that the SMs do not hide
  fill_drain,   // launch, the first loads, the last stores
  sums,         // partial tiles between CTAs: stream-K and split-K
  uncertainty,  // a margin for kinds of config that no recorded measurement covers
  correction,   // by how much recorded times of similar configs differ from these terms (correction.hpp)
};
inline constexpr int kTerms = 14;
/// Launches of more operations are assumed to run at the power limit.
inline constexpr double kAtPowerLimit = 1e11;
/// Returns a short name for tables: "last wave".
const char* name_of(Term term);
/// Returns a description for a sentence: "SMs without a tile in the last wave".
const char* meaning_of(Term term);

struct Cost {
  std::array<double, kTerms> us{};
  double& operator[](Term term) { return us[static_cast<std::size_t>(term)]; }
  double operator[](Term term) const { return us[static_cast<std::size_t>(term)]; }
  double total() const;
  int waves = 0;         // tiles, or shares of tiles, of the busiest CTA, rounded up
  int resident = 0;      // CTAs at a time
  double hbm_bytes = 0;  // by the model of L2
};

struct Candidate {
  GemmConfig config;
  Cost cost;
};

/// Returns how many tiles, or k-blocks, cover an extent.
inline double tiles_in(std::int64_t extent, int tile) { return static_cast<double>(ceil_div(extent, tile)); }

/// Rates and latencies of an H200; clocks are at the full clock. The first group is fitted to recorded times
/// (tests/select/fit_cost_model.cpp). The others are hardware facts or were measured separately.
struct CostConstants {
  double launch_us = 2.761;      // a kernel in a graph: until its first load has arrived, and after its last store
  double block_clocks = 8.717;   // of each k-block: wait, fence, issue, wait
  double scale_clocks = 55.09;   // of each k-block with block scales: loading them, and waiting for partial sums
  double column_clocks = 1.491;  // of each k-block and column of the tile, where each row of B has a scale of its own
  double shared_bytes_per_clock = 187.7;  // operands read by wgmma and written by TMA
  double load_bytes_per_clock = 84.66;    // into one SM by the loads that its CTA issues
  double fill_bytes_per_clock = 15.84;    // of rows outside A, which TMA fills with zeros
  double ring_clocks = 2407;              // from the release of a stage to the arrival of its next k-block
  double l2_bytes_per_us = kH200.l2_bytes_per_us;
  double hbm_bytes_per_us = kH200.hbm_bytes_per_us;
  double hbm_latency_us = kH200.hbm_latency_us;
  double l2_overlap = 2.131;  // the times of SMs and of L2 add with this exponent: 1 adds them, a large one takes the
                              // maximum
  double memory_overlap = 3.761;  // the same of both together and HBM
  double small_shared = 0.6104;  // share of the reads of the smaller operand that neighbouring clusters have in common;
                                 // CTAs without a cluster share all of them
  double large_shared = 0.2696;  // the same of the larger operand, which comes from HBM
  double drift_apart = 0.3;  // with block scales, share of reads between neighbours without clusters that is lost after
                             // many tiles, because CTAs are no longer at the same K; chosen by products at the power
                             // limit, as is power_load
  double lag_shared = 0.06308;          // share of reads between neighbours that remains where K is cut unevenly
  double tile_clocks = 46.49;           // of each tile: pipeline drain, barriers, address arithmetic
  double store_clocks_per_kib = 40.93;  // of the epilogue, for each KiB of D
  double narrow_panels = 0.1552;  // relative increase of store time for each halving of D's panels below 128 bytes
  double promotion_exposed_one = 0.8486;     // exposed share of promotion's FMA clocks with one partial accumulator
  double promotion_exposed_blocks = 0.3852;  // with one partial accumulator, which two MMA_M blocks use in turn
  double promotion_exposed_two = 0.2563;     // with two, or pingpong
  double promotion_exposed_three = 0.07857;  // with three consumer warpgroups
  double power_fp8 = 1.044;      // dynamic power of busy FP8 tensor cores, relative to the power budget left for it
  double power_read = 3.875;     // of operands that MMAs read from shared memory at 128 bytes a clock in every SM
  double power_load = 0.3;       // of operands that CTAs load at that rate; what a cluster shares counts once
  double power_share = 0.2729;   // time grows with dynamic power to this exponent, because voltage falls with the clock
  double exchange_us = 1.243;    // stream-K, split-K: a flag in global memory, and the round trips to the data
                                 // that it guards
  double stream_share = 0.1285;  // relative to all tiles of stream-K, whose CTAs are at different K
  double cluster_exchange_us = 0.08597;  // split-K in a cluster: barriers of the cluster, for every tile
  double dsmem_bytes_per_clock = 34.15;  // of partial tiles inside a cluster
  double overlap_us = 0.469;             // less for a launch that overlaps its predecessor (overlap.hpp)
  double cluster_us = 0.6346;            // of a launch with clusters of two; grows with log2 of the size

  double ghz = kH200.ghz;
  double workspace_bytes_per_clock = 64;  // of partial tiles through L2, of one SM
  double l2_bytes = kH200.l2_bytes;
  double further_us = 0.7;    // of further splits of a tile, as many as are read at once: two trips to L2, to their
                              // flags and then to their data
  double single_us = 1.5;     // a CTA that runs a single tile loads nothing ahead
  double work_tile_us = 0.3;  // dynamic scheduler: the first draw from the work-tile counter; later ones
                              // are hidden by MMAs
  double sharing_ctas = kH200.sharing_ctas;
  double leave_us = 0.4;  // a barrier at the end of clusters that sum or draw tiles; measured 0.34 to 0.54
  // Kernels of results before 2026-11-28: every cluster ended with that barrier, and consecutive clusters had the
  // splits of one tile instead of one split of consecutive tiles.
  bool older_kernels = false;
  double uncertainty_plain = 0.08;  // tiles and clusters without a recorded time, under a scheduler that has some
  double uncertainty_sums = 0.03;  // stream-K, and split-K in a cluster: measured up to 15 % longer than modelled where
                                   // they were close to the best
  double uncertainty_workspace = 0.045;  // split-K through workspace alone, tiles of 64 rows: times differ from the
                                         // model by 7 %
  double uncertainty_wide_splits = 0.1;  // the same of 128 rows, which take longer than modelled by so much
  double uncertainty = 0.30;             // schedules and schedulers without a recorded time
  // The correction belongs to the constants above: with others, tools/fit_correction.py has to fit it again.
  bool corrected = true;
};

/// Returns the modelled cost. `config` is resolved and without fault. `sms` are those of the device, or the limit of
/// the launch.
Cost cost_of(const GemmProblem& problem, const GemmConfig& config, int sms, const CostConstants& constants = {});

/// Returns a time that cost_of() exceeds, without most of its work: that of the busiest CTA's tiles, if memory and the
/// power limit add nothing. The order of tiles plays no part in it.
double least_us(const GemmProblem& problem, const GemmConfig& config, int sms, const CostConstants& constants = {});

/// Returns how many CTAs, in clusters of `cluster`, `sms` SMs hold at once: the share that a device with these rates
/// holds, or an H200 where that is unknown.
int resident_ctas(int cluster, int sms, const MachineRates& rates = kH200);

/// Returns the bytes read from HBM: everything once or, if `l2_bytes` cannot hold more, what the tiles of each wave
/// need. `at_once` counts the tiles of a wave; a part of a tile counts as one.
double hbm_bytes(const GemmProblem& problem, const GemmConfig& config, double waves, double at_once, double l2_bytes);

/// Returns the time to sum partial tiles between CTAs: through workspace, or `units` times inside a cluster.
double sums_us(const GemmConfig& config, double exchanges, double splits, double units, const CostConstants& constants);

}  // namespace ww::select
