// SPDX-License-Identifier: Apache-2.0
// Chooses the format by name, and copies elements out of a file whose header has been checked.
#include "io/array_file.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <limits>

#include "host/messages.hpp"

namespace ww::io {
namespace {

void swap_bytes(std::byte* data, std::int64_t elements, int width) {
  for (std::int64_t i = 0; i < elements; ++i) std::reverse(data + i * width, data + (i + 1) * width);
}

/// Reads an array of one or two extents whose columns follow one another in the file, by strided writes, a few columns
/// at a time. The rows of the array need not be those of the matrix: (L, M) is read into a matrix of L M rows.
Result<void> read_columns(const ArrayFile& array, Matrix& matrix) {
  const std::int64_t width = bytes_of(matrix.type()), ld = matrix.ld(), of_matrix = matrix.cols();
  const std::int64_t rows = array.shape.empty() ? 1 : array.shape[0],
                     cols = array.shape.size() < 2 ? 1 : array.shape[1];
  const auto position = [&](std::int64_t row, std::int64_t col) {
    if (cols == of_matrix) return row * ld + col;
    const std::int64_t element = row * cols + col;
    return element / of_matrix * ld + element % of_matrix;
  };
  const std::int64_t group =
      std::max<std::int64_t>(1, (std::int64_t{1} << 22) / std::max<std::int64_t>(1, rows * width));
  std::vector<std::byte> columns(static_cast<std::size_t>(std::min(group, cols) * rows * width));
  for (std::int64_t first = 0; first < cols; first += group) {
    const std::int64_t count = std::min(group, cols - first);
    const std::uint64_t from = array.offset + static_cast<std::uint64_t>(first * rows * width);
    WW_CHECK(array.file.read(from, columns.data(), static_cast<std::size_t>(count * rows * width)));
    for (std::int64_t r = 0; r < rows; ++r)
      for (std::int64_t c = 0; c < count; ++c)
        std::memcpy(matrix.data() + position(r, first + c) * width, columns.data() + (c * rows + r) * width,
                    static_cast<std::size_t>(width));
  }
  return {};
}

Result<void> read_rows(const ArrayFile& array, Matrix& matrix) {
  const std::size_t row_bytes = static_cast<std::size_t>(matrix.cols() * bytes_of(matrix.type()));
  if (matrix.ld() == matrix.cols()) return array.file.read(array.offset, matrix.data(), matrix.bytes());
  for (std::int64_t row = 0; row < matrix.rows(); ++row)
    WW_CHECK(array.file.read(array.offset + static_cast<std::uint64_t>(row) * row_bytes, matrix.row(row), row_bytes));
  return {};
}

}  // namespace

const char* name_of(ElementKind kind) {
  constexpr const char* kNames[] = {"1-byte bits", "2-byte bits", "e4m3", "bf16", "f16", "f32", "int32", "e5m2"};
  return kNames[static_cast<int>(kind)];
}

int bytes_of(ElementKind kind) {
  return kind == ElementKind::raw8 || kind == ElementKind::e4m3 || kind == ElementKind::e5m2 ? 1
         : kind == ElementKind::f32 || kind == ElementKind::i32                              ? 4
                                                                                             : 2;
}

Result<ArrayFile> open_array(const std::string& name, const std::string& argument) {
  constexpr std::string_view kSuffix = ".safetensors";
  const std::size_t colon = name.find(std::string(kSuffix) + ":");
  if (colon != std::string::npos) {
    WW_TRY(InputFile file, InputFile::open(name.substr(0, colon + kSuffix.size()), argument));
    return open_safetensors(std::move(file), name.substr(colon + kSuffix.size() + 1));
  }
  WW_TRY(InputFile file, InputFile::open(name, argument));
  if (name.ends_with(kSuffix)) return open_safetensors(std::move(file), "");
  return open_npy(std::move(file));
}

std::optional<std::int64_t> checked_elements(const std::vector<std::int64_t>& shape, int element_bytes) {
  std::int64_t elements = 1, bytes = 0;
  bool empty = false;
  for (std::int64_t extent : shape) {
    if (extent < 0) return std::nullopt;
    empty |= extent == 0;
    // A zero extent must not hide others whose product overflows.
    if (extent > 0 && __builtin_mul_overflow(elements, extent, &elements)) return std::nullopt;
  }
  if (__builtin_mul_overflow(elements, std::int64_t{element_bytes}, &bytes)) return std::nullopt;
  return empty ? 0 : elements;
}

std::string shape_text(const std::vector<std::int64_t>& shape) {
  return shape.size() == 1 ? fmt::format("({},)", shape[0]) : fmt::format("({})", fmt::join(shape, ", "));
}

Result<DType> element_type(const ArrayFile& array, std::optional<DType> wanted) {
  DType type = DType::e4m3;
  switch (array.kind) {
    case ElementKind::raw8: type = wanted == DType::e5m2 ? DType::e5m2 : DType::e4m3; break;
    case ElementKind::raw16: type = wanted == DType::f16 ? DType::f16 : DType::bf16; break;
    case ElementKind::e4m3: type = DType::e4m3; break;
    case ElementKind::e5m2: type = DType::e5m2; break;
    case ElementKind::bf16: type = DType::bf16; break;
    case ElementKind::f16: type = DType::f16; break;
    case ElementKind::f32: type = wanted == DType::tf32 ? DType::tf32 : DType::f32; break;
    case ElementKind::i32:
      return failure(ErrorCode::invalid, array.file.argument(),
                     wanted ? fmt::format("elements of type {}", ww::name_of(*wanted)) : "e4m3, bf16, f16 or f32",
                     fmt::format("int32 in {}", printable(array.file.path())));
  }
  if (wanted && *wanted != type)
    return failure(ErrorCode::invalid, array.file.argument(), fmt::format("elements of type {}", ww::name_of(*wanted)),
                   fmt::format("{} in {}", name_of(array.kind), printable(array.file.path())));
  return type;
}

Result<Matrix> read_matrix(const ArrayFile& array, DType type, std::int64_t rows, std::int64_t cols, std::int64_t ld) {
  if (array.column_major && array.shape.size() > 2)
    return failure(ErrorCode::invalid, array.file.argument(), "an array in C order",
                   fmt::format("Fortran order, shape {}", shape_text(array.shape)),
                   "file " + printable(array.file.path()));
  WW_TRY(Matrix matrix, Matrix::allocate(type, rows, cols, ld, array.file.argument()));
  if (rows == 0 || cols == 0) return matrix;
  WW_CHECK(array.column_major ? read_columns(array, matrix) : read_rows(array, matrix));
  if (array.big_endian)
    for (std::int64_t row = 0; row < rows; ++row) swap_bytes(matrix.row(row), cols, bytes_of(type));
  return matrix;
}

Result<std::vector<std::int32_t>> read_integers(const ArrayFile& array) {
  if (array.kind != ElementKind::i32 || array.shape.size() != 1)
    return failure(ErrorCode::invalid, array.file.argument(), "a 1-D array of int32",
                   fmt::format("{} of shape {}", name_of(array.kind), shape_text(array.shape)),
                   "file " + printable(array.file.path()));
  std::vector<std::int32_t> values(static_cast<std::size_t>(array.shape[0]));
  WW_CHECK(array.file.read(array.offset, values.data(), values.size() * 4));
  if (array.big_endian) swap_bytes(reinterpret_cast<std::byte*>(values.data()), array.shape[0], 4);
  return values;
}

}  // namespace ww::io
