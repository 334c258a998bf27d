// SPDX-License-Identifier: Apache-2.0
// The model against recorded times of our kernels, and what must hold of it everywhere.
#include "select/cost_model.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>

#include "cost_fit.hpp"
#include "select/config_list.hpp"
#include "select/config_text.hpp"
#include "select/ranking.hpp"
#include "warpwright/collective/builder.hpp"

namespace ww::select {
namespace {

using ww::testing::RecordedTime;

std::vector<RecordedTime> recorded() {
  std::vector<RecordedTime> times;
  std::vector<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::directory_iterator(WW_RESULTS))
    if (entry.path().filename().string().find("_dense_") != std::string::npos) files.push_back(entry.path());
  std::sort(files.begin(), files.end());
  for (const auto& file : files) EXPECT_TRUE(ww::testing::read_times(file.string(), times)) << file;
  return times;
}

TEST(CostModel, MeetsRecordedTimes) {
  const std::vector<RecordedTime> times = recorded();
  ASSERT_GE(times.size(), 42u);
  EXPECT_LT(ww::testing::error_of(times, {}), 0.02);
  for (const RecordedTime& r : times) {
    const double ratio = ww::testing::modelled_us(r, {}) / r.us;
    EXPECT_NEAR(ratio, 1, 0.06) << r.problem.m << " x " << r.problem.n << " x " << r.problem.k << " " << r.text;
  }
}

TEST(CostModel, ConstantsAreTheFit) {
  const std::vector<RecordedTime> times = recorded();
  const double best = ww::testing::error_of(times, ww::testing::fit(times, {}));
  EXPECT_LT(ww::testing::error_of(times, {}), best + 0.001) << "fit_cost_model --fit bench/results/*dense*.json";
}

/// What auto takes for a recorded problem has a recorded time, and none of the others is better by more than noise.
TEST(CostModel, ChoiceIsTheBestThatIsRecorded) {
  const std::vector<RecordedTime> times = recorded();
  for (const RecordedTime& r : times) {
    GemmProblem p = r.problem;
    p.lda = p.ldb = p.k, p.ldd = p.n;
    const GemmConfig choice = choose(p, {.sms = ww::testing::kRecordedSms});
    double ours = 0, best = 1e30;
    for (const RecordedTime& other : times) {
      if (other.problem.m != p.m || other.problem.n != p.n || other.problem.k != p.k || other.problem.a != p.a ||
          other.problem.scale != p.scale)
        continue;
      best = std::min(best, other.us);
      if (other.config.tile_m == choice.tile_m && other.config.tile_n == choice.tile_n &&
          other.config.cluster_m == choice.cluster_m && other.config.cluster_n == choice.cluster_n &&
          choice.order == TileOrder::automatic && choice.schedule == Schedule::automatic)
        ours = ours == 0 ? other.us : std::min(ours, other.us);
    }
    EXPECT_GT(ours, 0) << "no recorded time of " << to_text(choice) << " for " << p.m << " x " << p.n << " x " << p.k;
    EXPECT_LT(ours, 1.02 * best) << to_text(choice) << " for " << p.m << " x " << p.n << " x " << p.k;
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
                for (int t = 0; t < kTerms; ++t)
                  ASSERT_TRUE(std::isfinite(cost.us[t]) && cost.us[t] >= 0)
                      << name_of(Term(t)) << " = " << cost.us[t] << " of " << to_text(c) << ", " << m << " x " << n
                      << " x " << k << " on " << sms;
              }
            }
    }
}

TEST(CostModel, TermsSayWhatTheyAreAbout) {
  const GemmProblem p{.m = 4096, .n = 4096, .k = 4096, .scale = Scale::tensor};
  const auto cost = [&](const char* text, GemmProblem q) {
    return cost_of(q, collective::resolve(*parse_config(text, of_problem(q, {}))), 132);
  };
  EXPECT_GT(cost("tile=64x64x128", p)[Term::shared], cost("tile=128x256x128,cluster=2x1", p)[Term::shared]);
  EXPECT_EQ(cost("tile=128x256x128", p)[Term::promotion], 0);
  EXPECT_EQ(cost("tile=128x128x128,schedule=pingpong", p)[Term::epilogue], 0) << "hidden by the other warpgroup";
  EXPECT_GT(cost("tile=128x128x128", p)[Term::epilogue], 0);
  EXPECT_GT(cost("tile=128x128x128,cluster=4x1", p)[Term::clusters], 0);
  EXPECT_EQ(cost("tile=128x128x128,cluster=2x1", p)[Term::clusters], 0);
  EXPECT_EQ(cost("tile=128x128x128,order=stream-k", p)[Term::last_wave], 0);
  EXPECT_GT(cost("tile=128x128x128", p)[Term::last_wave], 0) << "1024 tiles on 132 SMs";
  EXPECT_GT(cost("tile=128x128x128,order=stream-k", p)[Term::sums], 0);
  GemmProblem edge = p;
  edge.m = 4097;
  EXPECT_EQ(cost("tile=128x256x128", p)[Term::edges], 0);
  EXPECT_GT(cost("tile=128x256x128", edge)[Term::edges], 0);
  GemmProblem block = p;
  block.scale = Scale::block_1x128_128x128;
  EXPECT_GT(cost("tile=128x128x128,promotion=1", block)[Term::promotion],
            cost("tile=128x128x128,promotion=2", block)[Term::promotion]);
  const GemmProblem decode{.m = 16, .n = 7168, .k = 16384, .scale = Scale::tensor};
  EXPECT_GT(cost("tile=64x64x128", decode).hbm_bytes, 7168 * 16384.0);
  EXPECT_GT(cost("tile=64x64x128", decode).total(), 7168 * 16384.0 / 4.3e6) << "B comes from HBM once";
}

}  // namespace
}  // namespace ww::select
