// SPDX-License-Identifier: Apache-2.0
// Fills the `auto` fields of a GemmConfig, reports what is wrong with one, and lays out shared memory for it.
//   shared memory: A stages | B stages | D tile | scales | barriers | work tiles
//   every operand block is aligned to 1024 bytes (128-byte swizzle)
// The same constexpr functions serve the kernel (as constants), the host (before a launch) and the CLI (to print).
#pragma once

#include "warpwright/config/gemm_config.hpp"
#include "warpwright/config/swap_ab.hpp"
#include "warpwright/pipeline/arrivals.hpp"

namespace ww::collective {

inline constexpr int kRowBytes = 128;        // K bytes of one stage row: the span of the 128-byte swizzle
inline constexpr int kWarpgroupRows = 64;    // M of one wgmma
inline constexpr int kScaleBlock = 128;      // block recipe: elements of K (and of N for B) that one scale covers
inline constexpr int kSharedLimit = 232448;  // dynamic shared memory of one CTA on sm_90
inline constexpr int kLargestStages = 16;
inline constexpr int kAlignment = 1024;
inline constexpr int kWorkTileStages = 2;   // dynamic scheduler: tiles announced ahead of the consumer warps
inline constexpr int kLargestCluster = 16;  // CTAs; more than 8 are not portable, but every H100 and H200 supports 16
inline constexpr int kPortableCluster = 8;

WW_HOST_DEVICE constexpr bool is_power_of_two(int n) { return n > 0 && (n & (n - 1)) == 0; }
WW_HOST_DEVICE constexpr pipeline::ClusterShape cluster_of(const GemmConfig& c) {
  return {c.cluster.m, c.cluster.n, max(1, c.cluster.k)};
}
/// Returns the M or N elements of one row of an MN-major operand in shared memory, which is 128 bytes.
WW_HOST_DEVICE constexpr int mn_block(DType type) { return kRowBytes / bytes_of(type); }
/// Returns whether consumer warps read A from the stage and pass it to the tensor core in registers.
WW_HOST_DEVICE constexpr bool a_from_registers(const GemmConfig& c) {
  return c.sm90.a_source == OperandSource::registers;
}
/// Returns whether consumer warps transpose B in each stage: wgmma reads 32-bit operands from shared memory only
/// K-major.
WW_HOST_DEVICE constexpr bool transposes_b(const GemmConfig& c) {
  return c.operands.layout.b == Major::mn && bytes_of(c.operands.b) == 4;
}
/// Returns whether the kernel is warp-specialised: one warpgroup loads, the others multiply.
WW_HOST_DEVICE constexpr bool has_roles(const GemmConfig& c) { return c.sm90.schedule != Schedule::multistage; }
/// Returns the number of tiles that a CTA works on at a time: one, or one for each consumer warpgroup.
WW_HOST_DEVICE constexpr int tiles_in_flight(const GemmConfig& c) {
  return c.sm90.schedule == Schedule::pingpong ? c.sm90.consumer_warpgroups : 1;
}
/// Returns the number of consumer warpgroups that share the rows of one tile.
WW_HOST_DEVICE constexpr int warpgroups_of_tile(const GemmConfig& c) {
  return c.sm90.consumer_warpgroups / tiles_in_flight(c);
}
WW_HOST_DEVICE constexpr int threads_of(const GemmConfig& c) {
  return 128 * (has_roles(c) + c.sm90.consumer_warpgroups);
}
/// Producers give up registers, which consumers claim.
WW_HOST_DEVICE constexpr bool moves_registers(const Sm90Schedule& s) {
  return s.schedule != Schedule::multistage && s.consumer_warpgroups > 1;
}
/// The division of the register file between producers and consumers; {0, 0} keeps the launch's division.
struct RegisterSplit {
  int producer = 0, consumer = 0;  // of a thread
};
// A CTA starts with equally many registers for all threads: 168 of 384 threads, or 128 of 512. Consumer warps may claim
// what the producers give up. With two warpgroups each thread has 255 from the start, so nothing is moved.
WW_HOST_DEVICE constexpr RegisterSplit registers_of(const GemmConfig& c) {
  if (!moves_registers(c.sm90)) return {};
  const int consumers = c.sm90.consumer_warpgroups;
  const int of_all = consumers == 3 ? 4 * 128 : 3 * 168;
  return {c.sm90.producer_registers, (of_all - c.sm90.producer_registers) / consumers / 8 * 8};
}

/// Returns the number of 64-row blocks that each consumer warpgroup multiplies one after the other.
WW_HOST_DEVICE constexpr int mma_blocks_of(const GemmConfig& c) {
  return c.tile.m / (kWarpgroupRows * warpgroups_of_tile(c));
}

/// Returns the columns of D that one tile owns: TILE_N, or half of it after SwiGLU.
WW_HOST_DEVICE constexpr int output_columns(const GemmConfig& c) { return output_columns(c.epilogue, c.tile.n); }

/// SwiGLU of halves: the first half of a tile's columns are gates, the other half their ups, N / 2 columns further on.
WW_HOST_DEVICE constexpr bool pairs_halves(const GemmConfig& c) {
  return stages_of(c.epilogue).swiglu == EpilogueOp::swiglu_halves;
}
/// Slices of TILE_N rows of B that are loaded at a time: one for each CTA that shares them, and gates apart from ups.
WW_HOST_DEVICE constexpr int slices_of_b(const GemmConfig& c) { return max(c.cluster.m, pairs_halves(c) ? 2 : 1); }

/// Returns the width of the epilogue tile: the columns of D that are staged in shared memory and stored at a time.
WW_HOST_DEVICE constexpr int staged_columns(const GemmConfig& c) {
  return c.dense.epilogue_n > 0 ? c.dense.epilogue_n : output_columns(c);
}
/// Returns the number of such staging buffers. With two, one is written while the other is stored. An odd number of
/// parts needs one buffer, because otherwise the first part of the next tile would overwrite the last part of this one.
WW_HOST_DEVICE constexpr int output_buffers(const GemmConfig& c) {
  return output_columns(c) / staged_columns(c) % 2 == 0 ? 2 : 1;
}

/// Returns the bytes of one row of an output panel: the widest swizzle span that divides the epilogue tile's row.
WW_HOST_DEVICE constexpr int panel_bytes(const GemmConfig& c) {
  int bytes = kRowBytes;
  while ((staged_columns(c) * bytes_of(c.operands.d)) % bytes != 0) bytes /= 2;
  return bytes;
}

/// With D stored as (N, M): the rows of one of its panels in shared memory, which is 128 bytes of M.
WW_HOST_DEVICE constexpr int column_panel_rows(const GemmConfig& c) { return kRowBytes / bytes_of(c.operands.d); }

/// Returns whether N may be odd. N is a multiple of 8 except under swap-AB, where it is the M of the problem and C is
/// stored by columns.
WW_HOST_DEVICE constexpr bool may_have_odd_n(const GemmConfig& c) {
  return c.operands.c_layout == OutputLayout::column;
}

/// Returns whether partial sums are scaled and accumulated in FP32 registers after every 128 of K.
WW_HOST_DEVICE constexpr bool promotes(const GemmConfig& c) { return is_block(c.operands.scale); }
/// The form in which the block scales of a tile are staged in shared memory: those that differ by row, by column, or
/// both. Scales that differ by neither are multiplied into them beforehand.
enum class ScaleForm : u8 { rows, both, columns };
WW_HOST_DEVICE constexpr ScaleForm scale_form(Scale scale) {
  return scale == Scale::block_1x128_1x128     ? ScaleForm::both
         : scale == Scale::block_128x128_1x128 ? ScaleForm::columns
                                               : ScaleForm::rows;
}
/// Returns whether the recipe scales every column of D separately.
WW_HOST_DEVICE constexpr bool scales_columns(const GemmConfig& c) {
  return promotes(c) && scale_form(c.operands.scale) != ScaleForm::rows;
}

/// Returns the number of columns between positions at which a tile of `tile_n` may pass from one scale of B to the
/// next. Tiles start at multiples of tile_n, scales at multiples of 128.
WW_HOST_DEVICE constexpr int scale_step(int tile_n) { return min(kScaleBlock, tile_n & -tile_n); }
/// Returns the maximal number of scales, of 128 columns of B each, that one tile needs: 1 if tile_n divides 128,
/// otherwise 2, or 3 for odd wide tiles. The same holds for rows of A that share scales.
WW_HOST_DEVICE constexpr int scale_blocks(int tile_n) {
  return (kScaleBlock - scale_step(tile_n) + tile_n - 1) / kScaleBlock + 1;
}
/// Scales of 128 columns of B that one tile may need: with halves those of the gates and of the ups, each half within
/// one (fits_halves()).
WW_HOST_DEVICE constexpr int scale_blocks_of_b(int tile_n, bool halves) { return halves ? 2 : scale_blocks(tile_n); }
/// Halves whose scales of B are of 128 columns.
WW_HOST_DEVICE constexpr bool shares_scales_of_halves(const GemmConfig& c) {
  return pairs_halves(c) && promotes(c) && scale_form(c.operands.scale) == ScaleForm::rows;
}
/// Whether then every half of a tile lies within 128 columns that share a scale; `n` columns of the product.
WW_HOST_DEVICE constexpr bool fits_halves(const GemmConfig& c, i64 n) {
  return !shares_scales_of_halves(c) || n <= kScaleBlock ||
         (c.tile.n > 0 && 2 * kScaleBlock % c.tile.n == 0 && n % c.tile.n == 0);
}
/// The widest TILE_N for halves of `n` columns, at most `most`: all of them where that fits, so that one tile has both
/// halves, else what fits_halves().
WW_HOST_DEVICE constexpr int tile_of_halves(const GemmConfig& c, i64 n, int most) {
  if (!shares_scales_of_halves(c) || n <= kScaleBlock) return static_cast<int>(min<i64>(n, most));
  return static_cast<int>(min<i64>(n & -n, kScaleBlock));
}
/// Returns the number of floats that scale one k-block of a tile. rows: a product for each row and scale of B. both:
/// the scales of A, then those of B. columns: a product for each scale of A and column.
WW_HOST_DEVICE constexpr int scale_floats(ScaleForm form, int tile_m, int tile_n, bool halves) {
  return form == ScaleForm::rows   ? scale_blocks_of_b(tile_n, halves) * tile_m
         : form == ScaleForm::both ? tile_m + tile_n
                                   : scale_blocks(tile_m) * tile_n;
}
WW_HOST_DEVICE constexpr int scale_floats(const GemmConfig& c) {
  return promotes(c) ? scale_floats(scale_form(c.operands.scale), c.tile.m, c.tile.n, pairs_halves(c)) : 0;
}

/// Returns the registers of a thread that accumulators may take; the rest must hold addresses and scales.
// A in registers takes 16 of them; transposing a column of B takes 32.
WW_HOST_DEVICE constexpr int accumulator_registers(const GemmConfig& c) {
  return (c.sm90.consumer_warpgroups == 3 ? 128 : 192) - (a_from_registers(c) || transposes_b(c) ? 32 : 0);
}

/// Returns the number of partial accumulators used in turn. With two, one block is multiplied while the other is
/// promoted.
// Several MMA_M blocks, three warpgroups and wide tiles allow only one, because two would leave too few registers for
// the sums. Without warp specialisation, the code of the loading thread would lie between two accumulators in flight.
WW_HOST_DEVICE constexpr int partial_accumulators(const GemmConfig& c) {
  const bool room = mma_blocks_of(c) == 1 && c.sm90.consumer_warpgroups < 3 && has_roles(c) && !a_from_registers(c) &&
                    3 * c.tile.n / 2 <= accumulator_registers(c);
  return !promotes(c) ? 0 : c.sm90.partial_accumulators != 0 ? c.sm90.partial_accumulators : room ? 2 : 1;
}

/// Returns whether the kernel has groups of K; everything else is as in a batch of dense products.
WW_HOST_DEVICE constexpr bool groups_k(const GemmConfig& c) { return c.grouping == Grouping::k_groups; }
/// Returns whether the kernel has groups of rows of A and D.
WW_HOST_DEVICE constexpr bool groups_rows(const GemmConfig& c) { return c.grouping == Grouping::row_groups; }
/// Returns whether groups of K may begin and end at any row of K. The tensor maps of A and B then end where a group
/// does. With a K-major operand, groups begin and end at whole blocks of scales instead.
WW_HOST_DEVICE constexpr bool has_k_tails(const GemmConfig& c) {
  return groups_k(c) && c.operands.layout.a == Major::mn && c.operands.layout.b == Major::mn;
}

/// Returns whether the matrices of a batch form one rank-3 tensor.
WW_HOST_DEVICE constexpr bool stacks_matrices(const GemmConfig& c) {
  return c.operands.batched && !c.operands.pointer_array;
}

/// Returns whether the dense kernel takes its tiles from a work-tile counter.
WW_HOST_DEVICE constexpr bool uses_work_tile_counter(const GemmConfig& c) {
  return c.grouping == Grouping::dense && c.sm90.tile_scheduler == TileScheduler::dynamic;
}
/// Returns whether CTAs of a cluster split K between them.
WW_HOST_DEVICE constexpr bool sums_in_cluster(const GemmConfig& c) { return c.cluster.k > 1; }
/// Returns whether CTAs of different clusters may split K between them.
WW_HOST_DEVICE constexpr bool sums_in_workspace(const GemmConfig& c) {
  return c.sm90.tile_scheduler == TileScheduler::stream_k ||
         (c.sm90.tile_scheduler == TileScheduler::split_k && c.sm90.split > max(1, c.cluster.k));
}

/// Returns the number of rounds in which FP32 partial tiles are exchanged in the cluster. The slots of all peers take
/// at most a third of shared memory, because the operand ring needs the rest.
WW_HOST_DEVICE constexpr int sum_rounds(const GemmConfig& c) {
  int rounds = 1;
  while (3 * (c.cluster.k - 1) * c.tile.m * c.tile.n * 4 > rounds * kSharedLimit) rounds *= 2;
  return rounds;
}
/// Returns the bytes of a peer's slot.
WW_HOST_DEVICE constexpr int slot_bytes(const GemmConfig& c) { return c.tile.m * c.tile.n * 4 / sum_rounds(c); }

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
  return sums_in_cluster(c) ? 2 * 4 * c.sm90.consumer_warpgroups * 8 : 0;
}

