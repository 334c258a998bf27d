// SPDX-License-Identifier: Apache-2.0
// Spans of operands as nested repetitions, and an exact answer whether two of them share a byte.
#include "launch/operand_overlap.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace ww::adapters {
namespace {

/// Returns the bytes that the levels of `span` with strides below `period` extend over, or 0 if another level does not
/// repeat with `period`.
std::uint64_t extent_within(const OperandSpan& span, std::uint64_t period) {
  std::uint64_t inside = span.width;
  for (int i = 0; i < span.levels; ++i) {
    if (span.stride[i] < period) inside = span.extent[i];
    else if (span.stride[i] % period != 0) return 0;
  }
  return inside;
}

/// Returns whether the operands lie apart in every period of `period` bytes, so that no repetition brings them
/// together. `other` begins `behind` bytes after the beginning of a period of `one`.
bool are_apart_in(std::uint64_t period, std::uint64_t behind, const OperandSpan& one, const OperandSpan& other) {
  const std::uint64_t mine = extent_within(one, period), theirs = extent_within(other, period);
  return mine != 0 && theirs != 0 && behind >= mine && behind + theirs <= period;
}

/// Returns whether bytes [first, last] from the beginning of `span` are among those of its `levels` inner levels.
bool meets(const OperandSpan& span, int levels, std::int64_t first, std::int64_t last) {
  if (levels == 0) return last >= 0 && first < static_cast<std::int64_t>(span.width);
  const int level = levels - 1;
  const auto stride = static_cast<std::int64_t>(span.stride[level]);
  const auto inner = static_cast<std::int64_t>(level == 0 ? span.width : span.extent[level - 1]);
  const auto most = static_cast<std::int64_t>(span.count[level]) - 1;
  // The copies that begin before the range ends and end behind its beginning.
  const std::int64_t from = first < inner ? 0 : (first - inner) / stride + 1;
  const std::int64_t to = last < 0 ? -1 : std::min(most, last / stride);
  if (to - from >= 2) return true;  // a copy between two others is inside the range
  for (std::int64_t i = from; i <= to; ++i)
    if (meets(span, level, first - i * stride, last - i * stride)) return true;
  return false;
}

/// Returns whether a run of `one`, which begins `offset` bytes before `other`, meets `other`.
bool any_run_meets(const OperandSpan& one, int levels, std::int64_t offset, const OperandSpan& other) {
  if (levels == 0) return meets(other, other.levels, -offset, -offset + static_cast<std::int64_t>(one.width) - 1);
  const int level = levels - 1;
  for (std::uint64_t i = 0; i < one.count[level]; ++i)
    if (any_run_meets(one, level, offset - static_cast<std::int64_t>(i * one.stride[level]), other)) return true;
  return false;
}

std::uint64_t runs_of(const OperandSpan& span) {
  std::uint64_t runs = 1;
  for (int i = 0; i < span.levels; ++i) runs *= span.count[i];
  return runs;
}

}  // namespace

OperandSpan OperandSpan::of(std::int64_t width, std::array<Repeat, kLevels> repeats) {
  std::sort(repeats.begin(), repeats.end(), [](const Repeat& x, const Repeat& y) { return x.stride < y.stride; });
  OperandSpan span = flat(static_cast<std::uint64_t>(width));
  for (const Repeat& repeat : repeats) {
    if (repeat.count == 0 || width == 0) return flat(0);
    if (repeat.count == 1) continue;
    const auto stride = static_cast<std::uint64_t>(repeat.stride), count = static_cast<std::uint64_t>(repeat.count);
    const std::uint64_t all = (count - 1) * stride + span.bytes;
    if (stride < span.bytes || (span.levels == 0 && stride == span.bytes)) {
      span = flat(all);
      continue;
    }
    span.stride[span.levels] = stride, span.count[span.levels] = count, span.extent[span.levels] = all;
    ++span.levels;
    span.bytes = all;
  }
  return span;
}

bool share_a_byte(const SpannedOperand& one, const SpannedOperand& other) {
  if (are_apart(one, other)) return false;
  const std::uint64_t first = one.base, second = other.base;
  // Mostly rows of one pitch; the strides decide then, however many rows there are.
  for (const OperandSpan* const span : {one.span, other.span})
    for (int i = 0; i < span->levels; ++i) {
      const std::uint64_t period = span->stride[i];
      const std::uint64_t behind =
          second >= first ? (second - first) % period : (period - (first - second) % period) % period;
      if (are_apart_in(period, behind, *one.span, *other.span)) return false;
    }
  const bool swaps = runs_of(*one.span) > runs_of(*other.span);
  const OperandSpan &fewer = *(swaps ? other.span : one.span), &more = *(swaps ? one.span : other.span);
  const auto offset = static_cast<std::int64_t>(second - first);
  return any_run_meets(fewer, fewer.levels, swaps ? -offset : offset, more);
}

Result<void> OperandList::check_bytes(int i) const {
  const SpannedOperand& written = operands_[static_cast<std::size_t>(i)];
  const auto range = [](const SpannedOperand& operand) {
    return fmt::format("[{:#x}, {:#x})", operand.base, operand.base + operand.bytes);
  };
  for (int j = 0; j < size_; ++j) {
    const SpannedOperand& other = operands_[static_cast<std::size_t>(j)];
    const bool seen = j == i || (other.written && j < i);
    if (!seen && share_a_byte(written, other))
      return failure(ErrorCode::invalid, written.name,
                     fmt::format("memory that {}, {}, does not overlap", other.name, range(other)), range(written));
  }
  return {};
}

}  // namespace ww::adapters
