// SPDX-License-Identifier: Apache-2.0
// The choices that fields of a config have, with their names in text. `automatic` is open: config/resolve.hpp resolves
// it.
#pragma once

#include "warpwright/config/enum_names.hpp"

namespace ww {

/// The recipe by which the products become D.
enum class Scale : u8 {
  none,                 // D = A B^T
  tensor,               // D = scale_a[0] * scale_b[0] * A B^T; grouped: one each per tensor or per group
  row_column,           // D[m, n] = (scale_a[m] * scale_b[n]) * (A B^T)[m, n]
  block_1x128_128x128,  // A per row and 128 of K, B per 128 x 128; sums promoted to FP32 after every 128 of K
  block_1x128_1x128,    // the same with B scaled per row and 128 of K, like A
  block_128x128_1x128,  // block_1x128_128x128 with A and B exchanged; only kernels under swap-AB have it
  mx,                   // both per row and 32 of K, in e8m0, applied by the tensor core: types of f8f6f4 in any mix
  nv,  // both per row and 16 of K, in e4m3 without its sign, applied by the tensor core: e2m1; and one float for each
       // operand, D = scale_a_tensor * scale_b_tensor * A B^T
};
WW_HOST_DEVICE constexpr EnumNames names_of(Scale) {
  return {"Scale", {"none", "tensor", "row-column", "block", "block-1d", "block-swapped", "mx", "nv"}, 1u << 5};
}

/// Returns whether scales change after every 128 of K.
WW_HOST_DEVICE constexpr bool is_block(Scale scale) {
  return scale >= Scale::block_1x128_128x128 && scale <= Scale::block_128x128_1x128;
}
/// Returns whether the tensor core applies the scales, which are bytes: mx and nv.
WW_HOST_DEVICE constexpr bool is_microscaled(Scale scale) { return scale == Scale::mx || scale == Scale::nv; }
/// Returns the elements of K that share a scale under mx and nv.
WW_HOST_DEVICE constexpr int scale_vector(Scale scale) { return scale == Scale::nv ? 16 : 32; }

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

/// Where the groups of a K-major operand lie, for groups of K. An MN-major operand is the same in memory either way.
enum class KPacking : u8 {
  joint,      // side by side in one matrix, whose rows hold the K of all groups
  per_group,  // one matrix after the other, each with rows as long as its group's K
};
WW_HOST_DEVICE constexpr EnumNames names_of(KPacking) { return {"KPacking", {"joint", "per-group"}}; }

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
  longest_k,   // k-groups: as static, but groups with the largest K come first, so that the last wave is short
  clc,         // sm_100: as many clusters as there may be tiles; those that run take over tiles of those not started
};
WW_HOST_DEVICE constexpr EnumNames names_of(TileScheduler) {
  return {"TileScheduler",
          {"auto", "static", "dynamic", "horizontal", "vertical", "single", "stream-k", "split-k", "longest-k", "clc"}};
}

/// The narrow direction of a band of tiles: `raster` tiles along it run fastest, then the other extent.
enum class RasterBand : u8 {
  along_m,    // `raster` tiles along M, traversed along N
  along_n,    // `raster` tiles along N, traversed along M
  automatic,  // along_m, unless a choice for one problem decides (select/raster.hpp)
};
WW_HOST_DEVICE constexpr EnumNames names_of(RasterBand) { return {"RasterBand", {"m", "n", "auto"}}; }

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

}  // namespace ww
