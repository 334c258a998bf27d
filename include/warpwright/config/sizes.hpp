// SPDX-License-Identifier: Apache-2.0
// What follows directly from the fields of a resolved config: predicates, and the numbers of threads, registers, tiles,
// columns and scales. The same constexpr functions serve the kernel (as constants), the host (before a launch) and the
// program (to print).
#pragma once

#include "warpwright/config/epilogue_stages.hpp"
#include "warpwright/config/gemm_config.hpp"
#include "warpwright/core/scale_chunks.hpp"
#include "warpwright/pipeline/arrivals.hpp"

namespace ww::config {

inline constexpr int kRowBytes = MachineTraits::kSwizzleBytes;  // K bytes of one stage row
inline constexpr int kWarpgroupRows = Sm90().mma[0].m;          // rows of D that one warpgroup holds at a time
inline constexpr int kScaleBlock = 128;                         // block recipe: elements of K (and of N for B) that
                                                                // one scale covers
inline constexpr int kAlignment = MachineTraits::kSwizzleAlignment;  // of operands in shared memory
inline constexpr int kLargestStages = 16;
inline constexpr int kWorkTileStages = 2;  // dynamic and clc: tiles announced ahead of the consumer warps

/// Returns the limits of the config's architecture.
WW_HOST_DEVICE constexpr MachineTraits machine_of(const GemmConfig& c) { return ww::machine_of(c.arch); }

WW_HOST_DEVICE constexpr bool is_sm100(const GemmConfig& c) { return c.arch == Arch::sm100; }
/// Returns the CTAs whose MMAs are one.
WW_HOST_DEVICE constexpr int ctas_of_mma(const GemmConfig& c) { return c.sm100.pair ? 2 : 1; }
/// Returns the shapes of an MMA of the config's rows.
WW_HOST_DEVICE constexpr MmaShape mma_shape_of(const GemmConfig& c) {
  const MachineTraits machine = machine_of(c);
  const int rows = c.tile.m * ctas_of_mma(c);
  const MmaShape(&shapes)[2] = c.sm100.pair ? machine.pair_mma : machine.mma;
  return shapes[1].m == rows ? shapes[1] : shapes[0];
}

WW_HOST_DEVICE constexpr bool is_power_of_two(int n) { return n > 0 && (n & (n - 1)) == 0; }
WW_HOST_DEVICE constexpr pipeline::ClusterShape cluster_of(const GemmConfig& c) {
  return {c.cluster.m, c.cluster.n, max(1, c.cluster.k)};
}
/// Returns the elements of one row of an operand in shared memory, which is 128 bytes: of K, or of M or N where the
/// operand is MN-major.
WW_HOST_DEVICE constexpr int mn_block(DType type) { return 8 * kRowBytes / bits_of(type); }
/// Returns whether consumer warps read A from the stage and pass it to the tensor core in registers.
WW_HOST_DEVICE constexpr bool a_from_registers(const GemmConfig& c) {
  return c.sm90.a_source == OperandSource::registers;
}
/// Returns whether consumer warps transpose B in each stage: wgmma reads 32-bit operands from shared memory only
/// K-major.
WW_HOST_DEVICE constexpr bool transposes_b(const GemmConfig& c) {
  return !is_sm100(c) && c.operands.layout.b == Major::mn && bits_of(c.operands.b) == 32;
}
/// Returns the major of B as wgmma reads it.
// A function, because NVRTC before 12.8 refuses a conditional expression of an enumerator and a member of kConfig.
WW_HOST_DEVICE constexpr Major major_of_b(const GemmConfig& c) {
  return transposes_b(c) ? Major::k : c.operands.layout.b;
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
/// Returns the number of warps that multiply, of a CTA.
WW_HOST_DEVICE constexpr int consumer_warps(const GemmConfig& c) {
  return MachineTraits::kWarpgroupWarps * c.sm90.consumer_warpgroups;
}
WW_HOST_DEVICE constexpr int threads_of(const GemmConfig& c) {
  return MachineTraits::kWarpgroupThreads * (has_roles(c) + c.sm90.consumer_warpgroups);
}
/// Producers give up registers, which consumers claim.
WW_HOST_DEVICE constexpr bool moves_registers(const Sm90Schedule& s) {
  return s.schedule != Schedule::multistage && s.consumer_warpgroups > 1;
}
/// Returns the division of the register file between producers and consumers.
// A CTA starts with equally many registers for all threads. Consumer warps may claim what the producers give up. With
// two warpgroups each thread has as many as it can name from the start, so nothing is moved.
WW_HOST_DEVICE constexpr RegisterSplit registers_of(const GemmConfig& c) {
  if (!moves_registers(c.sm90)) return {};
  return machine_of(c).split_registers(c.sm90.consumer_warpgroups, c.sm90.producer_registers);
}

/// Returns the number of 64-row blocks that each consumer warpgroup multiplies one after the other.
WW_HOST_DEVICE constexpr int mma_blocks_of(const GemmConfig& c) {
  return c.tile.m / (kWarpgroupRows * warpgroups_of_tile(c));
}

/// Returns how many partial tiles, of `values` FP32 values in each thread, a thread loads from workspace before it adds
/// the first.
// A partial tile costs two round trips to L2, for its flag and for its values. Small ones share these trips; the loaded
// values of all of them are in registers then.
WW_HOST_DEVICE constexpr int partial_tiles_at_once(int values) { return max(1, min(8, 64 / values)); }

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

/// Returns the columns of D in one element of it as it is stored: 2 of e2m1, which is stored as bytes.
WW_HOST_DEVICE constexpr int packed_columns(DType d) { return d == DType::e2m1 ? 2 : 1; }
WW_HOST_DEVICE constexpr DType stored_type(DType d) { return d == DType::e2m1 ? DType::e4m3 : d; }

/// Returns the bytes of one row of an output panel: the widest swizzle span that divides the epilogue tile's row.
WW_HOST_DEVICE constexpr int panel_bytes(const GemmConfig& c) {
  int bytes = kRowBytes;
  while ((staged_columns(c) * bits_of(c.operands.d) / 8) % bytes != 0) bytes /= 2;
  return bytes;
}

/// With D stored as (N, M): the rows of one of its panels in shared memory, which is 128 bytes of M.
WW_HOST_DEVICE constexpr int column_panel_rows(const GemmConfig& c) { return mn_block(stored_type(c.operands.d)); }

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
/// Returns the number of scales, of 128 columns of B each, that one tile may need. With `halves` (swiglu_halves) it is
/// 2, one for the gate columns and one for the up columns, because fits_halves() keeps each half within one scale.
WW_HOST_DEVICE constexpr int scale_blocks_of_b(int tile_n, bool halves) { return halves ? 2 : scale_blocks(tile_n); }
/// Returns whether the tree pairs halves (swiglu_halves) and one scale of B serves 128 columns.
WW_HOST_DEVICE constexpr bool shares_scales_of_halves(const GemmConfig& c) {
  return pairs_halves(c) && promotes(c) && scale_form(c.operands.scale) == ScaleForm::rows;
}
/// Returns the N of which the product's must be a multiple for scales of mx and nv of its halves: 32 rows of B are a
/// column of tensor memory, and the ups begin at N / 2. An MMA of a pair takes whole chunks of gates, then of ups.
WW_HOST_DEVICE constexpr int unit_of_halves(const GemmConfig& c) { return c.sm100.pair ? 2 * kScaleChunkRows : 2 * 32; }
/// Returns whether the scales of B fit the halves of SwiGLU: each half of every tile lies within 128 columns that share
/// one scale, which scale_blocks_of_b() relies on, or begins where a column of scales does. `n`: the product's N.
WW_HOST_DEVICE constexpr bool fits_halves(const GemmConfig& c, i64 n) {
  if (pairs_halves(c) && is_microscaled(c.operands.scale)) return n % unit_of_halves(c) == 0;
  return !shares_scales_of_halves(c) || n <= kScaleBlock ||
         (c.tile.n > 0 && 2 * kScaleBlock % c.tile.n == 0 && n % c.tile.n == 0);
}
/// Returns the columns of D that a tile's must be a multiple of, because the tree quantises blocks of them; 1 if none.
WW_HOST_DEVICE constexpr int unit_of_quantised(const EpilogueTree& tree) {
  const EpilogueOp quantise = stages_of(tree).quantise;
  return is_microscale(quantise) || quantise > EpilogueOp::quantise ? columns_of_out_chunk(quantise) : 1;
}
/// Returns the widest TILE_N, at most `most`, for a tree that pairs the halves of N = `n` columns: N itself if no scale
/// ends inside a half, otherwise the largest width for which fits_halves() holds. A D that is quantised by blocks takes
/// whole ones, also where N has fewer columns.
WW_HOST_DEVICE constexpr int tile_of_halves(const GemmConfig& c, i64 n, int most) {
  const i64 least = unit_of_quantised(c.epilogue) > 1 ? 2 * unit_of_quantised(c.epilogue) : 0;
  if (is_microscaled(c.operands.scale))
    return static_cast<int>(min<i64>(max<i64>(n / 64 * 64, max<i64>(64, least)), most));
  if (!shares_scales_of_halves(c) || n <= kScaleBlock) return static_cast<int>(min<i64>(max<i64>(n, least), most));
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
  const MachineTraits machine = machine_of(c);
  return (c.sm90.consumer_warpgroups == 3 ? machine.accumulator_registers_of_three : machine.accumulator_registers) -
         (a_from_registers(c) || transposes_b(c) ? 32 : 0);
}

/// Returns the number of partial accumulators used in turn. With two, one block is multiplied while the other is
/// promoted.
// Several MMA_M blocks, three warpgroups and wide tiles allow only one, because two would leave too few registers for
// the sums. Without warp specialisation, the code of the loading thread would lie between two accumulators in flight.
WW_HOST_DEVICE constexpr int partial_accumulators(const GemmConfig& c) {
  const bool room = mma_blocks_of(c) == 1 && c.sm90.consumer_warpgroups < 3 && has_roles(c) && !a_from_registers(c) &&
                    3 * c.tile.n / 2 <= accumulator_registers(c);
  return !promotes(c) || is_sm100(c)        ? 0
         : c.sm90.partial_accumulators != 0 ? c.sm90.partial_accumulators
         : room                             ? 2
                                            : 1;
}

/// Returns whether the tensor core applies the scales.
WW_HOST_DEVICE constexpr bool scales_in_mma(const GemmConfig& c) { return is_microscaled(c.operands.scale); }
/// Returns whether both operands are 4 bits wide in shared memory, as kinds mxf4 and mxf4nvf4 take them. Elsewhere an
/// element of 4 or 6 bits takes a byte there.
WW_HOST_DEVICE constexpr bool packs_nibbles(const GemmConfig& c) {
  return scales_in_mma(c) && c.operands.a == DType::e2m1 && c.operands.b == DType::e2m1;
}
/// Returns the elements of K of a row of an operand in shared memory.
WW_HOST_DEVICE constexpr int k_of_row(const GemmConfig& c) {
  return packs_nibbles(c) ? 2 * kRowBytes : is_packed(c.operands.a) ? kRowBytes : mn_block(c.operands.a);
}
/// Returns the bytes that a barrier counts for `shared` bytes of a stage of an operand: those of global memory, which
/// are fewer where elements are widened to bytes.
WW_HOST_DEVICE constexpr u32 loaded_bytes(const GemmConfig& c, DType type, int shared) {
  return static_cast<u32>(is_packed(type) && !packs_nibbles(c) ? shared * bits_of(type) / 8 : shared);
}
/// Returns the chunks of scales (core/scale_chunks.hpp) of a stage: along K, and of all rows of A and B.
WW_HOST_DEVICE constexpr int scale_chunks_of_k(const GemmConfig& c) {
  return scales_in_mma(c) ? k_of_row(c) / scale_vector(c.operands.scale) / kScaleChunkScales : 0;
}
/// Returns the blocks of 128 rows of B whose chunks one load brings: of a whole tile, or of its gates or ups, which
/// begin at any column of scales, or for a pair at whole chunks.
WW_HOST_DEVICE constexpr int chunk_blocks_of_load(const GemmConfig& c) {
  if (!pairs_halves(c)) return scale_blocks(c.tile.n);
  return (kScaleChunkRows - unit_of_halves(c) / 2 + c.tile.n / 2 - 1) / kScaleChunkRows + 1;
}
/// Returns the blocks of 128 rows of B whose chunks a tile meets.
WW_HOST_DEVICE constexpr int chunk_blocks_of_b(const GemmConfig& c) {
  return (pairs_halves(c) ? 2 : 1) * chunk_blocks_of_load(c);
}
WW_HOST_DEVICE constexpr int scale_chunks_of_stage(const GemmConfig& c) {
  return scale_chunks_of_k(c) * (1 + chunk_blocks_of_b(c));
}
/// Returns whether K may end inside an instruction that takes several scales of a row. The scales behind K are cleared
/// in shared memory then (mainloop/sm100/scale_tail.hpp).
WW_HOST_DEVICE constexpr bool clears_scales(const GemmConfig& c) {
  return packs_nibbles(c) && c.grouping != Grouping::k_groups;
}
/// Sets of columns of tensor memory for the scales of a stage: one is written while MMAs read the other.
inline constexpr int kScaleSets = 2;
inline constexpr int kScaleChunkColumns = 4;  // of tensor memory
// Scales of a tile that begins within 128 rows of B begin within a chunk's columns. An instruction may read the columns
// of whole chunks from there on, of which the last ones have no rows of the tile: they must exist, with any contents.
WW_HOST_DEVICE constexpr int scale_columns(const GemmConfig& c) {
  const int together = pairs_halves(c) ? c.tile.n / 2 : c.tile.n;
  const int behind = scales_in_mma(c) && together % kScaleChunkRows != 0 ? kScaleChunkColumns : 0;
  return kScaleSets * kScaleChunkColumns * scale_chunks_of_stage(c) + behind;
}
/// sm_100: returns the most accumulators of the config's width that tensor memory holds beside scales. Two that do not
/// fit overlap.
WW_HOST_DEVICE constexpr int most_accumulators(const GemmConfig& c) {
  if (c.tile.n < 1) return 0;
  const int columns = machine_of(c).tensor_columns - scale_columns(c), apart = columns / c.tile.n;
  return scales_in_mma(c) && apart == 1 ? 2 : min(4, apart);
}
inline constexpr int kOverlapUnit = 32;  // columns; what CUTLASS's accumulators share is whole epilogue tiles of 32 too
/// sm_100: returns the columns that two accumulators share (pipeline/accumulator_pipeline.hpp), so that the scales fit
/// beside them; 0: none.
WW_HOST_DEVICE constexpr int overlapping_columns(const GemmConfig& c) {
  const int missing = 2 * c.tile.n + scale_columns(c) - machine_of(c).tensor_columns;
  return scales_in_mma(c) && c.sm100.accumulators == 2 && missing > 0 ? round_up(missing, kOverlapUnit) : 0;
}
/// sm_100: returns the columns of tensor memory of all accumulators. Those of scales follow them.
WW_HOST_DEVICE constexpr int accumulator_columns(const GemmConfig& c) {
  return c.sm100.accumulators * c.tile.n - overlapping_columns(c);
}
/// Returns the columns of tensor memory that a CTA allocates, a power of two.
WW_HOST_DEVICE constexpr int tensor_columns(const GemmConfig& c) {
  int columns = 32;
  while (columns < accumulator_columns(c) + scale_columns(c)) columns *= 2;
  return columns;
}

/// Returns whether the kernel has groups of K; everything else is as in a batch of dense products.
WW_HOST_DEVICE constexpr bool groups_k(const GemmConfig& c) { return c.grouping == Grouping::k_groups; }
/// Returns whether the kernel has groups of rows of A and D.
WW_HOST_DEVICE constexpr bool groups_rows(const GemmConfig& c) { return c.grouping == Grouping::row_groups; }
/// Returns whether groups of rows may have an N-major B, the weights.
WW_HOST_DEVICE constexpr bool takes_n_major_weights(const GemmConfig& c) {
  return bits_of(c.operands.b) == 16 || (scales_in_mma(c) && bits_of(c.operands.b) == 8);
}
/// Returns whether groups of K may begin and end at any row of K. The tensor maps of A and B then end where a group
/// does. With a K-major operand or with scales along K, groups begin and end at whole blocks of 128 rows instead.
WW_HOST_DEVICE constexpr bool has_k_tails(const GemmConfig& c) {
  return groups_k(c) && c.operands.layout.a == Major::mn && c.operands.layout.b == Major::mn && !scales_in_mma(c) &&
         !promotes(c);
}

/// Returns whether every group of K has tensor maps of its own for A and B, made by the launch before the product's.
WW_HOST_DEVICE constexpr bool maps_groups(const GemmConfig& c) {
  return groups_k(c) && c.k_groups.packing == KPacking::per_group;
}
/// Returns whether the tensor maps of A and B are in global memory.
WW_HOST_DEVICE constexpr bool acquires_operands(const GemmConfig& c) {
  return c.operands.pointer_array || maps_groups(c);
}

/// Returns whether the matrices of a batch form one rank-3 tensor.
WW_HOST_DEVICE constexpr bool stacks_matrices(const GemmConfig& c) {
  return c.operands.batched && !c.operands.pointer_array;
}

/// Returns whether the dense kernel takes its tiles from a work-tile counter.
WW_HOST_DEVICE constexpr bool uses_work_tile_counter(const GemmConfig& c) {
  return c.grouping == Grouping::dense && c.sm90.tile_scheduler == TileScheduler::dynamic;
}
/// Returns whether the kernel takes its tiles from cluster launch control: the device gives a cluster that runs the
/// tile of one that has not started.
WW_HOST_DEVICE constexpr bool uses_launch_control(const GemmConfig& c) {
  return c.sm90.tile_scheduler == TileScheduler::clc;
}
/// Returns whether numbers of tiles are announced, as the counter or the device gives them.
WW_HOST_DEVICE constexpr bool announces_tiles(const GemmConfig& c) {
  return uses_work_tile_counter(c) || uses_launch_control(c);
}
/// Returns the bytes of an announced tile: its number, or the answer of cluster launch control.
WW_HOST_DEVICE constexpr int work_tile_bytes(const GemmConfig& c) {
  return uses_launch_control(c) ? 16 : uses_work_tile_counter(c) ? 4 : 0;
}
/// Returns whether a launch has a cluster for every tile instead of as many as are resident.
WW_HOST_DEVICE constexpr bool launches_all_tiles(const GemmConfig& c) {
  return c.sm90.tile_scheduler == TileScheduler::single || c.sm90.tile_scheduler == TileScheduler::clc;
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
  while (3 * (c.cluster.k - 1) * c.tile.m * c.tile.n * 4 > rounds * machine_of(c).shared_bytes()) rounds *= 2;
  return rounds;
}
/// Returns the bytes of a peer's slot.
WW_HOST_DEVICE constexpr int slot_bytes(const GemmConfig& c) { return c.tile.m * c.tile.n * 4 / sum_rounds(c); }

/// Returns whether token tiles have a width chosen at run time, with weights on either side of wgmma.
WW_HOST_DEVICE constexpr bool is_ragged(const GemmConfig& c) {
  return c.row_groups.variant == GroupedVariant::ragged || c.row_groups.variant == GroupedVariant::descriptors;
}

/// Returns whether tiles that end early skip the operand rows of consumer warpgroups without rows. In a cluster they do
/// not skip them, because peers share the loads.
WW_HOST_DEVICE constexpr bool loads_parts(const GemmConfig& c) {
  return !is_sm100(c) && cluster_of(c).size() == 1 && c.sm90.consumer_warpgroups > 1;
}

}  // namespace ww::config
