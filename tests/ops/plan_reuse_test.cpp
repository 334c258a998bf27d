// SPDX-License-Identifier: Apache-2.0
// One plan serves many runs: with other pointers, and other sizes of groups, each time, one after the other and from
// several threads at once.
#include <gtest/gtest.h>

#include <thread>

#include "problems/random_grouped.hpp"

namespace ww {
namespace {

using namespace ww::testing;

constexpr std::size_t kThreads = 4;

Device open_emu() {
  auto device = Device::open("emu:sm90", {.cache_dir = {}, .emu = {}});
  if (!device) throw std::runtime_error(device.error().message);
  return *device;
}

/// Three problems on each of several threads: problem(i) for i from 0 on, each by `made` in memory of its own.
template <class Plan, class Problem> void expect_exact(const Device& device, const Plan& made, const Problem& problem) {
  std::string wrong[kThreads];
  std::vector<std::thread> threads;
  for (std::size_t t = 0; t < kThreads; ++t)
    threads.emplace_back([&, t] {
      for (std::uint64_t turn = 0; turn < 3; ++turn) {
        const auto host = problem(10 * t + turn);
        const auto got = run_plan(device, made, host);
        wrong[t] += got ? difference(host, *got, reference(host)) : got.error().message;
      }
    });
  for (std::thread& thread : threads) thread.join();
  for (const std::string& text : wrong) EXPECT_EQ(text, "");
}

TEST(Plan, RunsAgainWithOtherPointersAndFromSeveralThreads) {
  const Device device = open_emu();
  const auto problem = [](std::uint64_t seed) {
    return make_problem({.m = 200, .n = 136, .k = 272, .scale = Scale::block_1x128_128x128},
                        *parse_config("cluster=2x1"), seed);
  };
  const auto made = plan_gemm(device, problem(0).problem, options_of(problem(0), 0));
  ASSERT_TRUE(made) << made.error().message;
  expect_exact(device, *made, problem);
}

/// Groups of other sizes for every number; all else of the problem is the same.
HostGrouped grouped_problem(GroupedVariant variant, std::uint64_t number) {
  HostGrouped h;
  h.number = number;
  h.config = {.tile = {variant == GroupedVariant::descriptors ? 16 : 64, 128}, .row_groups = {.variant = variant}};
  GroupedProblem& p = h.problem;
  p = {.groups = 4, .n = 136, .k = 96, .a = bf16, .b = bf16};
  std::mt19937_64 rng(number);
  encode_groups(h, rng, random_counts(rng, p.groups, number % 6));
  p.rows = 4 * 401;  // the most that they can be; those behind the groups stay as they are
  p.lda = p.ldb = p.k, p.ldd = p.n, p.stride_b_group = p.n * p.k;
  fill_grouped(h, rng);
  return h;
}

TEST(GroupedPlan, RunsAgainWithOtherSizesAndFromSeveralThreads) {
  const Device device = open_emu();
  for (GroupedVariant variant : {GroupedVariant::ragged, GroupedVariant::descriptors}) {
    const auto problem = [&](std::uint64_t number) { return grouped_problem(variant, number); };
    const auto made = plan_grouped(device, problem(0).problem, {.config = problem(0).config});
    ASSERT_TRUE(made) << made.error().message;
    expect_exact(device, *made, problem);
  }
}

}  // namespace
}  // namespace ww
