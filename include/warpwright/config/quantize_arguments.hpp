// SPDX-License-Identifier: Apache-2.0
// What a quantisation kernel is compiled for, and the arguments of its launch. Extents and strides are in elements.
//   x [L, M, K] -> q [L, M, K] with scales, and its transpose [L, K, M] with scales of its own
#pragma once

#include "warpwright/config/grouped_arguments.hpp"
#include "warpwright/core/dtype.hpp"

namespace ww::config {

inline constexpr int kQuantizeTile = 128;  // rows and columns of a tile, which are those of a 128 x 128 block

/// The properties that are compiled into a kernel. If x is FP8, its bytes are copied, and so are its scales, which are
/// those of 128 x 128 blocks.
struct QuantizeKind {
  DType x, q;
  bool rows;        // q is written
  bool transposed;  // the transpose is written
  bool blocks;      // one scale for 128 x 128 elements; otherwise one for 128 along each output's rows

  WW_HOST_DEVICE constexpr bool copies() const { return is_fp8(x); }
  /// Whether a warp works alone, on 16 rows of a tile.
  WW_HOST_DEVICE constexpr bool by_warp() const { return !transposed && !blocks; }
};

inline constexpr int kQuantizeThreads = 256;

/// Shared memory of a CTA, in bytes from its beginning: the transposed tile | the largest magnitudes of 128 columns of
/// each warp's rows, or twice one of each warp | reciprocal scales of 128 columns | groups, if there are any.
struct QuantizeMemory {
  int tops, inverses, groups;
};
WW_HOST_DEVICE constexpr QuantizeMemory quantize_memory(QuantizeKind kind) {
  constexpr int kWarps = kQuantizeThreads / 32;
  if (kind.by_warp()) return {0, 0, 0};
  const int tops = kind.transposed ? kQuantizeTile * kQuantizeTile : 0;
  if (kind.blocks) return {tops, 0, tops + 2 * 4 * kWarps};
  const int inverses = tops + kWarps * kQuantizeTile * 4;
  return {tops, inverses, inverses + kQuantizeTile * 4};
}

/// Returns the CTAs of an SM. A thread has 64 elements in registers, so that wider types leave room for fewer.
WW_HOST_DEVICE constexpr int quantize_ctas(QuantizeKind kind) {
  return bytes_of(kind.x) == 4 ? 2 : bytes_of(kind.x) == 2 ? 3 : 4;
}

struct QuantizeArguments {
  const void* x;
  void* q;                // or null
  void* transposed;       // or null
  const float* x_scales;  // copies: the scales of x, or null
  float* scales;
  float* transposed_scales;
  i64 ldx, ldq, ld_transposed;
  i64 scale_m, scale_k;                        // scales[row * scale_m + block of K * scale_k]
  i64 transposed_scale_k, transposed_scale_m;  // transposed_scales[column * ..._k + block of M * ..._m]
  i64 batch_x, batch_q, batch_transposed;      // from matrix to matrix
  i64 batch_scales, batch_transposed_scales;
  i32 m, k;
  u32 tiles_m, tiles_k;  // of one matrix; by_warp: tiles_m counts 16 rows. With groups, the device knows tiles_m
  u32 tiles;             // of all matrices; without groups
  float min_amax;
  u32 power_of_two;
  u32 wide_x, wide_q, wide_transposed;  // rows begin and end at multiples of the width of an access (the end of a
                                        // transposed row excepted)
  // Groups of rows (groups.groups > 0): each starts at a multiple of 128 in the rows of the transpose and is padded
  // with zeros to a multiple of `padding`.
  GroupSizes groups;
  i32* padded_ends;  // (G) ends of the padded groups, or null
  i32 padding;
  u32 one_by_one;  // the transposes of the groups are matrices of their own, one after the other
};

}  // namespace ww::config
