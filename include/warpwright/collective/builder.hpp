// SPDX-License-Identifier: Apache-2.0
// Fills the `auto` fields of a GemmConfig, says what is wrong with one, and lays out shared memory for it.
//   shared memory: A stages | B stages | D tile | scales | barriers | tile numbers
//   every operand block aligned to 1024 bytes (128-byte swizzle)
// The same constexpr functions serve the kernel (as constants), the host (before a launch) and the CLI (to print).
#pragma once

#include "warpwright/collective/gemm_config.hpp"
#include "warpwright/collective/swap_ab.hpp"
#include "warpwright/pipeline/arrivals.hpp"

namespace ww::collective {

inline constexpr int kRowBytes = 128;        // K bytes of one stage row: the span of the 128-byte swizzle
inline constexpr int kWarpgroupRows = 64;    // M of one wgmma
inline constexpr int kScaleBlock = 128;      // block recipe: K (and N for B) that one scale covers
inline constexpr int kSharedLimit = 232448;  // dynamic shared memory of one CTA on sm_90
inline constexpr int kLargestStages = 16;
inline constexpr int kAlignment = 1024;
inline constexpr int kTicketStages = 2;     // dynamic: tiles announced ahead of the math warps
inline constexpr int kLargestCluster = 16;  // CTAs; more than 8 are not portable, but every H100 and H200 has them
inline constexpr int kPortableCluster = 8;

WW_HOST_DEVICE constexpr bool is_power_of_two(int n) { return n > 0 && (n & (n - 1)) == 0; }
WW_HOST_DEVICE constexpr pipeline::ClusterShape cluster_of(const GemmConfig& c) {
  return {c.cluster_m, c.cluster_n, max(1, c.cluster_k)};
}
/// Of M or N: one row of an MN-major operand in shared memory, 128 bytes.
WW_HOST_DEVICE constexpr int mn_block(DType type) { return kRowBytes / bytes_of(type); }
/// Math warps read A out of the stage, and the tensor core takes it from their registers.
WW_HOST_DEVICE constexpr bool a_from_registers(const GemmConfig& c) { return c.a_source == OperandSource::registers; }
/// wgmma reads 32-bit operands of shared memory K-major only: math warps turn B over in each stage.
WW_HOST_DEVICE constexpr bool transposes_b(const GemmConfig& c) { return c.b_major == Major::mn && bytes_of(c.b) == 4; }
/// One warpgroup loads, others multiply.
WW_HOST_DEVICE constexpr bool has_roles(const GemmConfig& c) { return c.schedule != Schedule::multistage; }
/// Tiles that a CTA works on at a time, one for each math warpgroup or one for all.
WW_HOST_DEVICE constexpr int tiles_in_flight(const GemmConfig& c) {
  return c.schedule == Schedule::pingpong ? c.math_warpgroups : 1;
}
/// Math warpgroups that share the rows of one tile.
WW_HOST_DEVICE constexpr int warpgroups_of_tile(const GemmConfig& c) { return c.math_warpgroups / tiles_in_flight(c); }
WW_HOST_DEVICE constexpr int threads_of(const GemmConfig& c) { return 128 * (has_roles(c) + c.math_warpgroups); }
/// How the register file is divided once the roles are known; {0, 0}: as launched.
struct RegisterSplit {
  int producer = 0, math = 0;  // of a thread
};
// why: a CTA starts with the same number for all threads, 168 of 384 or 128 of 512; what producers give up is what math
// warps may claim. Two warpgroups have 255 each from the start, nothing to move.
WW_HOST_DEVICE constexpr RegisterSplit registers_of(const GemmConfig& c) {
  return !has_roles(c)            ? RegisterSplit{}
         : c.math_warpgroups == 3 ? RegisterSplit{56, 152}
         : c.math_warpgroups == 2 ? RegisterSplit{56, 224}
                                  : RegisterSplit{};
}

/// 64-row units that each math warpgroup multiplies one after the other.
WW_HOST_DEVICE constexpr int units_of(const GemmConfig& c) {
  return c.tile_m / (kWarpgroupRows * warpgroups_of_tile(c));
}

/// Columns of D that one tile owns: TILE_N, or half of it behind SwiGLU.
WW_HOST_DEVICE constexpr int output_columns(const GemmConfig& c) { return output_columns(c.epilogue, c.tile_n); }

/// The epilogue tile: columns of D that are written to shared memory, and stored from there, at a time.
WW_HOST_DEVICE constexpr int staged_columns(const GemmConfig& c) {
  return c.epilogue_n > 0 ? c.epilogue_n : output_columns(c);
}
/// Buffers of such columns: one is written while the other is stored. why one for an odd number: the first part of the
/// next tile would meet the last one of this
WW_HOST_DEVICE constexpr int output_buffers(const GemmConfig& c) {
  return output_columns(c) / staged_columns(c) % 2 == 0 ? 2 : 1;
}

/// Bytes of one row of an output panel: the widest swizzle span that divides the epilogue tile's row.
WW_HOST_DEVICE constexpr int panel_bytes(const GemmConfig& c) {
  int bytes = kRowBytes;
  while ((staged_columns(c) * bytes_of(c.d)) % bytes != 0) bytes /= 2;
  return bytes;
}

/// D is stored (N, M): rows of one panel of it in shared memory, 128 bytes of M.
WW_HOST_DEVICE constexpr int column_panel_rows(const GemmConfig& c) { return kRowBytes / bytes_of(c.d); }

/// N is a multiple of 8 but in kernels under swap-AB, where it is the M of the problem and C lies by column.
WW_HOST_DEVICE constexpr bool may_have_odd_n(const GemmConfig& c) { return c.c_layout == OutputLayout::column; }

/// Partial sums are scaled and added up in FP32 registers every 128 of K.
WW_HOST_DEVICE constexpr bool promotes(const GemmConfig& c) { return is_block(c.scale); }
/// What of the block scales of a tile waits in shared memory: what differs from row to row, from column to column, or
/// both. The rest is multiplied to it before.
enum class ScaleForm : u8 { rows, both, columns };
WW_HOST_DEVICE constexpr ScaleForm scale_form(Scale scale) {
  return scale == Scale::block_1x128_1x128     ? ScaleForm::both
         : scale == Scale::block_128x128_1x128 ? ScaleForm::columns
                                               : ScaleForm::rows;
}
/// The recipe scales each column of D for itself.
WW_HOST_DEVICE constexpr bool scales_columns(const GemmConfig& c) {
  return promotes(c) && scale_form(c.scale) != ScaleForm::rows;
}

/// Columns between two places where a tile of `tile_n` may pass from one scale of B to the next: tiles start at
/// multiples of tile_n, scales at multiples of 128.
WW_HOST_DEVICE constexpr int scale_step(int tile_n) { return min(kScaleBlock, tile_n & -tile_n); }
/// Scales of 128 columns of B that one tile may need: 1 where tile_n divides 128, else 2, or 3 for odd wide tiles.
/// The same of rows of A that share scales.
WW_HOST_DEVICE constexpr int scale_blocks(int tile_n) {
  return (kScaleBlock - scale_step(tile_n) + tile_n - 1) / kScaleBlock + 1;
}
/// Floats that scale one k-block of a tile: a product for each row and scale of B; those of A, then those of B; or a
/// product for each scale of A and column.
WW_HOST_DEVICE constexpr int scale_floats(ScaleForm form, int tile_m, int tile_n) {
  return form == ScaleForm::rows   ? scale_blocks(tile_n) * tile_m
         : form == ScaleForm::both ? tile_m + tile_n
                                   : scale_blocks(tile_m) * tile_n;
}
WW_HOST_DEVICE constexpr int scale_floats(const GemmConfig& c) {
  return promotes(c) ? scale_floats(scale_form(c.scale), c.tile_m, c.tile_n) : 0;
}

/// Registers of a thread that accumulators may take: what is left must hold addresses and scales.
// why less: 16 registers hold A, or 32 a column of B on its way
WW_HOST_DEVICE constexpr int accumulator_registers(const GemmConfig& c) {
  return (c.math_warpgroups == 3 ? 128 : 192) - (a_from_registers(c) || transposes_b(c) ? 32 : 0);
}

/// Sets of raw accumulators that take turns: with two, one block is multiplied while the other is promoted.
// why one for several units, three warpgroups or wide tiles: two would not leave registers for the sums. Without roles
// a loading thread would part two sets in flight
WW_HOST_DEVICE constexpr int raw_accumulators(const GemmConfig& c) {
  const bool room = units_of(c) == 1 && c.math_warpgroups < 3 && has_roles(c) && !a_from_registers(c) &&
                    3 * c.tile_n / 2 <= accumulator_registers(c);
  return !promotes(c) ? 0 : c.promotion != 0 ? c.promotion : room ? 2 : 1;
}

/// Groups of K; all else is as in a batch of dense products.
WW_HOST_DEVICE constexpr bool groups_k(const GemmConfig& c) { return c.mechanism == Mechanism::k_grouped; }
/// Groups of rows of A and D.
WW_HOST_DEVICE constexpr bool groups_rows(const GemmConfig& c) {
  return c.mechanism != Mechanism::dense && c.mechanism != Mechanism::k_grouped;
}
/// Groups of K may begin and end at any row of K: the tensor maps of A and B end where a group does. With a K-major
/// operand they begin and end at whole blocks of scales.
WW_HOST_DEVICE constexpr bool has_k_tails(const GemmConfig& c) {
  return groups_k(c) && c.a_major == Major::mn && c.b_major == Major::mn;
}

/// The matrices of a batch are one rank-3 tensor.
WW_HOST_DEVICE constexpr bool stacks_matrices(const GemmConfig& c) { return c.batched && !c.pointer_array; }

/// The dense kernel takes its tiles from a counter.
WW_HOST_DEVICE constexpr bool takes_tickets(const GemmConfig& c) {
  return c.mechanism == Mechanism::dense && c.order == TileOrder::dynamic;
}
/// CTAs of a cluster split K between them.
WW_HOST_DEVICE constexpr bool sums_in_cluster(const GemmConfig& c) { return c.cluster_k > 1; }
/// CTAs of different clusters may split K between them.
WW_HOST_DEVICE constexpr bool sums_in_workspace(const GemmConfig& c) {
  return c.order == TileOrder::stream_k || (c.order == TileOrder::split_k && c.split > max(1, c.cluster_k));
}

/// Rounds in which partial tiles, which are FP32, cross the cluster: the slots of all peers take a third of shared
/// memory at most, the operand ring needs the rest.
WW_HOST_DEVICE constexpr int sum_rounds(const GemmConfig& c) {
  int rounds = 1;
  while (3 * (c.cluster_k - 1) * c.tile_m * c.tile_n * 4 > rounds * kSharedLimit) rounds *= 2;
  return rounds;
}
/// Bytes of a peer's slot.
WW_HOST_DEVICE constexpr int slot_bytes(const GemmConfig& c) { return c.tile_m * c.tile_n * 4 / sum_rounds(c); }

/// How partial tiles cross a cluster.
struct SumPlan {
  pipeline::ClusterShape cluster;
  int warps = 0;                // math warps of a CTA
  int values = 0;               // of a thread in one round
  int slots = 0, barriers = 0;  // byte offsets: a slot for each peer, and what ExchangePipeline needs
  WW_HOST_DEVICE constexpr int slot() const { return warps * 32 * values * 4; }  // bytes
};

/// Of pipeline::ExchangePipeline: a full and an empty barrier for every math warp.
WW_HOST_DEVICE constexpr int sum_barrier_bytes(const GemmConfig& c) {
  return sums_in_cluster(c) ? 2 * 4 * c.math_warpgroups * 8 : 0;
}

/// Byte offsets from the start of dynamic shared memory.
struct SharedPlan {
  int a_stage = 0, b_stage = 0;  // bytes of one stage
  int d_tile = 0;                // bytes of what is staged of one output tile
  int a = 0, b = 0, d = 0, sums = 0, scales = 0, barriers = 0, order = 0;
  int ticket_barriers = 0, tickets = 0;  // dynamic
  int sum_barriers = 0;                  // of the slots for partial tiles of a cluster's peers, from `sums` on
  int total = 0;
};

WW_HOST_DEVICE constexpr SharedPlan shared_plan(const GemmConfig& c) {
  SharedPlan plan;
  plan.a_stage = c.tile_m * kRowBytes;
  plan.b_stage = c.tile_n * kRowBytes;
  plan.b = c.stages * plan.a_stage;
  plan.d = plan.b + c.stages * plan.b_stage;
  plan.d_tile = c.tile_m * output_buffers(c) * staged_columns(c) * bytes_of(c.d);
  plan.sums = round_up(plan.d + tiles_in_flight(c) * plan.d_tile, kAlignment);
  plan.scales = plan.sums + (sums_in_cluster(c) ? (c.cluster_k - 1) * slot_bytes(c) : 0);
  // without roles every math thread reads its own from global memory
  plan.barriers = plan.scales + (has_roles(c) ? c.stages * scale_floats(c) * 4 : 0);
  plan.order = plan.barriers + 2 * c.stages * 8;
  plan.ticket_barriers = plan.order + (tiles_in_flight(c) > 1 ? tiles_in_flight(c) * 8 : 0);
  plan.tickets = plan.ticket_barriers + (takes_tickets(c) ? 2 * kTicketStages * 8 : 0);
  plan.sum_barriers = plan.tickets + (takes_tickets(c) ? kTicketStages * 4 : 0);
  plan.total = plan.sum_barriers + sum_barrier_bytes(c);
  return plan;
}

WW_HOST_DEVICE constexpr SumPlan sum_plan(const GemmConfig& c) {
  const SharedPlan plan = shared_plan(c);
  return {cluster_of(c), 4 * c.math_warpgroups, units_of(c) * c.tile_n / 2 / sum_rounds(c), plan.sums,
          plan.sum_barriers};
}

/// Fills every field of 0 (but never changes one that is set).
WW_HOST_DEVICE constexpr GemmConfig resolve(GemmConfig c) {
  if (swaps(c)) return exchanged(resolve(exchanged(c)));
  const bool promoted = promotes(c);
  if (c.a_source == OperandSource::automatic && c.a_major == Major::mn && bytes_of(c.a) == 4)
    c.a_source = OperandSource::registers;
  if (c.math_warpgroups == 0)
    c.math_warpgroups = c.schedule == Schedule::pingpong      ? 2
                        : c.tile_m == 64                      ? 1
                        : c.tile_m % 192 == 0 && c.tile_m > 0 ? 3
                                                              : 2;
  if (c.tile_m == 0) c.tile_m = kWarpgroupRows * warpgroups_of_tile(c);
  // why: promoted and raw accumulators together leave no room for more than 128 columns; without promotion 256 columns
  // read least shared memory per product
  if (c.tile_n == 0) c.tile_n = promoted || bytes_of(c.d) == 4 ? 128 : 256;
  if (c.tile_k == 0) c.tile_k = kRowBytes / bytes_of(c.a);
  if (c.cluster_m == 0) c.cluster_m = 1;
  if (c.cluster_n == 0) c.cluster_n = 1;
  if (c.order == TileOrder::split_k) {
    if (c.split == 0) c.split = max(2, c.cluster_k);
    // why: sums inside a cluster need neither workspace nor a wait for other clusters
    if (c.cluster_k == 0)
      c.cluster_k = is_power_of_two(c.split) && c.cluster_m * c.cluster_n * c.split <= kPortableCluster ? c.split : 1;
  }
  if (c.raster == 0) c.raster = max(1, 16 / (c.band == RasterBand::along_m ? c.cluster_m : c.cluster_n));
  if (c.stages == 0 && c.tile_m > 0 && c.tile_n > 0) {
    c.stages = kLargestStages;
    while (c.stages > 1 && shared_plan(c).total > kSharedLimit) --c.stages;
  }
  return c;
}

/// What a resolved config breaks: the field, and what it takes. Empty field: nothing.
struct ConfigFault {
  const char* field = nullptr;
  const char* expected = nullptr;
  WW_HOST_DEVICE constexpr explicit operator bool() const { return field != nullptr; }
};

/// The part of fault_of() about who works on which tile.
WW_HOST_DEVICE constexpr ConfigFault fault_of_scheduler(const GemmConfig& c) {
  if (c.mechanism == Mechanism::dense && (c.order == TileOrder::horizontal || c.order == TileOrder::vertical))
    return {"order", "auto, single, static, dynamic, stream-k or split-k"};
  const int ctas = c.cluster_m * c.cluster_n * max(1, c.cluster_k);
  if (!is_power_of_two(c.cluster_m) || !is_power_of_two(c.cluster_n) || ctas > kLargestCluster)
    return {"cluster", "1, 2 or 4 CTAs along M and along N, at most 16 in all"};
  if (c.cluster_m > 4 || c.cluster_n > 4) return {"cluster", "at most 4 CTAs along M and along N"};
  if ((tiles_in_flight(c) > 1 || !has_roles(c)) &&
      (takes_tickets(c) || c.order == TileOrder::stream_k || c.order == TileOrder::split_k))
    return {"order", "auto, single or static with pingpong and multistage"};
  // why: tiles count each other in, so a launch keeps all its CTAs resident
  if (c.order == TileOrder::single && reduces(c.epilogue))
    return {"order", "auto, static, dynamic, stream-k or split-k with an epilogue that reduces"};
  if (c.order != TileOrder::split_k)
    return c.split > 1 || c.cluster_k > 1 ? ConfigFault{"split", "order split-k with it"} : ConfigFault{};
  if (c.split < 2 || c.split > 1024) return {"split", "2 to 1024 pieces"};
  if (!is_power_of_two(c.cluster_k) || c.split % c.cluster_k != 0)
    return {"cluster (k)", "1, 2, 4, 8 or 16 CTAs, a divisor of split"};
  if (c.cluster_k > 1 && units_of(c) * c.tile_n / 2 % (4 * sum_rounds(c)) != 0)  // 16 bytes a thread and step
    return {"tile (n)", "a multiple of 16 for sums across a cluster"};
  return {};
}

inline constexpr const char* kGroupedSwap =
    "auto or off for grouped products: mechanism descriptors has weights on the M side, ragged where tiles are narrow";

/// The part of fault_of() about swap-AB.
WW_HOST_DEVICE constexpr ConfigFault fault_of_swap(const GemmConfig& c) {
  if (c.mechanism != Mechanism::dense) return {"swap_ab", kGroupedSwap};
  if (const char* expected = fault_of(c.epilogue)) return {"epilogue", expected};
  const EpilogueStages stages = stages_of(c.epilogue);
  // why: pairs of columns are loaded at once, and M, columns of the instruction then, may be odd
  if (c.c_layout == OutputLayout::column) return {"swap_ab", "auto or off with C by column"};
  if (c.pointer_array) return {"swap_ab", "auto or off with arrays of pointers"};
  if (c.epilogue_n != 0) return {"epilogue_n", "0 under swap-AB, whose D lies by column"};
  if (c.fixed_n != 0) return {"swap_ab", "auto or off with a fixed N, which is rows of the instruction then"};
  // why: columns of D are then rows of the instruction, and those of a pair or block lie in several threads
  if (stages.swiglu != EpilogueOp::none) return {"swap_ab", "auto or off with SwiGLU, which combines columns of D"};
  if (stages.quantise > EpilogueOp::quantise)
    return {"swap_ab", "auto or off with scales of 128 columns of D, which combine columns"};
  if (stages.quantise != EpilogueOp::none || c.d == DType::e4m3) return {"swap_ab", "auto or off with D in e4m3"};
  return {};
}

/// The part of fault_of() about how operands come to the tensor core.
WW_HOST_DEVICE constexpr ConfigFault fault_of_operands(const GemmConfig& c) {
  const bool a_mn = c.a_major == Major::mn, b_mn = c.b_major == Major::mn;
  const bool has_math_warps = c.mechanism == Mechanism::dense && has_roles(c);
  if ((a_mn || b_mn) && is_fp8(c.a)) return {"layout", "nt: wgmma takes FP8 K-major only"};
  if (a_mn && bytes_of(c.a) == 4 && !a_from_registers(c))
    return {"a_source", "auto or registers for an M-major tf32 A: wgmma reads 32 bits K-major only from shared memory"};
  if (a_from_registers(c) && !has_math_warps) return {"a_source", "auto or shared with multistage and groups"};
  if (transposes_b(c) && !has_math_warps)
    return {"schedule", "auto, cooperative or pingpong for an N-major tf32 B, which math warps turn over"};
  if (a_mn && c.tile_m / c.cluster_n % mn_block(c.a) != 0)
    return {"tile (m)", "64 rows of an M-major A (32 of tf32) for each CTA that shares it"};
  if (b_mn && c.tile_n / c.cluster_m % mn_block(c.b) != 0)
    return {"tile (n)", "64 columns of an N-major B (32 of tf32) for each CTA that shares it"};
  if (c.promotion == 2 && a_from_registers(c)) return {"promotion", "auto or 1 with A from registers"};
  return {};
}

WW_HOST_DEVICE constexpr ConfigFault fault_of(const GemmConfig& c) {
  if (swaps(c)) {
    const ConfigFault fault = fault_of_swap(c);
    return fault ? fault : fault_of(exchanged(c));
  }
  const bool promoted = promotes(c);
  if (c.mechanism != Mechanism::dense && (tiles_in_flight(c) != 1 || !has_roles(c)))
    return {"schedule", "auto or cooperative for grouped products"};
  if (is_fp8(c.a) ? !is_fp8(c.b) : c.a != c.b || c.a == DType::f32)
    return {"a, b", "e4m3 and e5m2 in any mix, or one type of bf16, f16, tf32"};
  if (c.d == DType::e5m2 || c.d == DType::tf32) return {"d", "bf16, f16 or f32"};
  const bool by_column = c.c_layout == OutputLayout::column;
  if (const char* expected = fault_of(c.epilogue, by_column)) return {"epilogue", expected};
  const EpilogueStages stages = stages_of(c.epilogue);
  if ((c.d == DType::e4m3) != (stages.quantise != EpilogueOp::none))
    return {"d", "e4m3 with an epilogue that quantises, bf16, f16 or f32 without"};
  if (c.d_layout == OutputLayout::column && c.mechanism != Mechanism::dense)
    return {"d_layout", "row for grouped products"};
  if (c.ctas_per_sm > 1) return {"ctas_per_sm", "0 or 1 but for ragged tiles"};
  if (c.epilogue_n != 0) {
    // why not with arrays of pointers: every part would acquire its matrix's tensor map again
    if (c.mechanism != Mechanism::dense || c.pointer_array || c.d_layout == OutputLayout::column)
      return {"epilogue_n", "0 for grouped products, arrays of pointers and D by column"};
    if (c.epilogue_n < 0 || c.epilogue_n * bytes_of(c.d) % 32 != 0 || output_columns(c) % c.epilogue_n != 0)
      return {"epilogue_n", "0, or a divisor of the tile's columns of D, whole 32 bytes of them"};
  }
  if (c.d_layout == OutputLayout::column && c.d == DType::e4m3) return {"d_layout", "row for e4m3"};
  if (by_column && (c.mechanism != Mechanism::dense || stages.swiglu != EpilogueOp::none || c.d == DType::e4m3))
    return {"c_layout", "row with groups, SwiGLU or D in e4m3"};
  if (c.scale == Scale::block_128x128_1x128 && c.mechanism != Mechanism::dense)
    return {"scale", "none, tensor, row-column or block for grouped products"};
  if (promoted && !is_fp8(c.a)) return {"scale", "none, tensor or row-column for operands that are not FP8"};
  if (c.math_warpgroups < 1 || c.math_warpgroups > 3) return {"warpgroups", "1, 2 or 3"};
  if (c.schedule == Schedule::pingpong && c.math_warpgroups != 2) return {"warpgroups", "2 for pingpong"};
  if (c.tile_m != 64 * warpgroups_of_tile(c) && c.tile_m != 128 * warpgroups_of_tile(c))
    return {"tile (m)", "64 or 128 rows for each math warpgroup"};
  if (c.tile_n < 8 || c.tile_n > 256 || c.tile_n % 8 != 0) return {"tile (n)", "a multiple of 8 up to 256"};
  if (stages.swiglu != EpilogueOp::none && c.tile_n % 16 != 0) return {"tile (n)", "a multiple of 16 for SwiGLU"};
  if (c.d == DType::e4m3 && output_columns(c) % 16 != 0) return {"tile (n)", "whole 16 bytes of a row of D"};
  if (stages.quantise > EpilogueOp::quantise && stages.swiglu != EpilogueOp::none && promoted)
    return {"scale",
            "none, tensor or row-column to quantise by blocks behind SwiGLU: 256 columns of a tile become 128, "
            "and promotion has registers for fewer"};
  if (stages.quantise > EpilogueOp::quantise && output_columns(c) % kScaleBlock != 0)
    return {"tile (n)", "whole 128 columns of D, to quantise by blocks"};
  if (promoted && groups_rows(c) && kScaleBlock % c.tile_n != 0)
    return {"tile (n)", "8, 16, 32, 64 or 128 with block scales of groups"};
  if (scales_columns(c) && groups_rows(c)) return {"scale", "none, tensor, row-column or block for groups of rows"};
  if (c.tile_k != kRowBytes / bytes_of(c.a))
    return {"tile (k)", "128 bytes of K: 128 for FP8, 64 for bf16 and f16, 32 for tf32"};
  if (const ConfigFault fault = fault_of_scheduler(c)) return fault;
  if (c.tile_n % (8 * c.cluster_m) != 0) return {"tile (n)", "a multiple of 8 rows of B for each CTA that shares it"};
  if (const ConfigFault fault = fault_of_operands(c)) return fault;
  if (c.promotion != 0 && !promoted) return {"promotion", "auto without block scales"};
  if (c.promotion > 2) return {"promotion", "auto, 1 or 2"};
  if (c.promotion == 2 && (units_of(c) > 1 || !has_roles(c)))
    return {"promotion", "1 with multistage, or where a math warpgroup has 128 rows"};
  const bool crowded = (units_of(c) + raw_accumulators(c)) * c.tile_n / 2 > accumulator_registers(c);
  if (crowded && (a_from_registers(c) || transposes_b(c)))
    return {"tile", "accumulators of at most 160 registers a thread, 96 with three math warpgroups, beside operands"};
  if (crowded) return {"tile", "accumulators of at most 192 registers a thread, 128 with three math warpgroups"};
  // why: a thread starts with 128 registers, and one wgmma names all of its accumulator
  if (c.math_warpgroups == 3 && c.tile_n > 200) return {"tile (n)", "at most 200 with three math warpgroups"};
  if (c.tile_m > 256) return {"tile (m)", "at most 256 rows"};
  if (c.stages < 2 || c.stages > kLargestStages) return {"stages", "2 to 16"};
  if (shared_plan(c).total > kSharedLimit)
    return {"stages", "a ring and an output tile that fit 232448 bytes of shared memory"};
  if (c.raster < 1) return {"raster", "at least 1"};
  if (c.pointer_array && (!c.batched || c.mechanism != Mechanism::dense))
    return {"pointers", "0 without a batch and for grouped products"};
  if (c.pointer_array && !has_roles(c)) return {"schedule", "auto, cooperative or pingpong with pointer arrays"};
  if (c.fixed_n < 0 || (c.fixed_n > 0 && c.mechanism != Mechanism::dense)) return {"fixed_n", "0 for grouped products"};
  if (c.fixed_k < 0 || (c.fixed_k > 0 && c.mechanism != Mechanism::dense)) return {"fixed_k", "0 for grouped products"};
  return {};
}

}  // namespace ww::collective
