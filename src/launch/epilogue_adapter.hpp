// SPDX-License-Identifier: Apache-2.0
// The host side of an epilogue tree: the operands that it names, checks of their pointers, and the place of partial
// results of reductions in the workspace.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "launch/operand_overlap.hpp"
#include "runtime/backend.hpp"
#include "warpwright/config/epilogue_arguments.hpp"
#include "warpwright/host/gemm.hpp"
#include "warpwright/host/grouped.hpp"

namespace ww::adapters {

/// Memory ranges of one launch, without allocation unless a tree names dozens of operands. It is not copyable, because
/// ranges past size() have no value.
class MemoryRanges {
 public:
  MemoryRanges() = default;
  MemoryRanges(const MemoryRanges&) = delete;
  MemoryRanges& operator=(const MemoryRanges&) = delete;

  void add(const runtime::MemoryRange& range) {
    if (size_ == few_.size()) many_.assign(few_.begin(), few_.end());
    if (size_ < few_.size()) few_[size_] = range;
    else many_.push_back(range);
    ++size_;
  }
  std::size_t size() const { return size_; }
  runtime::MemoryRange& operator[](std::size_t i) { return many_.empty() ? few_[i] : many_[i]; }
  operator std::span<const runtime::MemoryRange>() const { return {many_.empty() ? few_.data() : many_.data(), size_}; }

 private:
  std::array<runtime::MemoryRange, 40> few_;
  std::vector<runtime::MemoryRange> many_;  // all of them, once they are more
  std::size_t size_ = 0;
};

/// Floats and counters that the reductions of a tree keep between the tiles of one matrix.
struct EpiloguePartials {
  std::int64_t rows = 0, columns = 0, amax = 0;                          // floats
  std::int64_t row_counters = 0, column_counters = 0, amax_counter = 0;  // 32-bit counters
  std::int64_t words() const { return rows + columns + amax + row_counters + column_counters + amax_counter; }
};

/// One problem's tree. Everything that does not depend on pointers is computed once, here; bind() is a part of every
/// run.
class EpilogueAdapter {
 public:
  /// `problem` and `config` as they were given, not exchanged under swap-AB.
  EpilogueAdapter(const GemmProblem& problem, const GemmConfig& config);
  /// Makes the adapter of groups of rows, whose trees do not reduce: vectors along N and scalars have a step from group
  /// to group, everything else has the rows of D.
  explicit EpilogueAdapter(const GroupedProblem& problem);

  /// Returns the workspace of reductions, zeroed before the first launch; 0 without them.
  std::size_t workspace_bytes() const;

  /// Fills `arguments`, `memory` and `list` with the operands of the tree; `workspace` is where workspace_bytes()
  /// begin. The workspace is not added to `list`, and neither is C if it is D (`in_place`).
  /// Errors: invalid, naming the operand that is missing, misaligned or too narrow; `in_place`, C with another layout
  /// than D.
  Result<void> bind(const EpilogueOperands& operands, bool in_place, void* workspace,
                    config::EpilogueArguments& arguments, MemoryRanges& memory, OperandList& list) const {
    if (nodes_.empty() && !grouped_) return {};
    return bind_nodes(operands, in_place, workspace, arguments, memory, list);
  }

  /// Replaces bind() and the launch for a product without elements (M or N is 0), which runs no kernel: clears the
  /// outputs of its reductions in the order of `stream`. Errors: invalid, naming an output that is missing,
  /// misaligned or overlaps another.
  Result<void> clear_reductions(runtime::Backend& backend, const EpilogueOperands& operands, Stream stream) const;

 private:
  Result<void> bind_nodes(const EpilogueOperands& operands, bool in_place, void* workspace,
                          config::EpilogueArguments& arguments, MemoryRanges& memory, OperandList& list) const;
  Result<void> bind_partials(void* workspace, config::EpilogueArguments& arguments, MemoryRanges& memory) const;

  GemmProblem rows_, groups_;  // of operands with the rows of D, and of those that each group has separately
  std::vector<EpilogueNode> nodes_;
  EpiloguePartials partials_;
  bool swaps_ = false, grouped_ = false;
  std::int64_t scale_blocks_ = 0;  // of 128 rows of D, of each matrix or of all groups
};

}  // namespace ww::adapters
