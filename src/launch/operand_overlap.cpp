// SPDX-License-Identifier: Apache-2.0
// Tells interleaved rows from overlapping ones.
#include "launch/operand_overlap.hpp"

#include <fmt/format.h>

namespace ww::adapters {

Result<void> check_interleaved(const char* name, const void* d, const OperandSpan& of_d, const void* input,
                               const OperandSpan& of_input, const char* written) {
  if (of_d.bytes == 0 || of_input.bytes == 0) return {};
  const auto first = reinterpret_cast<std::uintptr_t>(d), other = reinterpret_cast<std::uintptr_t>(input);
  if (of_d.pitch != 0 && of_d.pitch == of_input.pitch) {
    // Where the input's rows begin, counted from the beginning of the row of D that they share.
    const std::uint64_t pitch = of_d.pitch;
    const std::uint64_t behind = other >= first ? (other - first) % pitch : (pitch - (first - other) % pitch) % pitch;
    if (behind >= of_d.width && behind + of_input.width <= pitch) return {};
  }
  const auto range = [](std::uintptr_t begin, std::uint64_t bytes) {
    return fmt::format("[{:#x}, {:#x})", begin, begin + bytes);
  };
  return failure(ErrorCode::invalid, written,
                 fmt::format("memory that {}, {}, does not overlap", name, range(other, of_input.bytes)),
                 range(first, of_d.bytes));
}

}  // namespace ww::adapters
