// SPDX-License-Identifier: Apache-2.0
// The host side of an epilogue tree: which operands it names, whether the pointers given fit, and where partial results
// of reductions lie in the workspace.
#pragma once

#include <array>
#include <span>

#include "runtime/backend.hpp"
#include "warpwright/collective/epilogue_arguments.hpp"
#include "warpwright/host/gemm.hpp"
#include "warpwright/host/grouped.hpp"

namespace ww::device {

/// Memory ranges of one launch, without allocation.
struct MemoryRanges {
  std::array<runtime::MemoryRange, 32> range;
  std::size_t count = 0;
  void add(const runtime::MemoryRange& r) { range[count++] = r; }
  operator std::span<const runtime::MemoryRange>() const { return {range.data(), count}; }
};

/// Bytes of workspace for the reductions of `problem`'s tree, zeroed before the first launch; 0 without reductions.
std::size_t epilogue_workspace(const GemmProblem& problem, const GemmConfig& config);

/// Fills `arguments` and `memory` with what the tree names; `workspace` is where epilogue_workspace() bytes begin.
/// Errors: invalid, naming the operand that is missing, misaligned or too narrow; `in_place`, C that lies unlike D.
Result<void> bind_epilogue(const GemmProblem& problem, const GemmConfig& config, const EpilogueOperands& operands,
                           bool in_place, void* workspace, collective::EpilogueArguments& arguments,
                           MemoryRanges& memory);

/// The same of groups of rows, whose trees do not reduce: vectors along N and scalars have a step from group to group,
/// all else has the rows of D.
Result<void> bind_epilogue(const GroupedProblem& problem, const EpilogueOperands& operands, bool in_place,
                           collective::EpilogueArguments& arguments, MemoryRanges& memory);

}  // namespace ww::device
