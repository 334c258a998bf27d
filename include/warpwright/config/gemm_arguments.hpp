// SPDX-License-Identifier: Apache-2.0
// The launch arguments of the collectives: the operands and their scales, in one plain structure for every config.
#pragma once

#include "warpwright/arch/common/tensor_map.hpp"
#include "warpwright/config/epilogue_arguments.hpp"

namespace ww::config {

/// A tile of D in units of CTA tiles, and its matrix of a batch.
struct TileCoord {
  int m = 0, n = 0;
  int batch = 0;
};

/// A range of the k-blocks of a tile.
struct KRange {
  i32 first = 0, blocks = 0;
};

/// The K of a group that may begin and end at any row of K: `rows` rows that end before row `end`.
struct KRows : KRange {
  i32 rows = 0, end = 0;
};

/// Workspace for tiles whose K splits several clusters reduce: slots of one FP32 tile each, and a flag for each slot
/// and consumer warp.
struct PartialTiles {
  float* tiles = nullptr;
  u32* flags = nullptr;  // 1: the warp's part of the slot is stored; 0 between launches
};

inline constexpr int kMapsOfMatrix = 3;  // pointer arrays: A, B, D
inline constexpr int kMapsOfGroup = 2;   // groups of K packed one by one: A, B

struct GemmArguments {
  arch::TensorMap a;  // (M, K), box (TILE_M / CLUSTER_N, 128 bytes), 128-byte swizzle; M-major: (K, M), box (64, 64)
  arch::TensorMap b;  // (N, K), box (TILE_N / CLUSTER_M, 128 bytes), 128-byte swizzle
  arch::TensorMap d;  // (M, N), box (64, one panel), the panel's swizzle; columns contiguous: (N, M), box (TILE_N, 128
                      // bytes), 128-byte swizzle; batched: a third extent of L, box 1, in all
  i32 m, n, k;
  i32 k_blocks;          // ceil(K / TILE_K); 0 makes D zero
  const float* scale_a;  // tensor: [0]; block: [row * scale_a_row + kb * scale_a_k]
  const float* scale_b;  // tensor: [0]; block: [nb * scale_b_n + kb * scale_b_k]; block-1d: n in place of nb
  i64 scale_a_row, scale_a_k, scale_b_n, scale_b_k;
  // batched
  i32 tiles_m;                       // CTA tiles along M that the scheduler counts for one matrix
  i32 batches;                       // L
  i32 a_steps, b_steps;              // 0: one A or B for the whole batch
  i64 scale_a_batch, scale_b_batch;  // floats from the scales of one matrix to the next; 0: the same
  EpilogueArguments epilogue;        // of a config with a tree
  PartialTiles partials;             // stream-K and split-K through workspace
  // Pointer arrays, in place of a, b, d and epilogue.c. Groups of K packed one by one: in place of a and b.
  const arch::TensorMap* maps;    // (L, {A, B, D}), rank 2; groups: (G, {A, B}), rank 3
  const void* const* c_pointers;  // (L)
};

/// Block scales that the tensor core applies, in chunks (core/scale_chunks.hpp).
struct ScaleMaps {
  arch::TensorMap a, b;  // (128 rows, chunk along K, 512 bytes as 128 words); matrices of a batch follow one another.
                         // Groups of K: (1, chunk, 512 bytes)
  i32 blocks_a = 0, blocks_b = 0;  // of 128 rows, from one matrix to the next; 0: the same, or groups of rows one after
                                   // the other. Groups of K: of each group
};

/// Converts a scheduler's tile to a tile of one matrix; the scheduler stacks the matrices of a batch along M.
WW_DEVICE TileCoord tile_of_matrix(const GemmArguments& arguments, TileCoord tile) {
  const int batch = tile.m / arguments.tiles_m;
  return {tile.m - batch * arguments.tiles_m, tile.n, batch};
}

}  // namespace ww::config
