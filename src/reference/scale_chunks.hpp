// SPDX-License-Identifier: Apache-2.0
// Conversions of mx and nv scales between rows, one byte for each scale, and the chunks that kernels read.
#pragma once

#include <cstdint>

#include "reference/group_layout.hpp"
#include "reference/matrix.hpp"
#include "warpwright/core/scale_chunks.hpp"

namespace ww::ref {

/// The bytes of padding: NaN in e8m0 and in e4m3, because kernels must not let scales behind M, N or K reach D.
inline constexpr int kScalePadding = 0xff;

/// Returns scales (sets * rows, scales of K) in chunks, set after set, as one row of bytes.
inline Result<Matrix> chunked(const Matrix& scales, std::int64_t rows, const std::string& argument) {
  const std::int64_t chunks = ceil_div(scales.cols(), std::int64_t{kScaleChunkScales});
  const std::int64_t set = ceil_div(rows, std::int64_t{kScaleChunkRows}) * chunks * kScaleChunkBytes;
  const std::int64_t bytes = rows == 0 ? 0 : scales.rows() / rows * set;
  WW_TRY(Matrix made, Matrix::allocate(scales.type(), 1, bytes, bytes, argument));
  std::memset(made.data(), kScalePadding, made.bytes());
  for (std::int64_t row = 0; row < scales.rows(); ++row)
    for (std::int64_t scale = 0; scale < scales.cols(); ++scale)
      made.data()[row / rows * set + scale_place(row % rows, scale, chunks)] = scales.row(row)[scale];
  return made;
}

/// Returns the block of 128 rows of scales at which each group of rows begins: one after another or, with
/// `masked_rows`, as far apart as so many rows need.
inline std::vector<std::int64_t> first_scale_blocks(const std::vector<GroupRows>& groups, std::int64_t masked_rows) {
  std::vector<std::int64_t> made;
  std::int64_t block = 0;
  for (const GroupRows& group : groups) {
    made.push_back(block);
    block += ceil_div(masked_rows > 0 ? masked_rows : group.count, std::int64_t{kScaleChunkRows});
  }
  return made;
}

/// Returns scales (rows of all groups, scales of K) in `blocks` blocks of chunks as one row of bytes. Those of each
/// group are padded.
inline Result<Matrix> chunked_rows(const Matrix& scales, const std::vector<GroupRows>& groups, std::int64_t masked_rows,
                                   std::int64_t blocks, const std::string& argument) {
  const std::int64_t chunks = ceil_div(scales.cols(), std::int64_t{kScaleChunkScales});
  const std::int64_t bytes = blocks * chunks * kScaleChunkBytes;
  WW_TRY(Matrix made, Matrix::allocate(scales.type(), 1, bytes, bytes, argument));
  std::memset(made.data(), kScalePadding, made.bytes());
  const std::vector<std::int64_t> first = first_scale_blocks(groups, masked_rows);
  for (std::size_t g = 0; g < groups.size(); ++g)
    for (std::int64_t row = 0; row < groups[g].count; ++row)
      for (std::int64_t scale = 0; scale < scales.cols(); ++scale)
        made.data()[scale_place(first[g] * kScaleChunkRows + row, scale, chunks)] =
            scales.row(groups[g].first + row)[scale];
  return made;
}

/// Returns the byte at which the scales of a group of K begin, of which `vector` elements share one. Groups begin and
/// end at whole chunks.
inline std::int64_t first_scale_byte(std::int64_t rows, std::int64_t first_k, int vector) {
  return ceil_div(rows, std::int64_t{kScaleChunkRows}) * (first_k / (vector * kScaleChunkScales)) * kScaleChunkBytes;
}

/// Returns scales (rows, scales of all K) in chunks, each group of K a matrix of its own, as one row of bytes.
inline Result<Matrix> chunked_groups_of_k(const Matrix& scales, const std::vector<GroupRows>& groups, int vector,
                                          const std::string& argument) {
  const std::int64_t bytes = scale_bytes(scales.rows(), scales.cols() * vector, vector);
  WW_TRY(Matrix made, Matrix::allocate(scales.type(), 1, bytes, bytes, argument));
  std::memset(made.data(), kScalePadding, made.bytes());
  for (const GroupRows& group : groups) {
    const std::int64_t chunks = scale_chunks(group.count, vector), first = group.first / vector;
    std::byte* const to = made.data() + first_scale_byte(scales.rows(), group.first, vector);
    for (std::int64_t row = 0; row < scales.rows(); ++row)
      for (std::int64_t scale = 0; scale < group.count / vector; ++scale)
        to[scale_place(row, scale, chunks)] = scales.row(row)[first + scale];
  }
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
