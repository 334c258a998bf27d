// SPDX-License-Identifier: Apache-2.0
// One value that describes a GEMM kernel completely: template argument, JIT key, line of text, row of a bench result.
//   GemmConfig = arch, operands, tile, cluster, raster, one schedule per architecture, one of {Dense, RowGroups, KGroups}
//                chosen by `grouping`, epilogue
// A field of 0 or `automatic` is open; config/builder.hpp resolves it. Text form and parser: src/config/config_text.cpp.
// Plain structures throughout, because a config is a template argument under NVRTC: what does not apply stays default.
#pragma once

#include "warpwright/config/enum_names.hpp"
#include "warpwright/config/epilogue_nodes.hpp"
#include "warpwright/core/target.hpp"

namespace ww {

/// How raw products become D.
enum class Scale : u8 {
  none,                 // D = A B^T
  tensor,               // D = scale_a[0] * scale_b[0] * A B^T; grouped: one each per tensor or per group
  row_column,           // D[m, n] = (scale_a[m] * scale_b[n]) * (A B^T)[m, n]
  block_1x128_128x128,  // A scaled by row and 128 of K, B by 128 x 128; partial sums promoted to FP32 every 128 of K
  block_1x128_1x128,    // the same with B scaled by row and 128 of K, as A is
  block_128x128_1x128,  // the first of these with A and B exchanged: of a kernel under swap-AB, of no problem
};
WW_HOST_DEVICE constexpr EnumNames names_of(Scale) {
  return {"Scale", {"none", "tensor", "row-column", "block", "block-1d", "block-swapped"}, 1};
}

/// Scales for each 128 of K.
WW_HOST_DEVICE constexpr bool is_block(Scale scale) { return scale >= Scale::block_1x128_128x128; }

/// Rows of D that share a scale of A, and columns that share one of B, with recipes that have several.
WW_HOST_DEVICE constexpr int rows_of_scale(Scale scale) { return scale == Scale::block_128x128_1x128 ? 128 : 1; }
WW_HOST_DEVICE constexpr int columns_of_scale(Scale scale) { return scale == Scale::block_1x128_128x128 ? 128 : 1; }

/// What of D is contiguous in memory: its rows, (M, N) as it is stored, or its columns, (N, M).
enum class OutputLayout : u8 { row, column };
WW_HOST_DEVICE constexpr EnumNames names_of(OutputLayout) { return {"OutputLayout", {"row", "column"}}; }

/// Which operand is on the M side of the instruction, whose M is 64 and whose N is any multiple of 8.
enum class SwapAb : u8 {
  automatic,  // in a resolved config: off
  on,         // B: D^T = B A^T, a few rows of A waste nothing
  off,        // A
};
WW_HOST_DEVICE constexpr EnumNames names_of(SwapAb) { return {"SwapAb", {"auto", "on", "off"}}; }

/// Which of Dense, RowGroups and KGroups a config is about.
enum class Grouping : u8 {
  dense,
  row_groups,  // groups of rows of A and D, each with a B of its own
  k_groups,    // groups of K, each with a D of its own: the dense kernel, whose tiles know how long their K is
};
WW_HOST_DEVICE constexpr EnumNames names_of(Grouping) { return {"Grouping", {"dense", "row-groups", "k-groups"}}; }

/// The kernel for groups of rows.
enum class GroupedVariant : u8 {
  automatic,
  contiguous,   // groups of rows in one matrix: normal orientation, rasterised, multicast where a pair shares its group
  masked,       // the same for [G, Mmax, K]
  descriptors,  // weights on the M side, one token width; tensor maps of A and D patched on the device for each group
  ragged,       // one launch: token width chosen for each group on the device, long tiles first
};
WW_HOST_DEVICE constexpr EnumNames names_of(GroupedVariant) {
  return {"GroupedVariant", {"auto", "contiguous", "masked", "descriptors", "ragged"}};
}

/// How tiles of D are handed out to CTAs.
enum class TileScheduler : u8 {
  automatic,
  fixed,       // CTA c takes tiles c, c + C, ... of one order
  dynamic,     // the next tile from a counter in global memory
  horizontal,  // descriptors: N runs fastest inside a group; the group is found by a linear scan
  vertical,    // descriptors: all groups for one column of tiles; the group is found by binary search
  single,      // dense: one tile for each CTA, as many CTAs as tiles
  stream_k,    // dense: every CTA the same number of k-blocks; tiles between two CTAs are summed through workspace
  split_k,     // every tile in `split` splits of K, summed across cluster_k CTAs and then (dense) through workspace
};
WW_HOST_DEVICE constexpr EnumNames names_of(TileScheduler) {
  return {"TileScheduler", {"auto", "static", "dynamic", "horizontal", "vertical", "single", "stream-k", "split-k"}};
}

/// Which way a band of tiles is narrow: `raster` tiles along M, walked along N, or the other way round.
enum class RasterBand : u8 { along_m, along_n };
WW_HOST_DEVICE constexpr EnumNames names_of(RasterBand) { return {"RasterBand", {"m", "n"}}; }

/// Which warps load and multiply, and when.
enum class Schedule : u8 {
  automatic,    // cooperative
  cooperative,  // one warpgroup loads; the consumer warpgroups share each tile by rows
  pingpong,     // one warpgroup loads; two consumer warpgroups have a tile each, one multiplies while the other stores
  multistage,   // no roles: every warpgroup multiplies, and one thread of them also issues the loads
};
WW_HOST_DEVICE constexpr EnumNames names_of(Schedule) {
  return {"Schedule", {"auto", "cooperative", "pingpong", "multistage"}};
}

/// Where the tensor core takes A from.
enum class OperandSource : u8 {
  automatic,  // shared memory, where it can be read from there
  shared,
  registers,  // consumer warps read it out of the stage: tf32 may be M-major then
};
WW_HOST_DEVICE constexpr EnumNames names_of(OperandSource) {
  return {"OperandSource", {"auto", "shared", "registers"}};
}

/// How A and B lie in memory; mn: not FP8.
struct MatrixLayout {
  Major a = Major::k, b = Major::k;
  bool operator==(const MatrixLayout&) const = default;
};
/// BLAS' letters: A is (M, K) with n and (K, M) with t, B is (K, N) with n and (N, K) with t.
WW_HOST_DEVICE constexpr const char* name_of(MatrixLayout layout) {
  const bool a = layout.a == Major::mn, b = layout.b == Major::mn;
  return a ? (b ? "tn" : "tt") : b ? "nn" : "nt";
}

/// What the problem says about its matrices.
struct Operands {
  DType a = DType::e4m3, b = DType::e4m3, d = DType::bf16;
  Scale scale = Scale::none;
  MatrixLayout layout = {};
  OutputLayout d_layout = OutputLayout::row;  // dense
  OutputLayout c_layout = OutputLayout::row;  // of C, auxiliary matrices and stores
  bool batched = false;                       // several matrices of one shape, [L, M, N, K]; rank-3 tensor maps
  bool pointer_array = false;  // batched: every matrix of A, B, C and D where an array of pointers says; rank-2 maps
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

/// The order of cluster tiles: bands of `width` of them.
struct Raster {
  int width = 0;                          // cluster tiles across a band (swizzle width)
  RasterBand band = RasterBand::along_m;  // M runs fastest inside a band, then N; or the other way round
  bool operator==(const Raster&) const = default;
};

/// How an sm_90 kernel does its work.
struct Sm90Schedule {
  Schedule schedule = Schedule::automatic;
  int stages = 0;                // depth of the operand ring
  int consumer_warpgroups = 0;   // 1 to 3; each owns tile.m / consumer_warpgroups rows (pingpong: a tile)
  int partial_accumulators = 0;  // block scales: 1 or 2 of them take turns; 0: 2 where registers allow
  TileScheduler tile_scheduler = TileScheduler::automatic;
  int split = 0;  // split_k: K splits of each tile; cluster.k of them are reduced in one cluster, then all in workspace
  OperandSource a_source = OperandSource::automatic;
  SwapAb swap_ab = SwapAb::automatic;  // dense
  int occupancy = 0;                   // CTAs per SM; ragged: 1 to 3
  bool operator==(const Sm90Schedule&) const = default;
};

/// One product, or a batch of them.
struct Dense {
  int epilogue_n = 0;            // columns of D staged at a time, two such parts in turns; 0: the tile's
  int fixed_n = 0, fixed_k = 0;  // the kernel is for this N, this K alone; 0: for any
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

// With swap_ab on, tile, cluster, consumer_warpgroups and raster speak of the instruction's M and N, which are N and M
// of the problem; every other field still speaks of the problem (config/swap_ab.hpp has the kernel's view).
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
  EpilogueTree epilogue = {};  // what becomes of the scaled accumulator; empty: D is that

  bool operator==(const GemmConfig&) const = default;
};

/// Groups that fit the tables in shared memory; 0 of a dense config.
WW_HOST_DEVICE constexpr int group_capacity(const GemmConfig& c) {
  return c.grouping == Grouping::k_groups ? c.k_groups.capacity : c.row_groups.capacity;
}

}  // namespace ww
