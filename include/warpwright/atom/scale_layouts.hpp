// SPDX-License-Identifier: Apache-2.0
// Block scales in memory as tcgen05.cp takes them and frameworks keep them: chunks of 512 bytes, each with four scales
// along K for 128 rows. Scale j of row r is byte 16 (r % 32) + 4 (r / 32) + j of its chunk, so that a row of 16 bytes
// of the chunk is what one lane of tensor memory gets. The chunks of one block of rows follow one another along K.
// Layouts map (row, element of K) to bytes. Rows are padded to 128 and scales to 4; what lies between is never read by
// a result, but copied with the chunk.
#pragma once

#include "warpwright/layout/layout.hpp"

namespace ww::atom {

inline constexpr int kScaleChunkRows = 128, kScaleChunkScales = 4;
inline constexpr int kScaleChunkBytes = kScaleChunkRows * kScaleChunkScales;

/// One chunk: ((32, 4), (kBlock, 4)) -> byte. kBlock elements of K share a scale: 16 (nvfp4) or 32 (mx formats).
template <int kBlock>
using ScaleAtom = Layout<Shape<Shape<_32, _4>, Shape<Int<kBlock>, _4>>, Stride<Stride<_16, _4>, Stride<_0, _1>>>;

/// Returns the layout of the scales of `rows` x `k` elements, ((32, 4, chunks), (kBlock, 4, chunks)) -> byte. Static
/// extents give a static layout.
template <int kBlock, Integer M, Integer K> WW_HOST_DEVICE constexpr auto scale_layout(const M& rows, const K& k) {
  const auto row_chunks = ceil_div(rows, Int<kScaleChunkRows>{});
  const auto k_chunks = ceil_div(k, Int<kBlock * kScaleChunkScales>{});
  return make_layout(make_shape(make_shape(_32{}, _4{}, row_chunks), make_shape(Int<kBlock>{}, _4{}, k_chunks)),
                     make_stride(make_stride(_16{}, _4{}, k_chunks * Int<kScaleChunkBytes>{}),
                                 make_stride(_0{}, _1{}, Int<kScaleChunkBytes>{})));
}

/// Returns the bytes of the scales of `rows` x `k` elements, of which `block` share one.
WW_HOST_DEVICE constexpr i64 scale_bytes(i64 rows, i64 k, int block) {
  return ceil_div(rows, i64{kScaleChunkRows}) * ceil_div(k, i64{block} * kScaleChunkScales) * kScaleChunkBytes;
}

}  // namespace ww::atom
