// SPDX-License-Identifier: Apache-2.0
// Operations as campaigns use them: smaller versions that stay legal, the flags that describe them, and operands that
// reach as far as the strides of the problem do.
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "operations/groups.hpp"
#include "operations/operation.hpp"

namespace ww::operations {
namespace {

GemmConfig tiled(int m, int n, int k) {
  GemmConfig config;
  config.tile = {m, n, k};
  return config;
}

/// Halves `axis` until nothing is left to halve; every version is one that kernels compute.
std::unique_ptr<Operation> least(std::unique_ptr<Operation> operation, int axis, int steps) {
  for (int step = 0; step < steps; ++step) {
    operation = operation->halved(axis);
    if (!operation) {
      ADD_FAILURE() << "axis " << axis << " ended after " << step << " steps";
      return nullptr;
    }
    const Result<void> legal = operation->can_implement();
    EXPECT_TRUE(legal) << legal.error().message;
  }
  EXPECT_EQ(operation->halved(axis), nullptr) << "axis " << axis << ": " << operation->title();
  return operation;
}

TEST(Operation, HalvesOfAGemmStayLegalAndEndAtATile) {
  GemmProblem p{.m = 250, .n = 512, .k = 1000, .a = bf16, .b = bf16};
  p.batch = 3, p.batch_a = 250 * 1000, p.batch_d = 250 * 512;  // one B serves all
  const GemmCheck check{p, {.config = tiled(128, 128, 64)}};
  const auto sizes = [&](int axis, int steps) {
    const auto made = least(make_operation(check).value(), axis, steps);
    return made ? std::get<GemmCheck>(made->check_target()).problem : GemmProblem{};
  };
  EXPECT_EQ(sizes(0, 1).m, 128);
  EXPECT_EQ(sizes(1, 2).n, 128);
  const GemmProblem half = sizes(2, 4);
  EXPECT_EQ(half.k, 64);
  EXPECT_EQ(half.lda, 64);
  EXPECT_EQ(half.batch_a, 250 * 64);
  EXPECT_EQ(half.batch_b, 0) << "one B still serves all";
  EXPECT_EQ(half.batch_d, 250 * 512);
}

TEST(Operation, HalvesOfGroupsKeepTheGroups) {
  const GroupedCheck rows{{.n = 256, .k = 512}, {.counts = {70, 0, 1}}, {.config = tiled(64, 128, 128)}};
  const auto grouped = least(make_operation(rows).value(), 2, 7);
  ASSERT_TRUE(grouped);
  const auto few = std::get<GroupedCheck>(grouped->check_target());
  EXPECT_EQ(few.groups.counts, (std::vector<std::int64_t>{1, 0, 1}));
  EXPECT_EQ(few.problem.rows, 2);
  least(make_operation(rows).value(), 0, 1);
  least(make_operation(rows).value(), 1, 2);

  KGroupedCheck k_rows{{.m = 256, .n = 128}, {.counts = {512, 0, 130}}, {.config = tiled(128, 128, 64)}};
  least(make_operation(k_rows).value(), 0, 1);
  least(make_operation(k_rows).value(), 1, 0);
  k_rows.options.config.tile.k = 128;
  k_rows.problem.a = k_rows.problem.b = e4m3, k_rows.problem.scale = Scale::block_1x128_1x128;
  k_rows.problem.a_major = k_rows.problem.b_major = Major::k, k_rows.groups.counts = {512, 0, 128};
  const auto k_grouped = least(make_operation(k_rows).value(), 2, 2);  // in whole blocks of K
  ASSERT_TRUE(k_grouped);
  EXPECT_EQ(std::get<KGroupedCheck>(k_grouped->check_target()).groups.counts, (std::vector<std::int64_t>{128, 0, 128}));
}

TEST(Operation, ArraysWithoutCountsAreNotHalved) {
  GroupedCheck check{.problem = {.groups = 2, .rows = 64, .n = 128, .k = 128}, .groups = {.sizes = {10, 64}}};
  const auto operation = make_operation(check);
  ASSERT_TRUE(operation) << operation.error().message;
  EXPECT_EQ((*operation)->axes(), 2);
  EXPECT_EQ((*operation)->flags(), "") << "the arrays are in no file";
  check.groups.flags = "--offsets ends.npy --m 64";
  EXPECT_EQ(make_operation(check).value()->flags(), "--offsets ends.npy --m 64 --n 128 --k 128");
  check.groups.sizes.push_back(64);
  const auto refused = make_operation(check);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().argument, "groups.sizes");
}

TEST(Operation, FlagsDescribeTheProblem) {
  EXPECT_EQ(make_operation(GemmCheck{.problem = {.m = 1, .n = 8, .k = 32, .batch = 2}}).value()->flags(),
            "--m 1 --n 8 --k 32 --batch 2");
  const GroupedCheck rows{.problem = {.n = 64, .k = 128, .encoding = GroupEncoding::starts_counts},
                          .groups = {.counts = {3, 5}, .gap = 2}};
  EXPECT_EQ(make_operation(rows).value()->flags(), "--rows 3,5 --encoding starts-counts --m 10 --gap 2 --n 64 --k 128");
  const KGroupedCheck masked{.problem = {.m = 64, .n = 32, .encoding = GroupEncoding::masked, .accumulate = true},
                             .groups = {.counts = {3, 5}}};
  EXPECT_EQ(make_operation(masked).value()->flags(),
            "--ks 3,5 --encoding masked --k 5 --m 64 --n 32 --layout tn --accumulate");
}

/// The runs have operands of the caller's, which end with their last element.
TEST(Operation, OperandSetsReachAsFarAsTheStrides) {
  const Device device = Device::open("emu:sm90").value();
  GemmProblem p{.m = 64, .n = 64, .k = 128, .lda = 256, .ldb = 192, .ldd = 80};
  p.scale = Scale::block_1x128_128x128, p.scale_a_row = 1, p.scale_a_k = 68;
  p.batch = 2, p.batch_a = 64 * 256, p.batch_d = 128 * 80;
  const auto operation = make_operation(GemmCheck{.problem = p}).value();
  ASSERT_TRUE(operation->plan(device));
  const OperandSet set = operation->allocate().value();
  EXPECT_EQ(set.a.bytes(), (64u + 63u) * 256u + 256u);
  EXPECT_EQ(set.b.bytes(), 64u * 192u) << "one B serves all";
  EXPECT_EQ(set.d.bytes(), 2u * ((128u + 63u) * 80u + 80u));
  EXPECT_EQ(set.scale_a.bytes(), 4u * 64u);
  ASSERT_TRUE(operation->set_up());
  for (const Buffer* buffer : {&set.a, &set.b, &set.scale_a, &set.scale_b})
    std::memset(buffer->data(), 0x38, buffer->bytes());  // 1 in e4m3
  const Result<void> ran = operation->run(set, {});
  ASSERT_TRUE(ran) << ran.error().message;
  const DotProduct last = operation->dot_product(1, 63, 63);
  EXPECT_EQ(static_cast<std::size_t>(last.d), set.d.bytes() / 2 - 17) << "columns 64 to 79 of a row are no part of D";
  std::uint32_t d = 0;
  std::memcpy(&d, static_cast<const std::byte*>(set.d.data()) + 2 * last.d, 2);
  float factor = 0;
  std::memset(&factor, 0x38, sizeof factor);
  float expected = 128 * factor * factor, got = 0;
  d <<= 16;
  std::memcpy(&got, &d, sizeof got);
  EXPECT_NEAR(got, expected, expected / 128);
}

TEST(Operation, SizesOfGroupsAreDrawnWithinTheirRows) {
  for (const GroupEncoding encoding : {GroupEncoding::offsets, GroupEncoding::indptr, GroupEncoding::starts_counts,
                                       GroupEncoding::row_ids, GroupEncoding::masked})
    for (const std::int64_t step : {1, 64}) {
      const std::vector<std::int64_t> counts{3 * step, 0, 5 * step, step, 2 * step};
      GroupSpacing spacing;
      if (encoding != GroupEncoding::masked && encoding != GroupEncoding::indptr) spacing.alignment = step;
      const GroupLayout layout = make_layout(encoding, counts, spacing).value();
      const Groups groups{layout, meaning_of(layout), {}};
      std::set<std::vector<std::int64_t>> seen;
      bool emptied = false, fewer = false;
      for (std::uint64_t seed = 1; seed <= 100; ++seed) {
        const GroupLayout drawn = redrawn(groups, step, seed);
        EXPECT_EQ(drawn.sizes.size(), layout.sizes.size());
        EXPECT_EQ(drawn.rows, layout.rows);
        const GroupMeaning meaning = meaning_of(drawn);
        EXPECT_EQ(meaning.status, 0u) << name_of(encoding) << ", seed " << seed;
        ASSERT_EQ(meaning.groups.size(), counts.size());
        EXPECT_LE(meaning.rows(), groups.meaning.rows());
        std::vector<std::int64_t> now;
        for (const GroupRows& group : meaning.groups) {
          EXPECT_EQ(group.count % step, 0);
          now.push_back(group.count);
        }
        emptied = emptied || std::count(now.begin(), now.end(), 0) > 1;
        fewer = fewer || meaning.rows() < groups.meaning.rows();
        seen.insert(now);
        EXPECT_EQ(redrawn(groups, step, seed).sizes, drawn.sizes);
      }
      EXPECT_GT(seen.size(), 20u) << name_of(encoding);
      EXPECT_TRUE(emptied && fewer && seen.contains(counts)) << name_of(encoding);
    }
}

}  // namespace
}  // namespace ww::operations
