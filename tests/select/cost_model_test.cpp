// SPDX-License-Identifier: Apache-2.0
// The model against recorded times of our kernels, and properties that it must have everywhere.
#include "select/cost_model.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>

#include "config/config_text.hpp"
#include "cost_fit.hpp"
#include "select/config_list.hpp"
#include "select/correction.hpp"
#include "select/ranking.hpp"
#include "warpwright/config/resolve.hpp"
#include "warpwright/config/sizes.hpp"

namespace ww::select {
namespace {

using ww::testing::Cases;
using ww::testing::RecordedCase;

/// The recorded cases. `until`: of files whose names come before.
Cases recorded(const std::string& until = "~") {
  Cases cases;
  std::vector<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::directory_iterator(WW_RESULTS))
    if (entry.path().filename().string().find("_shapes_") != std::string::npos) files.push_back(entry.path());
  std::sort(files.begin(), files.end());
  std::erase_if(files, [&](const std::filesystem::path& file) { return file.filename().string() >= until; });
  for (const auto& file : files) EXPECT_TRUE(ww::testing::read_cases(file.string(), cases)) << file;
  return cases;
}

TEST(CostModel, MeetsRecordedTimes) {
  const Cases all = recorded(), earlier = recorded("2026-11-28");
  ASSERT_GE(earlier.size(), 301u);
  EXPECT_LT(ww::testing::error_of(earlier, {}), 0.08) << "of kernels that changed before the correction was fitted";
  EXPECT_LT(ww::testing::error_of(earlier, ww::testing::uncorrected()), 0.08);
  ASSERT_GE(all.size(), 2690u);
  EXPECT_LT(ww::testing::error_of(all, {}), 0.063);
}

/// Of the configs that ran, the model takes one within a tenth of the fastest in nearly all cases.
TEST(CostModel, TakesOneNearTheBestThatRan) {
  const Cases all = recorded(), earlier = recorded("2026-11-28");
  EXPECT_GE(ww::testing::near_best(earlier, {}), 294) << "of " << earlier.size();
  EXPECT_GE(ww::testing::near_best(earlier, ww::testing::uncorrected()), 295) << "of " << earlier.size();
  EXPECT_LT(ww::testing::loss_of(earlier, {}), 1.0105);
  // Later cases include those on which auto lost most, and configs and tile orders that no list had before.
  EXPECT_GE(ww::testing::near_best(all, {}), 2670) << "of " << all.size();
  EXPECT_LT(ww::testing::loss_of(all, {}), 1.008);
}

/// The same of problems that no fit has seen: bench/results keeps their times apart from those of fits.
TEST(CostModel, TakesOneNearTheBestOfUnseenProblems) {
  Cases unseen;
  for (const char* day : {"2026-11-28", "2026-11-29"})
    ASSERT_TRUE(ww::testing::read_cases(fmt::format("{}/{}_h200_dense_unseen.json", WW_RESULTS, day), unseen));
  const Cases seen = recorded();
  std::erase_if(unseen, [&](const RecordedCase& one) {
    return std::any_of(seen.begin(), seen.end(), [&](const RecordedCase& other) {
      const GemmProblem &p = one.problem, &q = other.problem;
      return p.m == q.m && p.n == q.n && p.k == q.k && p.a == q.a && p.scale == q.scale;
    });
  });
  ASSERT_EQ(unseen.size(), 248u);
  const auto beyond = [&](double loss) {
    return std::count_if(unseen.begin(), unseen.end(),
                         [&](const RecordedCase& one) { return ww::testing::taken(one, {}).us > loss * one.best(); });
  };
  EXPECT_LT(ww::testing::loss_of(unseen, {}), 1.012);
  EXPECT_LE(beyond(1.03), 32);
  EXPECT_LE(beyond(1.08), 4);
  EXPECT_GT(ww::testing::loss_of(unseen, ww::testing::uncorrected()), 1.02) << "or corrections gain nothing";
}

/// The correction is bounded, and only single products on Hopper below the power limit have one.
TEST(CostModel, CorrectsWhatHasRecordedTimes) {
  const GemmConfig config =
      config::resolve({.operands = {.scale = Scale::tensor}, .tile = {64, 128}, .cluster = {1, 1}});
  GemmProblem p{.m = 64, .n = 7168, .k = 2048, .scale = Scale::tensor, .lda = 2048, .ldb = 2048, .ldd = 7168};
  const auto share = [&](const GemmProblem& of) {
    const Cost cost = cost_of(of, config, kH200.sms);
    return cost[Term::correction] / (cost.total() - cost[Term::correction]);
  };
  EXPECT_NE(share(p), 0);
  for (p.m = 1; p.m < 3000; p.m += 37) {
    EXPECT_GE(share(p), std::expm1(kLeastCorrection) - 1e-12) << p.m;
    EXPECT_LE(share(p), std::expm1(kLargestCorrection) + 1e-12) << p.m;
  }
  p.m = 8192;
  EXPECT_EQ(share(p), 0) << "at the power limit";
  p.m = 64, p.batch = 4;
  EXPECT_EQ(share(p), 0) << "of a batch";
  p.batch = 1, p.pointer_array = true;
  EXPECT_EQ(share(p), 0) << "of an array of pointers";
}

TEST(CostModel, CorrectsManyConfigsAsOneByOne) {
  const GemmProblem p{.m = 200, .n = 3072, .k = 4096, .scale = Scale::tensor, .lda = 4096, .ldb = 4096, .ldd = 3072};
  std::vector<Candidate> candidates;
  for (const GemmConfig& c : config_list(of_problem(p, {})))
    candidates.push_back({c, cost_of(p, c, kH200.sms, ww::testing::uncorrected())});
  correct(p, candidates);
  for (const Candidate& c : candidates)
    ASSERT_EQ(c.cost[Term::correction], cost_of(p, c.config, kH200.sms)[Term::correction]) << to_text(c.config);
}

/// A batch is as much work as one product of as many rows.
TEST(CostModel, DoubtsWideTilesOfOneWarpgroupAtThePowerLimit) {
  GemmConfig config{.tile = {64, 232}, .cluster = {1, 1}};
  config.operands.scale = Scale::tensor;
  config = config::resolve(config);
  const auto doubt = [&](std::int64_t m, std::int64_t batch) {
    const GemmProblem p{
        .m = m, .n = 2112, .k = 7168, .scale = Scale::tensor, .lda = 7168, .ldb = 7168, .ldd = 2112, .batch = batch};
    return cost_of(p, config, kH200.sms)[Term::uncertainty];
  };
  EXPECT_EQ(doubt(512, 1), 0) << "1.6e10 operations";
  EXPECT_GT(doubt(8192, 1), 0) << "2.5e11 operations";
  EXPECT_GT(doubt(512, 16), 0) << "as many in a batch";
}

/// What auto of today took and what it took before, on the recorded shapes below the power limit.
TEST(CostModel, TakesNothingSlowerThanBeforeOnRecordedShapes) {
  Cases again;
  for (const char* recipe : {"block", "tensor", "bf16"})
    ASSERT_TRUE(
        ww::testing::read_cases(fmt::format("{}/2026-11-28_h200_shapes_again_{}.json", WW_RESULTS, recipe), again));
  ASSERT_EQ(again.size(), 81u);
  for (const RecordedCase& one : again)
    EXPECT_LT(ww::testing::taken(one, {}).us / one.best(), 1.06)
        << one.problem.m << " x " << one.problem.n << " x " << one.problem.k;
  EXPECT_LT(ww::testing::loss_of(again, {}), 1.002);
}

/// Where power is the limit, a config's time is its energy, which configs that take turns share.
TEST(CostModel, TakesTheBestAtThePowerLimit) {
  int alone = 0;
  for (const RecordedCase& one : recorded()) {
    if (!one.alone || one.times.size() < 2) continue;
    ++alone;
    EXPECT_LT(ww::testing::taken(one, {}).us / one.best(), 1.04)
        << one.problem.m << " x " << one.problem.n << " x " << one.problem.k << ": "
        << to_text(ww::testing::taken(one, {}).config) << " and not " << to_text(one.times.front().config);
  }
  EXPECT_GE(alone, 20);
}

/// Constants fitted to the cases of every other problem do nearly as well in those that they have not seen.
TEST(CostModel, FitHoldsForCasesItHasNotSeen) {
  const Cases cases = recorded();
  for (const std::size_t first : {0, 1}) {
    const CostConstants k = ww::testing::fit(ww::testing::half_of(cases, first), ww::testing::uncorrected(), 12);
    const Cases unseen = ww::testing::half_of(cases, 1 - first);
    EXPECT_LT(ww::testing::error_of(unseen, k), 0.09);
    EXPECT_GE(ww::testing::near_best(unseen, k), 955) << "of " << unseen.size();
  }
}

TEST(CostModel, TermsAreFiniteAndNotNegative) {
  for (const DType a : {e4m3, bf16})
    for (const Scale scale : {Scale::none, Scale::block_1x128_128x128}) {
      if (a == bf16 && scale != Scale::none) continue;
      for (const std::int64_t m : {0, 1, 63, 300, 5000})
        for (const std::int64_t n : {0, 8, 1000, 40000})
          for (const std::int64_t k : {0, 16, 1000, 60000})
            for (const int sms : {1, 4, 132}) {
              const GemmProblem p{.m = m, .n = n, .k = k, .a = a, .b = a, .scale = scale};
              for (const GemmConfig& c : config_list(of_problem(p, {}))) {
                const Cost cost = cost_of(p, c, sms);
                ASSERT_LE(least_us(p, c, sms), cost.total() * (1 + 1e-12)) << to_text(c) << ", " << m << " x " << n;
                for (int t = 0; t < kTerms; ++t)
                  ASSERT_TRUE(std::isfinite(cost.us[t]) && (cost.us[t] >= 0 || Term(t) == Term::correction))
                      << name_of(Term(t)) << " = " << cost.us[t] << " of " << to_text(c) << ", " << m << " x " << n
                      << " x " << k << " on " << sms;
              }
            }
    }
}

TEST(CostModel, TermsSayWhatTheyAreAbout) {
  const GemmProblem p{.m = 4096, .n = 4096, .k = 4096, .scale = Scale::tensor};
  const auto cost = [&](const char* text, GemmProblem q) {
    return cost_of(q, config::resolve(*parse_config(text, of_problem(q, {}))), 132);
  };
  EXPECT_GT(cost("tile=64x64x128", p)[Term::shared], cost("tile=128x256x128,cluster=2x1", p)[Term::shared]);
  EXPECT_EQ(cost("tile=128x256x128", p)[Term::promotion], 0);
  EXPECT_EQ(cost("tile=128x128x128,schedule=pingpong", p)[Term::epilogue], 0) << "hidden by the other warpgroup";
  EXPECT_GT(cost("tile=128x128x128", p)[Term::epilogue], 0);
  EXPECT_GT(cost("tile=128x128x128,cluster=4x1", p)[Term::clusters], 0);
  EXPECT_EQ(cost("tile=128x128x128,cluster=2x1", p)[Term::clusters], 0);
  EXPECT_EQ(cost("tile=128x128x128,tile_scheduler=stream-k", p)[Term::last_wave], 0);
  EXPECT_GT(cost("tile=128x128x128", p)[Term::last_wave], 0) << "1024 tiles on 132 SMs";
  EXPECT_GT(cost("tile=128x128x128,tile_scheduler=stream-k", p)[Term::sums], 0);
  GemmProblem edge = p;
  edge.m = 4097;
  EXPECT_EQ(cost("tile=128x256x128", p)[Term::edges], 0);
  EXPECT_GT(cost("tile=128x256x128", edge)[Term::edges], 0);
  GemmProblem block = p;
  block.scale = Scale::block_1x128_128x128;
  EXPECT_GT(cost("tile=128x128x128,partial_accumulators=1", block)[Term::promotion],
            cost("tile=128x128x128,partial_accumulators=2", block)[Term::promotion]);
  const GemmProblem decode{.m = 16, .n = 7168, .k = 16384, .scale = Scale::tensor};
  EXPECT_GT(cost("tile=64x64x128", decode).hbm_bytes, 7168 * 16384.0);
  GemmProblem no_k = p;
  no_k.k = 0;
  EXPECT_LT(cost("tile=128x128x128,cluster=2x1", no_k).total(), 30) << "32 MiB of zeros";
  GemmProblem full = decode;
  full.m = 64;
  EXPECT_GT(cost("tile=64x64x128", decode).total(), cost("tile=64x64x128", full).total()) << "TMA fills 48 rows";
  EXPECT_GT(cost("tile=64x64x128", decode).total(), 7168 * 16384.0 / 4.3e6) << "B comes from HBM once";
}

}  // namespace
}  // namespace ww::select
