// SPDX-License-Identifier: Apache-2.0
// The global memory that the launches of a grouped product may touch, to the byte: the emulated device holds every
// access against it.
#pragma once

#include <array>

#include "launch/epilogue_adapter.hpp"
#include "warpwright/host/grouped.hpp"

namespace ww::adapters {

/// `problem` has explicit strides; `workspace_bytes` is what the plan asks for. Without what an epilogue names.
void add_product_memory(const GroupedProblem& problem, const GroupedOperands& operands, std::size_t workspace_bytes,
                        MemoryRanges& memory);

/// Of the launch that makes tensor maps of groups.
std::array<runtime::MemoryRange, 4> update_memory(const GroupedProblem& problem, const GroupedOperands& operands,
                                                  std::size_t workspace_bytes);

/// Of the launch that zeros rows outside groups.
std::array<runtime::MemoryRange, 3> zeros_memory(const GroupedProblem& problem, const GroupedOperands& operands);

}  // namespace ww::adapters
