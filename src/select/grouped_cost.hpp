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

/// These are estimates, not fitted to random shapes: tests/select/fit_grouped_model.cpp fits them to a result of
/// bench/grouped_random.py, and until then `auto` does not use the model. Clocks are at the full clock.
struct GroupedConstants {
  double launch_us = 5.0;        // until the first load has arrived, and after the last store; with the list of tiles
  double raster_us = 0.0;        // of contiguous and masked, beside it
  double update_us = 3.0;        // of descriptors: the launch that updates tensor maps
  double block_clocks = 44.0;    // of each k-block: wait, fence, issue, wait
  double scale_clocks = 60.0;    // of each k-block with block scales, where tokens are the M side
  double swapped_clocks = 60.0;  // the same where weights are the M side
  double token_clocks = 1.0;     // of each of their tokens: a load of its scale
  double shared_bytes_per_clock = 186.0;  // operands read by wgmma and written by TMA
  double load_bytes_per_clock = 64.0;     // into one SM by the loads that its CTAs issue
  double ring_clocks = 1500.0;            // from the release of a stage to the arrival of its next k-block
  double cluster_clocks = 49.0;           // of each k-block of a pair
  double promotion_one = 1.0;             // exposed share of promotion's FMA clocks with one consumer warpgroup
  double promotion_two = 1.0;             // with two
  double promotion_wide = 1.2;            // with two, of 128 rows each
  double promotion_three = 0.55;          // with three
  double raster_tile_clocks = 900.0;      // of each tile: its place in the list, addresses, barriers
  double ragged_tile_clocks = 900.0;
  double store_clocks_per_kib = 20.0;  // of D
  double uneven_wait = 0.5;            // share of a last wave that is waited for, of tiles taken from a counter
  double static_wait = 0.9;            // the same of static orders
  double lag = 0.5;                    // share of L2 reads that neighbours do not share
  double l2_bytes_per_us = kH200.l2_bytes_per_us;
  double hbm_bytes_per_us = kH200.hbm_bytes_per_us;
  double hbm_latency_us = kH200.hbm_latency_us;
  double memory_overlap = 3.4;  // exponent of the mean of SM, L2 and HBM times
  double power_fp8 = 2.06;      // dynamic power of busy tensor cores over the budget left for it
  double power_16 = 2.02;
  double power_load = 0.84;             // of loads at 64 bytes a clock in every SM
  double power_share = 0.30;            // time grows with dynamic power to this exponent
  double split_exchange_us = 1.0;       // split-K: barriers of the cluster, for every tile
  double dsmem_bytes_per_clock = 27.0;  // of partial tiles inside a cluster
  double cluster_us = 0.68;             // of a launch with clusters of two; grows with log2 of the size
};

/// Returns the modelled cost of `config`, resolved and without fault, for groups of these sizes on `sms` SMs.
Cost cost_of(const GroupedProblem& problem, const GroupSizes& sizes, const GemmConfig& config, int sms,
             const GroupedConstants& constants = {});

}  // namespace ww::select
