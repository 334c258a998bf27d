// SPDX-License-Identifier: Apache-2.0
// An array in a file, described before its data is read: FILE.npy, or FILE.safetensors:TENSOR.
// Opening checks everything in the header against the size of the file; no allocation depends on a number in a file
// that the file does not back with bytes. Data is copied unchanged: no type is ever converted to another.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "io/file.hpp"
#include "reference/matrix.hpp"

namespace ww::io {

using namespace ref;

/// The kind of the elements. raw8 and raw16 are bits without a type in the file: NumPy's u, i and V.
enum class ElementKind { raw8, raw16, e4m3, bf16, f16, f32, i32, e5m2 };
const char* name_of(ElementKind kind);
int bytes_of(ElementKind kind);

struct ArrayFile {
  InputFile file;
  ElementKind kind = ElementKind::raw8;
  std::vector<std::int64_t> shape = {};
  bool column_major = false, big_endian = false;
  std::uint64_t offset = 0;  // of the first element
};

/// Opens a .npy of version 1, 2 or 3. Refuses structured types, other element types, and bytes after the data.
Result<ArrayFile> open_npy(InputFile file);
/// Opens one tensor of a .safetensors file, of type F8_E4M3, F8_E5M2, BF16, F16, F32 or I32.
Result<ArrayFile> open_safetensors(InputFile file, const std::string& tensor);
/// Opens either, by name. `argument` is the flag that named it.
Result<ArrayFile> open_array(const std::string& name, const std::string& argument);

/// Returns the elements of `shape`, unless a size is negative or the bytes do not fit int64.
std::optional<std::int64_t> checked_elements(const std::vector<std::int64_t>& shape, int element_bytes);
std::string shape_text(const std::vector<std::int64_t>& shape);

/// Returns the type of the file's bits: `wanted` if the file allows it. Otherwise raw8 is e4m3 and raw16 is bf16; f32
/// is tf32 if that is wanted.
Result<DType> element_type(const ArrayFile& array, std::optional<DType> wanted);

/// Reads the data as rows x cols (the array's shape with its first extents merged, or 1 x 1 for a single number), rows
/// `ld` elements apart, little-endian. Arrays of more than two extents are in C order.
Result<Matrix> read_matrix(const ArrayFile& array, DType type, std::int64_t rows, std::int64_t cols, std::int64_t ld);

/// Reads the elements of a 1-D array of int32.
Result<std::vector<std::int32_t>> read_integers(const ArrayFile& array);

/// Writes `matrix` as .npy version 1: f32 '<f4', f16 '<f2', bf16 '<V2' and e4m3 '|V1' (as ml_dtypes stores them).
/// `shape` has as many elements as the matrix; an empty one means (rows, cols).
Result<void> write_npy(const std::string& path, const std::string& argument, const Matrix& matrix,
                       const std::vector<std::int64_t>& shape = {});
/// Writes a stack of `matrices` matrices, which follow one another in the rows of `matrix`, as an array of shape
/// (matrices, rows / matrices, cols). With 0 it is one matrix of shape (rows, cols).
Result<void> write_npy_batch(const std::string& path, const std::string& argument, const Matrix& matrix,
                             std::int64_t matrices);

}  // namespace ww::io
