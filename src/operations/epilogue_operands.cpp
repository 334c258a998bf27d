// SPDX-License-Identifier: Apache-2.0
// One tensor for each name of a tree; a matrix without elements is one that no node names.
#include "operations/epilogue_operands.hpp"

#include <algorithm>
#include <cstring>
#include <limits>

#include "operations/host_operand.hpp"
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
    const std::int64_t blocks = (config::output_columns(tree, n) + 127) / 128;
    WW_TRY(made.out_scales, output(f32, {m, blocks, blocks, batch}));
  }
  return made;
}

}  // namespace

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
  WW_TRY(void* const scales, copy(tensors.out_scales));
  to.out_scales = static_cast<float*>(scales);
  to.batch_out_scales = step(tensors.out_scales, 0);
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
  WW_CHECK(copy(tensors.out_scales, buffers.operands.out_scales));
  return device.download(tensors.amax.data(), buffers.operands.amax, tensors.amax.size() * sizeof(float));
}

}  // namespace ww::operations