/// Byte offsets from the start of dynamic shared memory.
struct SharedPlan {
  int a_stage = 0, b_stage = 0;  // bytes of one stage
  int d_tile = 0;                // bytes of the staged part of one output tile
  int a = 0, b = 0, d = 0, sums = 0, scales = 0, barriers = 0, order = 0;
  int work_tile_barriers = 0, work_tiles = 0;  // dynamic scheduler
  int sum_barriers = 0;                        // of the slots for partial tiles of a cluster's peers, from `sums` on
  int total = 0;
};

WW_HOST_DEVICE constexpr SharedPlan shared_plan(const GemmConfig& c) {
  SharedPlan plan;
  plan.a_stage = c.tile.m * kRowBytes;
  plan.b_stage = c.tile.n * kRowBytes;
  plan.b = c.sm90.stages * plan.a_stage;
  plan.d = plan.b + c.sm90.stages * plan.b_stage;
  plan.d_tile = c.tile.m * output_buffers(c) * staged_columns(c) * bytes_of(c.operands.d);
  plan.sums = round_up(plan.d + tiles_in_flight(c) * plan.d_tile, kAlignment);
  plan.scales = plan.sums + (sums_in_cluster(c) ? (c.cluster.k - 1) * slot_bytes(c) : 0);
  // Without warp specialisation every consumer thread reads its own scales from global memory.
  plan.barriers = plan.scales + (has_roles(c) ? c.sm90.stages * scale_floats(c) * 4 : 0);
  plan.order = plan.barriers + 2 * c.sm90.stages * 8;
  plan.work_tile_barriers = plan.order + (tiles_in_flight(c) > 1 ? tiles_in_flight(c) * 8 : 0);
  plan.work_tiles = plan.work_tile_barriers + (uses_work_tile_counter(c) ? 2 * kWorkTileStages * 8 : 0);
  plan.sum_barriers = plan.work_tiles + (uses_work_tile_counter(c) ? kWorkTileStages * 4 : 0);
  plan.total = plan.sum_barriers + sum_barrier_bytes(c);
  return plan;
}

