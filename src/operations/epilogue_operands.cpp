// SPDX-License-Identifier: Apache-2.0
// One tensor for each name of a tree; a matrix without elements is one that no node names.
#include "operations/epilogue_operands.hpp"

#include <algorithm>
#include <cstring>
#include <limits>

#include "operations/host_operand.hpp"
#include "reference/scale_chunks.hpp"
#include "warpwright/config/epilogue_stages.hpp"
#include "warpwright/core/meta.hpp"

namespace ww::operations {
namespace {

constexpr const char* kArgument = "--epilogue";

/// Numbers of what is drawn for the operands of an epilogue, behind those of A, B and scales.
Operand drawn(EpilogueOp op, int slot) {
  return static_cast<Operand>(16 + 8 * static_cast<std::uint64_t>(op) + static_cast<std::uint64_t>(slot));
}

// What outputs hold before a run, so that an element that a kernel does not write cannot look right by accident.
constexpr float kUnwritten = std::numeric_limits<float>::quiet_NaN();

struct Shape {
  std::int64_t rows, columns, ld;  // of one matrix
  std::int64_t batch;
};

Result<Matrix> input(const std::optional<ArrayFile>& file, const EpilogueNode& node, const Shape& s,
                     std::uint64_t seed) {
  const std::size_t shared = node.op == EpilogueOp::row_vector || node.op == EpilogueOp::column_vector ? 1 : 2;
  const std::int64_t rows = s.rows * (file && (s.batch == 1 || file->shape.size() <= shared) ? 1 : s.batch);
  if (file) return read_matrix(*file, node.type, rows, s.columns, s.ld);
  WW_TRY(Matrix made, Matrix::allocate(node.type, rows, s.columns, s.ld, kArgument));
  fill_normal(made, seed, drawn(node.op, node.slot));
  return made;
}

Result<Matrix> output(DType type, const Shape& s) {
  WW_TRY(Matrix made, Matrix::allocate(type, s.batch * s.rows, s.columns, s.ld, kArgument));
  std::memset(made.data(), 0xff, made.bytes());  // NaN, as kUnwritten
  return made;
}

/// `rows`: how many vectors along N there are.
Result<void> make_node(const EpilogueNode& node, const Shape& matrix, std::int64_t rows, std::uint64_t seed,
                       const EpilogueFiles& files, EpilogueTensors& to) {
  const Shape row{1, matrix.columns, matrix.columns, rows}, column{matrix.rows, 1, 1, matrix.batch};
  if (is_tensor(node.op)) {
    const bool row_vector = node.op == EpilogueOp::row_vector, column_vector = node.op == EpilogueOp::column_vector;
    WW_TRY(Matrix made, input(files.at(node.op, node.slot), node,
                              row_vector      ? row
                              : column_vector ? column
                                              : matrix,
                              seed));
    (row_vector                         ? to.row[node.slot]
     : column_vector                    ? to.column[node.slot]
     : node.op == EpilogueOp::auxiliary ? to.auxiliary[node.slot]
                                        : to.c) = std::move(made);
  } else if (node.op == EpilogueOp::store) {
    WW_TRY(to.out[node.slot], output(node.type, matrix));
    to.is_store[node.slot] = true;
  } else if (config::is_reduction(node.op)) {
    WW_TRY(to.out[node.slot], output(f32, config::is_row_reduction(node.op) ? column : row));
  }
  return {};
}

Result<EpilogueTensors> tensors_of(const EpilogueTree& tree, const Shape& shape, std::int64_t rows, std::uint64_t seed,
                                   const EpilogueFiles& files) {
  const std::int64_t batch = shape.batch, m = shape.rows, n = shape.columns;
  EpilogueTensors made;
  for (int i = 0; i < tree.size(); ++i) WW_CHECK(make_node(tree.node(i), shape, rows, seed, files, made));
  made.batch = batch, made.m = m;
  const EpilogueOp quantise = config::stages_of(tree).quantise;
  made.amax.assign(static_cast<std::size_t>(max<std::int64_t>(batch, 1)),
                   quantise == EpilogueOp::quantise ? kUnwritten : 0.0f);
  if (quantise > EpilogueOp::quantise) {
    const int of_scale = config::columns_of_out_scale(quantise);
    const std::int64_t blocks = ceil_div(config::output_columns(tree, n), std::int64_t{of_scale});
    const DType type = quantise == EpilogueOp::quantise_mx ? e8m0 : quantise == EpilogueOp::quantise_nv ? e4m3 : f32;
    WW_TRY(made.out_scales, output(type, {m, blocks, blocks, batch}));
  }
  if (config::is_microscale(quantise)) {  // of groups: see place_group_scales()
    const std::int64_t padded = round_up(m, std::int64_t{kScaleChunkRows});
    made.chunk_rows = batch * padded;
    for (std::int64_t row = 0; row < batch * m; ++row) made.chunk_row.push_back(row / m * padded + row % m);
  }
  return made;
}

/// The bytes of all chunks of scales of mx or nv.
std::int64_t chunk_bytes(const EpilogueTensors& tensors) {
  const std::int64_t chunks = ceil_div(tensors.out_scales.cols(), std::int64_t{kScaleChunkScales});
  return tensors.chunk_rows / kScaleChunkRows * chunks * kScaleChunkBytes;
}

}  // namespace

void place_group_scales(const std::vector<GroupRows>& groups, std::int64_t masked_rows, std::int64_t blocks,
                        EpilogueTensors& tensors) {
  if (tensors.chunk_row.empty()) return;
  tensors.chunk_rows = blocks * kScaleChunkRows;
  std::fill(tensors.chunk_row.begin(), tensors.chunk_row.end(), -1);
  const std::vector<std::int64_t> first = first_scale_blocks(groups, masked_rows);
  for (std::size_t g = 0; g < groups.size(); ++g)
    for (std::int64_t row = 0; row < groups[g].count; ++row)
      tensors.chunk_row[static_cast<std::size_t>(groups[g].first + row)] = first[g] * kScaleChunkRows + row;
}

Result<EpilogueTensors> make_tensors(const EpilogueTree& tree, std::int64_t m, std::int64_t n, std::uint64_t seed,
                                     const EpilogueFiles& files, std::int64_t pad, std::int64_t batch) {
  return tensors_of(tree, {m, n, n + pad, batch}, batch, seed, files);
}

Result<EpilogueTensors> make_group_tensors(const EpilogueTree& tree, std::int64_t rows, std::int64_t n,
                                           std::int64_t groups, std::uint64_t seed, const EpilogueFiles& files,
                                           std::int64_t pad) {
  WW_TRY(EpilogueTensors made, tensors_of(tree, {rows, n, n + pad, 1}, groups, seed, files));
  made.grouped = true;
  return made;
}

Result<EpilogueBuffers> upload(const Device& device, const EpilogueTensors& tensors) {
  EpilogueBuffers made;
  EpilogueOperands& to = made.operands;
  const auto copy = [&](const Matrix& matrix) -> Result<void*> {
    if (matrix.bytes() == 0) return nullptr;
    WW_TRY(Buffer buffer, upload(device, matrix));
    made.buffers.push_back(std::move(buffer));
    return made.buffers.back().data();
  };
  const auto copy_matrix = [&](const Matrix& matrix, std::int64_t& ld) -> Result<void*> {
    if (tensors.layout == OutputLayout::row || matrix.bytes() == 0) return ld = matrix.ld(), copy(matrix);
    WW_TRY(const Matrix stored, transposed(matrix, tensors.m, kArgument));
    return ld = stored.ld(), copy(stored);
  };
  // A tensor with the rows of one matrix serves all.
  const auto step = [&](const Matrix& of, std::int64_t rows_of_one) {
    const std::int64_t ld = tensors.layout == OutputLayout::row ? of.ld() : of.cols();
    return tensors.batch > 1 && of.rows() > rows_of_one ? of.rows() / tensors.batch * ld : 0;
  };
  WW_TRY(to.c, copy_matrix(tensors.c, to.ldc));
  to.batch_c = step(tensors.c, tensors.m);
  for (int i = 0; i < kEpilogueSlots; ++i) {
    to.scalar[i] = tensors.scalar[i];
    if (const std::vector<float>& each = tensors.scalars[i]; !each.empty()) {
      WW_TRY(Buffer buffer, device.allocate(std::max<std::size_t>(each.size() * sizeof(float), 16)));
      WW_CHECK(device.upload(buffer.data(), each.data(), each.size() * sizeof(float)));
      to.scalar_pointer[i] = static_cast<const float*>(buffer.data()), to.batch_scalar[i] = 1;
      made.buffers.push_back(std::move(buffer));
    }
    WW_TRY(to.row_vector[i], copy(tensors.row[i]));
    WW_TRY(void* const column, copy(tensors.column[i]));
    to.column_vector[i] = static_cast<const float*>(column);
    WW_TRY(to.auxiliary[i], copy_matrix(tensors.auxiliary[i], to.ld_auxiliary[i]));
    WW_TRY(to.out[i], tensors.is_store[i] ? copy_matrix(tensors.out[i], to.ld_out[i]) : copy(tensors.out[i]));
    to.batch_row_vector[i] =
        tensors.grouped ? (tensors.row[i].rows() > 1 ? tensors.row[i].ld() : 0) : step(tensors.row[i], 1);
    to.batch_column_vector[i] = step(tensors.column[i], tensors.m);
    to.batch_auxiliary[i] = step(tensors.auxiliary[i], tensors.m);
    to.batch_out[i] = step(tensors.out[i], 0);
  }
  if (tensors.chunk_rows > 0) {
    const std::int64_t bytes = chunk_bytes(tensors);
    WW_TRY(Matrix chunks, Matrix::allocate(e8m0, 1, bytes, bytes, kArgument));
    std::memset(chunks.data(), 0xff, chunks.bytes());
    WW_TRY(to.out_scale_chunks, copy(chunks));
  } else {
    WW_TRY(void* const scales, copy(tensors.out_scales));
    to.out_scales = static_cast<float*>(scales);
    to.batch_out_scales = step(tensors.out_scales, 0);
  }
  WW_TRY(Buffer amax, device.allocate(16 + tensors.amax.size() * sizeof(float)));
  // A tree that does not quantise leaves them unchanged, and outputs must be the same in every run.
  WW_CHECK(device.upload(amax.data(), tensors.amax.data(), tensors.amax.size() * sizeof(float)));
  to.amax = static_cast<float*>(amax.data());
  made.buffers.push_back(std::move(amax));
  return made;
}

Result<void> download(const Device& device, const EpilogueBuffers& buffers, EpilogueTensors& tensors) {
  const auto copy = [&](Matrix& matrix, const void* from) -> Result<void> {
    if (matrix.bytes() == 0) return {};
    return device.download(matrix.data(), from, matrix.bytes());
  };
  for (int i = 0; i < kEpilogueSlots; ++i) {
    if (tensors.layout == OutputLayout::row || !tensors.is_store[i]) {
      WW_CHECK(copy(tensors.out[i], buffers.operands.out[i]));
      continue;
    }
    const std::int64_t columns = tensors.out[i].cols();
    WW_TRY(Matrix stored,
           Matrix::allocate(tensors.out[i].type(), tensors.batch * columns, tensors.m, tensors.m, kArgument));
    WW_CHECK(copy(stored, buffers.operands.out[i]));
    WW_TRY(tensors.out[i], transposed(stored, columns, kArgument));
  }
  if (tensors.chunk_rows > 0) {
    const std::int64_t bytes = chunk_bytes(tensors),
                       along = bytes / (tensors.chunk_rows / kScaleChunkRows * kScaleChunkBytes);
    WW_TRY(Matrix chunks, Matrix::allocate(e8m0, 1, bytes, bytes, kArgument));
    WW_CHECK(copy(chunks, buffers.operands.out_scale_chunks));
    for (std::int64_t row = 0; row < tensors.out_scales.rows(); ++row) {
      const std::int64_t place = tensors.chunk_row[static_cast<std::size_t>(row)];
      for (std::int64_t block = 0; block < tensors.out_scales.cols() && place >= 0; ++block)
        tensors.out_scales.row(row)[block] = chunks.data()[scale_place(place, block, along)];
    }
  } else {
    WW_CHECK(copy(tensors.out_scales, buffers.operands.out_scales));
  }
  return device.download(tensors.amax.data(), buffers.operands.amax, tensors.amax.size() * sizeof(float));
}

}  // namespace ww::operations
