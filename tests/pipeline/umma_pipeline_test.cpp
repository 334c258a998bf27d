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

template <Schedule kS> Problem problem_of(int clusters_m, int clusters_n, int k_blocks) {
  using K = Kernel<kS>;
  std::mt19937 random(5);
  Problem o{K::kM * kS.cluster.m * clusters_m, K::kN * kS.cluster.n * clusters_n, K::kK * k_blocks, {}, {}, {}};
  o.a = small_integers(o.m * o.k, random), o.b = small_integers(o.n * o.k, random);
  o.d.assign(static_cast<std::size_t>(o.m) * static_cast<std::size_t>(o.n), -1.0f);
  return o;
}
template <Schedule kS> Params params_of(Problem& o) {
  using K = Kernel<kS>;
  return {map_of(o.a, o.m, o.k, K::kM / kS.cluster.n),
          map_of(o.b, o.n, o.k, K::kN / kS.cluster.m),
          o.d.data(),
          o.m,
          o.n,
          o.k,
          o.m / (K::kM * kS.cluster.m),
          o.n / (K::kN * kS.cluster.n),
          o.b.data()};
}
template <Schedule kS> emu::test::Shape shape_of(const Params& p, u32 resident) {
  const u32 ctas = static_cast<u32>(kS.cluster.size()), clusters = static_cast<u32>(p.clusters_m * p.clusters_n);
  return {.threads = Kernel<kS>::kThreads,
          .grid = ctas * (kS.clc ? clusters : min(clusters, resident)),
          .cluster = ctas,
          .shared_bytes = Kernel<kS>::kSharedBytes,
          .sms = static_cast<int>(resident * ctas)};
}
std::vector<runtime::MemoryRange> memory_of(Problem& o) {
  return {emu::test::range("A", o.a, false), emu::test::range("B", o.b, false), emu::test::range("D", o.d)};
}

