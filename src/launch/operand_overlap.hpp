// SPDX-License-Identifier: Apache-2.0
// What a kernel writes, D above all, must not overlap what it reads or writes besides. Views of one buffer may
// interleave, such as column ranges of rows with one pitch; these are told apart from an overlap.
#pragma once

#include <array>
#include <cstdint>

#include "warpwright/config/epilogue_nodes.hpp"
#include "warpwright/host/launch.hpp"
#include "warpwright/host/result.hpp"

namespace ww::adapters {

/// The bytes of one operand.
// Without initialisers, so that a list of dozens costs nothing to make.
struct OperandSpan {
  std::uint64_t bytes;  // from the first to the last
  std::uint64_t pitch;  // from row to row; 0 where rows do not repeat at one distance
  std::uint64_t width;  // of a row
  bool loose;           // has other gaps than those behind rows of one pitch; other operands may lie in them

  /// Returns `bytes` without gaps that anything may lie in.
  static OperandSpan flat(std::uint64_t bytes) { return {bytes, 0, 0, false}; }

  /// Returns a matrix, or several `batch` elements apart, of which all are `bytes` long.
  static OperandSpan matrix(std::uint64_t bytes, std::int64_t columns, std::int64_t ld, std::int64_t batch,
                            int element) {
    const bool one_pitch = ld > 0 && batch % ld == 0;
    return {bytes, one_pitch ? static_cast<std::uint64_t>(ld) * static_cast<std::uint64_t>(element) : 0,
            static_cast<std::uint64_t>(columns) * static_cast<std::uint64_t>(element), false};
  }

  /// The same, in whose gaps others may lie also where its rows have no single pitch. `dense`: it has no gaps.
  static OperandSpan matrix_with_gaps(std::uint64_t bytes, std::int64_t columns, std::int64_t ld, std::int64_t batch,
                                      int element, bool dense) {
    OperandSpan span = matrix(bytes, columns, ld, batch, element);
    span.loose = span.pitch == 0 && !dense;
    return span;
  }
};

/// The operands of a product as its kernel names them.
struct OperandSpans {
  OperandSpan a, b, d, scale_a, scale_b, workspace;
};

/// An operand of a run, as messages call it, and whether the kernel writes it.
struct SpannedOperand {
  const char* name;
  const void* base;
  OperandSpan span;
  bool written;
};

/// Returns whether the address ranges are apart.
inline bool are_apart(const SpannedOperand& one, const SpannedOperand& other) {
  const auto first = reinterpret_cast<std::uintptr_t>(one.base), second = reinterpret_cast<std::uintptr_t>(other.base);
  return second - first >= one.span.bytes && first - second >= other.span.bytes;  // distances wrap around
}

/// Compares the elements, once the address ranges overlap.
/// Errors: invalid, naming `written` and the operand that it overlaps.
Result<void> check_interleaved(const SpannedOperand& written, const SpannedOperand& other);

/// The operands of one run, without allocation. It is not copyable, because what is past its size has no value.
class OperandList {
 public:
  OperandList() = default;
  OperandList(const OperandList&) = delete;
  OperandList& operator=(const OperandList&) = delete;

  /// Adds an operand; one without bytes overlaps nothing and is left out.
  void add(const char* name, const void* base, const OperandSpan& span, bool written) {
    if (span.bytes > 0) operands_[static_cast<std::size_t>(size_++)] = {name, base, span, written};
  }
  void add(const MemoryRange& range) { add(range.name, range.base, OperandSpan::flat(range.bytes), range.writable); }

  /// Adds those of a product, D first. `exchanged`: its A is the caller's B.
  template <class Operands>
  void add_product(const Operands& operands, const OperandSpans& spans, bool exchanged = false) {
    add("d", operands.d, spans.d, true);
    add(exchanged ? "b" : "a", operands.a, spans.a, false);
    add(exchanged ? "a" : "b", operands.b, spans.b, false);
    add(exchanged ? "scale_b" : "scale_a", operands.scale_a, spans.scale_a, false);
    add(exchanged ? "scale_a" : "scale_b", operands.scale_b, spans.scale_b, false);
    add("workspace", operands.workspace, spans.workspace, true);
  }
  void add_global_scale(const float* scale) {
    if (scale != nullptr) add("global_scale", scale, OperandSpan::flat(sizeof(float)), false);
  }

  /// Checks that nothing which the kernel writes overlaps another operand. What was added first is named first.
  /// Errors: invalid, naming the operand that is written and the other one.
  Result<void> check_apart() const {
    for (int i = 0; i < size_; ++i)
      for (int j = i + 1; j < size_; ++j) {
        const SpannedOperand &one = operand(i), &other = operand(j);
        if (!(one.written || other.written) || are_apart(one, other)) [[likely]]
          continue;
        WW_CHECK(one.written ? check_interleaved(one, other) : check_interleaved(other, one));
      }
    return {};
  }

 private:
  // Seven of a product, four arrays of pointers or three of groups, one for each node of an epilogue, and the scalar of
  // one that quantises.
  static constexpr int kMost = 12 + kEpilogueNodes;
  const SpannedOperand& operand(int i) const { return operands_[static_cast<std::size_t>(i)]; }

  std::array<SpannedOperand, kMost> operands_;
  int size_ = 0;
};

}  // namespace ww::adapters
