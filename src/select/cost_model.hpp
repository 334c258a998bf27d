// SPDX-License-Identifier: Apache-2.0
// What a config costs on Hopper, to first order: microseconds, term by term (docs/selection.md).
//   one k-block of a tile takes the clocks of its slowest resource: tensor cores, shared memory, or the way from L2
//   a tile takes its k-blocks, promotion that nothing hides, and the epilogue that nothing hides
//   a launch takes the tiles of its busiest SM, memory time that is not hidden, fill, drain, and sums between CTAs
// Pure arithmetic on a resolved config; constants come from recorded measurements (tests/select/fit_cost_model.cpp).
#pragma once

#include <array>
#include <string>

#include "warpwright/host/gemm.hpp"

namespace ww::select {

/// Where time goes. The sum of all terms is the modelled time.
enum class Term {
  tensor,       // the products, were the tensor cores busy on every SM and at the full clock
  power,        // the clock that the power limit takes from busy tensor cores; idle SMs leave it to the others
  shared,       // shared memory or the way from L2 is slower than they are
  issue,        // waits, fences and instruction issue of each k-block
  promotion,    // block scales: FP32 sums that no other warpgroup's products hide
  epilogue,     // of tiles whose epilogue nothing hides
  edges,        // tiles that reach past M or N
  clusters,     // SMs that a cluster of this size leaves idle
  last_wave,    // SMs without a tile while others have one
  memory,       // L2 and HBM beyond what the SMs hide
  fill_drain,   // launch, the first loads, the last stores
  sums,         // partial tiles between CTAs: stream-K and split-K
  uncertainty,  // a kind of config that no recorded measurement covers
};
inline constexpr int kTerms = 13;
/// A few words for tables: "last wave".
const char* name_of(Term term);
/// What it is, for a sentence: "SMs without a tile in the last wave".
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

/// Rates and latencies of an H200. Clocks are at the full clock; those of the first group are fitted to recorded times
/// (tests/select/fit_cost_model.cpp), the others are facts of the machine or measured apart.
struct CostConstants {
  double launch_us = 2.775;     // a kernel in a graph, to its first byte and from its last, with the first load
  double block_clocks = 44.45;  // of each k-block: wait, fence, issue, wait
  double scale_clocks = 60.55;  // of each k-block with block scales: their loads, and the wait for raw sums
  double shared_bytes_per_clock = 186.2;  // operands read by wgmma and written by TMA
  double load_bytes_per_clock = 130.8;    // into one SM by the loads that its CTA issues
  double fill_bytes_per_clock = 18.09;    // of rows outside A, which TMA fills with zeros
  double ring_clocks = 1584;              // from a stage being free to its next k-block being there
  double cluster_clocks = 49.21;          // of each k-block: CTAs of two wait for each other; more by log2 of the size
  double l2_bytes_per_us = 7.573e+06;     // out of all of L2, what neighbours read together once
  double hbm_bytes_per_us = 4.368e+06;    // as fitted beside memory_overlap; 4.3 TB/s seen
  double hbm_latency_us = 0.7728;         // under load: bytes in flight over this are the bandwidth of a thin launch
  double memory_overlap = 3.384;          // SM, L2 and HBM time add by this power: 1 one after the other, much: hidden
  double lag_shared = 0.1916;             // of what neighbours share, what they share still where K is cut unevenly
  double tile_clocks = 635.5;             // of each tile: pipeline drain, barriers, address arithmetic
  double store_clocks_per_kib = 26.24;    // of the epilogue, for each KiB of D
  double narrow_panels = 0.7255;          // stores of D in panels under 128 bytes: this much more for each halving
  double promotion_exposed_one = 1.475;   // share of promotion's FMA clocks in sight: one set of partial accumulators
  double promotion_exposed_two = 0.7852;  // two sets, or pingpong
  double promotion_exposed_three = 0.5553;  // three consumer warpgroups
  double power_fp8 = 2.064;                 // dynamic power of busy FP8 tensor cores, over what the limit leaves for it
  double power_16 = 2.019;                  // the same of 16-bit operands
  double power_load = 0.8414;               // of loads at 64 bytes a clock in every SM
  double power_share = 0.2978;              // time is dynamic power to this: voltage falls with the clock
  double exchange_us = 1.91;            // stream-K, split-K: a flag in global memory, the round trips to what it guards
  double stream_cluster = 0.1013;       // of all tiles of stream-K in clusters of two; more by log2 of the size
  double cluster_exchange_us = 0.1862;  // split-K in a cluster: barriers of the cluster, for every tile
  double dsmem_bytes_per_clock = 27.07;  // of partial tiles inside a cluster
  double cluster_us = 0.6798;            // of a launch with clusters of two; of larger ones by log2 of the size

  double ghz = 1.98;                      // clock where power is not the limit
  double workspace_bytes_per_clock = 64;  // of partial tiles through L2, of one SM
  double l2_bytes = 40e6;                 // of operands that stay in L2 from one wave to the next
  double single_us = 1.5;                 // a CTA of its own for every tile loads nothing ahead
  double work_tile_us = 0.3;              // dynamic: the first work tile; the others come under the products
  double sharing_ctas = 16;               // neighbours whose reads of one line are one read of L2: a GPC's
  double uncertainty_plain = 0.08;        // tiles and clusters without a recorded time, under an order that has some
  double uncertainty_sums = 0.03;  // split-K in a cluster: up to 15 % longer than modelled where it was near the best
  double uncertainty = 0.30;       // schedules and orders without a recorded time
};

/// `config` is resolved and without fault. SMs: of the device, or as many as a launch may use.
Cost cost_of(const GemmProblem& problem, const GemmConfig& config, int sms, const CostConstants& constants = {});

/// CTAs in clusters of `cluster` that are resident on `sms` SMs at once (measured on an H200 for its 132).
int resident_ctas(int cluster, int sms);

}  // namespace ww::select
