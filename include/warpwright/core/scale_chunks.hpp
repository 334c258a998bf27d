// SPDX-License-Identifier: Apache-2.0
// Block scales of mx and nv formats in memory as tensor cores take them and frameworks keep them ("swizzled", 32_4_4):
// chunks of 512 bytes, each with four scales along K for 128 rows. Scale j of row r is byte 16 (r % 32) + 4 (r / 32) +
// j of its chunk. The chunks of 128 rows follow one another along K. Rows are padded to 128 and scales to 4.
// Every group of a grouped product has a matrix of scales of its own, padded in the same way.
#pragma once

#include "warpwright/core/meta.hpp"
#include "warpwright/core/numbers.hpp"

namespace ww {

inline constexpr int kScaleChunkRows = 128, kScaleChunkScales = 4;
inline constexpr int kScaleChunkBytes = kScaleChunkRows * kScaleChunkScales;

/// Returns the chunks along K of `k` elements, of which `vector` share a scale.
WW_HOST_DEVICE constexpr i64 scale_chunks(i64 k, int vector) { return ceil_div(k, i64{vector} * kScaleChunkScales); }
/// Returns the bytes of the scales of `rows` x `k` elements, of which `vector` share one along K.
WW_HOST_DEVICE constexpr i64 scale_bytes(i64 rows, i64 k, int vector) {
  return ceil_div(rows, i64{kScaleChunkRows}) * scale_chunks(k, vector) * kScaleChunkBytes;
}
/// Returns the most blocks of 128 rows that `groups` groups of `rows` rows in all have, if each begins a block.
WW_HOST_DEVICE constexpr i64 most_scale_blocks(i64 rows, i64 groups) {
  return (rows + min(groups, rows) * (kScaleChunkRows - 1)) / kScaleChunkRows;
}
/// Returns the byte of scale `scale` of `row` among scales with `chunks` chunks along K.
WW_HOST_DEVICE constexpr i64 scale_place(i64 row, i64 scale, i64 chunks) {
  const i64 chunk = row / kScaleChunkRows * chunks + scale / kScaleChunkScales, r = row % kScaleChunkRows;
  return chunk * kScaleChunkBytes + 16 * (r % 32) + 4 * (r / 32) + scale % kScaleChunkScales;
}

}  // namespace ww
