// SPDX-License-Identifier: Apache-2.0
// A first-order model of the time of a grouped product on Hopper, in microseconds, from the distribution of its groups'
// rows. It has the terms of cost_model.hpp: a k-block of a tile takes the clocks of its slowest resource, a tile takes
// its k-blocks and its epilogue, a launch takes the tiles of its busiest SM beside L2 and HBM.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "select/cost_model.hpp"
#include "warpwright/host/grouped.hpp"

namespace ww::select {

/// So many groups have so many rows each. Fractions are expectations.
struct GroupShare {
  double groups = 0, rows = 0;
};
/// The distribution of rows over groups that have any.
using GroupSizes = std::vector<GroupShare>;

/// A distribution that the rows may have, and how likely it is taken to be.
struct LikelySizes {
  double weight = 1;
  GroupSizes sizes;
};

/// Returns the distributions that a plan for `problem` reckons with, whose weights sum to 1. If the problem has
/// expected sizes, they are the only one. Otherwise the host knows the number of groups and of rows, or of masked
/// groups the capacity, of which it takes half: groups of equal size, or of sizes that spread about their mean.
std::vector<LikelySizes> assumed_sizes(const GroupedProblem& problem);

/// Returns the distribution of known counts, in at most 12 shares of groups of similar size.
GroupSizes sizes_of(std::span<const std::int64_t> counts);

/// Rates and latencies of an H200, fitted by tests/select/fit_grouped_model.cpp to 593 problems, of bench/results/
/// 2026-11-23_h200_grouped_{random,wide}.json and 2026-11-28_h200_grouped_{few,random}.json. Clocks are at the full
/// clock.
struct GroupedConstants {
  double ragged_us = 1.234;       // a launch: until the first load has arrived, and after the last store
  double raster_us = 3.297;       // the same of contiguous and masked
  double ragged_list_us = 2.819;  // beside it, for each 128 groups: the list of tiles, which every CTA builds
  double raster_list_us = 5.69;
  double update_us = 3.627;             // of descriptors: the launch that updates tensor maps
  double dynamic_us = 1.981;            // of the counter from which CTAs take tiles, in every launch
  double occupancy_us = 0.6701;         // of a launch with several CTAs on an SM; the next launch starts beside them
  double pair_us = 1.149;               // of a launch in clusters of two
  double split_us = 2.029;              // of a launch in clusters along K
  double deeper_us = 1.137;             // the same, for each doubling of the split beyond 2
  double write_share = 0.9292;          // of a byte of D, beside a byte that is read
  double ragged_load_clocks = 321.6;    // of each k-block of the thread that issues loads, one box of tokens
  double box_clocks = 131.1;            // of each further box of tokens
  double raster_load_clocks = 173.3;    // of contiguous and masked
  double swapped_clocks = 0;            // of each k-block with block scales, where weights are the M side
  double token_clocks = 3.428;          // of each token there: a load of its scale
  double scale_clocks = 208.3;          // of each k-block with block scales, where tokens are the M side, ragged
  double shared_bytes_per_clock = 160;  // operands read by wgmma and written by TMA
  double load_bytes_per_clock = 53.15;  // into one SM by the loads that its CTAs issue
  double ring_clocks = 1726;            // from the release of a stage to the arrival of its next k-block
  double pair_clocks = 73.79;           // of each k-block of a pair
  double pair_tile_clocks = 1448;       // of each tile of a pair
  double ragged_tile_clocks = 570.4;    // of each tile: its place in the list, addresses, barriers, drain
  double raster_tile_clocks = 1510;
  double ragged_store_clocks = 164.1;  // of each KiB of D of a consumer warpgroup
  double raster_store_clocks = 3.361;
  double dsmem_bytes_per_clock = 100.4;  // of partial tiles inside a cluster
  double l2_bytes_per_us = 2.974e+07;
  double l2_mbytes = 9.845;  // of operands that stay in L2 between two uses by a group
  double hbm_bytes_per_us = 4.981e+06;
  double overlap = 2.228;       // exponent of the mean of SM, L2 and HBM times in long launches
  double overlap_one = 1.756;   // the same where every SM has one tile
  double overlap_few = 0.1092;  // added where fewer SMs have a tile
  double power_fp8 = 2.996;     // dynamic power of busy tensor cores over the budget left for it
  double power_16 = 2.731;
  double power_share = 0.2605;  // time grows with dynamic power to this exponent
  // Clocks of a k-block beside its products: waits, fences, issue, and with block scales in `scaled` all of promotion.
  double ragged_128x256 = 12.84;
  double ragged_64x256 = 213;
  double ragged_32x256 = 238.8;
  double ragged_128x128 = 213.9;
  double ragged_64x128 = 188.4;
  double ragged_32x128 = 204.3;
  double ragged_64x128_one = 191.8;
  double ragged_32x128_one = 387.8;
  double ragged_128x64 = 238.4;
  double ragged_64x64 = 252.1;
  double ragged_32x64 = 138.8;
  double raster_128x256 = 0;
  double raster_192x192 = 117.4;
  double raster_128x192 = 121.9;
  double raster_256x128 = 383.9;
  double raster_192x128 = 195.3;
  double raster_128x128 = 0;
  double raster_64x256 = 8.89;
  double raster_64x128 = 81.41;
  double raster_128x64 = 156.3;
  double raster_64x64 = 78.5;
  double raster_64x32 = 74.73;
  double scaled_256x128 = 411.5;
  double scaled_192x128 = 216.2;
  double scaled_128x192 = 200;
  double scaled_128x128 = 208.7;
  double scaled_64x128 = 79.49;
  double scaled_128x64 = 201.2;
  double scaled_64x64 = 167.1;
  double scaled_128x160 = 371;
  double scaled_64x192 = 139.8;
  double scaled_64x160 = 223.7;
  double scaled_128x96 = 201.5;
  double scaled_64x96 = 173.4;
  double scaled_64x32 = 96.8;
};

/// Returns the modelled cost of `config`, resolved and without fault, for groups of these sizes on `sms` SMs.
Cost cost_of(const GroupedProblem& problem, const GroupSizes& sizes, const GemmConfig& config, int sms,
             const GroupedConstants& constants = {});

/// Returns the expectation of that cost.
Cost cost_of(const GroupedProblem& problem, const std::vector<LikelySizes>& sizes, const GemmConfig& config, int sms,
             const GroupedConstants& constants = {});

}  // namespace ww::select
