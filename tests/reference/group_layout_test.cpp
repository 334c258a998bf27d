// SPDX-License-Identifier: Apache-2.0
// Groups of rows on the host: what the flags make of counts, and what arrays mean that may hold anything.
#include "reference/group_layout.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <numeric>

namespace ww::ref {
namespace {

using Counts = std::vector<std::int64_t>;
using Ints = std::vector<std::int32_t>;
using E = GroupEncoding;

constexpr E kAll[] = {E::offsets, E::indptr, E::starts_counts, E::row_ids, E::masked};

Counts counts_of(const GroupMeaning& meaning) {
  Counts counts;
  for (const GroupRows& group : meaning.groups) counts.push_back(group.count);
  return counts;
}
Counts firsts_of(const GroupMeaning& meaning) {
  Counts firsts;
  for (const GroupRows& group : meaning.groups) firsts.push_back(group.first);
  return firsts;
}

TEST(GroupLayout, EveryEncodingSaysTheSameCounts) {
  const Counts counts = {3, 0, 17, 1, 0, 0, 130, 5};
  for (E encoding : kAll)
    for (std::int64_t alignment : {1, 4, 128}) {
      const bool aligned = encoding != E::indptr && encoding != E::masked;
      if (alignment > 1 && !aligned) continue;
      SCOPED_TRACE(std::string(name_of(encoding)) + " aligned to " + std::to_string(alignment));
      const GroupLayout layout = make_layout(encoding, counts, {.alignment = alignment, .gap = 0, .rows = {}}).value();
      const GroupMeaning meaning = meaning_of(layout);
      EXPECT_EQ(counts_of(meaning), counts);
      EXPECT_EQ(meaning.status, 0u);
      EXPECT_EQ(meaning.rows(), 156);
      for (const GroupRows& group : meaning.groups) EXPECT_EQ(group.count > 0 ? group.first % alignment : 0, 0);
      EXPECT_EQ(layout.total_rows(), encoding == E::masked ? 8 * 130
                                     : alignment == 1      ? 156
                                     : alignment == 4      ? 4 + 20 + 4 + 132 + 5
                                                           : 128 * 5 + 5);
    }
}

TEST(GroupLayout, ArraysAsTheirEncodingsDefineThem) {
  const Counts counts = {3, 0, 2};
  const auto sizes = [&](E encoding, std::int64_t gap) {
    const GroupLayout layout = make_layout(encoding, counts, {.alignment = 1, .gap = gap, .rows = {}}).value();
    return std::pair{layout.sizes, layout.sizes2};
  };
  EXPECT_EQ(sizes(E::offsets, 0).first, (Ints{3, 3, 5}));
  EXPECT_EQ(sizes(E::indptr, 0).first, (Ints{0, 3, 3, 5}));
  EXPECT_EQ(sizes(E::starts_counts, 1), (std::pair{Ints{0, 4, 5}, Ints{3, 0, 2}}));
  EXPECT_EQ(sizes(E::row_ids, 1).first, (Ints{0, 0, 0, -1, -1, 2, 2}));
  EXPECT_EQ(sizes(E::masked, 0).first, (Ints{3, 0, 2}));
}

TEST(GroupLayout, SpacingThatAnEncodingCannotSayIsRefused) {
  const auto refused = [](E encoding, GroupSpacing spacing) {
    const Result<GroupLayout> layout = make_layout(encoding, {5, 6}, spacing);
    return layout ? std::string() : layout.error().argument;
  };
  EXPECT_EQ(refused(E::indptr, {.alignment = 2, .gap = 0, .rows = {}}), "--align");
  EXPECT_EQ(refused(E::masked, {.alignment = 2, .gap = 0, .rows = {}}), "--align");
  EXPECT_EQ(refused(E::offsets, {.alignment = 1, .gap = 3, .rows = {}}), "--gap");
  EXPECT_EQ(refused(E::indptr, {.alignment = 1, .gap = 3, .rows = {}}), "--gap");
  EXPECT_EQ(refused(E::offsets, {.alignment = 1, .gap = 0, .rows = 10}), "--m");
  EXPECT_EQ(refused(E::masked, {.alignment = 1, .gap = 0, .rows = 5}), "--m");
  EXPECT_EQ(refused(E::offsets, {.alignment = 1, .gap = 0, .rows = 11}), "");
}

TEST(GroupLayout, DistributionsGiveEveryRow) {
  for (std::int64_t groups : {1, 2, 7, 64, 4096})
    for (std::int64_t total : {0, 1, 63, 4096, 100003})
      for (auto kind : {Distribution::uniform, Distribution::zipf, Distribution::onehot, Distribution::half_empty}) {
        const Counts counts = distribute(kind, groups, total);
        ASSERT_EQ(static_cast<std::int64_t>(counts.size()), groups);
        EXPECT_EQ(std::accumulate(counts.begin(), counts.end(), std::int64_t{0}), total) << groups;
        EXPECT_GE(*std::min_element(counts.begin(), counts.end()), 0);
      }
  EXPECT_EQ(distribute(Distribution::onehot, 4, 9), (Counts{0, 0, 9, 0}));
  EXPECT_EQ(distribute(Distribution::half_empty, 4, 8), (Counts{4, 0, 4, 0}));
  EXPECT_EQ(distribute(Distribution::uniform, 3, 7), (Counts{2, 3, 2}));
}

struct Broken {
  const char* what;
  GroupLayout layout;
  Counts firsts, counts;
  std::uint32_t status;
};

TEST(GroupMeaning, SizesThatContradictAreCutAndReported) {
  using S = GroupStatus;
  for (const Broken& b : std::vector<Broken>{
           {"offset beyond the last row", {E::offsets, 2, 10, 1, {4, 99}}, {0, 4}, {4, 6}, S::overrun},
           {"offset that falls", {E::offsets, 3, 10, 1, {6, 2, 9}}, {0, 2, 6}, {6, 0, 3}, S::overlap},
           {"negative offset", {E::offsets, 2, 10, 1, {-5, 4}}, {0, 0}, {0, 4}, S::overlap},
           {"largest offset, aligned", {E::offsets, 2, 10, 128, {INT32_MAX, INT32_MAX}}, {0, 10}, {10, 0}, S::overrun},
           {"start below 0", {E::indptr, 1, 10, 1, {-3, 4}}, {0}, {4}, S::overrun},
           {"two groups share rows", {E::starts_counts, 2, 10, 1, {0, 2}, {4, 5}}, {0, 4}, {4, 3}, S::overlap},
           {"a group inside another", {E::starts_counts, 2, 10, 1, {0, 2}, {8, 3}}, {0, 5}, {8, 0}, S::overlap},
           {"negative count", {E::starts_counts, 2, 10, 1, {0, 2}, {-1, 3}}, {0, 2}, {0, 3}, S::overlap},
           {"count that overflows", {E::starts_counts, 1, 10, 1, {7}, {INT32_MAX}}, {7}, {3}, S::overrun},
           {"more than a masked block", {E::masked, 2, 10, 1, {11, 10}}, {0, 10}, {10, 10}, S::overrun},
           {"ids out of range", {E::row_ids, 2, 5, 1, {0, 2, 1, -2, 1}}, {0, 2}, {1, 1}, S::bad_id | S::scattered},
           {"a group in two runs", {E::row_ids, 2, 5, 1, {0, 1, 0, 0, -1}}, {0, 1}, {1, 1}, S::scattered},
           {"ids by tiles: the first counts", {E::row_ids, 2, 7, 2, {1, 9, 1, -1, -1, 0, 0}}, {6, 0}, {1, 4}, 0},
           {"a tile out of range", {E::row_ids, 2, 5, 2, {5, 0, 1, 7, -1}}, {0, 2}, {0, 2}, S::bad_id}}) {
    SCOPED_TRACE(b.what);
    const GroupMeaning meaning = meaning_of(b.layout);
    EXPECT_EQ(counts_of(meaning), b.counts);
    EXPECT_EQ(status_text(meaning.status), status_text(b.status));
    for (std::size_t g = 0; g < b.counts.size(); ++g)
      EXPECT_EQ(b.counts[g] > 0 ? firsts_of(meaning)[g] : b.firsts[g], b.firsts[g]);
  }
}

TEST(GroupMeaning, RowIdsNameGroupsInAnyOrder) {
  const GroupMeaning meaning = meaning_of({E::row_ids, 3, 7, 1, {2, 2, -1, 0, 0, 0, 1}});
  EXPECT_EQ(counts_of(meaning), (Counts{3, 1, 2}));
  EXPECT_EQ(firsts_of(meaning), (Counts{3, 6, 0}));
  EXPECT_EQ(meaning.status, 0u);
}

TEST(GroupSizes, WhatAKernelWouldCutIsRefusedByName) {
  const auto fault = [](const GroupLayout& layout, std::int64_t block = 1) {
    const auto checked = check_sizes(layout, "--sizes", block, "--counts");
    return checked ? std::string("none") : checked.error().message;
  };
  EXPECT_EQ(fault({E::offsets, 2, 10, 1, {4, 99}, {}}),
            "invalid: argument --sizes: expected groups in rows 0 to 10, got group 1 from row 4 to row 99");
  EXPECT_EQ(
      fault({E::offsets, 2, 256, 1, {100, 128}, {}}, 128),
      "unsupported: argument --sizes: expected groups that begin and end at multiples of 128, as K-major operands and "
      "scales along K need, got group 0 from row 0 to row 100 of K");
  for (const GroupLayout& layout : std::vector<GroupLayout>{{E::offsets, 3, 10, 1, {6, 2, 9}, {}},
                                                            {E::offsets, 2, 10, 1, {-5, 4}, {}},
                                                            {E::offsets, 3, 200, 128, {5, 60, 200}, {}},
                                                            {E::indptr, 1, 10, 1, {-3, 4}, {}},
                                                            {E::indptr, 2, 10, 1, {0, 5, 4}, {}},
                                                            {E::starts_counts, 2, 10, 1, {0, 2}, {4, 5}},
                                                            {E::starts_counts, 1, 10, 1, {7}, {INT32_MAX}},
                                                            {E::masked, 2, 10, 1, {11, 10}, {}},
                                                            {E::masked, 2, 10, 1, {-1, 10}, {}},
                                                            {E::row_ids, 2, 5, 1, {0, 2, 1, -2, 1}, {}},
                                                            {E::row_ids, 2, 5, 1, {0, 1, 0, 0, -1}, {}}})
    EXPECT_EQ(fault(layout).substr(0, 26), "invalid: argument --sizes:") << name_of(layout.encoding);
  EXPECT_EQ(fault({E::starts_counts, 2, 10, 1, {0, 2}, {-1, 3}}),
            "invalid: argument --counts: expected counts of at least 0, got -1 of group 0");
  const Counts counts = {384, 0, 128, 256, 0, 0};
  for (E encoding : kAll)
    for (std::int64_t alignment : {1, 128}) {
      if (alignment > 1 && (encoding == E::indptr || encoding == E::masked)) continue;
      const GroupLayout layout = make_layout(encoding, counts, {.alignment = alignment, .gap = 0, .rows = {}}).value();
      EXPECT_EQ(fault(layout, 128), "none") << name_of(encoding);
    }
  EXPECT_EQ(fault({E::offsets, 3, 300, 128, {5, 5, 300}, {}}), "none") << "an empty group repeats an end";
}

TEST(GroupMeaning, StatusBitsHaveNames) {
  EXPECT_EQ(status_text(0), "none");
  EXPECT_EQ(status_text(GroupStatus::overrun | GroupStatus::scattered), "overrun, scattered");
  EXPECT_EQ(status_text(64), "bits 0x40");
}

}  // namespace
}  // namespace ww::ref
