// SPDX-License-Identifier: Apache-2.0
// Fills the open fields of a config, those that are 0 or `automatic`, and never changes one that is set. The outcome
// depends on the config alone, so that the text of a resolved config means the same kernel on every device.
#pragma once

#include "warpwright/config/shared_memory.hpp"
#include "warpwright/config/swap_ab.hpp"

namespace ww::config {

// A band of tiles (scheduler/tile_grid.hpp) has at most so many rows of A or columns of D, and tiles side by side.
inline constexpr int kBandExtent = 2048;
inline constexpr int kMostTilesOfBand = 16;

/// Returns the width of bands, whose direction `c` states, in cluster tiles. A wave of tiles reads the fewest rows of A
/// and B where it is about as long as wide.
WW_HOST_DEVICE constexpr int band_width(const GemmConfig& c) {
  const bool along_m = c.raster.band == RasterBand::along_m;
  const int ctas = max(1, along_m ? c.cluster.m : c.cluster.n), extent = max(1, along_m ? c.tile.m : c.tile.n);
  return max(1, min(kMostTilesOfBand, kBandExtent / extent) / ctas);
}

/// Fills the fields of the schedule that every kernel resolves alike, once it has its consumer warpgroups.
WW_HOST_DEVICE constexpr void resolve_schedule(Sm90Schedule& s) {
  if (s.schedule == Schedule::automatic) s.schedule = Schedule::cooperative;
  if (s.a_source == OperandSource::automatic) s.a_source = OperandSource::shared;
  if (s.swap_ab == SwapAb::automatic) s.swap_ab = SwapAb::off;
  if (s.occupancy == 0) s.occupancy = 1;
  if (s.producer_registers == 0 && moves_registers(s)) s.producer_registers = Sm90().producer_registers;
}

/// Fills every open field (but never changes one that is set). What comes out depends on `c` alone: the text of a
/// resolved config means the same kernel on every device.
WW_HOST_DEVICE constexpr GemmConfig resolve(GemmConfig c) {
  if (swaps(c)) return exchanged(resolve(exchanged(c)));
  const bool promoted = promotes(c);
  if (c.sm90.a_source == OperandSource::automatic && !is_sm100(c) && c.operands.layout.a == Major::mn &&
      bits_of(c.operands.a) == 32)
    c.sm90.a_source = OperandSource::registers;
  if (c.sm90.tile_scheduler == TileScheduler::automatic)
    c.sm90.tile_scheduler = c.sm90.split > 1 || c.cluster.k > 1 ? TileScheduler::split_k : TileScheduler::fixed;
  if (c.sm90.consumer_warpgroups == 0)
    c.sm90.consumer_warpgroups = c.sm90.schedule == Schedule::pingpong ? 2
                                 : c.tile.m == 64                      ? 1
                                 : c.tile.m % 192 == 0 && c.tile.m > 0 ? 3
                                                                       : 2;
  resolve_schedule(c.sm90);
  if (c.tile.m == 0) c.tile.m = kWarpgroupRows * warpgroups_of_tile(c);
  // Promotion leaves registers for at most 128 columns, because it needs two kinds of accumulators. Without it, 256
  // columns read the least shared memory per product.
  if (c.tile.n == 0) c.tile.n = promoted || bits_of(c.operands.d) == 32 ? 128 : 256;
  if (c.tile.k == 0) c.tile.k = k_of_row(c);
  if (c.cluster.m == 0) c.cluster.m = ctas_of_mma(c);
  if (c.cluster.n == 0) c.cluster.n = 1;
  if (c.sm90.tile_scheduler == TileScheduler::split_k) {
    if (c.sm90.split == 0) c.sm90.split = max(2, c.cluster.k);
    // Sums inside a cluster are preferred, because they need neither workspace nor a wait for other clusters.
    if (c.cluster.k == 0)
      c.cluster.k =
          is_power_of_two(c.sm90.split) && c.cluster.m * c.cluster.n * c.sm90.split <= machine_of(c).portable_cluster
              ? c.sm90.split
              : 1;
  }
  if (c.raster.band == RasterBand::automatic) c.raster.band = RasterBand::along_m;
  if (c.raster.width == 0) c.raster.width = band_width(c);
  // Promotion takes an accumulator for every k-block, so that more of them hide the latency of reading one.
  if (is_sm100(c) && c.sm100.accumulators == 0) c.sm100.accumulators = min(promoted ? 4 : 2, most_accumulators(c));
  if (promoted && c.sm90.partial_accumulators == 0 && warpgroups_of_tile(c) > 0)
    c.sm90.partial_accumulators = partial_accumulators(c);
  if (c.sm90.stages == 0 && c.tile.m > 0 && c.tile.n > 0) {
    c.sm90.stages = kLargestStages;
    while (c.sm90.stages > 1 && shared_plan(c).total > machine_of(c).shared_bytes()) --c.sm90.stages;
  }
  return c;
}

/// Fills every field that is 0 and never changes one that is set. group_capacity must be set, because it is a property
/// of the problem.
WW_HOST_DEVICE constexpr GemmConfig resolve_ragged(GemmConfig c) {
  const bool splits = c.sm90.tile_scheduler == TileScheduler::split_k, shares = c.sm90.occupancy > 1;
  if (shares && c.tile.m == 0) c.tile.m = 32;
  if (shares && c.tile.n == 0) c.tile.n = 64;
  if (shares && c.sm90.tile_scheduler == TileScheduler::automatic) c.sm90.tile_scheduler = TileScheduler::fixed;
  if (c.sm90.consumer_warpgroups == 0) c.sm90.consumer_warpgroups = c.tile.n == 64 || shares ? 1 : 2;
  if (c.tile.m == 0) c.tile.m = c.row_groups.variant == GroupedVariant::ragged && !splits ? 128 : 64;
  if (c.tile.n == 0) c.tile.n = c.tile.m > 64 ? 256 : 128;
  resolve_schedule(c.sm90);
  if (c.tile.k == 0) c.tile.k = mn_block(c.operands.a);
  if (c.cluster.m == 0) c.cluster.m = 1;
  if (c.cluster.n == 0) c.cluster.n = 1;
  if (c.raster.width == 0) c.raster.width = 1;
  if (c.raster.band == RasterBand::automatic) c.raster.band = RasterBand::along_m;
  if (splits) {
    if (c.sm90.split == 0) c.sm90.split = max(2, c.cluster.k);
    if (c.cluster.k == 0) c.cluster.k = c.sm90.split;
  }
  if (c.sm90.tile_scheduler == TileScheduler::automatic)
    c.sm90.tile_scheduler =
        c.row_groups.variant == GroupedVariant::ragged ? TileScheduler::dynamic : TileScheduler::vertical;
  if (c.sm90.stages == 0) {
    c.sm90.stages = c.row_groups.variant == GroupedVariant::ragged ? kLargestStages : kUsualStages;
    while (c.sm90.stages > 1 && grouped_shared_plan(c).total > shared_limit(c)) --c.sm90.stages;
  }
  return c;
}

WW_HOST_DEVICE constexpr GemmConfig resolve_raster(GemmConfig c) {
  const bool every_stage = c.sm90.stages == 0, every_register = c.sm90.producer_registers == 0;
  if (c.sm90.tile_scheduler == TileScheduler::automatic) c.sm90.tile_scheduler = TileScheduler::fixed;
  c = resolve(c);
  // A tree that quantises 128 sums a thread needs more registers than the usual producer leaves.
  if (every_register && moves_registers(c.sm90) && stages_of(c.epilogue).quantise != EpilogueOp::none &&
      mma_blocks_of(c) * c.tile.n >= 256)
    c.sm90.producer_registers = machine_of(c).quantising_producer_registers;
  if (every_stage)
    while (c.sm90.stages > 1 && raster_shared_plan(c).total > machine_of(c).shared_bytes()) --c.sm90.stages;
  return c;
}

WW_HOST_DEVICE constexpr GemmConfig resolve_k_grouped(GemmConfig c) {
  c.grouping = Grouping::k_groups;
  c.operands.batched = true;  // a D for each group
  return resolve_raster(c);
}

WW_HOST_DEVICE constexpr GemmConfig resolve_grouped(GemmConfig c) {
  c.grouping = Grouping::row_groups;
  return is_ragged(c) ? resolve_ragged(c) : resolve_raster(c);
}

}  // namespace ww::config
