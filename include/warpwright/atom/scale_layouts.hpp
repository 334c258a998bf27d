// SPDX-License-Identifier: Apache-2.0
// Block scales in memory (core/scale_chunks.hpp) as layouts, which map (row, element of K) to bytes. A row of 16 bytes
// of a chunk is what one lane of tensor memory gets from tcgen05.cp. What lies between rows and scales that are padded
// is never read by a result, but copied with the chunk.
#pragma once

#include "warpwright/core/scale_chunks.hpp"
#include "warpwright/layout/layout.hpp"

namespace ww::atom {

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

}  // namespace ww::atom
