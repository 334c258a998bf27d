// SPDX-License-Identifier: Apache-2.0
// Counts to arrays and back. Everything is computed in 64 bits: the arrays may come from a file and hold anything.
#include "reference/group_layout.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

namespace ww::ref {
namespace {

std::int64_t round_up(std::int64_t value, std::int64_t step) { return (value + step - 1) / step * step; }

Result<void> refuse_spacing(GroupEncoding encoding, const GroupSpacing& spacing) {
  const bool aligned = encoding == GroupEncoding::offsets || encoding == GroupEncoding::starts_counts ||
                       encoding == GroupEncoding::row_ids;
  if (spacing.alignment > 1 && !aligned)
    return failure(ErrorCode::invalid, "--align", "1, or --encoding offsets, starts-counts or row-ids with it",
                   fmt::format("{} with {}", spacing.alignment, name_of(encoding)));
  if (spacing.gap > 0 && encoding != GroupEncoding::starts_counts && encoding != GroupEncoding::row_ids)
    return failure(ErrorCode::invalid, "--gap", "0, or --encoding starts-counts or row-ids with it",
                   fmt::format("{} with {}", spacing.gap, name_of(encoding)));
  return {};
}

Result<GroupLayout> masked_layout(const std::vector<std::int64_t>& counts, const GroupSpacing& spacing) {
  const std::int64_t most = std::max<std::int64_t>(1, *std::max_element(counts.begin(), counts.end()));
  GroupLayout layout{.encoding = GroupEncoding::masked,
                     .groups = static_cast<std::int64_t>(counts.size()),
                     .rows = spacing.rows.value_or(most)};
  if (layout.rows < most)
    return failure(ErrorCode::invalid, "--m", fmt::format("at least {} rows for the largest group", most),
                   fmt::format("{}", layout.rows));
  for (std::int64_t count : counts) layout.sizes.push_back(static_cast<std::int32_t>(count));
  return layout;
}

}  // namespace

std::vector<std::int64_t> distribute(Distribution distribution, std::int64_t groups, std::int64_t total) {
  std::vector<double> weights(static_cast<std::size_t>(groups), 1.0);
  for (std::size_t g = 0; g < weights.size(); ++g) {
    if (distribution == Distribution::zipf) weights[g] = 1.0 / static_cast<double>(g + 1);
    if (distribution == Distribution::onehot) weights[g] = g == weights.size() / 2;
    if (distribution == Distribution::half_empty) weights[g] = g % 2 == 0;
  }
  const double all = std::accumulate(weights.begin(), weights.end(), 0.0);
  std::vector<std::int64_t> counts;
  double before = 0;
  std::int64_t given = 0;
  for (double weight : weights) {  // cumulative, so that rounding never loses a row
    before += weight;
    const auto until = static_cast<std::int64_t>(static_cast<double>(total) * (before / all) + 0.5);
    counts.push_back(weight > 0 ? std::min(until, total) - given : 0);
    given += counts.back();
  }
  return counts;
}

Result<GroupLayout> make_layout(GroupEncoding encoding, const std::vector<std::int64_t>& counts,
                                const GroupSpacing& spacing) {
  WW_CHECK(refuse_spacing(encoding, spacing));
  if (encoding == GroupEncoding::masked) return masked_layout(counts, spacing);
  std::vector<GroupRows> groups;
  std::int64_t end = 0;
  for (std::int64_t count : counts) {
    const std::int64_t start = round_up(end, spacing.alignment);
    groups.push_back({start, count});
    // An empty group of offsets has no start of its own: aligning there would change where it ends.
    if (count > 0 || encoding != GroupEncoding::offsets) end = start + count + spacing.gap;
    if (end > kMostRows)
      return failure(ErrorCode::invalid, "--rows", fmt::format("at most {} rows in all", kMostRows),
                     fmt::format("{}", end));
  }
  const std::int64_t needed = end - spacing.gap;
  GroupLayout layout{.encoding = encoding,
                     .groups = static_cast<std::int64_t>(counts.size()),
                     .rows = spacing.rows.value_or(needed),
                     .alignment = encoding == GroupEncoding::offsets ? spacing.alignment : 1};
  if (layout.rows < needed)
    return failure(ErrorCode::invalid, "--m", fmt::format("at least {} rows for the groups", needed),
                   fmt::format("{}", layout.rows));
  if (encoding == GroupEncoding::row_ids) layout.sizes.assign(static_cast<std::size_t>(layout.rows), -1);
  if (encoding == GroupEncoding::indptr) layout.sizes.push_back(0);
  std::int64_t last = 0;
  for (std::size_t g = 0; g < groups.size(); ++g) {
    const auto [first, count] = groups[g];
    if (count > 0) last = first + count;
    switch (encoding) {
      case GroupEncoding::offsets:
      case GroupEncoding::indptr: layout.sizes.push_back(static_cast<std::int32_t>(last)); break;
      case GroupEncoding::row_ids:
        std::fill_n(layout.sizes.begin() + first, count, static_cast<std::int32_t>(g));
        break;
      default:
        layout.sizes.push_back(static_cast<std::int32_t>(first));
        layout.sizes2.push_back(static_cast<std::int32_t>(count));
    }
  }
  return layout;
}

namespace {

struct Span {
  std::int64_t start = 0, end = 0;
};

/// Returns the group of every row: with an alignment, that of the first of so many rows.
std::vector<std::int64_t> ids_of(const GroupLayout& layout) {
  std::vector<std::int64_t> ids(static_cast<std::size_t>(layout.rows));
  for (std::int64_t row = 0; row < layout.rows; ++row)
    ids[static_cast<std::size_t>(row)] = layout.sizes[static_cast<std::size_t>(row - row % layout.alignment)];
  return ids;
}

/// Returns the first run of every group of row ids.
std::vector<Span> first_runs(const GroupLayout& layout, std::uint32_t& status) {
  std::vector<Span> spans(static_cast<std::size_t>(layout.groups));
  std::vector<bool> seen(spans.size());
  const std::vector<std::int64_t> ids = ids_of(layout);
  for (std::int64_t row = 0; row < layout.rows;) {
    const std::int64_t id = ids[static_cast<std::size_t>(row)], start = row;
    while (row < layout.rows && ids[static_cast<std::size_t>(row)] == id) ++row;
    if (id < -1 || id >= layout.groups) status |= GroupStatus::bad_id;
    if (id < 0 || id >= layout.groups) continue;
    if (seen[static_cast<std::size_t>(id)]) status |= GroupStatus::scattered;
    else spans[static_cast<std::size_t>(id)] = {start, row}, seen[static_cast<std::size_t>(id)] = true;
  }
  return spans;
}

/// Returns the spans in the arrays, including rows that do not exist.
std::vector<Span> raw_spans(const GroupLayout& layout, std::uint32_t& status) {
  if (layout.encoding == GroupEncoding::row_ids) return first_runs(layout, status);
  std::vector<Span> spans;
  for (std::size_t g = 0; g < static_cast<std::size_t>(layout.groups); ++g) {
    Span span;
    if (layout.encoding == GroupEncoding::offsets) {
      const std::int64_t before = g ? layout.sizes[g - 1] : 0;
      span = {round_up(std::max<std::int64_t>(before, 0), layout.alignment), layout.sizes[g]};
      if (span.end < before) status |= GroupStatus::overlap;
    } else if (layout.encoding == GroupEncoding::indptr) {
      span = {layout.sizes[g], layout.sizes[g + 1]};
      if (span.end < span.start) status |= GroupStatus::overlap;
    } else {
      const bool masked = layout.encoding == GroupEncoding::masked;
      const std::int64_t count = masked ? layout.sizes[g] : layout.sizes2[g];
      span.start = masked ? static_cast<std::int64_t>(g) * layout.rows : layout.sizes[g];
      span.end = span.start + std::max<std::int64_t>(count, 0);
      if (count < 0) status |= GroupStatus::overlap;
    }
    spans.push_back(span);
  }
  return spans;
}

}  // namespace

std::int64_t GroupMeaning::rows() const {
  std::int64_t sum = 0;
  for (const GroupRows& group : groups) sum += group.count;
  return sum;
}

GroupMeaning meaning_of(const GroupLayout& layout) {
  GroupMeaning meaning;
  std::int64_t taken = 0, group = 0;
  const bool any_order = layout.encoding == GroupEncoding::row_ids;  // a row has one id, so that no runs overlap
  for (Span span : raw_spans(layout, meaning.status)) {
    ++group;
    const std::int64_t limit = layout.encoding == GroupEncoding::masked ? group * layout.rows : layout.rows;
    if (span.end > span.start && (span.start < 0 || span.end > limit)) meaning.status |= GroupStatus::overrun;
    span = {std::clamp<std::int64_t>(span.start, 0, limit), std::clamp<std::int64_t>(span.end, 0, limit)};
    if (span.end > span.start && span.start < taken && !any_order) {
      meaning.status |= GroupStatus::overlap;
      span.start = std::min(taken, span.end);
    }
    if (span.end > span.start) taken = span.end;
    meaning.groups.push_back({span.start, std::max<std::int64_t>(span.end - span.start, 0)});
  }
  return meaning;
}

namespace {

Result<void> check_ids(const GroupLayout& layout, const std::string& argument) {
  std::vector<std::int64_t> end(static_cast<std::size_t>(layout.groups), -1);  // of the run of each group
  const std::vector<std::int64_t> ids = ids_of(layout);
  for (std::int64_t row = 0; row < layout.rows; ++row) {
    const std::int64_t id = ids[static_cast<std::size_t>(row)];
    if (id < -1 || id >= layout.groups)
      return failure(ErrorCode::invalid, argument, fmt::format("ids from -1 (no group) to {}", layout.groups - 1),
                     fmt::format("{} at row {}", id, row));
    if (id < 0) continue;
    std::int64_t& last = end[static_cast<std::size_t>(id)];
    if (last != -1 && last != row)
      return failure(ErrorCode::invalid, argument, "the rows of a group in one run",
                     fmt::format("group {} in rows before {} and from {} on", id, last, row));
    last = row + 1;
  }
  return {};
}

/// A group that has no negative size, ends within its limit and begins where the groups before it have ended.
Result<void> check_span(const GroupLayout& layout, std::size_t g, Span span, std::int64_t taken,
                        const std::string& argument, const std::string& counts) {
  const auto wrong = [&](std::string expected) {
    return failure(ErrorCode::invalid, argument, std::move(expected),
                   fmt::format("group {} from row {} to row {}", g, span.start, span.end));
  };
  if (layout.encoding == GroupEncoding::offsets) {  // an empty group repeats the end of the one before it
    const std::int64_t before = g > 0 ? layout.sizes[g - 1] : 0;
    if (span.end < span.start && span.end != before) return wrong("ends that do not fall");
    if (span.end == before) return {};
  }
  const bool of_starts = layout.encoding == GroupEncoding::starts_counts;
  const bool counted = of_starts || layout.encoding == GroupEncoding::masked;
  const std::int64_t count = counted ? (layout.sizes2.empty() ? layout.sizes : layout.sizes2)[g] : 0;
  if (count < 0)
    return failure(ErrorCode::invalid, of_starts ? counts : argument, "counts of at least 0",
                   fmt::format("{} of group {}", count, g));
  if (span.end < span.start) return wrong("ends that do not fall");
  const bool masked = layout.encoding == GroupEncoding::masked;
  const std::int64_t limit = masked ? (static_cast<std::int64_t>(g) + 1) * layout.rows : layout.rows;
  if (span.end > span.start && (span.start < 0 || span.end > limit))
    return wrong(fmt::format("groups in rows 0 to {}", limit));
  if (span.end > span.start && span.start < taken)
    return wrong(fmt::format("a group after the one before it, from row {} on", taken));
  return {};
}

}  // namespace

Result<void> check_sizes(const GroupLayout& layout, const std::string& argument, std::int64_t block,
                         const std::string& counts) {
  if (layout.encoding == GroupEncoding::row_ids) WW_CHECK(check_ids(layout, argument));
  std::uint32_t status = 0;
  std::int64_t taken = 0;
  const std::vector<Span> spans = raw_spans(layout, status);
  for (std::size_t g = 0; g < spans.size(); ++g) {
    const Span span = spans[g];
    // row ids name their groups in any order
    if (layout.encoding != GroupEncoding::row_ids) WW_CHECK(check_span(layout, g, span, taken, argument, counts));
    if (span.end <= span.start) continue;
    taken = span.end;
    if (span.start % block != 0 || span.end % block != 0)
      return failure(
          ErrorCode::unsupported, argument,
          fmt::format("groups that begin and end at multiples of {}, as K-major operands and scales along K need",
                      block),
          fmt::format("group {} from row {} to row {} of K", g, span.start, span.end));
  }
  return {};
}

std::string status_text(std::uint32_t status) {
  constexpr std::pair<std::uint32_t, const char*> kNames[] = {{GroupStatus::overrun, "overrun"},
                                                              {GroupStatus::overlap, "overlap"},
                                                              {GroupStatus::bad_id, "bad id"},
                                                              {GroupStatus::scattered, "scattered"},
                                                              {GroupStatus::misaligned, "misaligned"}};
  std::string text;
  for (const auto& [bit, name] : kNames) {
    if (status & bit) text += fmt::format("{}{}", text.empty() ? "" : ", ", name);
    status &= ~bit;
  }
  if (status != 0) text += fmt::format("{}bits {:#x}", text.empty() ? "" : ", ", status);
  return text.empty() ? "none" : text;
}

}  // namespace ww::ref