WW_HOST_DEVICE constexpr SumPlan sum_plan(const GemmConfig& c) {
  const SharedPlan plan = shared_plan(c);
  return {cluster_of(c), 4 * c.sm90.consumer_warpgroups, mma_blocks_of(c) * c.tile.n / 2 / sum_rounds(c), plan.sums,
          plan.sum_barriers};
}

/// Fills the fields of the schedule that every kernel resolves alike, once it has its consumer warpgroups.
WW_HOST_DEVICE constexpr void resolve_schedule(Sm90Schedule& s) {
  if (s.schedule == Schedule::automatic) s.schedule = Schedule::cooperative;
  if (s.a_source == OperandSource::automatic) s.a_source = OperandSource::shared;
  if (s.swap_ab == SwapAb::automatic) s.swap_ab = SwapAb::off;
  if (s.occupancy == 0) s.occupancy = 1;
  if (s.producer_registers == 0 && moves_registers(s)) s.producer_registers = 56;
}

/// Fills every open field (but never changes one that is set). What comes out depends on `c` alone: the text of a
/// resolved config means the same kernel on every device.
WW_HOST_DEVICE constexpr GemmConfig resolve(GemmConfig c) {
  if (swaps(c)) return exchanged(resolve(exchanged(c)));
  const bool promoted = promotes(c);
  if (c.sm90.a_source == OperandSource::automatic && c.operands.layout.a == Major::mn && bytes_of(c.operands.a) == 4)
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
  if (c.tile.n == 0) c.tile.n = promoted || bytes_of(c.operands.d) == 4 ? 128 : 256;
  if (c.tile.k == 0) c.tile.k = kRowBytes / bytes_of(c.operands.a);
  if (c.cluster.m == 0) c.cluster.m = 1;
  if (c.cluster.n == 0) c.cluster.n = 1;
  if (c.sm90.tile_scheduler == TileScheduler::split_k) {
    if (c.sm90.split == 0) c.sm90.split = max(2, c.cluster.k);
    // Sums inside a cluster are preferred, because they need neither workspace nor a wait for other clusters.
    if (c.cluster.k == 0)
      c.cluster.k = is_power_of_two(c.sm90.split) && c.cluster.m * c.cluster.n * c.sm90.split <= kPortableCluster
                        ? c.sm90.split
                        : 1;
  }
  if (c.raster.width == 0)
    c.raster.width = max(1, 16 / (c.raster.band == RasterBand::along_m ? c.cluster.m : c.cluster.n));
  if (promoted && c.sm90.partial_accumulators == 0 && warpgroups_of_tile(c) > 0)
    c.sm90.partial_accumulators = partial_accumulators(c);
  if (c.sm90.stages == 0 && c.tile.m > 0 && c.tile.n > 0) {
    c.sm90.stages = kLargestStages;
    while (c.sm90.stages > 1 && shared_plan(c).total > kSharedLimit) --c.sm90.stages;
  }
  return c;
}

