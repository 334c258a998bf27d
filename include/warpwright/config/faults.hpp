// SPDX-License-Identifier: Apache-2.0
// Says what is wrong with a resolved config: the first field at fault and the values that it accepts. There is one
// function for each kernel: fault_of() for dense products, fault_of_grouped() and fault_of_k_grouped() for groups.
#pragma once

#include "warpwright/config/shared_memory.hpp"
#include "warpwright/config/swap_ab.hpp"

namespace ww::config {

/// The field of a resolved config that is at fault, and the values that it accepts. An empty field means no fault.
struct ConfigFault {
  const char* field = nullptr;
  const char* expected = nullptr;  // "{}" in it stands for `limit` (select/fault_text.hpp)
  int limit = 0;                   // of the config's architecture
  WW_HOST_DEVICE constexpr explicit operator bool() const { return field != nullptr; }
};

/// The part of fault_of() about the tile scheduler.
WW_HOST_DEVICE constexpr ConfigFault fault_of_scheduler(const GemmConfig& c) {
  if (c.grouping == Grouping::dense &&
      (c.sm90.tile_scheduler == TileScheduler::horizontal || c.sm90.tile_scheduler == TileScheduler::vertical ||
       c.sm90.tile_scheduler == TileScheduler::longest_k))
    return {"tile_scheduler", c.arch == Arch::sm90 ? "auto, single, static, dynamic, stream-k or split-k"
                                                   : "auto, single, static, dynamic, stream-k, split-k or clc"};
  if (c.grouping == Grouping::dense && uses_launch_control(c) && c.arch == Arch::sm90)
    return {"tile_scheduler",
            "auto, single, static, dynamic, stream-k or split-k on Hopper, which has no cluster launch control"};
  const int ctas = c.cluster.m * c.cluster.n * max(1, c.cluster.k);
  if (!is_power_of_two(c.cluster.m) || !is_power_of_two(c.cluster.n) || ctas > machine_of(c).largest_cluster)
    return {"cluster", "1, 2 or 4 CTAs along M and along N, at most {} in all", machine_of(c).largest_cluster};
  if (c.cluster.m > 4 || c.cluster.n > 4) return {"cluster", "at most 4 CTAs along M and along N"};
  if ((tiles_in_flight(c) > 1 || !has_roles(c)) &&
      (announces_tiles(c) || c.sm90.tile_scheduler == TileScheduler::stream_k ||
       c.sm90.tile_scheduler == TileScheduler::split_k))
    return {"tile_scheduler", "auto, single or static with pingpong and multistage"};
  // Tiles count each other's arrival, so a launch must keep all its CTAs resident.
  if (launches_all_tiles(c) && reduces(c.epilogue))
    return {"tile_scheduler", "auto, static, dynamic, stream-k or split-k with an epilogue that reduces"};
  if (c.sm90.tile_scheduler != TileScheduler::split_k)
    return c.sm90.split > 1 || c.cluster.k > 1 ? ConfigFault{"split", "tile_scheduler=split-k with it"} : ConfigFault{};
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
  if (stages.quantise != EpilogueOp::none || is_fp8(c.operands.d)) return {"swap_ab", "auto or off with D in FP8"};
  return {};
}

/// The part of fault_of() that every kernel's schedule has.
WW_HOST_DEVICE constexpr ConfigFault fault_of_schedule(const GemmConfig& c) {
  if (c.sm90.stages < 2 || c.sm90.stages > kLargestStages) return {"stages", "2 to 16"};
  const int registers = c.sm90.producer_registers;
  if (!moves_registers(c.sm90) && registers != 0)
    return {"producer_registers", "0 with multistage and with one consumer warpgroup: no thread gives up any"};
  if (moves_registers(c.sm90) &&
      (registers > machine_of(c).most_producer_registers || !machine_of(c).takes_registers(registers)))
    return {"producer_registers", "0 (auto), or a multiple of 8 from 24 to 120"};
  return {};
}

/// The part of fault_of() about what only one architecture has.
WW_HOST_DEVICE constexpr ConfigFault fault_of_arch(const GemmConfig& c) {
  if (!is_sm100(c)) {
    if (c.sm100.pair) return {"pair", "0 on Hopper: pairs of CTAs issue MMAs together from Blackwell on"};
    if (c.sm100.accumulators != 0) return {"accumulators", "0 on Hopper: accumulators are in registers"};
    return {};
  }
  if (is_ragged(c)) return {"variant", "contiguous or masked on Blackwell"};
  if (tiles_in_flight(c) != 1 || !has_roles(c)) return {"schedule", "auto or cooperative on Blackwell"};
  if (c.tile.m != 64 && c.tile.m != 128) return {"tile (m)", "64 or 128 rows on Blackwell"};
  if (c.sm90.consumer_warpgroups != c.tile.m / kWarpgroupRows)
    return {"consumer_warpgroups", "1 for 64 rows and 2 for 128 rows on Blackwell"};
  if (c.sm100.pair && c.tile.m != 128) return {"tile (m)", "128 rows for each CTA of a pair"};
  if (c.sm100.pair && c.cluster.m % 2 != 0) return {"cluster", "2 or 4 CTAs along M for pairs"};
  if (!mma_shape_of(c).takes_n(c.tile.n))
    return {"tile (n)", c.sm100.pair      ? "a multiple of 32 up to 256 for a pair"
                        : c.tile.m == 128 ? "a multiple of 16 up to 256 with 128 rows on Blackwell"
                                          : "a multiple of 8 up to 256 with 64 rows on Blackwell"};
  if (c.sm90.partial_accumulators != 0) return {"partial_accumulators", "auto on Blackwell: see accumulators"};
  // Measured with ptxas 13.0, which spills up to 104 bytes for wider tiles: the scale of each column is in registers.
  if (scales_columns(c) && c.tile.m == 128 && c.tile.n > 192)
    return {"tile (n)", "at most 192 columns with 128 rows and 1x128 scales of both operands"};
  if (scales_in_mma(c)) {
    if (c.operands.scale == Scale::nv && !packs_nibbles(c)) return {"a, b", "e2m1 with scale=nv"};
    if (!is_f8f6f4(c.operands.a) || !is_f8f6f4(c.operands.b))
      return {"a, b", "e4m3, e5m2, e3m2, e2m3 and e2m1 in any mix with scale=mx"};
    if (maps_groups(c)) return {"k_packing", "joint with scales of mx and nv"};
    if (c.tile.m != 128) return {"tile (m)", "128 rows with scales of mx and nv"};
    if (c.tile.n % 32 != 0) return {"tile (n)", "a multiple of 32 with scales of mx and nv"};
    if (pairs_halves(c) && c.sm100.pair && c.tile.n != 256)
      return {"tile (n)", "256 columns for pairs with SwiGLU of halves and scales of mx and nv"};
    if (pairs_halves(c) && c.tile.n % 64 != 0)
      return {"tile (n)", "a multiple of 64 with SwiGLU of halves and scales of mx and nv"};
  }
  if (c.sm100.accumulators < 1 || c.sm100.accumulators > most_accumulators(c))
    return {"accumulators", "at least 1 and at most {}, which fit into tensor memory", most_accumulators(c)};
  return {};
}

/// The part of fault_of() about the path of operands to sm_100's tensor core.
WW_HOST_DEVICE constexpr ConfigFault fault_of_umma_operands(const GemmConfig& c) {
  const bool a_mn = c.operands.layout.a == Major::mn, b_mn = c.operands.layout.b == Major::mn;
  if (a_from_registers(c)) return {"a_source", "auto or shared on Blackwell"};
  if (a_mn && bits_of(c.operands.a) < 8)
    return {"layout", "a K-major A (nt or nn) of 4 or 6 bits: the tensor core reads those types no other way"};
  if (b_mn && bits_of(c.operands.b) < 8)
    return {"layout", "a K-major B (nt or tt) of 4 or 6 bits: the tensor core reads those types no other way"};
  if (a_mn && c.tile.m / c.cluster.n % mn_block(c.operands.a) != 0)
    return {"tile (m)", "64 rows of an M-major A (128 of FP8, 32 of tf32) for each CTA that shares it"};
  if (b_mn && c.tile.n / slices_of_b(c) % mn_block(c.operands.b) != 0)
    return {
        "tile (n)",
        "64 columns of an N-major B (128 of FP8, 32 of tf32) for each CTA that shares it, and for each half of SwiGLU"};
  return {};
}

/// The part of fault_of() about the path of operands to the tensor core.
WW_HOST_DEVICE constexpr ConfigFault fault_of_operands(const GemmConfig& c) {
  if (is_sm100(c)) return fault_of_umma_operands(c);
  const bool a_mn = c.operands.layout.a == Major::mn, b_mn = c.operands.layout.b == Major::mn;
  const bool has_consumer_warps = c.grouping == Grouping::dense && has_roles(c);
  if ((a_mn || b_mn) && is_fp8(c.operands.a)) return {"layout", "nt: wgmma takes FP8 K-major only"};
  if ((a_mn || b_mn) && bits_of(c.operands.a) == 32 && !has_consumer_warps) {
    if (c.grouping != Grouping::dense)
      return {"layout", "nt for grouped products of tf32: wgmma reads 32 bits K-major only from shared memory"};
    return {"schedule", "auto, cooperative or pingpong for a tf32 operand that is not K-major"};
  }
  if (a_mn && bits_of(c.operands.a) == 32 && !a_from_registers(c))
    return {"a_source", "auto or registers for an M-major tf32 A: wgmma reads 32 bits K-major only from shared memory"};
  if (a_from_registers(c) && !has_consumer_warps) return {"a_source", "auto or shared with multistage and groups"};
  if (a_mn && c.tile.m / c.cluster.n % mn_block(c.operands.a) != 0)
    return {"tile (m)", "64 rows of an M-major A (32 of tf32) for each CTA that shares it"};
  if (b_mn && c.tile.n / slices_of_b(c) % mn_block(c.operands.b) != 0)
    return {"tile (n)",
            "64 columns of an N-major B (32 of tf32) for each CTA that shares it, and for each half of SwiGLU"};
  if (c.sm90.partial_accumulators == 2 && a_from_registers(c))
    return {"partial_accumulators", "auto or 1 with A from registers"};
  return {};
}

/// The part of fault_of() about formats that sm_90's tensor core does not read.
WW_HOST_DEVICE constexpr ConfigFault fault_of_formats(const GemmConfig& c) {
  constexpr const char* kExpected =
      "e4m3, e5m2, bf16, f16 or tf32 on Hopper, whose tensor core reads no type of 4 or 6 bits";
  if (c.operands.a == DType::e8m0 || (c.arch == Arch::sm90 && is_packed(c.operands.a))) return {"a", kExpected};
  if (c.operands.b == DType::e8m0 || (c.arch == Arch::sm90 && is_packed(c.operands.b))) return {"b", kExpected};
  const EpilogueOp quantise = stages_of(c.epilogue).quantise;
  if (c.operands.d == DType::e8m0 || (is_packed(c.operands.d) && !makes_type(quantise, c.operands.d)))
    return {"d", "e4m3, e5m2, bf16, f16 or f32, or e2m1 with an epilogue that quantises to it"};
  if (c.arch == Arch::sm90 && is_microscale(quantise))
    return {"epilogue", "one without quantise_mx and quantise_nv on Hopper, whose tensor core takes no scales"};
  if (c.arch == Arch::sm90 && is_microscaled(c.operands.scale))
    return {"scale", "none, tensor, row-column, block or block-1d on Hopper, whose tensor core takes no scales"};
  return {};
}

/// The part of fault_of() about the types of operands and of D.
WW_HOST_DEVICE constexpr ConfigFault fault_of_types(const GemmConfig& c) {
  if (c.grouping != Grouping::dense && (tiles_in_flight(c) != 1 || !has_roles(c)))
    return {"schedule", "auto or cooperative for grouped products"};
  if (is_sm100(c) && (is_packed(c.operands.a) || is_packed(c.operands.b))) {
    if (!is_f8f6f4(c.operands.a) || !is_f8f6f4(c.operands.b)) return {"a, b", "types of at most 8 bits in any mix"};
  } else if (is_fp8(c.operands.a) ? !is_fp8(c.operands.b) : c.operands.a != c.operands.b || c.operands.a == DType::f32)
    return {"a, b", "e4m3 and e5m2 in any mix, or one type of bf16, f16, tf32"};
  if (c.operands.d == DType::tf32) return {"d", "bf16, f16 or f32"};
  return {};
}

/// The part of fault_of() about the epilogue's tree, and where it stores.
WW_HOST_DEVICE constexpr ConfigFault fault_of_outputs(const GemmConfig& c) {
  const bool by_column = c.operands.c_layout == OutputLayout::column;
  if (const char* expected = fault_of(c.epilogue, by_column)) return {"epilogue", expected};
  const EpilogueStages stages = stages_of(c.epilogue);
  if (!makes_type(stages.quantise, c.operands.d))
    return {"d", stages.quantise == EpilogueOp::quantise_nv ? "e2m1 with quantise_nv"
                 : stages.quantise == EpilogueOp::quantise_mx
                     ? "e4m3, e5m2 or e2m1 with quantise_mx"
                     : "e4m3 or e5m2 with an epilogue that quantises, bf16, f16 or "
                       "f32 without"};
  if (is_microscale(stages.quantise) && groups_rows(c) && !scales_in_mma(c))
    return {"scale",
            "mx or nv for groups of rows with quantise_mx and quantise_nv, whose scales begin with each group"};
  if (c.operands.d_layout == OutputLayout::column && c.grouping != Grouping::dense)
    return {"d_layout", "row for grouped products"};
  if (c.sm90.occupancy > 1) return {"occupancy", "0 or 1 but for ragged tiles"};
  if (c.dense.epilogue_n != 0) {
    // Arrays of pointers are excluded, because every staged part would acquire its matrix's tensor map again.
    if (c.grouping != Grouping::dense || c.operands.pointer_array || c.operands.d_layout == OutputLayout::column)
      return {"epilogue_n", "0 for grouped products, arrays of pointers and D by column"};
    if (c.dense.epilogue_n < 0 || c.dense.epilogue_n * bits_of(c.operands.d) / 8 % 32 != 0 ||
        output_columns(c) % c.dense.epilogue_n != 0)
      return {"epilogue_n", "0, or a divisor of the tile's columns of D, whole 32 bytes of them"};
  }
  if (c.operands.d_layout == OutputLayout::column && stages.quantise != EpilogueOp::none)
    return {"d_layout", "row for quantised outputs"};
  if (by_column &&
      (c.grouping != Grouping::dense || stages.swiglu != EpilogueOp::none || stages.quantise != EpilogueOp::none))
    return {"c_layout", "row with groups, SwiGLU or D in FP8"};
  if (c.operands.scale == Scale::block_128x128_1x128 && c.grouping != Grouping::dense)
    return {"scale", "none, tensor, row-column or block for grouped products"};
  return {};
}

/// The part of fault_of() about the tile's extents.
WW_HOST_DEVICE constexpr ConfigFault fault_of_tile(const GemmConfig& c) {
  const bool promoted = promotes(c);
  const EpilogueStages stages = stages_of(c.epilogue);
  if (promoted && !is_fp8(c.operands.a)) return {"scale", "none, tensor or row-column for operands that are not FP8"};
  if (c.sm90.consumer_warpgroups < 1 || c.sm90.consumer_warpgroups > 3) return {"consumer_warpgroups", "1, 2 or 3"};
  if (c.sm90.schedule == Schedule::pingpong && c.sm90.consumer_warpgroups != 2)
    return {"consumer_warpgroups", "2 for pingpong"};
  if (c.tile.m != kWarpgroupRows * warpgroups_of_tile(c) && c.tile.m != 2 * kWarpgroupRows * warpgroups_of_tile(c))
    return {"tile (m)", "64 or 128 rows for each consumer warpgroup"};
  if (!mma_shape_of(c).takes_n(c.tile.n)) return {"tile (n)", "a multiple of 8 up to 256"};
  if (stages.swiglu != EpilogueOp::none && c.tile.n % 16 != 0) return {"tile (n)", "a multiple of 16 for SwiGLU"};
  if (is_fp8(c.operands.d) && output_columns(c) % 16 != 0) return {"tile (n)", "whole 16 bytes of a row of D"};
  if (stages.quantise > EpilogueOp::quantise && stages.swiglu != EpilogueOp::none && promoted)
    return {"scale",
            "none, tensor or row-column to quantise by blocks behind SwiGLU: 256 columns of a tile become 128, "
            "and promotion has registers for fewer"};
  if (is_microscale(stages.quantise) && output_columns(c) % columns_of_out_chunk(stages.quantise) != 0)
    return {"tile (n)", stages.quantise == EpilogueOp::quantise_nv ? "whole 64 columns of D, to quantise to nv"
                                                                   : "whole 128 columns of D, to quantise to mx"};
  if (stages.quantise > EpilogueOp::quantise && !is_microscale(stages.quantise) && output_columns(c) % kScaleBlock != 0)
    return {"tile (n)", "whole 128 columns of D, to quantise by blocks"};
  if (promoted && groups_rows(c) && is_sm100(c) && kScaleBlock % c.tile.n != 0)
    return {"tile (n)", "8, 16, 32, 64 or 128 with block scales of groups on Blackwell"};
  if (scales_columns(c) && groups_rows(c)) return {"scale", "none, tensor, row-column or block for groups of rows"};
  if (c.tile.k != k_of_row(c))
    return {"tile (k)", "128 bytes of K: 128 for FP8, 64 for bf16 and f16, 32 for tf32, 256 for e2m1 with scales"};
  return {};
}

/// The part of fault_of() about the registers of consumer warpgroups.
WW_HOST_DEVICE constexpr ConfigFault fault_of_registers(const GemmConfig& c) {
  if (c.sm90.partial_accumulators != 0 && !promotes(c)) return {"partial_accumulators", "auto without block scales"};
  if (c.sm90.partial_accumulators > 2) return {"partial_accumulators", "auto, 1 or 2"};
  if (c.sm90.partial_accumulators == 2 && (mma_blocks_of(c) > 1 || !has_roles(c)))
    return {"partial_accumulators", "1 with multistage, or where a consumer warpgroup has 128 rows"};
  const bool crowded = (mma_blocks_of(c) + partial_accumulators(c)) * c.tile.n / 2 > accumulator_registers(c);
  if (crowded && (a_from_registers(c) || transposes_b(c)))
    return {"tile",
            "accumulators of at most 160 registers a thread, 96 with three consumer warpgroups, beside operands"};
  if (crowded) return {"tile", "accumulators of at most 192 registers a thread, 128 with three consumer warpgroups"};
  if (c.sm90.consumer_warpgroups == 3 && c.tile.n > machine_of(c).accumulator_columns_of_three)
    return {"tile (n)", "at most 200 with three consumer warpgroups"};
  if (c.tile.m > 256) return {"tile (m)", "at most 256 rows"};
  return {};
}

/// The part of fault_of() about arrays of pointers and fixed extents.
WW_HOST_DEVICE constexpr ConfigFault fault_of_extents(const GemmConfig& c) {
  if (c.operands.pointer_array && (!c.operands.batched || c.grouping != Grouping::dense))
    return {"pointers", "0 without a batch and for grouped products"};
  if (c.operands.pointer_array && is_packed(c.operands.d)) return {"pointers", "0 with D in e2m1"};
  if (c.operands.pointer_array && !has_roles(c))
    return {"schedule", "auto, cooperative or pingpong with pointer arrays"};
  if (c.dense.fixed_n < 0 || (c.dense.fixed_n > 0 && c.grouping != Grouping::dense))
    return {"fixed_n", "0 for grouped products"};
  if (c.dense.fixed_k < 0 || (c.dense.fixed_k > 0 && c.grouping != Grouping::dense))
    return {"fixed_k", "0 for grouped products"};
  return {};
}

WW_HOST_DEVICE constexpr ConfigFault fault_of(const GemmConfig& c) {
  if (const ConfigFault fault = fault_of_formats(c)) return fault;
  if (swaps(c)) {
    const ConfigFault fault = fault_of_swap(c);
    return fault ? fault : fault_of(exchanged(c));
  }
  if (const ConfigFault fault = fault_of_arch(c)) return fault;
  if (const ConfigFault fault = fault_of_types(c)) return fault;
  if (const ConfigFault fault = fault_of_outputs(c)) return fault;
  if (const ConfigFault fault = fault_of_tile(c)) return fault;
  if (const ConfigFault fault = fault_of_scheduler(c)) return fault;
  if (c.tile.n % (8 * c.cluster.m) != 0) return {"tile (n)", "a multiple of 8 rows of B for each CTA that shares it"};
  if (const ConfigFault fault = fault_of_operands(c)) return fault;
  if (const ConfigFault fault = fault_of_registers(c)) return fault;
  if (const ConfigFault fault = fault_of_schedule(c)) return fault;
  if (shared_plan(c).total > machine_of(c).shared_bytes())
    return {"stages", "a ring and an output tile that fit {} bytes of shared memory", machine_of(c).shared_bytes()};
  if (c.raster.width < 1) return {"raster", "at least 1"};
  return fault_of_extents(c);
}

/// The part of fault_of() that all products of groups of rows share: majors and trees.
WW_HOST_DEVICE constexpr ConfigFault fault_of_rows(const GemmConfig& c) {
  // M-major tokens would let groups start at any column of a box; tokens are row-major everywhere.
  if (c.operands.layout.a != Major::k || (c.operands.layout.b != Major::k && !takes_n_major_weights(c)))
    return {"layout", "nt for groups of rows, or nn with weights of 16 bits, on Blackwell with scale=mx of 8 bits too"};
  if (c.operands.batched) return {"batched", "0 for groups of rows"};
  if (const char* expected = fault_of(c.epilogue)) return {"epilogue", expected};
  // Tiles that share a row or column count each other's arrival, and only the device knows how many there are.
  if (reduces(c.epilogue)) return {"epilogue", "one without reductions for groups of rows: store() what they reduce"};
  if (c.operands.c_layout != OutputLayout::row) return {"c_layout", "row for grouped products"};
  return {};
}

WW_HOST_DEVICE constexpr ConfigFault fault_of_ragged(const GemmConfig& c) {
  const bool ragged = c.row_groups.variant == GroupedVariant::ragged;
  if (const ConfigFault fault = fault_of_formats(c)) return fault;
  if (const ConfigFault fault = fault_of_arch(c)) return fault;
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
  if (c.operands.a != c.operands.b || (c.operands.a != DType::e4m3 && bits_of(c.operands.a) != 16))
    return {"a, b", "the same type of e4m3, bf16, f16"};
  if (is_fp8(c.operands.d) || c.operands.d == DType::tf32) return {"d", "bf16, f16 or f32"};
  if (scales_columns(c)) return {"scale", "none, tensor, row-column or block for grouped products"};
  if (promotes(c) && c.operands.a != DType::e4m3) return {"scale", "none, tensor or row-column for 16-bit operands"};
  if (c.sm90.consumer_warpgroups != 2 && !(ragged && c.sm90.consumer_warpgroups == 1))
    return {"consumer_warpgroups", ragged ? "1 or 2" : "2"};
  if (c.tile.n != kWarpgroupRows * c.sm90.consumer_warpgroups &&
      c.tile.n != 2 * kWarpgroupRows * c.sm90.consumer_warpgroups)
    return {"tile (n)", "64 or 128 rows of weights for each consumer warpgroup"};
  if (ragged ? c.tile.m != 32 && c.tile.m != 64 && c.tile.m != 128 : c.tile.m < 8 || c.tile.m > 64 || c.tile.m % 8 != 0)
    return {"tile (m)", ragged ? "32, 64 or 128 rows of tokens" : "8, 16, ... 64 rows of tokens"};
  if (c.tile.k != mn_block(c.operands.a)) return {"tile (k)", "128 bytes of K: 128 for e4m3, 64 for bf16 and f16"};
  if (c.cluster.m != 1 || c.cluster.n != 1) return {"cluster", "1x1"};
  if (ragged ? c.sm90.tile_scheduler != TileScheduler::dynamic && c.sm90.tile_scheduler != TileScheduler::fixed &&
                   c.sm90.tile_scheduler != TileScheduler::split_k
             : c.sm90.tile_scheduler != TileScheduler::horizontal && c.sm90.tile_scheduler != TileScheduler::vertical)
    return {"tile_scheduler", ragged ? "dynamic, static or split-k" : "horizontal or vertical"};
  if (c.sm90.tile_scheduler != TileScheduler::split_k && (c.sm90.split > 1 || c.cluster.k > 1))
    return {"split", "tile_scheduler=split-k with it"};
  if (c.sm90.tile_scheduler == TileScheduler::split_k && c.sm90.split != 2 && c.sm90.split != 4 && c.sm90.split != 8)
    return {"split", "2, 4 or 8 splits, one for each CTA of a cluster"};
  if (c.sm90.tile_scheduler == TileScheduler::split_k && c.cluster.k != c.sm90.split)
    return {"cluster (k)", "as many CTAs as split has splits"};
  if (group_capacity(c) < 1 || group_capacity(c) > kGroupLimit) return {"groups", "1 to 4096"};
  if (const ConfigFault fault = fault_of_schedule(c)) return fault;
  if (grouped_shared_plan(c).total > shared_limit(c))
    return {"stages", "a ring, an epilogue and group tables that fit a CTA's shared memory: {} bytes, or its share",
            machine_of(c).shared_bytes()};
  return {};
}

WW_HOST_DEVICE constexpr ConfigFault fault_of_raster(const GemmConfig& c) {
  if (const ConfigFault fault = fault_of_rows(c)) return fault;
  if (const ConfigFault fault = fault_of(c)) return fault;
  if (c.cluster.n != 1 || c.cluster.m > 2)
    return {"cluster", "1x1 or 2x1: two token tiles may share the weights of their group"};
  if (c.sm90.tile_scheduler != TileScheduler::fixed && !(is_sm100(c) && uses_launch_control(c)))
    return {"tile_scheduler", is_sm100(c)              ? "static or clc"
                              : uses_launch_control(c) ? "static on Hopper, which has no cluster launch control"
                                                       : "static"};
  if (group_capacity(c) < 1 || group_capacity(c) > kGroupLimit) return {"groups", "1 to 4096"};
  if (raster_shared_plan(c).total > machine_of(c).shared_bytes())
    return {"stages", "a ring, an output tile and group tables that fit {} bytes of shared memory",
            machine_of(c).shared_bytes()};
  return {};
}

WW_HOST_DEVICE constexpr ConfigFault fault_of_k_grouped(const GemmConfig& c) {
  if (!groups_k(c)) return {"grouping", "k-groups"};
  if (!c.operands.batched) return {"batched", "1 with groups of K"};
  if (const ConfigFault fault = fault_of(c)) return fault;
  // Schedulers that split K or use a work-tile counter have no order for groups of different K.
  if (c.sm90.tile_scheduler != TileScheduler::fixed && c.sm90.tile_scheduler != TileScheduler::longest_k &&
      !(is_sm100(c) && uses_launch_control(c)))
    return {"tile_scheduler", is_sm100(c) ? "static, longest-k or clc"
                              : uses_launch_control(c)
                                  ? "static or longest-k on Hopper, which has no cluster launch control"
                                  : "static or longest-k"};
  if (reduces(c.epilogue)) return {"epilogue", "one without reductions for groups of K"};
  if (group_capacity(c) < 1 || group_capacity(c) > kGroupLimit) return {"k_groups", "1 to 4096"};
  if (maps_groups(c) && has_k_tails(c))
    return {"k_packing", "joint for an M-major A with an N-major B, whose groups lie one after the other already"};
  if (raster_shared_plan(c).total > machine_of(c).shared_bytes())
    return {"stages", "a ring, an output tile and group tables that fit {} bytes of shared memory",
            machine_of(c).shared_bytes()};
  return {};
}

WW_HOST_DEVICE constexpr ConfigFault fault_of_grouped(const GemmConfig& c) {
  return is_ragged(c) ? fault_of_ragged(c) : fault_of_raster(c);
}

}  // namespace ww::config
