// SPDX-License-Identifier: Apache-2.0
// A first-order model of the time of a grouped product on Hopper, in microseconds, from the distribution of its groups'
// rows. It has the terms of cost_model.hpp: a k-block of a tile takes the clocks of its slowest resource, a tile takes
// its k-blocks and its epilogue, a launch takes the tiles of its busiest SM beside L2 and HBM.
#pragma once

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
/// tests/select/fit_grouped_model.cpp. Clocks are at the full clock.
struct GroupedConstants {
  double ragged_us = 2.084;       // a launch: until the first load has arrived, and after the last store
  double raster_us = 2.455;       // the same of contiguous and masked
  double ragged_list_us = 1.859;  // beside it, for each 128 groups: the list of tiles, which every CTA builds
  double raster_list_us = 5;
  double update_us = 3;                   // of descriptors: the launch that updates tensor maps
  double dynamic_us = 1.119;              // of the counter from which CTAs take tiles, in every launch
  double occupancy_us = -0.06848;         // of a launch with several CTAs on an SM; the next launch starts beside them
  double pair_us = 1.578;                 // of a launch in clusters of two
  double split_us = 1.328;                // of a launch in clusters along K, for each doubling of the split
  double ragged_load_clocks = 331.2;      // of each k-block of the thread that issues loads, one box of tokens
  double box_clocks = 222;                // of each further box of tokens
  double raster_load_clocks = 278.3;      // of contiguous and masked
  double swapped_clocks = 41.46;          // of each k-block with block scales, where weights are the M side
  double token_clocks = 2.344;            // of each token there: a load of its scale
  double scale_clocks = 159.6;            // of each k-block with block scales, where tokens are the M side, ragged
  double shared_bytes_per_clock = 182.5;  // operands read by wgmma and written by TMA
  double load_bytes_per_clock = 50.24;    // into one SM by the loads that its CTAs issue
  double ring_clocks = 1860;              // from the release of a stage to the arrival of its next k-block
  double pair_clocks = 63.23;             // of each k-block of a pair
  double pair_tile_clocks = 1814;         // of each tile of a pair
  double ragged_tile_clocks = 1126;       // of each tile: its place in the list, addresses, barriers, drain
  double raster_tile_clocks = 1579;
  double ragged_store_clocks = 148.6;  // of each KiB of D of a consumer warpgroup
  double raster_store_clocks = 5.198;
  double dsmem_bytes_per_clock = 256;  // of partial tiles inside a cluster
  double l2_bytes_per_us = 2.659e+07;
  double l2_mbytes = 8.791;  // of operands that stay in L2 between two uses by a group
  double hbm_bytes_per_us = 4.754e+06;
  double overlap = 2.633;       // exponent of the mean of SM, L2 and HBM times in long launches
  double overlap_one = 1.782;   // the same where every SM has one tile
  double overlap_few = 0.2559;  // added where fewer SMs have a tile
  double power_fp8 = 2.89;      // dynamic power of busy tensor cores over the budget left for it
  double power_16 = 2.534;
  double power_share = 0.2553;  // time grows with dynamic power to this exponent
  // Clocks of a k-block beside its products: waits, fences, issue, and with block scales in `scaled` all of promotion.
  double ragged_128x256 = 73.64;
  double ragged_64x256 = 48.27;
  double ragged_32x256 = 241.6;
  double ragged_128x128 = 205.3;
  double ragged_64x128 = 179.8;
  double ragged_32x128 = 204.3;
  double ragged_64x128_one = 204.3;
  double ragged_32x128_one = 287.3;
  double ragged_128x64 = 252.1;
  double ragged_64x64 = 247.4;
  double ragged_32x64 = 122.5;
  double raster_128x256 = 9.081;
  double raster_192x192 = 239.4;
  double raster_128x192 = 159.8;
  double raster_256x128 = 490;
  double raster_192x128 = 317.3;
  double raster_128x128 = 41.44;
  double raster_64x256 = 10.78;
  double raster_64x128 = 144.1;
  double raster_128x64 = 244.8;
  double raster_64x64 = 126;
  double scaled_256x128 = 497.6;
  double scaled_192x128 = 204.8;
  double scaled_128x128 = 206.1;
  double scaled_64x128 = 134;
  double scaled_128x64 = 281.6;
  double scaled_64x64 = 202.1;
};

/// Returns the modelled cost of `config`, resolved and without fault, for groups of these sizes on `sms` SMs.
Cost cost_of(const GroupedProblem& problem, const GroupSizes& sizes, const GemmConfig& config, int sms,
             const GroupedConstants& constants = {});

}  // namespace ww::select
