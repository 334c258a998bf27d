// SPDX-License-Identifier: Apache-2.0
// Fills the `auto` fields of a grouped GemmConfig, reports what is wrong with one, and lays out shared memory for it.
//   ragged, descriptors:  token stages | weight stages | staging of the epilogue | scales | group tables | barriers
//                         descriptors: the staging is a whole tile of D, which TMA stores
//   contiguous, masked, k-grouped:  the dense plan (builder.hpp) | group tables
#pragma once

#include "warpwright/config/builder.hpp"
#include "warpwright/config/group_encoding.hpp"
#include "warpwright/config/token_widths.hpp"

namespace ww::collective {

inline constexpr int kGroupLimit = 4096;
inline constexpr int kGroupBytes = 16;  // of the tables in shared memory, per group
inline constexpr int kUsualStages = 8;  // of descriptors: a deeper ring would only take space from the tables
inline constexpr int kItemStages = 2;   // tiles announced ahead of the consumer warps
inline constexpr int kItemBytes = 16;
inline constexpr int kScanBytes = 256;                    // scratch of block scans
inline constexpr int kStagingBytes = 16 * (64 * 2 + 16);  // of a consumer warp: 16 rows of 64 16-bit columns, padded

/// Returns whether token tiles have a width chosen at run time, with weights on either side of wgmma.
WW_HOST_DEVICE constexpr bool is_ragged(const GemmConfig& c) {
  return c.row_groups.variant == GroupedVariant::ragged || c.row_groups.variant == GroupedVariant::descriptors;
}

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
  plan.scales = plan.staging + (c.row_groups.variant == GroupedVariant::descriptors
                                    ? c.tile.m * c.tile.n * bytes_of(c.operands.d)
                                    : 4 * c.sm90.consumer_warpgroups * kStagingBytes);
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
  const int warps = 4 * c.sm90.consumer_warpgroups;
  return {cluster_of(c), warps, slot_bytes(c) / (warps * 32 * 4), plan.sums, plan.sum_barriers};
}

