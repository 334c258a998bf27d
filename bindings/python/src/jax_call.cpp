// SPDX-License-Identifier: Apache-2.0
// From buffers and attributes to problems of the C interface. XLA's buffers are dense and row-major, so that every
// stride is the packed one; shapes were checked against each other in Python, where the messages name the argument.
#include "jax_call.hpp"

#include <cstring>

namespace wwpy {
namespace {

using Role = JaxRole;
using Number = JaxNumber;

constexpr std::uintptr_t kWorkspaceAlignment = 256;

/// Returns the extent `from_end` places before the last one (0: the last).
std::int64_t extent(const JaxBuffer& buffer, int from_end) {
  return buffer.rank > from_end ? buffer.extent[buffer.rank - 1 - from_end] : 1;
}

std::int64_t elements(const JaxBuffer& buffer) {
  std::int64_t count = 1;
  for (int i = 0; i < buffer.rank; ++i) count *= buffer.extent[i];
  return count;
}

/// f32 buffers are multiplied as tf32, which is their only product on tensor cores. `named` is the type of packed
/// elements, or 0.
ww_dtype operand_type(const JaxBuffer& buffer, std::int64_t named) {
  if (named != 0) return static_cast<ww_dtype>(named);
  return buffer.type == WW_F32 ? WW_TF32 : buffer.type;
}

/// The elements of so many places of a buffer, whose bytes hold several elements of a packed type.
std::int64_t unpacked(std::int64_t places, ww_dtype type) {
  const bool four_bits = type == WW_E2M1, six_bits = type == WW_E3M2 || type == WW_E2M3;
  return four_bits ? places * 2 : six_bits ? places * 8 / 6 : places;
}

/// The elements from one matrix of a batch to the next: 0 if one matrix serves them all.
std::int64_t batch_stride(const JaxBuffer& buffer, std::int64_t batch) {
  return buffer.rank == 3 ? elements(buffer) / batch : 0;
}

bool is_chunked(const JaxCall& call) {
  return call[Number::scale] == WW_SCALE_MX || call[Number::scale] == WW_SCALE_NV;
}

/// The distance from the scales of one matrix of a batch to those of the next: 0 if one set serves them all.
std::int64_t scale_stride(const JaxCall& call, Role role, std::int64_t batch) {
  const JaxBuffer& scales = call[role];
  return scales.rank == (is_chunked(call) ? 2 : 3) ? elements(scales) / batch : 0;
}

void fill_options(const JaxCall& call, ww_options& options) {
  options.struct_size = sizeof options;
  options.config = call.config.empty() ? nullptr : call.config.c_str();
  options.batch_invariant = call[Number::batch_invariant] != 0;
  options.workspace_limit = call[Number::workspace_limit];
}

/// Fills the operands of the epilogue. `outer` is the batch or the number of groups, over which row vectors may differ.
void fill_epilogue(const JaxCall& call, std::int64_t outer, bool matrices_have_outer, ww_epilogue_operands& e) {
  e.struct_size = sizeof e;
  e.scalars_given = static_cast<std::uint32_t>(call[Number::scalars_given]);
  e.c = call[Role::c].data;
  if (matrices_have_outer && call[Role::c].given()) e.batch_c = batch_stride(call[Role::c], outer);
  for (int i = 0; i < WW_EPILOGUE_SLOTS; ++i) {
    e.scalar[i] = call.scalar[i];
    const JaxBuffer& row = call.buffer[static_cast<int>(Role::row0) + i];
    const JaxBuffer& column = call.buffer[static_cast<int>(Role::col0) + i];
    const JaxBuffer& matrix = call.buffer[static_cast<int>(Role::aux0) + i];
    e.row_vector[i] = row.data;
    e.column_vector[i] = static_cast<const float*>(column.data);
    e.auxiliary[i] = matrix.data;
    if (row.rank == 2) e.batch_row_vector[i] = extent(row, 0);
    if (column.rank == 2) e.batch_column_vector[i] = extent(column, 0);
    if (matrices_have_outer && matrix.given()) e.batch_auxiliary[i] = batch_stride(matrix, outer);
  }
}

template <class Operands> void fill_operands(const JaxCall& call, JaxRequest& request, Operands& operands) {
  operands.struct_size = sizeof operands;
  operands.a = call[Role::a].data;
  operands.b = call[Role::b].data;
  operands.d = call[Role::d].data;
  operands.scale_a = call[Role::scale_a].data;
  operands.scale_b = call[Role::scale_b].data;
  operands.global_scale = static_cast<const float*>(call[Role::global_scale].data);
  if (const JaxBuffer& workspace = call[Role::workspace]; workspace.given()) {
    const auto address = reinterpret_cast<std::uintptr_t>(workspace.data);
    const std::uintptr_t skipped = (kWorkspaceAlignment - address % kWorkspaceAlignment) % kWorkspaceAlignment;
    operands.workspace = static_cast<char*>(workspace.data) + skipped;
    operands.workspace_bytes = static_cast<std::size_t>(elements(workspace)) - skipped;
  }
  operands.epilogue = call.epilogue.empty() ? nullptr : &request.epilogue;
}

std::string describe_gemm(const JaxCall& call, JaxRequest& request) {
  const JaxBuffer &a = call[Role::a], &b = call[Role::b], &d = call[Role::d];
  ww_gemm_problem& p = request.gemm;
  p.struct_size = sizeof p;
  const bool a_mn = call[Number::a_major] == WW_MAJOR_MN, b_mn = call[Number::b_major] == WW_MAJOR_MN;
  p.a_type = operand_type(a, call[Number::a_type]);
  p.b_type = operand_type(b, call[Number::b_type]);
  p.m = extent(a, a_mn ? 0 : 1);
  p.k = unpacked(extent(a, a_mn ? 1 : 0), p.a_type);
  p.n = extent(b, b_mn ? 0 : 1);
  p.d_type = d.type;
  p.scale = static_cast<ww_scale>(call[Number::scale]);
  p.scale_type = static_cast<ww_scale_type>(call[Number::scale_type]);
  p.a_major = a_mn ? WW_MAJOR_MN : WW_MAJOR_K;
  p.b_major = b_mn ? WW_MAJOR_MN : WW_MAJOR_K;
  p.epilogue = call.epilogue.c_str();
  p.batched = a.rank == 3 || b.rank == 3;
  p.batch = 1;
  if (p.batched) {
    p.batch = a.rank == 3 ? a.extent[0] : b.extent[0];
    if (p.batch == 0) return {};
    p.batch_a = unpacked(batch_stride(a, p.batch), p.a_type);
    p.batch_b = unpacked(batch_stride(b, p.batch), p.b_type);
    p.batch_d = batch_stride(d, p.batch);
    p.batch_scale_a = scale_stride(call, Role::scale_a, p.batch);
    p.batch_scale_b = scale_stride(call, Role::scale_b, p.batch);
  }
  fill_epilogue(call, p.batch, p.batched != 0, request.epilogue);
  fill_operands(call, request, request.gemm_operands);
  return {};
}

std::string describe_grouped(const JaxCall& call, JaxRequest& request) {
  const JaxBuffer &a = call[Role::a], &b = call[Role::b], &d = call[Role::d];
  if (b.rank != 3) return "b must have three dimensions, (G, N, K)";
  ww_grouped_problem& p = request.grouped;
  p.struct_size = sizeof p;
  const bool b_mn = call[Number::b_major] == WW_MAJOR_MN;
  p.a_type = operand_type(a, call[Number::a_type]);
  p.b_type = operand_type(b, call[Number::b_type]);
  p.groups = b.extent[0];
  p.rows = extent(a, 1);
  p.k = unpacked(extent(a, 0), p.a_type);
  p.n = extent(b, b_mn ? 0 : 1);
  p.d_type = d.type;
  p.scale = static_cast<ww_scale>(call[Number::scale]);
  p.scale_type = static_cast<ww_scale_type>(call[Number::scale_type]);
  p.encoding = static_cast<ww_encoding>(call[Number::encoding]);
  p.b_major = b_mn ? WW_MAJOR_MN : WW_MAJOR_K;
  p.zero_outside = call[Number::zero_outside] != 0;
  p.alignment = call[Number::alignment];
  p.expected_sizes = call.expected_sizes.empty() ? nullptr : call.expected_sizes.c_str();
  p.epilogue = call.epilogue.c_str();
  fill_epilogue(call, p.groups, false, request.epilogue);
  fill_operands(call, request, request.grouped_operands);
  request.grouped_operands.sizes = static_cast<const std::int32_t*>(call[Role::sizes].data);
  request.grouped_operands.sizes2 = static_cast<const std::int32_t*>(call[Role::sizes2].data);
  return {};
}

}  // namespace

bool needs_blackwell(const JaxCall& call) {
  return call[Number::a_type] != 0 || call[Number::b_type] != 0 || is_chunked(call);
}

std::string describe(const JaxCall& call, JaxRequest& request) {
  std::memset(&request, 0, sizeof request);
  if (!call[Role::a].given() || !call[Role::b].given() || !call[Role::d].given())
    return "a, b or the result is missing";
  fill_options(call, request.options);
  return call[Number::operation] == WW_GEMM ? describe_gemm(call, request) : describe_grouped(call, request);
}

}  // namespace wwpy
