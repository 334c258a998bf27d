// SPDX-License-Identifier: Apache-2.0
// Memory that a kernel writes, D above all, must not overlap other memory that it reads or writes. Views of one buffer
// may interleave, such as column ranges of its rows; whether they share a byte is decided exactly.
#pragma once

#include <array>
#include <cstdint>

#include "warpwright/config/epilogue_nodes.hpp"
#include "warpwright/host/launch.hpp"
#include "warpwright/host/result.hpp"

namespace ww::adapters {

/// Copies of something, `stride` bytes from one to the next.
struct Repeat {
  std::int64_t count, stride;
};

/// The bytes of one operand, counted from its first: runs of `width` bytes that repeat in up to three nested levels.
// Its members have no initialisers, so that a list of dozens of operands costs nothing to make.
struct OperandSpan {
  static constexpr int kLevels = 3;

  std::uint64_t width;            // of a run
  int levels;                     // that are used
  std::uint64_t stride[kLevels];  // of the innermost level first; each at least the extent of what it repeats
  std::uint64_t count[kLevels];   // at least 2
  std::uint64_t extent[kLevels];  // bytes from the first to the last of a level
  std::uint64_t bytes;            // from the first to the last

  /// Returns `bytes` in one run.
  static OperandSpan flat(std::uint64_t bytes) {
    OperandSpan span;
    span.width = span.bytes = bytes, span.levels = 0;
    return span;
  }

  /// Returns runs of `width` bytes that repeat in each of `repeats`, in any order; no bytes if a count or the width is
  /// 0. Runs that touch are joined, and copies that overlap each other are covered by one run.
  static OperandSpan of(std::int64_t width, std::array<Repeat, kLevels> repeats);

  /// Returns a matrix, or several matrices, whose rows are `width` bytes long.
  static OperandSpan matrix(std::int64_t width, Repeat rows, Repeat matrices = {1, 0}) {
    return of(width, {rows, matrices, Repeat{1, 0}});
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

/// Returns whether the operands share a byte.
bool share_a_byte(const SpannedOperand& one, const SpannedOperand& other);

/// Compares bytes where the address ranges overlap.
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

  /// Checks that nothing which the kernel writes overlaps another operand.
  /// Errors: invalid, naming the operand that is written, of two such the one that was added first, and the other.
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
  // A product has seven operands and four arrays of pointers, or three of groups. Each node of an epilogue has at most
  // one, and one that quantises also has a scalar.
  static constexpr int kMost = 12 + kEpilogueNodes;
  const SpannedOperand& operand(int i) const { return operands_[static_cast<std::size_t>(i)]; }

  std::array<SpannedOperand, kMost> operands_;
  int size_ = 0;
};

}  // namespace ww::adapters
