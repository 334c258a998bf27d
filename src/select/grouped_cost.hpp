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
/// groups the capacity, of which it takes half: groups of equal size and of sizes that spread about their mean, and
/// from eight groups on also groups half of which are empty.
std::vector<LikelySizes> assumed_sizes(const GroupedProblem& problem);

/// Returns the distribution of known counts, in at most 12 shares of groups of similar size.
GroupSizes sizes_of(std::span<const std::int64_t> counts);

/// Rates and latencies of an H200, 0.85 of the way from earlier constants to a fit to the 520 problems of
/// bench/results/2026-11-28_h200_grouped_fit.json (docs/selection.md). Clocks are at the full clock.
struct GroupedConstants {
  double ragged_us = 1.422;     // a launch: until the first load has arrived, and after the last store
  double raster_us = 3.175;     // the same of contiguous and masked
  double ragged_list_us = 3.5;  // beside it, for each 128 groups: the list of tiles, which every CTA builds
  double raster_list_us = 3.593;
  double update_us = 3.301;               // of descriptors: the launch that updates tensor maps
  double dynamic_us = 1.585;              // of the counter from which CTAs take tiles, in every launch
  double occupancy_us = 0.548;            // of a launch with several CTAs on an SM; the next launch starts beside them
  double pair_us = 1.286;                 // of a launch in clusters of two
  double split_us = 1.791;                // of a launch in clusters along K
  double deeper_us = 0.1894;              // the same, for each doubling of the split beyond 2
  double write_share = 0.5644;            // of a byte of D, beside a byte that is read
  double ragged_load_clocks = 262.8;      // of each k-block of the thread that issues loads, one box of tokens
  double box_clocks = 125.6;              // of each further box of tokens
  double raster_load_clocks = 173.3;      // of contiguous and masked
  double swapped_clocks = 14.99;          // of each k-block with block scales, where weights are the M side
  double token_clocks = 3.129;            // of each token there: a load of its scale
  double scale_clocks = 173.4;            // of each k-block with block scales, where tokens are the M side, ragged
  double shared_bytes_per_clock = 150.9;  // operands read by wgmma and written by TMA
  double load_bytes_per_clock = 60.4;     // into one SM by the loads that its CTAs issue
  double ring_clocks = 1650;              // from the release of a stage to the arrival of its next k-block
  double pair_clocks = 64.86;             // of each k-block of a pair
  double pair_tile_clocks = 364.9;        // of each tile of a pair
  double ragged_tile_clocks = 385;        // of each tile: its place in the list, addresses, barriers, drain
  double raster_tile_clocks = 353.9;
  double ragged_store_clocks = 177.3;  // of each KiB of D of a consumer warpgroup
  double raster_store_clocks = 60.9;
  double dsmem_bytes_per_clock = 53.57;  // of partial tiles inside a cluster
  double l2_bytes_per_us = 3.846e+07;
  double l2_mbytes = 4.877;  // of operands that stay in L2 between two uses by a group
  double hbm_bytes_per_us = 4.912e+06;
  double overlap = 2.007;       // exponent of the mean of SM, L2 and HBM times in long launches
  double overlap_one = 1.762;   // the same where every SM has one tile
  double overlap_few = 0.1668;  // added where fewer SMs have a tile
  double power_fp8 = 4.699;     // dynamic power of busy tensor cores over the budget left for it
  double power_16 = 3.348;
  double power_share = 0.1436;  // time grows with dynamic power to this exponent
  // Clocks of a k-block beside its products: waits, fences, issue, and with block scales in `scaled` all of promotion.
  double ragged_128x256 = 112.3;
  double ragged_64x256 = 165.7;
  double ragged_32x256 = 189.1;
  double ragged_128x128 = 47.32;
  double ragged_64x128 = 148.2;
  double ragged_32x128 = 144.2;
  double ragged_64x128_one = 64.67;
  double ragged_32x128_one = 352.1;
  double ragged_128x64 = 92.82;
  double ragged_64x64 = 160;
  double ragged_32x64 = 123.2;
  double raster_128x256 = 181.2;
  double raster_192x192 = 311.3;
  double raster_128x192 = 203.8;
  double raster_256x128 = 348.5;
  double raster_192x128 = 193.6;
  double raster_128x128 = 153.8;
  double raster_64x256 = 144.9;
  double raster_64x128 = 89.82;
  double raster_128x64 = 128.7;
  double raster_64x64 = 102.8;
  double raster_64x32 = 67.09;
  double scaled_256x128 = 462.6;
  double scaled_192x128 = 234;
  double scaled_128x192 = 290.8;
  double scaled_128x128 = 156.1;
  double scaled_64x128 = 122.8;
  double scaled_128x64 = 177.1;
  double scaled_64x64 = 118.6;
  double scaled_128x160 = 312.3;
  double scaled_64x192 = 320.5;
  double scaled_64x160 = 297.9;
  double scaled_128x96 = 173.8;
  double scaled_64x96 = 148.7;
  double scaled_64x32 = 140.7;
  // The correction (grouped_correction.hpp) belongs to the constants above: with others, tools/fit_correction.py has to
  // fit it again.
  bool corrected = true;
};

/// Returns the modelled cost of `config`, resolved and without fault, for groups of these sizes on `sms` SMs.
Cost cost_of(const GroupedProblem& problem, const GroupSizes& sizes, const GemmConfig& config, int sms,
             const GroupedConstants& constants = {});

/// Returns the expectation of that cost.
Cost cost_of(const GroupedProblem& problem, const std::vector<LikelySizes>& sizes, const GemmConfig& config, int sms,
             const GroupedConstants& constants = {});

}  // namespace ww::select
