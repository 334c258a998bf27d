// SPDX-License-Identifier: Apache-2.0
// The layout of dynamic shared memory for a resolved config, as byte offsets. Every operand block is aligned to 1024
// bytes (128-byte swizzle).
//   dense:                A stages | B stages | D tile | partial tiles | scales | barriers | work tiles
//                         sm_100: | barriers of accumulators and scales | address of tensor memory | chunks of scales
//   ragged, descriptors:  token stages | weight stages | staging of the epilogue | scales | group tables | barriers
//                         descriptors: the staging is a whole tile of D, which TMA stores
//   contiguous, masked, k-grouped:  the dense layout | group tables
#pragma once

#include "warpwright/config/sizes.hpp"

namespace ww::config {

/// The exchange of partial tiles in a cluster.
struct SumPlan {
  pipeline::ClusterShape cluster;
  int warps = 0;                // consumer warps of a CTA
  int values = 0;               // of a thread in one round
  int slots = 0, barriers = 0;  // byte offsets: a slot for each peer, and the barriers of ExchangePipeline
  WW_HOST_DEVICE constexpr int slot() const { return warps * 32 * values * 4; }  // bytes
};

/// Returns the bytes of pipeline::ExchangePipeline's barriers: a full and an empty one for every consumer warp.
WW_HOST_DEVICE constexpr int sum_barrier_bytes(const GemmConfig& c) {
  return sums_in_cluster(c) ? 2 * consumer_warps(c) * 8 : 0;
}

/// Byte offsets from the start of dynamic shared memory.
struct SharedPlan {
  int a_stage = 0, b_stage = 0;  // bytes of one stage
  int d_tile = 0;                // bytes of the staged part of one output tile
  int a = 0, b = 0, d = 0, sums = 0, scales = 0, barriers = 0, order = 0;
  int work_tile_barriers = 0, work_tiles = 0;  // of a scheduler that announces tiles
  int sum_barriers = 0;                        // of the slots for partial tiles of a cluster's peers, from `sums` on
  int accumulator_barriers = 0, scale_barriers = 0, tail_barriers = 0, tensor_address = 0;  // sm_100
  int total = 0;
};

WW_HOST_DEVICE constexpr SharedPlan shared_plan(const GemmConfig& c) {
  SharedPlan plan;
  plan.a_stage = c.tile.m * kRowBytes;
  plan.b_stage = c.tile.n / ctas_of_mma(c) * kRowBytes;
  plan.b = c.sm90.stages * plan.a_stage;
  plan.d = plan.b + c.sm90.stages * plan.b_stage;
  plan.d_tile = c.tile.m * output_buffers(c) * staged_columns(c) * bits_of(c.operands.d) / 8;
  plan.sums = round_up(plan.d + tiles_in_flight(c) * plan.d_tile, kAlignment);
  plan.scales = plan.sums + (sums_in_cluster(c) ? (c.cluster.k - 1) * slot_bytes(c) : 0);
  // Without warp specialisation every consumer thread reads its own scales from global memory.
  plan.barriers = plan.scales + (has_roles(c) ? c.sm90.stages * scale_floats(c) * 4 : 0);
  plan.order = plan.barriers + 2 * c.sm90.stages * 8;
  plan.work_tile_barriers = plan.order + (tiles_in_flight(c) > 1 ? tiles_in_flight(c) * 8 : 0);
  plan.work_tiles = round_up(plan.work_tile_barriers + (announces_tiles(c) ? 2 * kWorkTileStages * 8 : 0),
                             max(1, work_tile_bytes(c)));
  plan.sum_barriers = plan.work_tiles + kWorkTileStages * work_tile_bytes(c);
  plan.total = plan.sum_barriers + sum_barrier_bytes(c);
  if (is_sm100(c)) {
    plan.accumulator_barriers = round_up(plan.total, 8);
    plan.scale_barriers = plan.accumulator_barriers + 2 * c.sm100.accumulators * 8;
    plan.tail_barriers = plan.scale_barriers + (promotes(c)        ? 2 * c.sm90.stages * 8
                                                : scales_in_mma(c) ? kScaleSets * 8
                                                                   : 0);
    plan.tensor_address = plan.tail_barriers + (clears_scales(c) ? (c.sm90.stages + (c.sm100.pair ? 2 : 0)) * 8 : 0);
    plan.total = plan.tensor_address + 8;
    if (scales_in_mma(c)) {
      plan.scales = round_up(plan.total, kRowBytes);
      plan.total = plan.scales + c.sm90.stages * scale_chunks_of_stage(c) * kScaleChunkBytes;
    }
  }
  return plan;
}

WW_HOST_DEVICE constexpr SumPlan sum_plan(const GemmConfig& c) {
  const SharedPlan plan = shared_plan(c);
  return {cluster_of(c), consumer_warps(c), mma_blocks_of(c) * c.tile.n / 2 / sum_rounds(c), plan.sums,
          plan.sum_barriers};
}

inline constexpr int kGroupLimit = 4096;
inline constexpr int kGroupBytes = 16;  // of the tables in shared memory, per group
inline constexpr int kUsualStages = 8;  // of descriptors: a deeper ring would only take space from the tables
inline constexpr int kItemStages = 2;   // tiles announced ahead of the consumer warps
inline constexpr int kItemBytes = 16;
inline constexpr int kScanBytes = 256;                    // scratch of block scans
inline constexpr int kStagingBytes = 16 * (64 * 2 + 16);  // of a consumer warp: 16 rows of 64 16-bit columns, padded

/// Byte offsets from the start of dynamic shared memory.
struct GroupedSharedPlan {
  int token_stage = 0, weight_stage = 0, scale_stage = 0;  // bytes of one stage
  int tokens = 0, weights = 0, staging = 0, scales = 0, tables = 0, scan = 0, items = 0, item_barriers = 0,
      barriers = 0;
  int sums = 0, sum_barriers = 0;  // split-K: slots for the partial tiles of a cluster's peers
  int total = 0;
};

WW_HOST_DEVICE constexpr GroupedSharedPlan grouped_shared_plan(const GemmConfig& c) {
  GroupedSharedPlan plan;
  plan.token_stage = c.tile.m * kRowBytes;
  plan.weight_stage = c.tile.n * kRowBytes;
  // Every 128 columns of weights have their own scale.
  plan.scale_stage = promotes(c) ? c.tile.m * ceil_div(c.tile.n, kScaleBlock) * 4 : 0;
  plan.weights = c.sm90.stages * plan.token_stage;
  plan.staging = plan.weights + c.sm90.stages * plan.weight_stage;
  plan.scales =
      plan.staging + (c.row_groups.variant == GroupedVariant::descriptors ? c.tile.m * c.tile.n * bytes_of(c.operands.d)
                                                                          : consumer_warps(c) * kStagingBytes);
  plan.tables = plan.scales + c.sm90.stages * plan.scale_stage;
  plan.scan = plan.tables + group_capacity(c) * kGroupBytes;
  plan.items = plan.scan + kScanBytes;
  plan.item_barriers = plan.items + kItemStages * kItemBytes;
  plan.barriers = plan.item_barriers + 2 * kItemStages * 8;
  plan.sums = round_up(plan.barriers + 2 * c.sm90.stages * 8, 16);
  plan.sum_barriers = plan.sums + (sums_in_cluster(c) ? (c.cluster.k - 1) * slot_bytes(c) : 0);
  plan.total = plan.sum_barriers + sum_barrier_bytes(c);
  return plan;
}

/// Returns the plan of the exchange. Slots have the size of the widest tile; a narrow tile takes fewer rounds.
WW_HOST_DEVICE constexpr SumPlan ragged_sum_plan(const GemmConfig& c) {
  const GroupedSharedPlan plan = grouped_shared_plan(c);
  const int warps = consumer_warps(c);
  return {cluster_of(c), warps, slot_bytes(c) / (warps * 32 * 4), plan.sums, plan.sum_barriers};
}

/// Returns the dynamic shared memory available to a CTA.
WW_HOST_DEVICE constexpr int shared_limit(const GemmConfig& c) {
  return machine_of(c).shared_bytes(max(1, c.sm90.occupancy));
}

struct RasterSharedPlan {
  SharedPlan dense;
  int tables = 0, scan = 0;
  int items = 0, item_barriers = 0;  // groups of rows
  int total = 0;
};

WW_HOST_DEVICE constexpr RasterSharedPlan raster_shared_plan(const GemmConfig& c) {
  RasterSharedPlan plan;
  plan.dense = shared_plan(c);
  plan.tables = round_up(plan.dense.total, 16);
  plan.scan = plan.tables + group_capacity(c) * kGroupBytes;
  plan.items = plan.scan + kScanBytes;
  plan.item_barriers = plan.items + (groups_k(c) ? 0 : kItemStages * kItemBytes);
  plan.total = plan.item_barriers + (groups_k(c) ? 0 : 2 * kItemStages * 8);
  return plan;
}

WW_HOST_DEVICE constexpr int grouped_shared_bytes(const GemmConfig& c) {
  return is_ragged(c) ? grouped_shared_plan(c).total : raster_shared_plan(c).total;
}

}  // namespace ww::config
