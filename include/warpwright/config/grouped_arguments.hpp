// SPDX-License-Identifier: Apache-2.0
// The launch arguments of the grouped kernels; one plain structure for every variant.
#pragma once

#include "warpwright/arch/common/tensor_map.hpp"
#include "warpwright/config/epilogue_arguments.hpp"
#include "warpwright/config/group_encoding.hpp"

namespace ww::config {

/// The group description as given, and the bounds to which it is cut.
struct GroupSizes {
  GroupEncoding encoding;
  i32 groups;
  i32 rows;       // of A and D in memory: M, or G * Mmax
  i32 alignment;  // offsets: of the start of a group; row ids: rows that share the first one's; masked: Mmax
  const i32* sizes;
  const i32* sizes2;
  u32* status;          // or null
  i32 granularity = 1;  // groups begin and end at multiples of it
};

/// The rows of one group, after the cuts that the status word reports.
struct GroupRange {
  i32 start, count;
};

/// Token boxes of the swapped variants. A tile of any multiple of 8 rows is loaded by as many of the largest boxes as
/// it takes and at most one of each smaller size.
inline constexpr int kTokenBoxes = 4;
WW_HOST_DEVICE constexpr int token_box_rows(int box) { return 8 << box; }

inline constexpr int kWidthClasses = 16;

/// Device memory that outlives a launch; counters return to zero at the end of every launch.
struct GroupedWorkspace {
  u32 next_tile;              // tiles handed out by the counter
  u32 finished;               // CTAs that will take no more
  u32 widths[kWidthClasses];  // tiles of each width class of the last launch
};

// Variant descriptors: what the first launch leaves in the workspace for the second.
struct GroupDescriptors {
  arch::TensorMap* maps;  // (2, G): A and D of each group that has rows, from its first row on, as many rows as it has
  u32* list;              // {groups listed, token tiles, 0, 0}, then 16 bytes for each group that has rows, in order:
                          // {group, start, count, token tiles of the groups before it}
};
inline constexpr int kListedWords = 4;

WW_HOST_DEVICE constexpr int map_of_a(int group) { return 2 * group; }
WW_HOST_DEVICE constexpr int map_of_d(int group) { return 2 * group + 1; }

struct GroupedArguments {
  arch::TensorMap a[kTokenBoxes];  // (rows, K), boxes (token_box_rows(i), 128 bytes); contiguous: a[0], (TILE_M, 128
                                   // bytes), and a[1], (rows of a consumer warpgroup, 128 bytes)
  arch::TensorMap b;               // (G, N, K), box (1, TILE_N / CLUSTER_M, 128 bytes), 128-byte swizzle; N-major:
                                   // (G, K, N), box (1, TILE_K, 128 bytes)
  arch::TensorMap d;               // contiguous: (rows, N), box (64, one panel)
  void* d_rows;                    // row 0 of D
  i64 ldd;                         // elements
  i32 n, k;
  i32 k_blocks;          // ceil(K / TILE_K); 0 makes D zero
  i32 tiles_n;           // ceil(N / TILE_N)
  i32 raster;            // contiguous: cluster tiles of tokens that are processed together before N advances
  const float* scale_a;  // see ww::GroupedProblem
  const float* scale_b;
  i64 scale_a_row, scale_a_k;
  i64 scale_a_group;  // tensor: from group to group; otherwise added once for each group before a row's
  i64 scale_b_n, scale_b_k, scale_b_group;
  GroupSizes groups;
  GroupedWorkspace* workspace;
  GroupDescriptors descriptors;  // variant descriptors
  // The arguments of a config's tree, whose matrix l is group l. Vectors along N and scalars step from group to group.
  // Matrices and vectors along M have the rows of D and steps of 0.
  EpilogueArguments epilogue;
};

}  // namespace ww::config
