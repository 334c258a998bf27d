// SPDX-License-Identifier: Apache-2.0
// The global memory that the launches of a grouped product may touch, to the byte; the emulated device checks every
// access against it.
#pragma once

#include <array>

#include "launch/epilogue_adapter.hpp"
#include "warpwright/host/grouped.hpp"

namespace ww::adapters {

/// Returns the spans of the operands of a product. `problem` has explicit strides; `workspace_bytes` is the plan's.
OperandSpans operand_spans(const GroupedProblem& problem, std::size_t workspace_bytes);

/// Adds the memory of the product, without the epilogue's operands.
void add_product_memory(const GroupedProblem& problem, const GroupedOperands& operands, const OperandSpans& spans,
                        MemoryRanges& memory);

/// Returns the memory of sizes, sizes2 and status, without bytes what the encoding or the caller leaves out.
std::array<runtime::MemoryRange, 3> group_memory(const GroupedProblem& problem, const GroupedOperands& operands);

/// Returns the memory of the launch that makes tensor maps of groups.
std::array<runtime::MemoryRange, 4> update_memory(const GroupedProblem& problem, const GroupedOperands& operands,
                                                  std::size_t workspace_bytes);

/// Returns the memory of the launch that zeros rows outside groups.
std::array<runtime::MemoryRange, 3> zeros_memory(const GroupedProblem& problem, const GroupedOperands& operands);

}  // namespace ww::adapters
