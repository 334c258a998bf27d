// SPDX-License-Identifier: Apache-2.0
// One value that describes a GEMM kernel completely: template argument, JIT key, line of text, row of a bench result.
//   GemmConfig = arch, operands, tile, cluster, raster, one schedule per architecture, the one of {Dense, RowGroups,
//                KGroups} that `grouping` selects, epilogue
// A field of 0 or `automatic` is open; config/builder.hpp resolves it. src/config/config_text.cpp has its text form and
// parser. All parts are plain structures, because a config is a template argument under NVRTC; those that do not apply
// keep their defaults.
#pragma once

#include "warpwright/config/enum_names.hpp"
#include "warpwright/config/epilogue_nodes.hpp"
#include "warpwright/core/target.hpp"

namespace ww {

/// The recipe by which raw products become D.
enum class Scale : u8 {
  none,                 // D = A B^T
  tensor,               // D = scale_a[0] * scale_b[0] * A B^T; grouped: one each per tensor or per group
  row_column,           // D[m, n] = (scale_a[m] * scale_b[n]) * (A B^T)[m, n]
  block_1x128_128x128,  // A per row and 128 of K, B per 128 x 128; sums promoted to FP32 after every 128 of K
  block_1x128_1x128,    // the same with B scaled per row and 128 of K, like A
  block_128x128_1x128,  // block_1x128_128x128 with A and B exchanged; only kernels under swap-AB have it
};
WW_HOST_DEVICE constexpr EnumNames names_of(Scale) {
  return {"Scale", {"none", "tensor", "row-column", "block", "block-1d", "block-swapped"}, 1};
}

/// Returns whether scales change after every 128 of K.
WW_HOST_DEVICE constexpr bool is_block(Scale scale) { return scale >= Scale::block_1x128_128x128; }

/// Returns the rows of D that share a scale of A, and the columns that share one of B, for recipes with several scales.
WW_HOST_DEVICE constexpr int rows_of_scale(Scale scale) { return scale == Scale::block_128x128_1x128 ? 128 : 1; }
WW_HOST_DEVICE constexpr int columns_of_scale(Scale scale) { return scale == Scale::block_1x128_128x128 ? 128 : 1; }

/// The contiguous direction of D in memory: its rows, stored as (M, N), or its columns, stored as (N, M).
enum class OutputLayout : u8 { row, column };
WW_HOST_DEVICE constexpr EnumNames names_of(OutputLayout) { return {"OutputLayout", {"row", "column"}}; }

/// The operand on the M side of the instruction, whose M is 64 and whose N is any multiple of 8.
enum class SwapAb : u8 {
  automatic,  // off in a resolved config
  on,         // B: D^T = B A^T, so that a few rows of A waste nothing
  off,        // A
};
WW_HOST_DEVICE constexpr EnumNames names_of(SwapAb) { return {"SwapAb", {"auto", "on", "off"}}; }

/// Selects the structure of a config that applies: Dense, RowGroups or KGroups.
enum class Grouping : u8 {
  dense,
  row_groups,  // groups of rows of A and D, each with its own B
  k_groups,    // groups of K, each with its own D: the dense kernel, with a different K per tile
};
WW_HOST_DEVICE constexpr EnumNames names_of(Grouping) { return {"Grouping", {"dense", "row-groups", "k-groups"}}; }

/// The kernel for groups of rows.
enum class GroupedVariant : u8 {
  automatic,
  contiguous,   // groups of rows in one matrix: A on the M side, rasterised, multicast to CTAs of one group
  masked,       // the same for [G, Mmax, K]
  descriptors,  // weights on the M side, one token width; the device patches tensor maps of A and D for each group
  ragged,       // one launch; the device chooses a token width for each group and starts long tiles first
};
WW_HOST_DEVICE constexpr EnumNames names_of(GroupedVariant) {
  return {"GroupedVariant", {"auto", "contiguous", "masked", "descriptors", "ragged"}};
}

/// The order in which CTAs get tiles of D.
enum class TileScheduler : u8 {
  automatic,
  fixed,       // CTA c takes tiles c, c + C, ... of one order
  dynamic,     // each CTA takes its next tile from a counter in global memory
  horizontal,  // descriptors: N runs fastest inside a group; a linear scan finds the group
  vertical,    // descriptors: all groups for one column of tiles; a binary search finds the group
  single,      // dense: one tile for each CTA, as many CTAs as tiles
  stream_k,    // dense: every CTA gets equally many k-blocks; tiles of several CTAs are summed through workspace
  split_k,     // `split` K splits per tile, reduced in clusters of k CTAs and then (dense) through workspace
};
WW_HOST_DEVICE constexpr EnumNames names_of(TileScheduler) {
  return {"TileScheduler", {"auto", "static", "dynamic", "horizontal", "vertical", "single", "stream-k", "split-k"}};
}

/// The narrow direction of a band of tiles. along_m: `raster` tiles along M, traversed along N; along_n: the reverse.
enum class RasterBand : u8 { along_m, along_n };
WW_HOST_DEVICE constexpr EnumNames names_of(RasterBand) { return {"RasterBand", {"m", "n"}}; }

/// The division of loading and multiplying between warps.
enum class Schedule : u8 {
  automatic,    // cooperative
  cooperative,  // one warpgroup loads; the consumer warpgroups share each tile by rows
  pingpong,     // one warpgroup loads; two consumer warpgroups have a tile each; one multiplies while the other stores
  multistage,   // no warp specialisation: every warpgroup multiplies, and one thread of them also issues the loads
};
WW_HOST_DEVICE constexpr EnumNames names_of(Schedule) {
  return {"Schedule", {"auto", "cooperative", "pingpong", "multistage"}};
}

/// The source from which the tensor core reads A.
enum class OperandSource : u8 {
  automatic,  // shared memory, if wgmma can read the layout there
  shared,
  registers,  // consumer warps load it from the stage; allows M-major tf32
};
WW_HOST_DEVICE constexpr EnumNames names_of(OperandSource) {
  return {"OperandSource", {"auto", "shared", "registers"}};
}

/// The layout of A and B in memory. mn is not available for FP8.
struct MatrixLayout {
  Major a = Major::k, b = Major::k;
  bool operator==(const MatrixLayout&) const = default;
};
/// Returns the layout in BLAS terms: A is (M, K) with n and (K, M) with t, B is (K, N) with n and (N, K) with t.
WW_HOST_DEVICE constexpr const char* name_of(MatrixLayout layout) {
  const bool a = layout.a == Major::mn, b = layout.b == Major::mn;
  return a ? (b ? "tn" : "tt") : b ? "nn" : "nt";
}

/// The types and layouts of a problem's matrices.
struct Operands {
  DType a = DType::e4m3, b = DType::e4m3, d = DType::bf16;
  Scale scale = Scale::none;
  MatrixLayout layout = {};
  OutputLayout d_layout = OutputLayout::row;  // dense
  OutputLayout c_layout = OutputLayout::row;  // of C, auxiliary matrices and stores
  bool batched = false;                       // several matrices of one shape, [L, M, N, K]; rank-3 tensor maps
  bool pointer_array = false;  // batched: arrays of pointers locate every matrix of A, B, C and D; rank-2 maps
  bool operator==(const Operands&) const = default;
};

/// CTA tile in elements; k is 128 bytes of K. Groups of rows: m is the widest token tile, n the weight tile.
struct Tile {
  int m = 0, n = 0, k = 0;
  bool operator==(const Tile&) const = default;
};

/// CTAs of a cluster along M (they share B), along N (they share A), and along K (they split it).
struct Cluster {
  int m = 0, n = 0, k = 0;
  bool operator==(const Cluster&) const = default;
};

/// The order of cluster tiles: bands that are `width` of them wide.
struct Raster {
  int width = 0;                          // cluster tiles across a band (swizzle width)
  RasterBand band = RasterBand::along_m;  // M runs fastest inside a band, then N; or the reverse
  bool operator==(const Raster&) const = default;
};

/// The schedule of an sm_90 kernel.
struct Sm90Schedule {
  Schedule schedule = Schedule::automatic;
  int stages = 0;                // depth of the operand ring
  int consumer_warpgroups = 0;   // 1 to 3; each owns an equal share of tile_m's rows (pingpong: a tile)
  int partial_accumulators = 0;  // block scales: 1 or 2 partial accumulators used in turn; 0: 2 if registers allow
  TileScheduler tile_scheduler = TileScheduler::automatic;
  int split = 0;  // split_k: K splits of each tile; cluster.k of them are reduced in one cluster, then all in workspace
  OperandSource a_source = OperandSource::automatic;
  SwapAb swap_ab = SwapAb::automatic;  // dense
  int occupancy = 0;                   // CTAs per SM; ragged: 1 to 3
  bool operator==(const Sm90Schedule&) const = default;
};

/// One product, or a batch of them.
struct Dense {
  int epilogue_n = 0;            // dense: columns of D staged at a time, in two alternating buffers; 0: the tile's
  int fixed_n = 0, fixed_k = 0;  // dense: the kernel is specialised for this N or K; 0: for any
  bool operator==(const Dense&) const = default;
};

/// Groups of rows of A and D.
struct RowGroups {
  GroupedVariant variant = GroupedVariant::automatic;
  int capacity = 0;  // groups that fit the tables in shared memory
  bool operator==(const RowGroups&) const = default;
};

/// Groups of K.
struct KGroups {
  int capacity = 0;  // groups that fit the tables in shared memory
  bool operator==(const KGroups&) const = default;
};

/// Describes a kernel. With swap_ab on, tile, cluster, consumer warpgroups, raster and band refer to the instruction's
/// M and N, which are N and M of the problem. All other fields still refer to the problem (swap_ab.hpp has the kernel's
/// view).
struct GemmConfig {
  Arch arch = Arch::sm90;
  Operands operands = {};
  Tile tile = {};
  Cluster cluster = {};
  Raster raster = {};
  Sm90Schedule sm90 = {};
  Grouping grouping = Grouping::dense;
  Dense dense = {};
  RowGroups row_groups = {};
  KGroups k_groups = {};
  EpilogueTree epilogue = {};  // applied to the scaled accumulator; if empty, D is the accumulator

  bool operator==(const GemmConfig&) const = default;
};

/// Groups that fit the tables in shared memory; 0 of a dense config.
WW_HOST_DEVICE constexpr int group_capacity(const GemmConfig& c) {
  return c.grouping == Grouping::k_groups ? c.k_groups.capacity : c.row_groups.capacity;
}

}  // namespace ww
