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
  std::uint64_t base, bytes;
  const OperandSpan* span;
  bool written;
};

/// Returns whether the address ranges are apart.
inline bool are_apart(const SpannedOperand& one, const SpannedOperand& other) {
  return (other.base - one.base >= one.bytes) & (one.base - other.base >= other.bytes);  // distances wrap around
}

/// Returns whether the operands share a byte.
bool share_a_byte(const SpannedOperand& one, const SpannedOperand& other);

/// The operands of one run, without allocation. It is not copyable, because what is past its size has no value.
class OperandList {
 public:
  OperandList() = default;
  OperandList(const OperandList&) = delete;
  OperandList& operator=(const OperandList&) = delete;

  /// Adds an operand; one without bytes overlaps nothing and is left out.
  void add(const char* name, const void* base, const OperandSpan& span, bool written) {
    OperandSpan& kept = spans_[static_cast<std::size_t>(size_)];
    kept = span;
    refer(name, base, kept, written);
  }
  void add(const MemoryRange& range) { add(range.name, range.base, OperandSpan::flat(range.bytes), range.writable); }

  /// Adds those of a product, D first. `exchanged`: its A is the caller's B. `spans` outlive the list.
  template <class Operands>
  void add_product(const Operands& operands, const OperandSpans& spans, bool exchanged = false) {
    refer("d", operands.d, spans.d, true);
    refer(exchanged ? "b" : "a", operands.a, spans.a, false);
    refer(exchanged ? "a" : "b", operands.b, spans.b, false);
    refer(exchanged ? "scale_b" : "scale_a", operands.scale_a, spans.scale_a, false);
    refer(exchanged ? "scale_a" : "scale_b", operands.scale_b, spans.scale_b, false);
    refer("workspace", operands.workspace, spans.workspace, true);
  }
  void add_global_scale(const float* scale) {
    if (scale != nullptr) add("global_scale", scale, OperandSpan::flat(sizeof(float)), false);
  }

  /// Checks that nothing which the kernel writes overlaps another operand.
  /// Errors: invalid, naming the operand that is written, of two such the one that was added first, and the other.
  Result<void> check_apart() const {
    for (int i = 0; i < size_; ++i) {
      const SpannedOperand& one = operands_[static_cast<std::size_t>(i)];
      if (!one.written) continue;
      int met = 0;  // itself among them; without branches, because this is a part of every launch
      for (int j = 0; j < size_; ++j) met += !are_apart(one, operands_[static_cast<std::size_t>(j)]);
      if (met > 1) WW_CHECK(check_bytes(i));
    }
    return {};
  }

 private:
  /// Compares the bytes of operand `i`, which is written, with those of the others.
  Result<void> check_bytes(int i) const;

  // A product has seven operands and four arrays of pointers, or three of groups. Each node of an epilogue has at most
  // one, and one that quantises also has a scalar.
  static constexpr int kMost = 12 + kEpilogueNodes;

  void refer(const char* name, const void* base, const OperandSpan& span, bool written) {
    if (span.bytes == 0) return;
    operands_[static_cast<std::size_t>(size_++)] = {name, reinterpret_cast<std::uintptr_t>(base), span.bytes, &span,
                                                    written};
  }

  std::array<SpannedOperand, kMost> operands_;
  std::array<OperandSpan, kMost> spans_;  // of those that add() was given
  int size_ = 0;
};

}  // namespace ww::adapters