/// The field of a resolved config that is at fault, and the values that it accepts. An empty field means no fault.
struct ConfigFault {
  const char* field = nullptr;
  const char* expected = nullptr;
  WW_HOST_DEVICE constexpr explicit operator bool() const { return field != nullptr; }
};

/// The part of fault_of() about the tile scheduler.
WW_HOST_DEVICE constexpr ConfigFault fault_of_scheduler(const GemmConfig& c) {
  if (c.grouping == Grouping::dense &&
      (c.sm90.tile_scheduler == TileScheduler::horizontal || c.sm90.tile_scheduler == TileScheduler::vertical))
    return {"tile_scheduler", "auto, single, static, dynamic, stream-k or split-k"};
  const int ctas = c.cluster.m * c.cluster.n * max(1, c.cluster.k);
  if (!is_power_of_two(c.cluster.m) || !is_power_of_two(c.cluster.n) || ctas > kLargestCluster)
    return {"cluster", "1, 2 or 4 CTAs along M and along N, at most 16 in all"};
  if (c.cluster.m > 4 || c.cluster.n > 4) return {"cluster", "at most 4 CTAs along M and along N"};
  if ((tiles_in_flight(c) > 1 || !has_roles(c)) &&
      (uses_work_tile_counter(c) || c.sm90.tile_scheduler == TileScheduler::stream_k ||
       c.sm90.tile_scheduler == TileScheduler::split_k))
    return {"tile_scheduler", "auto, single or static with pingpong and multistage"};
  // Tiles count each other's arrival, so a launch must keep all its CTAs resident.
  if (c.sm90.tile_scheduler == TileScheduler::single && reduces(c.epilogue))
    return {"tile_scheduler", "auto, static, dynamic, stream-k or split-k with an epilogue that reduces"};
  if (c.sm90.tile_scheduler != TileScheduler::split_k)
    return c.sm90.split > 1 || c.cluster.k > 1 ? ConfigFault{"split", "order split-k with it"} : ConfigFault{};
  if (c.sm90.split < 2 || c.sm90.split > 1024) return {"split", "2 to 1024 splits"};
  if (!is_power_of_two(c.cluster.k) || c.sm90.split % c.cluster.k != 0)
    return {"cluster (k)", "1, 2, 4, 8 or 16 CTAs, a divisor of split"};
  if (c.cluster.k > 1 && mma_blocks_of(c) * c.tile.n / 2 % (4 * sum_rounds(c)) != 0)  // 16 bytes per thread and step
    return {"tile (n)", "a multiple of 16 for sums across a cluster"};
  return {};
}