/// Returns the dynamic shared memory available to a CTA, without the 1 KiB that the system reserves per CTA.
WW_HOST_DEVICE constexpr int shared_limit(const GemmConfig& c) {
  constexpr int kOfSm = 228 * 1024, kReserved = 1024;
  static_assert(kOfSm - kReserved == kSharedLimit);
  return kOfSm / max(1, c.sm90.occupancy) - kReserved;
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
  if (c.tile.k == 0) c.tile.k = kRowBytes / bytes_of(c.operands.a);
  if (c.cluster.m == 0) c.cluster.m = 1;
  if (c.cluster.n == 0) c.cluster.n = 1;
  if (c.raster.width == 0) c.raster.width = 1;
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

/// The part of fault_of() that all products of groups of rows share: majors and trees.
WW_HOST_DEVICE constexpr ConfigFault fault_of_rows(const GemmConfig& c) {
  // M-major tokens would let groups start at any column of a box; tokens are row-major everywhere.
  if (c.operands.layout.a != Major::k || c.operands.layout.b != Major::k) return {"layout", "nt for groups of rows"};
  if (c.operands.batched) return {"batched", "0 for groups of rows"};
  if (const char* expected = fault_of(c.epilogue)) return {"epilogue", expected};
  // Tiles that share a row or column count each other's arrival, and only the device knows how many there are.
  if (reduces(c.epilogue)) return {"epilogue", "one without reductions for groups of rows: store() what they reduce"};
  if (c.operands.c_layout != OutputLayout::row) return {"c_layout", "row for grouped products"};
  return {};
}

WW_HOST_DEVICE constexpr ConfigFault fault_of_ragged(const GemmConfig& c) {
  const bool ragged = c.row_groups.variant == GroupedVariant::ragged;
  if (const ConfigFault fault = fault_of_rows(c)) return fault;
  const EpilogueStages stages = stages_of(c.epilogue);
  // Columns of D are rows of the instruction, and several threads hold those of a pair or block.
  if (stages.swiglu != EpilogueOp::none)
    return {"variant", "contiguous, or masked for masked groups, with SwiGLU, which combines columns of D"};
  if (stages.quantise != EpilogueOp::none)
    return {"variant", "contiguous, or masked for masked groups, to quantise D, which combines its columns"};
  // At most two CTAs with 128 weights: with three, a consumer thread would have too few registers for its sums.
  const int most =
      !ragged || c.sm90.tile_scheduler == TileScheduler::split_k || c.sm90.consumer_warpgroups != 1 || c.tile.m != 32
          ? 1
      : c.tile.n == 64 ? 3
                       : 2;
  if (c.sm90.occupancy > most)
    return {"occupancy", ragged ? "1, or with 32 tokens, one consumer warpgroup and whole K 2, and with 64 weights 3"
                                : "0 or 1 but for ragged tiles"};
  if (tiles_in_flight(c) != 1 || !has_roles(c)) return {"schedule", "auto or cooperative for grouped products"};
  if (c.sm90.partial_accumulators != 0) return {"partial_accumulators", "auto for ragged tiles"};
  if (c.operands.d_layout != OutputLayout::row) return {"d_layout", "row for grouped products"};
  if (c.operands.pointer_array) return {"pointers", "0 for grouped products"};
  if (swaps(c)) return {"swap_ab", kGroupedSwap};
  if (c.sm90.a_source == OperandSource::registers) return {"a_source", "auto or shared with multistage and groups"};
  if (c.dense.fixed_n != 0 || c.dense.fixed_k != 0)
    return {c.dense.fixed_n != 0 ? "fixed_n" : "fixed_k", "0 for grouped products"};
  if (c.operands.a != c.operands.b || (c.operands.a != DType::e4m3 && bytes_of(c.operands.a) != 2))
    return {"a, b", "the same type of e4m3, bf16, f16"};
  if (c.operands.d == DType::e4m3) return {"d", "bf16, f16 or f32"};
  if (scales_columns(c)) return {"scale", "none, tensor, row-column or block for grouped products"};
  if (promotes(c) && c.operands.a != DType::e4m3) return {"scale", "none, tensor or row-column for 16-bit operands"};
  if (c.sm90.consumer_warpgroups != 2 && !(ragged && c.sm90.consumer_warpgroups == 1))
    return {"consumer_warpgroups", ragged ? "1 or 2" : "2"};
  if (c.tile.n != 64 * c.sm90.consumer_warpgroups && c.tile.n != 128 * c.sm90.consumer_warpgroups)
    return {"tile (n)", "64 or 128 rows of weights for each consumer warpgroup"};
  if (ragged ? c.tile.m != 32 && c.tile.m != 64 && c.tile.m != 128 : c.tile.m < 8 || c.tile.m > 64 || c.tile.m % 8 != 0)
    return {"tile (m)", ragged ? "32, 64 or 128 rows of tokens" : "8, 16, ... 64 rows of tokens"};
  if (c.tile.k != kRowBytes / bytes_of(c.operands.a))
    return {"tile (k)", "128 bytes of K: 128 for e4m3, 64 for bf16 and f16"};
  if (c.cluster.m != 1 || c.cluster.n != 1) return {"cluster", "1x1"};
  if (ragged ? c.sm90.tile_scheduler != TileScheduler::dynamic && c.sm90.tile_scheduler != TileScheduler::fixed &&
                   c.sm90.tile_scheduler != TileScheduler::split_k
             : c.sm90.tile_scheduler != TileScheduler::horizontal && c.sm90.tile_scheduler != TileScheduler::vertical)
    return {"tile_scheduler", ragged ? "dynamic, static or split-k" : "horizontal or vertical"};
  if (c.sm90.tile_scheduler != TileScheduler::split_k && (c.sm90.split > 1 || c.cluster.k > 1))
    return {"split", "order split-k with it"};
  if (c.sm90.tile_scheduler == TileScheduler::split_k && c.sm90.split != 2 && c.sm90.split != 4 && c.sm90.split != 8)
    return {"split", "2, 4 or 8 splits, one for each CTA of a cluster"};
  if (c.sm90.tile_scheduler == TileScheduler::split_k && c.cluster.k != c.sm90.split)
    return {"cluster (k)", "as many CTAs as split has splits"};
  if (group_capacity(c) < 1 || group_capacity(c) > kGroupLimit) return {"groups", "1 to 4096"};
  if (const ConfigFault fault = fault_of_schedule(c)) return fault;
  if (grouped_shared_plan(c).total > shared_limit(c))
    return {"stages",
            "a ring, an epilogue and group tables that fit a CTA's shared memory: 232448 bytes, or its share"};
  return {};
}

// --- contiguous, masked, k-grouped: the dense tile with tables behind it -------------------------------

struct RasterSharedPlan {
  SharedPlan dense;
  int tables = 0, scan = 0;
  int total = 0;
};

WW_HOST_DEVICE constexpr RasterSharedPlan raster_shared_plan(const GemmConfig& c) {
  RasterSharedPlan plan;
  plan.dense = shared_plan(c);
  plan.tables = round_up(plan.dense.total, 16);
  plan.scan = plan.tables + group_capacity(c) * kGroupBytes;
  plan.total = plan.scan + kScanBytes;
  return plan;
}

/// Returns whether tiles that end early skip the operand rows of consumer warpgroups without rows. In a cluster they do
/// not skip them, because peers share the loads.
WW_HOST_DEVICE constexpr bool loads_parts(const GemmConfig& c) {
  return cluster_of(c).size() == 1 && c.sm90.consumer_warpgroups > 1;
}

WW_HOST_DEVICE constexpr GemmConfig resolve_raster(GemmConfig c) {
  const bool every_stage = c.sm90.stages == 0;
  if (c.sm90.tile_scheduler == TileScheduler::automatic) c.sm90.tile_scheduler = TileScheduler::fixed;
  c = resolve(c);
  if (every_stage)
    while (c.sm90.stages > 1 && raster_shared_plan(c).total > kSharedLimit) --c.sm90.stages;
  return c;
}

WW_HOST_DEVICE constexpr ConfigFault fault_of_raster(const GemmConfig& c) {
  if (const ConfigFault fault = fault_of_rows(c)) return fault;
  if (const ConfigFault fault = fault_of(c)) return fault;
  if (c.cluster.n != 1 || c.cluster.m > 2)
    return {"cluster", "1x1 or 2x1: two token tiles may share the weights of their group"};
  if (c.sm90.tile_scheduler != TileScheduler::fixed) return {"tile_scheduler", "static"};
  if (group_capacity(c) < 1 || group_capacity(c) > kGroupLimit) return {"groups", "1 to 4096"};
  if (raster_shared_plan(c).total > kSharedLimit)
    return {"stages", "a ring, an output tile and group tables that fit 232448 bytes of shared memory"};
  return {};
}

// --- k-grouped ------------------------------------------------------------------------------------------

WW_HOST_DEVICE constexpr GemmConfig resolve_k_grouped(GemmConfig c) {
  c.grouping = Grouping::k_groups;
  c.operands.batched = true;  // a D for each group
  return resolve_raster(c);
}

WW_HOST_DEVICE constexpr ConfigFault fault_of_k_grouped(const GemmConfig& c) {
  if (!groups_k(c)) return {"grouping", "k-groups"};
  if (!c.operands.batched) return {"batched", "1 with groups of K"};
  if (const ConfigFault fault = fault_of(c)) return fault;
  // Schedulers that split K or use a work-tile counter have no order for groups of different K.
  if (c.sm90.tile_scheduler != TileScheduler::fixed) return {"tile_scheduler", "static"};
  if (reduces(c.epilogue)) return {"epilogue", "one without reductions for groups of K"};
  if (group_capacity(c) < 1 || group_capacity(c) > kGroupLimit) return {"groups", "1 to 4096"};
  if (raster_shared_plan(c).total > kSharedLimit)
    return {"stages", "a ring, an output tile and group tables that fit 232448 bytes of shared memory"};
  return {};
}

// --- any config for groups of rows ----------------------------------------------------------------------------------

WW_HOST_DEVICE constexpr GemmConfig resolve_grouped(GemmConfig c) {
  c.grouping = Grouping::row_groups;
  return is_ragged(c) ? resolve_ragged(c) : resolve_raster(c);
}
WW_HOST_DEVICE constexpr ConfigFault fault_of_grouped(const GemmConfig& c) {
  return is_ragged(c) ? fault_of_ragged(c) : fault_of_raster(c);
}
WW_HOST_DEVICE constexpr int grouped_shared_bytes(const GemmConfig& c) {
  return is_ragged(c) ? grouped_shared_plan(c).total : raster_shared_plan(c).total;
}

}  // namespace ww::collective
