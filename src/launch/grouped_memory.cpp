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

constexpr auto kFloat = static_cast<std::int64_t>(sizeof(float));

OperandSpan scale_a_span(const GroupedProblem& p) {
  if (p.scale == Scale::none || p.k == 0) return OperandSpan::flat(0);
  const bool masked = p.encoding == GroupEncoding::masked;
  if (is_microscaled(p.scale)) {
    const int vector = scale_vector(p.scale);
    if (masked)
      return OperandSpan::flat(
          static_cast<std::uint64_t>((p.groups - 1) * p.scale_a_group + scale_bytes(p.rows, p.k, vector)));
    return OperandSpan::flat(
        static_cast<std::uint64_t>(most_scale_blocks(p.rows, p.groups) * scale_bytes(1, p.k, vector)));
  }
  if (p.scale == Scale::tensor)
    return OperandSpan::of(kFloat, {Repeat{p.groups, kFloat * p.scale_a_group}, {1, 0}, {1, 0}});
  const std::int64_t blocks = p.scale == Scale::block_1x128_128x128 ? ceil_div(p.k, kScaleSpan) : 1;
  const bool apart = masked && p.scale_a_group != 0;  // groups have a stride of their own
  const Repeat rows{apart ? p.rows : p.total_rows(), kFloat * p.scale_a_row};
  const Repeat groups{apart ? p.groups : 1, kFloat * p.scale_a_group};
  return OperandSpan::of(kFloat, {rows, Repeat{blocks, kFloat * p.scale_a_k}, groups});
}

OperandSpan scale_b_span(const GroupedProblem& p) {
  if (p.scale == Scale::none || p.k == 0) return OperandSpan::flat(0);
  if (is_microscaled(p.scale))
    return OperandSpan::flat(
        static_cast<std::uint64_t>((p.groups - 1) * p.scale_b_group + scale_bytes(p.n, p.k, scale_vector(p.scale))));
  const bool block = p.scale == Scale::block_1x128_128x128;
  const std::int64_t columns = block ? ceil_div(p.n, kScaleSpan) : p.scale == Scale::row_column ? p.n : 1;
  const std::int64_t blocks = block ? ceil_div(p.k, kScaleSpan) : 1;
  return OperandSpan::of(kFloat, {Repeat{columns, kFloat * p.scale_b_n}, Repeat{blocks, kFloat * p.scale_b_k},
                                  Repeat{p.groups, kFloat * p.scale_b_group}});
}

OperandSpan d_span(const GroupedProblem& p) {
  return OperandSpan::matrix(bytes_in(p.d, config::output_columns(p.epilogue, p.n)),
                             {p.total_rows(), bytes_in(p.d, p.ldd)});
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

OperandSpans operand_spans(const GroupedProblem& p, std::size_t workspace_bytes) {
  const bool k_major = p.b_major == Major::k;
  return {.a = OperandSpan::matrix(bytes_in(p.a, p.k), {p.total_rows(), bytes_in(p.a, p.lda)}),
          .b = OperandSpan::matrix(bytes_in(p.b, k_major ? p.k : p.n), {k_major ? p.n : p.k, bytes_in(p.b, p.ldb)},
                                   {p.groups, bytes_in(p.b, p.stride_b_group)}),
          .d = d_span(p),
          .scale_a = scale_a_span(p),
          .scale_b = scale_b_span(p),
          .workspace = OperandSpan::flat(workspace_bytes)};
}

std::array<MemoryRange, 3> group_memory(const GroupedProblem& p, const GroupedOperands& operands) {
  return {{sizes_memory(p, operands), sizes2_memory(p, operands), status_memory(operands)}};
}

void add_product_memory(const GroupedProblem& p, const GroupedOperands& operands, const OperandSpans& spans,
                        MemoryRanges& memory) {
  memory.add({"a", operands.a, spans.a.bytes, false});
  memory.add({"b", operands.b, spans.b.bytes, false});
  memory.add({"d", operands.d, spans.d.bytes, true});
  memory.add({"scale_a", operands.scale_a, spans.scale_a.bytes, false});
  memory.add({"scale_b", operands.scale_b, spans.scale_b.bytes, false});
  for (const MemoryRange& range : group_memory(p, operands)) memory.add(range);
  if (operands.global_scale != nullptr) memory.add({"global_scale", operands.global_scale, sizeof(float), false});
  // The counters of tiles and CTAs return to zero; what follows tells of the last launch.
  constexpr std::size_t kCounters = offsetof(config::GroupedWorkspace, widths);
  const auto* const space = static_cast<const std::byte*>(operands.workspace);
  const std::uint64_t bytes = spans.workspace.bytes, counters = min<std::uint64_t>(bytes, kCounters);
  memory.add({"workspace", space, counters, true, false, true});
  memory.add({"workspace", space ? space + kCounters : space, bytes - counters, true});
}

std::array<MemoryRange, 4> update_memory(const GroupedProblem& p, const GroupedOperands& operands,
                                         std::size_t workspace_bytes) {
  return {{sizes_memory(p, operands),
           sizes2_memory(p, operands),
           status_memory(operands),
           {"workspace", operands.workspace, workspace_bytes, true}}};
}

std::array<MemoryRange, 3> zeros_memory(const GroupedProblem& p, const GroupedOperands& operands) {
  return {{{"d", operands.d, d_span(p).bytes, true}, sizes_memory(p, operands), sizes2_memory(p, operands)}};
}

}  // namespace ww::adapters
