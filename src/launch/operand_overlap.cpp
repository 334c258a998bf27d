// SPDX-License-Identifier: Apache-2.0
// Tells interleaved rows from overlapping ones.
#include "launch/operand_overlap.hpp"

#include <fmt/format.h>

namespace ww::adapters {

Result<void> check_interleaved(const SpannedOperand& written, const SpannedOperand& other) {
  const OperandSpan &mine = written.span, &theirs = other.span;
  if (mine.loose || theirs.loose) return {};
  const auto first = reinterpret_cast<std::uintptr_t>(written.base),
             second = reinterpret_cast<std::uintptr_t>(other.base);
  if (mine.pitch != 0 && mine.pitch == theirs.pitch) {
    // Where the other's rows begin, counted from the beginning of the written row that they share.
    const std::uint64_t pitch = mine.pitch;
    const std::uint64_t behind =
        second >= first ? (second - first) % pitch : (pitch - (first - second) % pitch) % pitch;
    if (behind >= mine.width && behind + theirs.width <= pitch) return {};
  }
  const auto range = [](std::uintptr_t begin, std::uint64_t bytes) {
    return fmt::format("[{:#x}, {:#x})", begin, begin + bytes);
  };
  return failure(ErrorCode::invalid, written.name,
                 fmt::format("memory that {}, {}, does not overlap", other.name, range(second, theirs.bytes)),
                 range(first, mine.bytes));
}

}  // namespace ww::adapters