inline constexpr const char* kGroupedSwap =
    "auto or off for grouped products: variant descriptors has weights on the M side, ragged where tiles are narrow";

/// The part of fault_of() about swap-AB.
WW_HOST_DEVICE constexpr ConfigFault fault_of_swap(const GemmConfig& c) {
  if (c.grouping != Grouping::dense) return {"swap_ab", kGroupedSwap};
  if (const char* expected = fault_of(c.epilogue)) return {"epilogue", expected};
  const EpilogueStages stages = stages_of(c.epilogue);
  // Column pairs are loaded at once, and M, which is then the instruction's columns, may be odd.
  if (c.operands.c_layout == OutputLayout::column) return {"swap_ab", "auto or off with C by column"};
  if (c.operands.pointer_array) return {"swap_ab", "auto or off with arrays of pointers"};
  if (c.dense.epilogue_n != 0) return {"epilogue_n", "0 under swap-AB, whose D lies by column"};
  if (c.dense.fixed_n != 0) return {"swap_ab", "auto or off with a fixed N, which is rows of the instruction then"};
  // Columns of D are then rows of the instruction, and several threads hold those of a pair or block.
  if (stages.swiglu != EpilogueOp::none) return {"swap_ab", "auto or off with SwiGLU, which combines columns of D"};
  if (stages.quantise > EpilogueOp::quantise)
    return {"swap_ab", "auto or off with scales of 128 columns of D, which combine columns"};
  if (stages.quantise != EpilogueOp::none || c.operands.d == DType::e4m3)
    return {"swap_ab", "auto or off with D in e4m3"};
  return {};
}

