// SPDX-License-Identifier: Apache-2.0
// Counts to arrays, by the code that lays out the groups of the program's flags.
#include "operations/groups.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstring>
#include <random>

#include "operations/planned.hpp"

namespace ww::operations {
namespace {

constexpr const char* kEncodings[] = {"offsets", "indptr", "starts-counts", "row-ids", "masked"};

/// make_layout names the flags of the program.
Error in_our_words(Error error) {
  const std::string argument = error.argument == "--rows"    ? "groups.counts"
                               : error.argument == "--m"     ? "problem.rows"
                               : error.argument == "--align" ? "groups.alignment"
                               : error.argument == "--gap"   ? "groups.gap"
                                                             : error.argument;
  return make_error(error.code, argument, error.expected, error.actual);
}

Result<GroupLayout> layout_of_counts(GroupEncoding encoding, const CheckGroups& groups, std::int64_t rows) {
  if (groups.alignment < 1 || groups.gap < 0)
    return failure(ErrorCode::invalid, groups.gap < 0 ? "groups.gap" : "groups.alignment",
                   "an alignment of at least 1 and no negative gap",
                   fmt::format("{}", groups.gap < 0 ? groups.gap : groups.alignment));
  for (const std::int64_t count : groups.counts)
    if (count < 0 || count > kMostRows)
      return failure(ErrorCode::invalid, "groups.counts", fmt::format("0 to {} rows", kMostRows),
                     fmt::format("{}", count));
  GroupSpacing spacing;
  spacing.alignment = groups.alignment, spacing.gap = groups.gap;
  if (rows > 0) spacing.rows = rows;
  Result<GroupLayout> layout = make_layout(encoding, groups.counts, spacing);
  if (!layout) return failure(in_our_words(layout.error()));
  return layout;
}

/// Of arrays without counts: as many items as the encoding has.
Result<void> check_items(const GroupLayout& layout) {
  const std::int64_t count = layout.groups;
  const std::int64_t expected = layout.encoding == GroupEncoding::indptr    ? count + 1
                                : layout.encoding == GroupEncoding::row_ids ? layout.rows
                                                                            : count;
  const auto refuse = [](const char* name, std::int64_t wanted, std::size_t actual) {
    return failure(ErrorCode::invalid, name, fmt::format("{} items, or counts", wanted), fmt::format("{}", actual));
  };
  if (static_cast<std::int64_t>(layout.sizes.size()) != expected)
    return refuse("groups.sizes", expected, layout.sizes.size());
  const std::int64_t second = layout.encoding == GroupEncoding::starts_counts ? count : 0;
  if (static_cast<std::int64_t>(layout.sizes2.size()) != second)
    return refuse("groups.sizes2", second, layout.sizes2.size());
  return {};
}

/// `rows`: of the problem. Sets what the problem learns from the layout.
template <class Problem> Result<Groups> laid_out(Problem& p, CheckGroups& described, std::int64_t& rows) {
  GroupLayout layout{.encoding = p.encoding,
                     .groups = p.groups,
                     .rows = rows,
                     .alignment = p.alignment,
                     .sizes = described.sizes,
                     .sizes2 = described.sizes2};
  if (described.counts.empty()) {
    WW_CHECK(check_items(layout));
  } else {
    WW_TRY(layout, layout_of_counts(p.encoding, described, rows));
    p.groups = layout.groups, rows = layout.rows, p.alignment = layout.alignment;
    described.sizes = layout.sizes, described.sizes2 = layout.sizes2;
  }
  GroupMeaning meaning = meaning_of(layout);
  return Groups{std::move(layout), std::move(meaning), described};
}

}  // namespace

Result<Groups> lay_out(GroupedCheck& check) { return laid_out(check.problem, check.groups, check.problem.rows); }

Result<Groups> lay_out(KGroupedCheck& check) {
  KGroupedProblem& p = check.problem;
  if (p.k == 0 && p.encoding == GroupEncoding::masked && !check.groups.counts.empty())
    p.k = masked_k(p, check.groups.counts);
  return laid_out(p, check.groups, p.k);
}

std::int64_t granularity_of(const KGroupedProblem& p) { return ops::k_granularity(p); }

std::int64_t masked_k(const KGroupedProblem& p, const std::vector<std::int64_t>& counts) {
  const std::int64_t most = *std::max_element(counts.begin(), counts.end()), step = granularity_of(p);
  return std::max<std::int64_t>(ceil_div(most, step), 1) * step;
}

void spoil_outside(Matrix& matrix, Major major, bool packed, const GroupMeaning& meaning, std::int64_t granularity) {
  const DType type = matrix.type();
  const std::int64_t extent = major == Major::mn ? matrix.rows() : matrix.cols();
  const std::int64_t step = major == Major::mn ? 1 : elements_per_unit(type);  // elements of K that fill whole bytes
  std::vector<bool> used(static_cast<std::size_t>(extent));
  for (const GroupRows& group : meaning.groups)
    std::fill_n(used.begin() + group.first / granularity, group.count / granularity, true);
  const auto spoil = [&](std::byte* from, std::int64_t elements) {
    std::memset(from, 0xff, static_cast<std::size_t>(bytes_in(type, elements)));
  };
  for (std::int64_t at = 0; at < extent; at += step) {
    if (used[static_cast<std::size_t>(at)]) continue;
    if (major == Major::mn) spoil(matrix.row(at), matrix.cols());
    else if (packed) spoil(matrix.data() + bytes_in(type, at * matrix.rows()), matrix.rows());
    else
      for (std::int64_t row = 0; row < matrix.rows(); ++row) spoil(matrix.row(row) + bytes_in(type, at), step);
  }
}

GroupLayout redrawn(const Groups& groups, std::int64_t step, std::uint64_t seed) {
  std::vector<std::int64_t> counts;
  for (const GroupRows& group : groups.meaning.groups) counts.push_back(group.count);
  std::mt19937_64 random(seed);  // the same on every machine, unlike the distributions of <random>
  const auto below = [&](std::size_t n) { return static_cast<std::size_t>(random() % n); };
  const std::size_t form = counts.size() < 2 ? 2 * below(2) : below(4);
  if (form == 0) return groups.layout;
  if (form == 1 || form == 3)
    for (std::size_t i = counts.size(); i > 1; --i) std::swap(counts[i - 1], counts[below(i)]);
  if (form == 2)
    for (std::int64_t& count : counts) count = count / step * static_cast<std::int64_t>(below(5)) / 4 * step;
  if (form == 3)
    for (std::size_t i = 1; i < counts.size(); i += 2) counts[i - 1] += std::exchange(counts[i], 0);
  const GroupLayout& from = groups.layout;
  GroupSpacing spacing{.alignment = from.alignment, .gap = groups.described.gap, .rows = from.rows};
  Result<GroupLayout> made = make_layout(from.encoding, counts, spacing);
  const bool fits = made && made->sizes.size() == from.sizes.size() && made->sizes2.size() == from.sizes2.size();
  return fits ? std::move(*made) : from;
}

bool halve_counts(std::vector<std::int64_t>& counts, std::int64_t step) {
  if (std::all_of(counts.begin(), counts.end(), [&](std::int64_t count) { return count <= step; })) return false;
  for (std::int64_t& count : counts) count = (count / step + 1) / 2 * step;
  return true;
}

std::string group_flags(const CheckGroups& groups, GroupEncoding encoding, const char* counts, const char* size,
                        std::int64_t rows) {
  if (groups.counts.empty()) return groups.flags;
  std::string text = fmt::format("{} {} --encoding {} {} {}", counts, fmt::join(groups.counts, ","),
                                 kEncodings[static_cast<int>(encoding)], size, rows);
  if (groups.alignment > 1) text += fmt::format(" --align {}", groups.alignment);
  if (groups.gap > 0) text += fmt::format(" --gap {}", groups.gap);
  return text;
}

}  // namespace ww::operations
