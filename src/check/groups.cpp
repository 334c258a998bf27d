// SPDX-License-Identifier: Apache-2.0
// Counts to arrays, by the same code that lays out the groups of the program's generated operands.
#include "check/groups.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "reference/group_layout.hpp"

namespace ww::campaign {
namespace {

/// make_layout names the flags of the program.
Error in_our_words(Error error) {
  const std::string argument = error.argument == "--rows"    ? "groups.counts"
                               : error.argument == "--m"     ? "problem.rows"
                               : error.argument == "--align" ? "groups.alignment"
                               : error.argument == "--gap"   ? "groups.gap"
                                                             : error.argument;
  return make_error(error.code, argument, error.expected, error.actual);
}

Result<ref::GroupLayout> layout_of(GroupEncoding encoding, const CheckGroups& groups, std::int64_t rows) {
  if (groups.alignment < 1 || groups.gap < 0)
    return failure(ErrorCode::invalid, groups.gap < 0 ? "groups.gap" : "groups.alignment",
                   "an alignment of at least 1 and no negative gap",
                   fmt::format("{}", groups.gap < 0 ? groups.gap : groups.alignment));
  for (const std::int64_t count : groups.counts)
    if (count < 0 || count > ref::kMostRows)
      return failure(ErrorCode::invalid, "groups.counts", fmt::format("0 to {} rows", ref::kMostRows),
                     fmt::format("{}", count));
  ref::GroupSpacing spacing;
  spacing.alignment = groups.alignment, spacing.gap = groups.gap;
  if (rows > 0) spacing.rows = rows;
  Result<ref::GroupLayout> layout = ref::make_layout(encoding, groups.counts, spacing);
  if (!layout) return failure(in_our_words(layout.error()));
  return layout;
}

/// Of arrays without counts: as many items as the encoding has.
Result<void> check_sizes(GroupEncoding encoding, const CheckGroups& groups, std::int64_t count, std::int64_t rows) {
  const std::int64_t expected = encoding == GroupEncoding::indptr    ? count + 1
                                : encoding == GroupEncoding::row_ids ? rows
                                                                     : count;
  const auto refuse = [](const char* name, std::int64_t wanted, std::size_t actual) {
    return failure(ErrorCode::invalid, name, fmt::format("{} items, or counts", wanted), fmt::format("{}", actual));
  };
  if (static_cast<std::int64_t>(groups.sizes.size()) != expected)
    return refuse("groups.sizes", expected, groups.sizes.size());
  const std::int64_t second = encoding == GroupEncoding::starts_counts ? count : 0;
  if (static_cast<std::int64_t>(groups.sizes2.size()) != second)
    return refuse("groups.sizes2", second, groups.sizes2.size());
  return {};
}

}  // namespace

Result<void> lay_out(GroupedCheck& check) {
  GroupedProblem& p = check.problem;
  if (check.groups.counts.empty()) return check_sizes(p.encoding, check.groups, p.groups, p.rows);
  WW_TRY(ref::GroupLayout layout, layout_of(p.encoding, check.groups, p.rows));
  p.groups = layout.groups, p.rows = layout.rows, p.alignment = layout.alignment;
  check.groups.sizes = std::move(layout.sizes), check.groups.sizes2 = std::move(layout.sizes2);
  return {};
}

Result<void> lay_out(KGroupedCheck& check) {
  KGroupedProblem& p = check.problem;
  if (check.groups.counts.empty()) return check_sizes(p.encoding, check.groups, p.groups, p.k);
  std::int64_t rows = p.k;
  if (rows == 0 && p.encoding == GroupEncoding::masked) {  // whole blocks of K for every group
    const std::int64_t most = *std::max_element(check.groups.counts.begin(), check.groups.counts.end());
    rows = std::max<std::int64_t>((most + granularity(p) - 1) / granularity(p), 1) * granularity(p);
  }
  WW_TRY(ref::GroupLayout layout, layout_of(p.encoding, check.groups, rows));
  p.groups = layout.groups, p.k = layout.rows, p.alignment = layout.alignment;
  check.groups.sizes = std::move(layout.sizes), check.groups.sizes2 = std::move(layout.sizes2);
  return {};
}

}  // namespace ww::campaign