/// The part of fault_of() that every kernel's schedule has.
WW_HOST_DEVICE constexpr ConfigFault fault_of_schedule(const GemmConfig& c) {
  if (c.sm90.stages < 2 || c.sm90.stages > kLargestStages) return {"stages", "2 to 16"};
  const int registers = c.sm90.producer_registers;
  if (!moves_registers(c.sm90) && registers != 0)
    return {"producer_registers", "0 with multistage and with one consumer warpgroup: no thread gives up any"};
  if (moves_registers(c.sm90) && (registers < 24 || registers > 120 || registers % 8 != 0))
    return {"producer_registers", "0 (auto), or a multiple of 8 from 24 to 120"};
  return {};
}

/// The part of fault_of() about the path of operands to the tensor core.
WW_HOST_DEVICE constexpr ConfigFault fault_of_operands(const GemmConfig& c) {
  const bool a_mn = c.operands.layout.a == Major::mn, b_mn = c.operands.layout.b == Major::mn;
  const bool has_consumer_warps = c.grouping == Grouping::dense && has_roles(c);
  if ((a_mn || b_mn) && is_fp8(c.operands.a)) return {"layout", "nt: wgmma takes FP8 K-major only"};
  if (a_mn && bytes_of(c.operands.a) == 4 && !a_from_registers(c))
    return {"a_source", "auto or registers for an M-major tf32 A: wgmma reads 32 bits K-major only from shared memory"};
  if (a_from_registers(c) && !has_consumer_warps) return {"a_source", "auto or shared with multistage and groups"};
  if (transposes_b(c) && !has_consumer_warps)
    return {"schedule", "auto, cooperative or pingpong for an N-major tf32 B, which consumer warps turn over"};
  if (a_mn && c.tile.m / c.cluster.n % mn_block(c.operands.a) != 0)
    return {"tile (m)", "64 rows of an M-major A (32 of tf32) for each CTA that shares it"};
  if (b_mn && c.tile.n / slices_of_b(c) % mn_block(c.operands.b) != 0)
    return {"tile (n)",
            "64 columns of an N-major B (32 of tf32) for each CTA that shares it, and for each half of SwiGLU"};
  if (c.sm90.partial_accumulators == 2 && a_from_registers(c))
    return {"partial_accumulators", "auto or 1 with A from registers"};
  return {};
}

