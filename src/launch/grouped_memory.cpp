// SPDX-License-Identifier: Apache-2.0
// Spans of operands, scales, sizes and workspace.
#include "launch/grouped_memory.hpp"

#include <cstddef>

#include "launch/operand_maps.hpp"
#include "warpwright/config/epilogue_stages.hpp"
#include "warpwright/config/grouped_arguments.hpp"
#include "warpwright/core/scale_chunks.hpp"

namespace ww::adapters {
namespace {

using runtime::MemoryRange;

constexpr std::int64_t kScaleSpan = 128;

std::uint64_t scale_a_bytes(const GroupedProblem& p) {
  if (p.scale == Scale::none || p.k == 0) return 0;
  if (is_microscaled(p.scale)) {
    const int vector = scale_vector(p.scale);
    if (p.encoding == GroupEncoding::masked)
      return static_cast<std::uint64_t>((p.groups - 1) * p.scale_a_group + scale_bytes(p.rows, p.k, vector));
    return static_cast<std::uint64_t>(most_scale_blocks(p.rows, p.groups) * scale_bytes(1, p.k, vector));
  }
  // Strides that a recipe does not read are 0.
  std::int64_t last = (p.total_rows() - 1) * p.scale_a_row + (p.groups - 1) * p.scale_a_gap();
  if (p.scale == Scale::tensor) last = (p.groups - 1) * p.scale_a_group;
  if (p.scale == Scale::block_1x128_128x128) last += (ceil_div(p.k, kScaleSpan) - 1) * p.scale_a_k;
  return static_cast<std::uint64_t>(last + 1) * sizeof(float);
}

std::uint64_t scale_b_bytes(const GroupedProblem& p) {
  if (p.scale == Scale::none || p.k == 0) return 0;
  std::int64_t last = (p.groups - 1) * p.scale_b_group;
  if (is_microscaled(p.scale)) return static_cast<std::uint64_t>(last + scale_bytes(p.n, p.k, scale_vector(p.scale)));
  if (p.scale == Scale::row_column) last += (p.n - 1) * p.scale_b_n;
  if (p.scale == Scale::block_1x128_128x128)
    last += (ceil_div(p.n, kScaleSpan) - 1) * p.scale_b_n + (ceil_div(p.k, kScaleSpan) - 1) * p.scale_b_k;
  return static_cast<std::uint64_t>(last + 1) * sizeof(float);
}

std::uint64_t weight_bytes(const GroupedProblem& p) {
  if (p.k == 0) return 0;
  const auto before = static_cast<std::uint64_t>(bytes_in(p.b, (p.groups - 1) * p.stride_b_group));
  return before + (p.b_major == Major::k ? span_bytes(p.n, p.k, p.ldb, p.b) : span_bytes(p.k, p.n, p.ldb, p.b));
}

MemoryRange d_memory(const GroupedProblem& p, const GroupedOperands& operands) {
  const std::int64_t columns = config::output_columns(p.epilogue, p.n);
  return {"d", operands.d, span_bytes(p.total_rows(), columns, p.ldd, p.d), true};
}
MemoryRange sizes_memory(const GroupedProblem& p, const GroupedOperands& operands) {
  const std::int64_t count = p.groups == 0                          ? 0
                             : p.encoding == GroupEncoding::row_ids ? p.rows
                             : p.encoding == GroupEncoding::indptr  ? p.groups + 1
                                                                    : p.groups;
  return {"sizes", operands.sizes, static_cast<std::uint64_t>(count) * sizeof(std::int32_t), false};
}
MemoryRange sizes2_memory(const GroupedProblem& p, const GroupedOperands& operands) {
  const std::int64_t count = p.encoding == GroupEncoding::starts_counts ? p.groups : 0;
  return {"sizes2", operands.sizes2, static_cast<std::uint64_t>(count) * sizeof(std::int32_t), false};
}
MemoryRange status_memory(const GroupedOperands& operands) {
  return {"status", operands.status, operands.status != nullptr ? sizeof(std::uint32_t) : 0, true};
}

}  // namespace

std::array<MemoryRange, 3> group_memory(const GroupedProblem& p, const GroupedOperands& operands) {
  return {{sizes_memory(p, operands), sizes2_memory(p, operands), status_memory(operands)}};
}

void add_product_memory(const GroupedProblem& p, const GroupedOperands& operands, std::size_t workspace_bytes,
                        MemoryRanges& memory) {
  memory.add({"a", operands.a, span_bytes(p.total_rows(), p.k, p.lda, p.a), false});
  memory.add({"b", operands.b, weight_bytes(p), false});
  memory.add(d_memory(p, operands));
  memory.add({"scale_a", operands.scale_a, scale_a_bytes(p), false});
  memory.add({"scale_b", operands.scale_b, scale_b_bytes(p), false});
  for (const MemoryRange& range : group_memory(p, operands)) memory.add(range);
  if (operands.global_scale != nullptr) memory.add({"global_scale", operands.global_scale, sizeof(float), false});
  // The counters of tiles and CTAs return to zero; what follows tells of the last launch.
  constexpr std::size_t kCounters = offsetof(config::GroupedWorkspace, widths);
  const auto* const space = static_cast<const std::byte*>(operands.workspace);
  memory.add({"workspace", space, min(workspace_bytes, kCounters), true, false, true});
  memory.add({"workspace", space ? space + kCounters : space, workspace_bytes - min(workspace_bytes, kCounters), true});
}

std::array<MemoryRange, 4> update_memory(const GroupedProblem& p, const GroupedOperands& operands,
                                         std::size_t workspace_bytes) {
  return {{sizes_memory(p, operands),
           sizes2_memory(p, operands),
           status_memory(operands),
           {"workspace", operands.workspace, workspace_bytes, true}}};
}

std::array<MemoryRange, 3> zeros_memory(const GroupedProblem& p, const GroupedOperands& operands) {
  return {{d_memory(p, operands), sizes_memory(p, operands), sizes2_memory(p, operands)}};
}

}  // namespace ww::adapters
