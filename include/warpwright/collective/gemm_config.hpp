// SPDX-License-Identifier: Apache-2.0
// One value that says everything about a GEMM kernel: template argument, JIT key, CLI line, row of a bench result.
// A field of 0 is `auto`; collective/builder.hpp resolves it. Text form and parser: src/select/config_text.cpp.
#pragma once

#include "warpwright/collective/epilogue_nodes.hpp"

namespace ww {

enum class Arch : u8 { sm90 };

/// How raw products become D.
enum class Scale : u8 {
  none,                 // D = A B^T
  tensor,               // D = scale_a[0] * scale_b[0] * A B^T; grouped: one each per tensor or per group
  row_column,           // D[m, n] = (scale_a[m] * scale_b[n]) * (A B^T)[m, n]
  block_1x128_128x128,  // A scaled by row and 128 of K, B by 128 x 128; partial sums promoted to FP32 every 128 of K
  block_1x128_1x128,    // the same with B scaled by row and 128 of K, as A is
  block_128x128_1x128,  // the first of these with A and B exchanged: of a kernel under swap-AB, of no problem
};

/// Scales for each 128 of K.
WW_HOST_DEVICE constexpr bool is_block(Scale scale) { return scale >= Scale::block_1x128_128x128; }

/// Rows of D that share a scale of A, and columns that share one of B, with recipes that have several.
WW_HOST_DEVICE constexpr int rows_of_scale(Scale scale) { return scale == Scale::block_128x128_1x128 ? 128 : 1; }
WW_HOST_DEVICE constexpr int columns_of_scale(Scale scale) { return scale == Scale::block_1x128_128x128 ? 128 : 1; }

WW_HOST_DEVICE constexpr const char* name_of(Arch) { return "sm90"; }
WW_HOST_DEVICE constexpr const char* name_of(Scale scale) {
  return scale == Scale::none                  ? "none"
         : scale == Scale::tensor              ? "tensor"
         : scale == Scale::row_column          ? "row-column"
         : scale == Scale::block_1x128_128x128 ? "block"
         : scale == Scale::block_1x128_1x128   ? "block-1d"
                                               : "block-swapped";
}

/// What of D is contiguous in memory: its rows, (M, N) as it is stored, or its columns, (N, M).
enum class OutputLayout : u8 { row, column };
WW_HOST_DEVICE constexpr const char* name_of(OutputLayout l) { return l == OutputLayout::row ? "row" : "column"; }

/// Which operand is on the M side of the instruction, whose M is 64 and whose N is any multiple of 8.
enum class SwapAb : u8 {
  automatic,  // in a resolved config: off
  on,         // B: D^T = B A^T, a few rows of A waste nothing
  off,        // A
};
WW_HOST_DEVICE constexpr const char* name_of(SwapAb s) {
  return s == SwapAb::automatic ? "auto" : s == SwapAb::on ? "on" : "off";
}

/// How a product is cut into tiles and handed out: one dense problem, or a way to treat ragged groups.
enum class Mechanism : u8 {
  dense,
  contiguous,   // groups of rows in one matrix: normal orientation, rasterised, multicast where a pair shares its group
  masked,       // the same for [G, Mmax, K]
  descriptors,  // weights on the M side, one token width; tensor maps of A and D patched on the device for each group
  ragged,       // one launch: token width chosen for each group on the device, long tiles first
  k_grouped,    // groups of K, each with a D of its own: the dense kernel, whose tiles know how long their K is
};
WW_HOST_DEVICE constexpr const char* name_of(Mechanism m) {
  return m == Mechanism::dense         ? "dense"
         : m == Mechanism::contiguous  ? "contiguous"
         : m == Mechanism::masked      ? "masked"
         : m == Mechanism::descriptors ? "descriptors"
         : m == Mechanism::ragged      ? "ragged"
                                       : "k-grouped";
}

/// How tiles of D are handed out to CTAs.
enum class TileOrder : u8 {
  automatic,
  fixed,       // CTA c takes tiles c, c + C, ... of one order
  dynamic,     // the next tile from a counter in global memory
  horizontal,  // descriptors: N runs fastest inside a group; the group is found by a linear scan
  vertical,    // descriptors: all groups for one column of tiles; the group is found by binary search
  single,      // dense: one tile for each CTA, as many CTAs as tiles
  stream_k,    // dense: every CTA the same number of k-blocks; tiles between two CTAs are summed through workspace
  split_k,     // every tile in `split` pieces along K, summed across cluster_k CTAs and then (dense) through workspace
};
WW_HOST_DEVICE constexpr const char* name_of(TileOrder o) {
  return o == TileOrder::automatic    ? "auto"
         : o == TileOrder::fixed      ? "static"
         : o == TileOrder::dynamic    ? "dynamic"
         : o == TileOrder::horizontal ? "horizontal"
         : o == TileOrder::vertical   ? "vertical"
         : o == TileOrder::single     ? "single"
         : o == TileOrder::stream_k   ? "stream-k"
                                      : "split-k";
}

/// Which way a band of tiles is narrow: `raster` tiles along M, walked along N, or the other way round.
enum class RasterBand : u8 { along_m, along_n };
WW_HOST_DEVICE constexpr const char* name_of(RasterBand b) { return b == RasterBand::along_m ? "m" : "n"; }

/// Which warps load and multiply, and when.
enum class Schedule : u8 {
  automatic,    // cooperative
  cooperative,  // one warpgroup loads; the math warpgroups share each tile by rows
  pingpong,     // one warpgroup loads; two math warpgroups have a tile each, one multiplies while the other stores
  multistage,   // no roles: every warpgroup multiplies, and one thread of them also issues the loads
};
WW_HOST_DEVICE constexpr const char* name_of(Schedule s) {
  return s == Schedule::automatic     ? "auto"
         : s == Schedule::cooperative ? "cooperative"
         : s == Schedule::pingpong    ? "pingpong"
                                      : "multistage";
}

/// Where the tensor core takes A from.
enum class OperandSource : u8 {
  automatic,  // shared memory, where it can be read from there
  shared,
  registers,  // math warps read it out of the stage: tf32 may be M-major then
};
WW_HOST_DEVICE constexpr const char* name_of(OperandSource s) {
  return s == OperandSource::automatic ? "auto" : s == OperandSource::shared ? "shared" : "registers";
}

// With swap_ab on, tile, cluster, math_warpgroups, raster and band speak of the instruction's M and N, which are N and
// M of the problem; every other field still speaks of the problem (collective/swap_ab.hpp has the kernel's view).
struct GemmConfig {
  Arch arch = Arch::sm90;
  DType a = DType::e4m3;
  DType b = DType::e4m3;
  DType d = DType::bf16;
  Scale scale = Scale::none;
  int tile_m = 0, tile_n = 0, tile_k = 0;  // CTA tile in elements; tile_k is 128 bytes of K
  int cluster_m = 0, cluster_n = 0;        // CTAs of a cluster along M (they share B) and along N (they share A)
  int stages = 0;                          // depth of the operand ring
  int math_warpgroups = 0;                 // 1 to 3; each owns tile_m / math_warpgroups rows (pingpong: a tile)
  int raster = 0;                          // cluster tiles across a band of tiles (swizzle width)
  RasterBand band = RasterBand::along_m;   // M runs fastest inside a band, then N; or the other way round
  bool batched = false;                    // dense: several matrices of one shape, [L, M, N, K]; rank-3 tensor maps
  Major a_major = Major::k, b_major = Major::k;  // dense: how A and B lie in memory; mn: not FP8
  OperandSource a_source = OperandSource::automatic;
  OutputLayout d_layout = OutputLayout::row;  // dense
  OutputLayout c_layout = OutputLayout::row;  // of C, auxiliary matrices and stores
  SwapAb swap_ab = SwapAb::automatic;         // dense
  bool pointer_array = false;  // batched: every matrix of A, B, C and D where an array of pointers says; rank-2 maps
  Schedule schedule = Schedule::automatic;
  int promotion = 0;  // block scales: 1 or 2 sets of raw accumulators take turns; 0: 2 where registers allow
  // grouped products; a dense one leaves these alone. tile_m is then the widest token tile, tile_n the weight tile
  Mechanism mechanism = Mechanism::dense;
  TileOrder order = TileOrder::automatic;
  int group_capacity = 0;  // groups that fit the tables in shared memory
  // split_k: pieces of K for each tile, of which cluster_k meet in one cluster and the rest in workspace (ragged: none)
  int split = 0, cluster_k = 0;
  int ctas_per_sm = 0;           // ragged: CTAs that fit an SM together, 1 to 3; 0: one, or what suits the problem
  int epilogue_n = 0;            // dense: columns of D staged at a time, two such parts in turns; 0: the tile's
  int fixed_n = 0, fixed_k = 0;  // dense: the kernel is for this N, this K alone; 0: for any
  EpilogueTree epilogue = {};    // what becomes of the scaled accumulator; empty: D is that

  bool operator==(const GemmConfig&) const = default;
};

}  // namespace ww
