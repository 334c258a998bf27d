// SPDX-License-Identifier: Apache-2.0
// What a kernel writes, D above all, must not overlap what it reads or writes besides. Views of one buffer may
// interleave, such as column ranges of rows with one pitch; these are told apart from an overlap.
#pragma once

#include <cstdint>

#include "warpwright/host/result.hpp"

namespace ww::adapters {

/// The bytes of one operand. `pitch` is 0 where rows do not repeat at one distance.
struct OperandSpan {
  std::uint64_t bytes = 0;  // from the first to the last
  std::uint64_t pitch = 0;  // from row to row
  std::uint64_t width = 0;  // of a row

  /// Returns a matrix, or several `batch` elements apart, of which all are `bytes` long.
  static OperandSpan matrix(std::uint64_t bytes, std::int64_t columns, std::int64_t ld, std::int64_t batch,
                            int element) {
    const bool one_pitch = ld > 0 && batch % ld == 0;
    return {bytes, one_pitch ? static_cast<std::uint64_t>(ld) * element : 0,
            static_cast<std::uint64_t>(columns) * element};
  }
};

/// What a run compares with D, and D.
struct OperandSpans {
  OperandSpan a, b, d, scale_a, scale_b, workspace;
};

/// Compares the elements, once the address ranges overlap.
Result<void> check_interleaved(const char* name, const void* d, const OperandSpan& of_d, const void* input,
                               const OperandSpan& of_input, const char* written);

/// Returns whether the address ranges are apart.
inline bool are_apart(const void* d, const OperandSpan& of_d, const void* input, const OperandSpan& of_input) {
  const auto first = reinterpret_cast<std::uintptr_t>(d), other = reinterpret_cast<std::uintptr_t>(input);
  return other - first >= of_d.bytes && first - other >= of_input.bytes;  // distances wrap around
}

/// Errors: invalid, naming D, or what `written` calls it, and the input that it overlaps.
inline Result<void> check_apart(const char* name, const void* d, const OperandSpan& of_d, const void* input,
                                const OperandSpan& of_input, const char* written = "d") {
  if (are_apart(d, of_d, input, of_input)) return {};
  return check_interleaved(name, d, of_d, input, of_input, written);
}

/// The same for all operands of a run. `exchanged`: its A is the caller's B.
template <class Operands>
Result<void> check_apart(const Operands& operands, const OperandSpans& spans, bool exchanged = false) {
  const void* const d = operands.d;
  if (are_apart(d, spans.d, operands.a, spans.a) && are_apart(d, spans.d, operands.b, spans.b) &&
      are_apart(d, spans.d, operands.scale_a, spans.scale_a) &&
      are_apart(d, spans.d, operands.scale_b, spans.scale_b) &&
      are_apart(d, spans.d, operands.workspace, spans.workspace)) [[likely]]
    return {};
  WW_CHECK(check_apart(exchanged ? "b" : "a", d, spans.d, operands.a, spans.a));
  WW_CHECK(check_apart(exchanged ? "a" : "b", d, spans.d, operands.b, spans.b));
  WW_CHECK(check_apart(exchanged ? "scale_b" : "scale_a", d, spans.d, operands.scale_a, spans.scale_a));
  WW_CHECK(check_apart(exchanged ? "scale_a" : "scale_b", d, spans.d, operands.scale_b, spans.scale_b));
  return check_apart("workspace", d, spans.d, operands.workspace, spans.workspace);
}

}  // namespace ww::adapters
