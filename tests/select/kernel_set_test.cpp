// SPDX-License-Identifier: Apache-2.0
// Few kernels for many problems: chosen tables, and random ones beside the best of all sets.
#include <gtest/gtest.h>

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <limits>
#include <random>

#include "select/kernel_set.hpp"

namespace ww::select {
namespace {

constexpr double kNever = std::numeric_limits<double>::infinity();

/// The mean loss of the kernels whose bits are set; none if they leave a problem unsolved.
double mean_loss(const KernelTimes& times, unsigned set) {
  double sum = 0;
  for (const std::vector<double>& us : times) {
    double least = kNever;
    for (std::size_t k = 0; k < us.size(); ++k)
      if (set >> k & 1) least = std::min(least, us[k]);
    sum += least / *std::min_element(us.begin(), us.end()) - 1;
  }
  return sum / static_cast<double>(times.size());
}

TEST(KernelSet, OneKernelThatIsNeverFarOffBeatsThoseThatAreBestSometimes) {
  const KernelTimes times{{10, 20, 11}, {20, 10, 11}};
  const KernelSet one = choose_kernels(times, 1);
  EXPECT_EQ(one.kernels, std::vector<std::size_t>{2});
  ASSERT_EQ(one.losses.size(), 1u);
  EXPECT_NEAR(one.losses[0].mean, 0.1, 1e-12);
  EXPECT_NEAR(one.losses[0].worst, 0.1, 1e-12);
  // The second replaces the first: adding alone would keep kernel 2.
  const KernelSet two = choose_kernels(times, 2);
  EXPECT_EQ(two.kernels, (std::vector<std::size_t>{0, 1}));
  EXPECT_EQ(two.losses.back().mean, 0);
  EXPECT_EQ(choose_kernels(times, 3).kernels, two.kernels);  // a third would gain nothing
}

TEST(KernelSet, EveryProblemHasAKernelBeforeTimeCounts) {
  const KernelTimes times{{1, kNever, 9}, {1, kNever, 9}, {kNever, 5, 9}};
  EXPECT_EQ(choose_kernels(times, 1).kernels, std::vector<std::size_t>{2});
  EXPECT_EQ(choose_kernels(times, 2).kernels, (std::vector<std::size_t>{0, 1}));
  const KernelSet partly = choose_kernels({{1, kNever}, {1, kNever}, {kNever, 5}}, 1);
  EXPECT_EQ(partly.kernels, std::vector<std::size_t>{0});
  EXPECT_EQ(partly.losses.back().unsolved, 1u);
}

TEST(KernelSet, NoProblemsAndProblemsWithoutAnyKernel) {
  EXPECT_TRUE(choose_kernels({}, 4).kernels.empty());
  EXPECT_TRUE(choose_kernels({{kNever, kNever}}, 4).kernels.empty());
  EXPECT_EQ(choose_kernels({{kNever, kNever}, {2, 1}}, 4).kernels, std::vector<std::size_t>{1});
}

/// No exchange of one kernel gains anything, which leaves a loss within a half of that of the best of all sets, and
/// within a fiftieth over all tables. Each step loses less than the one before, and the same times give the same
/// kernels.
TEST(KernelSet, RandomTablesLoseLittleMoreThanTheBestOfAllSets) {
  double sum_of_chosen = 0, sum_of_best = 0;
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    std::mt19937_64 draws(seed);
    const std::size_t kernels = 4 + draws() % 6, problems = 3 + draws() % 30, limit = 1 + draws() % 4;
    KernelTimes times(problems, std::vector<double>(kernels));
    for (auto& us : times)
      for (double& one : us) one = 1 + 1e-3 * static_cast<double>(draws() % 1000);
    const KernelSet set = choose_kernels(times, limit);
    double best = kNever;
    for (unsigned mask = 1; mask < 1u << kernels; ++mask)
      if (std::popcount(mask) <= static_cast<int>(limit)) best = std::min(best, mean_loss(times, mask));
    unsigned chosen = 0;
    for (const std::size_t kernel : set.kernels) chosen |= 1u << kernel;
    const std::string replay = fmt::format("seed {}", seed);
    EXPECT_LE(set.kernels.size(), limit) << replay;
    EXPECT_NEAR(set.losses.back().mean, mean_loss(times, chosen), 1e-9) << replay;
    sum_of_chosen += set.losses.back().mean, sum_of_best += best;
    EXPECT_LE(set.losses.back().mean, 1.5 * best + 1e-9) << replay;
    for (const std::size_t out : set.kernels)  // no exchange of one kernel gains anything
      for (std::size_t in = 0; in < kernels; ++in) {
        const double exchanged = mean_loss(times, (chosen & ~(1u << out)) | 1u << in);
        EXPECT_GE(exchanged, set.losses.back().mean - 1e-9) << replay << ", " << out << " for " << in;
      }
    for (std::size_t i = 1; i < set.losses.size(); ++i) EXPECT_LT(set.losses[i].mean, set.losses[i - 1].mean) << replay;
    EXPECT_EQ(choose_kernels(times, limit).kernels, set.kernels) << replay;
  }
  EXPECT_LE(sum_of_chosen, 1.02 * sum_of_best);
}

}  // namespace
}  // namespace ww::select
