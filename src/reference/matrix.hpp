// SPDX-License-Identifier: Apache-2.0
// A row-major matrix in host memory, rows `ld` elements apart. Elements between `cols` and `ld` are zeros. Rows of
// packed types (e2m1, e3m2, e2m3) have whole bytes: `ld` is a multiple of elements_per_unit().
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <new>
#include <string>

#include <fmt/format.h>

#include "warpwright/core/dtype.hpp"
#include "warpwright/host/result.hpp"

namespace ww::ref {

class Matrix {
 public:
  Matrix() = default;

  /// Allocates a matrix, uninitialised but for the padding; `argument` is named when memory runs out. Sizes have been
  /// checked for overflow.
  static Result<Matrix> allocate(DType type, std::int64_t rows, std::int64_t cols, std::int64_t ld,
                                 const std::string& argument) {
    Matrix matrix;
    matrix.type_ = type, matrix.rows_ = rows, matrix.cols_ = cols, matrix.ld_ = ld;
    matrix.data_.reset(new (std::nothrow) std::byte[matrix.bytes() + 1]);
    if (!matrix.data_)
      return failure(ErrorCode::could_not_finish, argument, fmt::format("{} bytes of memory", matrix.bytes()),
                     "an allocation that failed");
    if (is_packed(type)) std::memset(matrix.data(), 0, matrix.bytes());
    else
      for (std::int64_t row = 0; row < rows && ld > cols; ++row)
        std::memset(matrix.row(row) + cols * bytes_of(type), 0, static_cast<std::size_t>((ld - cols) * bytes_of(type)));
    return matrix;
  }

  DType type() const { return type_; }
  std::int64_t rows() const { return rows_; }
  std::int64_t cols() const { return cols_; }
  std::int64_t ld() const { return ld_; }
  std::size_t bytes() const { return static_cast<std::size_t>(rows_ * row_bytes()); }
  std::int64_t row_bytes() const { return bytes_in(type_, ld_); }  // from one row to the next
  std::byte* data() { return data_.get(); }
  const std::byte* data() const { return data_.get(); }
  std::byte* row(std::int64_t i) { return data_.get() + i * row_bytes(); }
  const std::byte* row(std::int64_t i) const { return data_.get() + i * row_bytes(); }
  const float* floats() const { return reinterpret_cast<const float*>(data_.get()); }
  float* floats() { return reinterpret_cast<float*>(data_.get()); }

 private:
  DType type_ = DType::e4m3;
  std::int64_t rows_ = 0, cols_ = 0, ld_ = 0;
  std::unique_ptr<std::byte[]> data_;
};

/// Returns the packed transpose of every `rows` rows, which form one matrix each, of a type of whole bytes.
/// `argument` is named when memory runs out.
inline Result<Matrix> transposed(const Matrix& matrix, std::int64_t rows, const std::string& argument) {
  const std::int64_t cols = matrix.cols(), count = rows == 0 ? 1 : matrix.rows() / rows;
  const auto width = static_cast<std::size_t>(bytes_of(matrix.type()));
  WW_TRY(Matrix made, Matrix::allocate(matrix.type(), count * cols, rows, rows, argument));
  for (std::int64_t row = 0; row < count * rows; ++row) {
    const std::byte* from = matrix.row(row);
    std::byte* to = made.row(row / rows * cols) + static_cast<std::size_t>(row % rows) * width;
    const std::size_t step = static_cast<std::size_t>(rows) * width;
    for (std::int64_t col = 0; col < cols; ++col, from += width, to += step) std::memcpy(to, from, width);
  }
  return made;
}

}  // namespace ww::ref
