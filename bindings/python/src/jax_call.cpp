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

/// f32 buffers are multiplied as tf32, which is their only product on tensor cores.
ww_dtype operand_type(const JaxBuffer& buffer) { return buffer.type == WW_F32 ? WW_TF32 : buffer.type; }

/// The elements from one matrix of a batch to the next: 0 if one matrix serves them all.
std::int64_t batch_stride(const JaxBuffer& buffer, std::int64_t batch) {
  return buffer.rank == 3 ? elements(buffer) / batch : 0;
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
  p.m = extent(a, a_mn ? 0 : 1);
  p.k = extent(a, a_mn ? 1 : 0);
  p.n = extent(b, b_mn ? 0 : 1);
  p.a_type = operand_type(a);
  p.b_type = operand_type(b);
  p.d_type = d.type;
  p.scale = static_cast<ww_scale>(call[Number::scale]);
  p.a_major = a_mn ? WW_MAJOR_MN : WW_MAJOR_K;
  p.b_major = b_mn ? WW_MAJOR_MN : WW_MAJOR_K;
  p.epilogue = call.epilogue.c_str();
  p.batched = a.rank == 3 || b.rank == 3;
  p.batch = 1;
  if (p.batched) {
    p.batch = a.rank == 3 ? a.extent[0] : b.extent[0];
    if (p.batch == 0) return {};
    p.batch_a = batch_stride(a, p.batch);
    p.batch_b = batch_stride(b, p.batch);
    p.batch_d = batch_stride(d, p.batch);
    if (call[Role::scale_a].rank == 3) p.batch_scale_a = batch_stride(call[Role::scale_a], p.batch);
    if (call[Role::scale_b].rank == 3) p.batch_scale_b = batch_stride(call[Role::scale_b], p.batch);
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
  p.groups = b.extent[0];
  p.rows = extent(a, 1);
  p.k = extent(a, 0);
  p.n = extent(b, b_mn ? 0 : 1);
  p.a_type = operand_type(a);
  p.b_type = operand_type(b);
  p.d_type = d.type;
  p.scale = static_cast<ww_scale>(call[Number::scale]);
  p.encoding = static_cast<ww_encoding>(call[Number::encoding]);
  p.b_major = b_mn ? WW_MAJOR_MN : WW_MAJOR_K;
  p.zero_outside = call[Number::zero_outside] != 0;
  p.alignment = call[Number::alignment];
  p.epilogue = call.epilogue.c_str();
  fill_epilogue(call, p.groups, false, request.epilogue);
  fill_operands(call, request, request.grouped_operands);
  request.grouped_operands.sizes = static_cast<const std::int32_t*>(call[Role::sizes].data);
  request.grouped_operands.sizes2 = static_cast<const std::int32_t*>(call[Role::sizes2].data);
  return {};
}

}  // namespace

std::string describe(const JaxCall& call, JaxRequest& request) {
  std::memset(&request, 0, sizeof request);
  if (!call[Role::a].given() || !call[Role::b].given() || !call[Role::d].given())
    return "a, b or the result is missing";
  fill_options(call, request.options);
  return call[Number::operation] == WW_GEMM ? describe_gemm(call, request) : describe_grouped(call, request);
}

}  // namespace wwpy
