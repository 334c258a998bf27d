// SPDX-License-Identifier: Apache-2.0
// The pipelines of tcgen05 on the emulated Blackwell device: a GEMM for each form of cluster, of MMA, of accumulators
// and of tile scheduler, exact and without findings, whatever the order of asynchronous operations.
#include <gtest/gtest.h>

#include <random>

#include "check_launch.hpp"
#include "emu/sm100/model.hpp"
#include "umma_kernel.hpp"

namespace ww::pipeline_test {
namespace {

template <Schedule kS> void gemm(const Params& p) { Kernel<kS>::run(p); }

struct Problem {
  int m, n, k;
  std::vector<u16> a, b;  // bf16
  std::vector<float> d;
};

/// Small integers, whose sums are exact in any order.
std::vector<u16> small_integers(int count, std::mt19937& random) {
  std::vector<u16> values(static_cast<std::size_t>(count));
  for (u16& value : values) {
    const float x = static_cast<float>(static_cast<int>(random() % 9) - 4);
    value = static_cast<u16>(__builtin_bit_cast(u32, x) >> 16);
  }
  return values;
}

float value_of(u16 bf16) { return __builtin_bit_cast(float, u32{bf16} << 16); }

arch::TensorMap map_of(const std::vector<u16>& matrix, int rows, int k, int box_rows) {
  return *emu::encode(
      runtime::TensorMapSpec::matrix(matrix.data(), bf16, rows, k, k, box_rows, 64, runtime::SmemSwizzle::b128));
}

template <Schedule kS> void expect_exact(int clusters_m, int clusters_n, int k_blocks, u32 resident) {
  using K = Kernel<kS>;
  arch::install(*emu::table());
  std::mt19937 random(5);
  Problem o{K::kM * kS.cluster.m * clusters_m, K::kN * kS.cluster.n * clusters_n, K::kK * k_blocks, {}, {}, {}};
  o.a = small_integers(o.m * o.k, random), o.b = small_integers(o.n * o.k, random);
  Params p{map_of(o.a, o.m, o.k, K::kM / kS.cluster.n),
           map_of(o.b, o.n, o.k, K::kN / kS.cluster.m),
           nullptr,
           o.m,
           o.n,
           o.k,
           clusters_m,
           clusters_n,
           o.b.data()};
  const u32 ctas = static_cast<u32>(kS.cluster.size());
  const u32 clusters = static_cast<u32>(clusters_m * clusters_n);
  const emu::test::Shape shape{.threads = K::kThreads,
                               .grid = ctas * (kS.clc ? clusters : min(clusters, resident)),
                               .cluster = ctas,
                               .shared_bytes = K::kSharedBytes,
                               .sms = static_cast<int>(resident * ctas)};
  for (u64 seed = 0; seed < 4; ++seed) {
    o.d.assign(static_cast<std::size_t>(o.m) * static_cast<std::size_t>(o.n), -1.0f);
    p.d = o.d.data();
    const EmuOptions options{.seed = seed, .schedule = seed == 0 ? EmuSchedule::fifo : EmuSchedule::random};
    const std::vector<runtime::MemoryRange> memory{emu::test::range("A", o.a, false), emu::test::range("B", o.b, false),
                                                   emu::test::range("D", o.d)};
    const CheckReport report = emu::test::check_launch<gemm<kS>>(p, shape, memory, options, emu::sm100::kModel);
    ASSERT_TRUE(report.findings.empty()) << "seed " << seed << "\n" << emu::test::all_of(report);
    int wrong = 0;
    for (int row = 0; row < o.m && wrong < 4; ++row)
      for (int column = 0; column < o.n && wrong < 4; ++column) {
        float sum = 0;
        for (int k = 0; k < o.k; ++k) sum += value_of(o.a[row * o.k + k]) * value_of(o.b[column * o.k + k]);
        const float got = o.d[static_cast<std::size_t>(row) * o.n + column];
        if (got != sum)
          ++wrong, ADD_FAILURE() << "seed " << seed << ", (" << row << ", " << column << "): " << got << ", expected "
                                 << sum;
      }
    ASSERT_EQ(wrong, 0);
  }
}

constexpr CtaGroup kPair = CtaGroup::pair;

TEST(UmmaPipelines, OneCta) { expect_exact<Schedule{}>(3, 1, 3, 1); }
TEST(UmmaPipelines, OneCtaWithFourAccumulators) {
  expect_exact<Schedule{.stages = 2, .accumulators = {4, 32}}>(5, 2, 2, 2);
}
TEST(UmmaPipelines, OneCtaWithOverlappingAccumulators) {
  expect_exact<Schedule{.stages = 2, .accumulators = {2, 96, 32}}>(5, 1, 2, 1);
}
TEST(UmmaPipelines, OneStageOfEach) { expect_exact<Schedule{.stages = 1, .accumulators = {1, 32}}>(2, 2, 2, 1); }
TEST(UmmaPipelines, Pair) { expect_exact<Schedule{.cluster = {2, 1}, .group = kPair}>(2, 2, 3, 1); }
TEST(UmmaPipelines, PairWithThreeAccumulators) {
  expect_exact<Schedule{.cluster = {2, 1}, .group = kPair, .accumulators = {3, 64}}>(4, 1, 2, 1);
}
TEST(UmmaPipelines, PairWithOverlappingAccumulators) {
  expect_exact<Schedule{.cluster = {2, 1}, .group = kPair, .accumulators = {2, 64, 32}}>(4, 1, 2, 1);
}
TEST(UmmaPipelines, Multicast) { expect_exact<Schedule{.cluster = {2, 4}, .stages = 2}>(2, 1, 3, 1); }
TEST(UmmaPipelines, FourByFour) { expect_exact<Schedule{.cluster = {4, 4}, .stages = 2}>(1, 2, 3, 1); }
TEST(UmmaPipelines, FourByFourOfPairs) {
  expect_exact<Schedule{.cluster = {4, 4}, .group = kPair, .stages = 2}>(2, 1, 3, 1);
}
TEST(UmmaPipelines, OneCtaWithAStoringWarp) { expect_exact<Schedule{.stages = 2, .stores_b = true}>(2, 1, 3, 1); }
TEST(UmmaPipelines, PairsWithStoringWarps) {
  expect_exact<Schedule{.cluster = {2, 2}, .group = kPair, .stages = 2, .stores_b = true}>(2, 1, 3, 1);
}
TEST(UmmaPipelines, ClusterLaunchControl) { expect_exact<Schedule{.clc = true}>(4, 2, 1, 2); }
TEST(UmmaPipelines, ClusterLaunchControlOfPairs) {
  expect_exact<Schedule{.cluster = {2, 2}, .group = kPair, .accumulators = {2, 64, 32}, .clc = true}>(3, 2, 1, 2);
}

}  // namespace
}  // namespace ww::pipeline_test