template <Schedule kS> void expect_exact(int clusters_m, int clusters_n, int k_blocks, u32 resident) {
  arch::install(*emu::table());
  Problem o = problem_of<kS>(clusters_m, clusters_n, k_blocks);
  const Params p = params_of<kS>(o);
  const emu::test::Shape shape = shape_of<kS>(p, resident);
  constexpr EmuSchedule kSchedules[] = {EmuSchedule::fifo, EmuSchedule::random, EmuSchedule::pct,
                                        EmuSchedule::adversarial};
  for (u64 seed = 0; seed < 6; ++seed) {
    std::fill(o.d.begin(), o.d.end(), -1.0f);
    const EmuOptions options{.seed = seed, .schedule = kSchedules[seed % 4]};
    const CheckReport report = emu::test::check_launch<gemm<kS>>(p, shape, memory_of(o), options, emu::sm100::kModel);
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

// --- timelines ----------------------------------------------------------------------------------------------------

template <Schedule kS> EmuStats timeline_of(int clusters_m, int clusters_n, int k_blocks, u32 resident) {
  arch::install(*emu::table());
  Problem o = problem_of<kS>(clusters_m, clusters_n, k_blocks);
  const Params p = params_of<kS>(o);
  const auto stats = emu::test::launch<gemm<kS>>(p, shape_of<kS>(p, resident), memory_of(o),
                                                 {.seed = 3, .timeline = true}, emu::sm100::kModel);
  EXPECT_RUNS(stats);
  return stats ? *stats : EmuStats{};
}

/// The steps of an event of a CTA, as often as it happened.
std::vector<u64> steps_of(const EmuStats& stats, u32 cta, const std::string& what) {
  std::vector<u64> steps;
  for (const EmuEvent& event : stats.timeline)
    if (event.cta == cta && event.what == what) steps.insert(steps.end(), event.times, event.step);
  return steps;
}

TEST(UmmaTimeline, AClusterOfSixteenLoadsMultipliesAndReads) {
  constexpr Schedule kS{.cluster = {4, 4}, .stages = 2};
  const EmuStats stats = timeline_of<kS>(1, 1, 3, 1);
  for (u32 cta = 0; cta < 16; ++cta) {
    const std::string a = fmt::format("TMA load of A, multicast 0x{:04X}", 0x1111 << cta % 4);
    const std::string b = fmt::format("TMA load of B, multicast 0x{:04X}", 0xF << cta / 4 * 4);
    EXPECT_EQ(steps_of(stats, cta, a).size(), 3u) << timeline_text(stats.timeline);
    EXPECT_EQ(steps_of(stats, cta, b).size(), 3u);
    const auto boxes = steps_of(stats, cta, "box of A arrives"), issued = steps_of(stats, cta, "tcgen05.mma"),
               done = steps_of(stats, cta, "tcgen05.mma is complete"), read = steps_of(stats, cta, "tcgen05.ld");
    ASSERT_EQ(boxes.size(), 4u * 3);  // from each CTA of its row
    ASSERT_EQ(issued.size(), 4u * 3);
    ASSERT_EQ(done.size(), 4u * 3);
    EXPECT_LT(boxes[3], issued[0]);
    EXPECT_LT(done[11], read.at(0));
    // Each stage is released to the 4 + 4 - 1 CTAs whose loads it holds; the accumulator to this CTA.
    EXPECT_EQ(
        steps_of(stats, cta, fmt::format("tcgen05.commit, multicast 0x{:04X}", 0x1111 << cta % 4 | 0xF << cta / 4 * 4))
            .size(),
        3u);
    EXPECT_EQ(steps_of(stats, cta, "tcgen05.commit arrives").size(), 3u * 7 + 1);
  }
  const std::string text = timeline_text(stats.timeline);
  EXPECT_EQ(text.find("   step  CTA  who"), 0u) << text;
  EXPECT_NE(text.find("tensor core  tcgen05.mma is complete"), std::string::npos) << text;
}

TEST(UmmaTimeline, ClusterLaunchControlAnswersBetweenTiles) {
  const EmuStats stats = timeline_of<Schedule{.clc = true}>(4, 2, 1, 2);
  u64 asked = 0, answers = 0, given = 0;
  for (const EmuEvent& event : stats.timeline) {
    asked += event.what == "clusterlaunchcontrol.try_cancel" ? event.times : 0;
    answers += event.who == "launch control" ? event.times : 0;
    given += event.what.starts_with("answer: work of CTA") ? event.times : 0;
  }
  EXPECT_EQ(asked, answers);
  EXPECT_EQ(given + stats.ctas, 8u) << "every tile is started or given";
}

TEST(UmmaTimeline, IsEmptyUnlessAskedFor) {
  constexpr Schedule kS{};
  arch::install(*emu::table());
  Problem o = problem_of<kS>(1, 1, 1);
  const Params p = params_of<kS>(o);
  const auto stats = emu::test::launch<gemm<kS>>(p, shape_of<kS>(p, 1), memory_of(o), {.seed = 3}, emu::sm100::kModel);
  EXPECT_RUNS(stats);
  EXPECT_TRUE(stats->timeline.empty());
}

// --- masks of no CTA ----------------------------------------------------------------------------------------------

enum class Multicast { load, pair_load, commit };
struct MaskParams {
  arch::TensorMap map;
  Multicast what;
  u16 mask;
};
void multicast_once(const MaskParams& p) {
  const arch::SharedAddress shared = arch::dynamic_shared();
  const arch::MBarrier barrier{shared + 8192};
  if (arch::thread_index() == 0) arch::mbarrier::init(barrier, 1);
  arch::cluster::sync();
  if (arch::thread_index() == 0 && arch::cluster_rank() == 0) {
    switch (p.what) {
      case Multicast::load: arch::tma::load_multicast_2d(p.map, barrier, shared, p.mask, 0, 0); break;
      case Multicast::pair_load: arch::tma::load_pair_multicast_2d(p.map, barrier, shared, p.mask, 0, 0); break;
      case Multicast::commit: arch::umma::commit_multicast<CtaGroup::one>(barrier, p.mask); break;
    }
  }
  arch::warp::sync();
  arch::cluster::sync();
}

TEST(Multicast, AMaskOfNoCtaIsRefused) {
  arch::install(*emu::table());
  std::vector<u16> matrix(64 * 64);
  const auto message_of = [&](Multicast what, u16 mask) {
    const MaskParams p{map_of(matrix, 64, 64, 64), what, mask};
    return emu::test::message(
        emu::test::launch<multicast_once>(p, {.threads = 32, .grid = 2, .cluster = 2, .shared_bytes = 8192 + 8},
                                          {emu::test::range("A", matrix, false)}, {}, emu::sm100::kModel));
  };
  for (const Multicast what : {Multicast::load, Multicast::pair_load, Multicast::commit}) {
    const std::string name = what == Multicast::commit ? "tcgen05.commit" : "TMA load";
    EXPECT_NE(message_of(what, 0).find(name + ": multicast mask 0 names no CTA of the cluster"), std::string::npos)
        << message_of(what, 0);
    EXPECT_NE(message_of(what, 4).find(name + ": multicast mask 0x4 names CTAs outside the cluster of 2"),
              std::string::npos)
        << message_of(what, 4);
  }
}

}  // namespace
}  // namespace ww::pipeline_test
