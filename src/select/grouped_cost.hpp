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

/// Returns equal shares of the rows for every group; with fewer rows than groups, one row for so many groups. Of masked
/// groups it takes half of their capacity, because the host knows no more.
GroupSizes assumed_sizes(const GroupedProblem& problem);

/// Returns the distribution of known counts, in at most 24 shares of groups of similar size.
GroupSizes sizes_of(std::span<const std::int64_t> counts);

/// Rates and latencies of an H200, fitted to 490 random problems (bench/results/2026-11-23_h200_grouped_random.json) by
/// tests/select/fit_grouped_model.cpp, but for scaled_128x192, which is chosen by
/// bench/results/2026-11-23_h200_grouped_wide.json. Clocks are at the full clock.
struct GroupedConstants {
  double ragged_us = 1.318;       // a launch: until the first load has arrived, and after the last store
  double raster_us = 2.755;       // the same of contiguous and masked
  double ragged_list_us = 2.704;  // beside it, for each 128 groups: the list of tiles, which every CTA builds
  double raster_list_us = 8;
  double update_us = 3.39;                // of descriptors: the launch that updates tensor maps
  double dynamic_us = 1.712;              // of the counter from which CTAs take tiles, in every launch
  double occupancy_us = 0.5266;           // of a launch with several CTAs on an SM; the next launch starts beside them
  double pair_us = 1.265;                 // of a launch in clusters of two
  double split_us = 2.279;                // of a launch in clusters along K
  double deeper_us = 0.2107;              // the same, for each doubling of the split beyond 2
  double write_share = 1.226;             // of a byte of D: HBM takes longer to write than to read
  double ragged_load_clocks = 342.3;      // of each k-block of the thread that issues loads, one box of tokens
  double box_clocks = 206.2;              // of each further box of tokens
  double raster_load_clocks = 328.1;      // of contiguous and masked
  double swapped_clocks = 0;              // of each k-block with block scales, where weights are the M side
  double token_clocks = 2.523;            // of each token there: a load of its scale
  double scale_clocks = 110.1;            // of each k-block with block scales, where tokens are the M side, ragged
  double shared_bytes_per_clock = 168.9;  // operands read by wgmma and written by TMA
  double load_bytes_per_clock = 51.5;     // into one SM by the loads that its CTAs issue
  double ring_clocks = 1814;              // from the release of a stage to the arrival of its next k-block
  double pair_clocks = 89.21;             // of each k-block of a pair
  double pair_tile_clocks = 1720;         // of each tile of a pair
  double ragged_tile_clocks = 771.5;      // of each tile: its place in the list, addresses, barriers, drain
  double raster_tile_clocks = 1564;
  double ragged_store_clocks = 171.9;  // of each KiB of D of a consumer warpgroup
  double raster_store_clocks = 0;
  double dsmem_bytes_per_clock = 57.78;  // of partial tiles inside a cluster
  double l2_bytes_per_us = 3.235e+07;
  double l2_mbytes = 10.26;  // of operands that stay in L2 between two uses by a group
  double hbm_bytes_per_us = 4.867e+06;
  double overlap = 2.619;       // exponent of the mean of SM, L2 and HBM times in long launches
  double overlap_one = 1.692;   // the same where every SM has one tile
  double overlap_few = 0.2886;  // added where fewer SMs have a tile
  double power_fp8 = 2.99;      // dynamic power of busy tensor cores over the budget left for it
  double power_16 = 2.539;
  double power_share = 0.27;  // time grows with dynamic power to this exponent
  // Clocks of a k-block beside its products: waits, fences, issue, and with block scales in `scaled` all of promotion.
  double ragged_128x256 = 41.23;
  double ragged_64x256 = 33.6;
  double ragged_32x256 = 263.5;
  double ragged_128x128 = 186.2;
  double ragged_64x128 = 236.8;
  double ragged_32x128 = 288.2;
  double ragged_64x128_one = 263.7;
  double ragged_32x128_one = 374.8;
  double ragged_128x64 = 281.2;
  double ragged_64x64 = 279.2;
  double ragged_32x64 = 186.3;
  double raster_128x256 = 0;
  double raster_192x192 = 177.1;
  double raster_128x192 = 136;
  double raster_256x128 = 466.3;
  double raster_192x128 = 284;
  double raster_128x128 = 4.065;
  double raster_64x256 = 8.89;
  double raster_64x128 = 94.8;
  double raster_128x64 = 209.1;
  double raster_64x64 = 126.8;
  double scaled_256x128 = 440.8;
  double scaled_192x128 = 151.2;
  double scaled_128x192 = 200;
  double scaled_128x128 = 167.3;
  double scaled_64x128 = 84.44;
  double scaled_128x64 = 253.7;
  double scaled_64x64 = 208.8;
};

/// Returns the modelled cost of `config`, resolved and without fault, for groups of these sizes on `sms` SMs.
Cost cost_of(const GroupedProblem& problem, const GroupSizes& sizes, const GemmConfig& config, int sms,
             const GroupedConstants& constants = {});

}  // namespace ww::select
