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
  tensor,      // the products, were the tensor cores busy on every SM and at the full clock
  power,       // the clock that the power limit takes from busy tensor cores; idle SMs leave it to the others
  shared,      // shared memory or the way from L2 is slower than they are
  issue,       // waits, fences and instruction issue of each k-block
  promotion,   // block scales: FP32 sums that no other warpgroup's products hide
  epilogue,    // of tiles whose epilogue nothing hides
  edges,       // tiles that reach past M or N
  clusters,    // SMs that a cluster of this size leaves idle
  last_wave,   // SMs without a tile while others have one
  memory,      // L2 and HBM beyond what the SMs hide
  fill_drain,  // launch, the first loads, the last stores
  sums,        // partial tiles between CTAs: stream-K and split-K
  doubt,       // a kind of config that no recorded measurement covers
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

/// Rates and latencies of an H200. The first six are fitted to recorded times, the others are facts of the machine or
/// measured apart.
struct CostConstants {
  double tensor_ghz_fp8 = 1.528;          // clock that the power limit leaves when every tensor core is busy
  double tensor_ghz_16 = 1.592;           // the same with 16-bit operands
  double store_clocks_per_kib = 23.01;    // of the epilogue, for each KiB of D
  double promotion_exposed_one = 0.3402;  // share of promotion's FMA clocks in sight: one set of raw accumulators
  double promotion_exposed_three = 0;     // the same with three math warpgroups
  double memory_exposed = 0.1768;         // share of the smaller of SM and memory time that is not hidden

  double promotion_exposed_two =
      0.33;                          // two sets of raw accumulators, or pingpong: between the two above, not measured
  double block_clocks = 60;          // of each k-block: wait, fence, issue, wait
  double tile_clocks = 200;          // of each tile: pipeline drain, barriers, address arithmetic
  double thin_ring = 0.05;           // of a k-block, for each stage below four: less latency is hidden
  double ghz = 1.75;                 // clock where power is not the limit
  double l2_bytes_per_clock = 64;    // into one SM
  double l2_bytes_per_us = 10e6;     // out of all of L2: 8.3 TB/s were needed, and had, at 8192 x 8192 x 8192
  double hbm_bytes_per_us = 4.3e6;   // best seen on such a machine
  double l2_bytes = 40e6;            // of operands that stay in L2 from one wave to the next
  double launch_us = 2.5;            // a kernel in a graph, to its first byte and from its last
  double fill_us = 1.0;              // the first k-block from HBM
  double exchange_us = 2.0;          // a flag in global memory, and the round trips to it and to what it guards
  double cluster_exchange_us = 1.0;  // the same inside a cluster
  double dsmem_bytes_per_clock = 32;
  double doubt_plain = 0.10;  // tiles and clusters without a recorded time, under the schedule and order that have some
  double doubt_cluster = 0.12;  // split-K inside a cluster: only throw-away kernels were timed
  double doubt = 0.30;          // schedules and orders without a recorded time
};

/// `config` is resolved and without fault. SMs: of the device, or as many as a launch may use.
Cost cost_of(const GemmProblem& problem, const GemmConfig& config, int sms, const CostConstants& constants = {});

/// CTAs in clusters of `cluster` that are resident on `sms` SMs at once (measured on an H200 for its 132).
int resident_ctas(int cluster, int sms);

}  // namespace ww::select