WW_HOST_DEVICE constexpr ConfigFault fault_of(const GemmConfig& c) {
  if (swaps(c)) {
    const ConfigFault fault = fault_of_swap(c);
    return fault ? fault : fault_of(exchanged(c));
  }
  const bool promoted = promotes(c);
  if (c.grouping != Grouping::dense && (tiles_in_flight(c) != 1 || !has_roles(c)))
    return {"schedule", "auto or cooperative for grouped products"};
  if (is_fp8(c.operands.a) ? !is_fp8(c.operands.b) : c.operands.a != c.operands.b || c.operands.a == DType::f32)
    return {"a, b", "e4m3 and e5m2 in any mix, or one type of bf16, f16, tf32"};
  if (c.operands.d == DType::e5m2 || c.operands.d == DType::tf32) return {"d", "bf16, f16 or f32"};
  const bool by_column = c.operands.c_layout == OutputLayout::column;
  if (const char* expected = fault_of(c.epilogue, by_column)) return {"epilogue", expected};
  const EpilogueStages stages = stages_of(c.epilogue);
  if ((c.operands.d == DType::e4m3) != (stages.quantise != EpilogueOp::none))
    return {"d", "e4m3 with an epilogue that quantises, bf16, f16 or f32 without"};
  if (c.operands.d_layout == OutputLayout::column && c.grouping != Grouping::dense)
    return {"d_layout", "row for grouped products"};
  if (c.sm90.occupancy > 1) return {"occupancy", "0 or 1 but for ragged tiles"};
  if (c.dense.epilogue_n != 0) {
    // Arrays of pointers are excluded, because every staged part would acquire its matrix's tensor map again.
    if (c.grouping != Grouping::dense || c.operands.pointer_array || c.operands.d_layout == OutputLayout::column)
      return {"epilogue_n", "0 for grouped products, arrays of pointers and D by column"};
    if (c.dense.epilogue_n < 0 || c.dense.epilogue_n * bytes_of(c.operands.d) % 32 != 0 ||
        output_columns(c) % c.dense.epilogue_n != 0)
      return {"epilogue_n", "0, or a divisor of the tile's columns of D, whole 32 bytes of them"};
  }
  if (c.operands.d_layout == OutputLayout::column && c.operands.d == DType::e4m3) return {"d_layout", "row for e4m3"};
  if (by_column && (c.grouping != Grouping::dense || stages.swiglu != EpilogueOp::none || c.operands.d == DType::e4m3))
    return {"c_layout", "row with groups, SwiGLU or D in e4m3"};
  if (c.operands.scale == Scale::block_128x128_1x128 && c.grouping != Grouping::dense)
    return {"scale", "none, tensor, row-column or block for grouped products"};
  if (promoted && !is_fp8(c.operands.a)) return {"scale", "none, tensor or row-column for operands that are not FP8"};
  if (c.sm90.consumer_warpgroups < 1 || c.sm90.consumer_warpgroups > 3) return {"consumer_warpgroups", "1, 2 or 3"};
  if (c.sm90.schedule == Schedule::pingpong && c.sm90.consumer_warpgroups != 2)
    return {"consumer_warpgroups", "2 for pingpong"};
  if (c.tile.m != 64 * warpgroups_of_tile(c) && c.tile.m != 128 * warpgroups_of_tile(c))
    return {"tile (m)", "64 or 128 rows for each consumer warpgroup"};
  if (c.tile.n < 8 || c.tile.n > 256 || c.tile.n % 8 != 0) return {"tile (n)", "a multiple of 8 up to 256"};
  if (stages.swiglu != EpilogueOp::none && c.tile.n % 16 != 0) return {"tile (n)", "a multiple of 16 for SwiGLU"};
  if (c.operands.d == DType::e4m3 && output_columns(c) % 16 != 0) return {"tile (n)", "whole 16 bytes of a row of D"};
  if (stages.quantise > EpilogueOp::quantise && stages.swiglu != EpilogueOp::none && promoted)
    return {"scale",
            "none, tensor or row-column to quantise by blocks behind SwiGLU: 256 columns of a tile become 128, "
            "and promotion has registers for fewer"};
  if (stages.quantise > EpilogueOp::quantise && output_columns(c) % kScaleBlock != 0)
    return {"tile (n)", "whole 128 columns of D, to quantise by blocks"};
  if (promoted && groups_rows(c) && kScaleBlock % c.tile.n != 0)
    return {"tile (n)", "8, 16, 32, 64 or 128 with block scales of groups"};
  if (scales_columns(c) && groups_rows(c)) return {"scale", "none, tensor, row-column or block for groups of rows"};
  if (c.tile.k != kRowBytes / bytes_of(c.operands.a))
    return {"tile (k)", "128 bytes of K: 128 for FP8, 64 for bf16 and f16, 32 for tf32"};
  if (const ConfigFault fault = fault_of_scheduler(c)) return fault;
  if (c.tile.n % (8 * c.cluster.m) != 0) return {"tile (n)", "a multiple of 8 rows of B for each CTA that shares it"};
  if (const ConfigFault fault = fault_of_operands(c)) return fault;
  if (c.sm90.partial_accumulators != 0 && !promoted) return {"partial_accumulators", "auto without block scales"};
  if (c.sm90.partial_accumulators > 2) return {"partial_accumulators", "auto, 1 or 2"};
  if (c.sm90.partial_accumulators == 2 && (mma_blocks_of(c) > 1 || !has_roles(c)))
    return {"partial_accumulators", "1 with multistage, or where a consumer warpgroup has 128 rows"};
  const bool crowded = (mma_blocks_of(c) + partial_accumulators(c)) * c.tile.n / 2 > accumulator_registers(c);
  if (crowded && (a_from_registers(c) || transposes_b(c)))
    return {"tile",
            "accumulators of at most 160 registers a thread, 96 with three consumer warpgroups, beside operands"};
  if (crowded) return {"tile", "accumulators of at most 192 registers a thread, 128 with three consumer warpgroups"};
  // A thread starts with 128 registers, and one wgmma names its whole accumulator.
  if (c.sm90.consumer_warpgroups == 3 && c.tile.n > 200)
    return {"tile (n)", "at most 200 with three consumer warpgroups"};
  if (c.tile.m > 256) return {"tile (m)", "at most 256 rows"};
  if (const ConfigFault fault = fault_of_schedule(c)) return fault;
  if (shared_plan(c).total > kSharedLimit)
    return {"stages", "a ring and an output tile that fit 232448 bytes of shared memory"};
  if (c.raster.width < 1) return {"raster", "at least 1"};
  if (c.operands.pointer_array && (!c.operands.batched || c.grouping != Grouping::dense))
    return {"pointers", "0 without a batch and for grouped products"};
  if (c.operands.pointer_array && !has_roles(c))
    return {"schedule", "auto, cooperative or pingpong with pointer arrays"};
  if (c.dense.fixed_n < 0 || (c.dense.fixed_n > 0 && c.grouping != Grouping::dense))
    return {"fixed_n", "0 for grouped products"};
  if (c.dense.fixed_k < 0 || (c.dense.fixed_k > 0 && c.grouping != Grouping::dense))
    return {"fixed_k", "0 for grouped products"};
  return {};
}

}  // namespace ww::collective
