// SPDX-License-Identifier: Apache-2.0
// Conversions of mx and nv scales between rows, one byte for each scale, and the chunks that kernels read.
#pragma once

#include "reference/matrix.hpp"
#include "warpwright/core/scale_chunks.hpp"

namespace ww::ref {

/// Returns scales (sets * rows, scales of K) in chunks, set after set, as one row of bytes. Padding is zero.
inline Result<Matrix> chunked(const Matrix& scales, std::int64_t rows, const std::string& argument) {
  const std::int64_t chunks = ceil_div(scales.cols(), std::int64_t{kScaleChunkScales});
  const std::int64_t set = ceil_div(rows, std::int64_t{kScaleChunkRows}) * chunks * kScaleChunkBytes;
  const std::int64_t bytes = rows == 0 ? 0 : scales.rows() / rows * set;
  WW_TRY(Matrix made, Matrix::allocate(scales.type(), 1, bytes, bytes, argument));
  std::memset(made.data(), 0, made.bytes());
  for (std::int64_t row = 0; row < scales.rows(); ++row)
    for (std::int64_t scale = 0; scale < scales.cols(); ++scale)
      made.data()[row / rows * set + scale_place(row % rows, scale, chunks)] = scales.row(row)[scale];
  return made;
}

/// Returns the (rows, scales) of K that `chunks` holds, a host pointer.
inline Result<Matrix> unchunked(const void* chunks, DType type, std::int64_t rows, std::int64_t scales,
                                const std::string& argument) {
  WW_TRY(Matrix made, Matrix::allocate(type, rows, scales, scales, argument));
  const std::int64_t along_k = ceil_div(scales, std::int64_t{kScaleChunkScales});
  for (std::int64_t row = 0; row < rows; ++row)
    for (std::int64_t scale = 0; scale < scales; ++scale)
      made.row(row)[scale] = static_cast<const std::byte*>(chunks)[scale_place(row, scale, along_k)];
  return made;
}

}  // namespace ww::ref
