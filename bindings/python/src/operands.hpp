// SPDX-License-Identifier: Apache-2.0
// What the operations share in reading their arguments: matrices with their layouts, element types, scales, options,
// and the output that the caller's framework allocates.
#pragma once

#include <cstdint>

#include "request.hpp"

namespace wwpy {

/// The element type of a tensor: its own, or the one that the caller names for its bits. Packed types are refused.
bool operand_type(const Work& work, Argument tensor_name, Argument type_name, const Tensor& tensor, Type& type);
/// The element type of A or B. The extents and strides of a tensor of a packed type, which were in bytes, become those
/// of its elements.
bool factor_type(const Work& work, Argument tensor_name, Argument type_name, Tensor& tensor, Type& type);
/// The element type that the caller names for the elements or the bits of a tensor.
bool storage_type(const Work& work, Argument tensor_name, Argument type_name, const Tensor& tensor, Type& type);
/// The library's number of an element type.
ww_dtype library_type(Type type);

/// A matrix of `rows` by `columns` in memory: the stride between the lines that are contiguous; 0: there is one line.
struct Layout {
  bool transposed = false;  // columns are contiguous, not rows
  std::int64_t stride = 0;
};
/// Reads the layout of the last two dimensions. False: neither is contiguous.
bool layout_of(Argument argument, const Tensor& tensor, Layout& layout);

/// Reads a tensor of the call and checks that it lies where `a` does.
bool read_operand(Work& work, Argument argument, Tensor& tensor);
/// Refuses a tensor that the call would write and may not.
bool check_writable(Argument argument, const Tensor& tensor);
/// Refuses another number of dimensions than `low` to `high`.
bool check_rank(Argument argument, const Tensor& tensor, int low, int high);
/// Refuses a tensor of another shape; `meaning` says what the shape is: "(M, N)".
bool check_shape(Argument argument, const Tensor& tensor, std::initializer_list<std::int64_t> shape,
                 const char* meaning);
bool check_type(Argument argument, const Tensor& tensor, Type type);

/// Reads config, sms, pdl, batch_invariant and workspace_limit into the request.
bool read_options(Work& work);
/// Finds the device of the request: the caller's, or the one of the tensors. The emulated one is emu:sm100 for types
/// and scales that only Blackwell multiplies or writes.
bool find_device(Work& work, ww_dtype a_type, ww_dtype b_type, ww_scale scale);

/// Reads `out` and its element type, or has the framework of `a` allocate one of this shape. The type is packed only
/// where the epilogue quantises to mx or nv.
bool read_output(Work& work, std::initializer_list<std::int64_t> shape, Type fallback, const char* meaning, Type& type);

/// Extents that scales are matched against. `outer` is the batch or the groups; 0: there is neither.
struct ScaleExtents {
  std::int64_t m = 0, n = 0, k = 0, outer = 0;
  bool outer_a = false;      // scales of A may have the outer extent in front
  bool block_outer = false;  // so may those of blocks
  bool grouped_b = false;    // scales of B have it, except per tensor
  std::int64_t masked = 0;  // rows of a group: scales of rows of A may be (G, masked, ...) instead of (G * masked, ...)
  bool has_outer = false;   // a batch or groups, of which there may be none
};
struct ScaleStrides {
  std::int64_t outer = 0, row = 0, column = 0;
};
struct Scales {
  ww_scale recipe = WW_SCALE_NONE;
  ww_scale_type type = WW_SCALES_F32;
  ScaleStrides a, b;
};
/// Reads scale, scale_type, scale_a and scale_b: the recipe that the caller names, or that the shapes fit.
bool read_scales(Work& work, const ScaleExtents& extents, Scales& scales);

/// The chunks of one operand of mx or nv: blocks of 128 rows, each for all of K.
struct Chunks {
  std::int64_t blocks = 0;
  bool at_least = false;    // there may be memory for more
  bool per_matrix = false;  // (outer, bytes) is taken
  bool shared = true;       // (bytes) is taken
};
/// Reads chunks of `k` elements along K: one dimension of bytes, or as many for each of `outer` matrices or groups.
bool read_chunks(Argument argument, ww_scale recipe, const Tensor& tensor, const Chunks& chunks, std::int64_t k,
                 std::int64_t outer, ScaleStrides& strides);

/// Reads the factor of 4-bit types, one float.
bool read_global_scale(Work& work, const float*& factor);

/// Which rows (or rows of K) belong to which group, as one of the encodings says.
struct Groups {
  ww_encoding encoding = WW_OFFSETS;
  std::int64_t alignment = 0;
  std::int64_t count = 0;  // groups; of row_ids: the caller's, unchanged
  const std::int32_t* sizes = nullptr;
  const std::int32_t* sizes2 = nullptr;
  std::uint32_t* status = nullptr;
};
/// Reads offsets, indptr, starts and counts, row_ids or masked, alignment and status. `groups`: their number, or -1
/// where it follows from the arrays. `rows`: the extent of row_ids.
bool read_groups(Work& work, std::int64_t groups, std::int64_t rows, Groups& to);

/// Reads the epilogue's text and operands. `rows`, `columns`: the extents of the product before SwiGLU.
struct EpilogueExtents {
  std::int64_t rows = 0, columns = 0;
  std::int64_t outer = 0;       // batch or groups; 0: neither
  bool outer_matrices = false;  // matrices have the outer extent in front (batch, masked groups)
  bool grouped = false;         // row vectors and scalars may be given per group
  std::int64_t masked = 0;      // rows of a group: tensors with the rows of D may be (groups, masked, ...)
};
/// First the text, which decides how many columns D has and points the request to it. `halved`: SwiGLU.
bool read_epilogue_text(Work& work, bool& halved);
/// Then the operands; `columns_stored`: matrices are stored by column.
bool read_epilogue(Work& work, const EpilogueExtents& extents, bool& columns_stored);

/// Makes an interned text of `object`. False: it is no text.
bool intern_text(Argument argument, PyObject* object, Ref& text, const char*& bytes);

}  // namespace wwpy
