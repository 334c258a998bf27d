// SPDX-License-Identifier: Apache-2.0
// GemmOptions::batch_invariant on the emulated device: row i of D has the same bits for every M and number of SMs. Also
// where the mode is needed: stream-K splits K depending on M and the SMs.
#include <gtest/gtest.h>

#include <set>

#include "problems/random_problem.hpp"
#include "select/ranking.hpp"

namespace ww {
namespace {

using namespace ww::testing;

constexpr std::int64_t kMost = 300;

Device open_emu() {
  auto device = Device::open("emu:sm90", {.cache_dir = {}, .emu = {.sms = 5}});
  if (!device) throw std::runtime_error(device.error().message);
  return *device;
}

/// Returns the first `m` rows of `all` as a separate problem.
HostProblem first_rows(const HostProblem& all, std::int64_t m) {
  HostProblem host = all;
  host.problem.m = m;
  return host;
}

/// Row that differs from that of `all`, or -1.
std::int64_t first_difference(const std::vector<std::uint8_t>& d, const std::vector<std::uint8_t>& all,
                              std::int64_t row_bytes) {
  for (std::size_t i = 0; i < d.size(); ++i)
    if (d[i] != all[i]) return static_cast<std::int64_t>(i) / row_bytes;
  return -1;
}

/// Compares the rows of M = 1 ... 300 with those of M = 300, and returns the tiles that auto chose for them.
std::set<int> expect_invariant(const GemmProblem& problem, std::uint64_t seed, const std::set<std::int64_t>& ms) {
  const Device device = open_emu();
  const HostProblem all = make_problem(problem, {}, seed);
  const auto whole = run_on(device, all);
  EXPECT_TRUE(whole) << (whole ? "" : whole.error().message);
  EXPECT_EQ(difference(all, *whole, reference(all)), "");
  std::set<int> tiles;
  for (const std::int64_t m : ms)
    for (const int sms : {0, 3}) {
      if (sms == 3 && m % 10 != 1) continue;
      const HostProblem host = first_rows(all, m);
      const auto planned = plan_gemm(device, host.problem, {.sms = sms, .batch_invariant = true});
      EXPECT_TRUE(planned) << (planned ? "" : planned.error().message);
      tiles.insert(planned->config().tile.m);
      const auto d = run_on(device, host, nullptr, sms);
      EXPECT_TRUE(d) << (d ? "" : d.error().message);
      EXPECT_EQ(first_difference(*d, *whole, problem.n * bytes_of(problem.d)), -1) << "M = " << m << ", " << sms;
    }
  return tiles;
}

std::set<std::int64_t> every_m() {
  std::set<std::int64_t> ms;
  for (std::int64_t m = 1; m <= kMost; ++m) ms.insert(m);
  return ms;
}

TEST(BatchInvariant, RowsHaveTheSameBitsForEveryM) {
  const auto tiles =
      expect_invariant({.m = kMost, .n = 136, .k = 400, .scale = Scale::block_1x128_128x128}, 1, every_m());
  EXPECT_GE(tiles.size(), 2u) << "one tile for every M proves nothing about the choice";
}

TEST(BatchInvariant, AlsoWithoutScales) {
  expect_invariant({.m = kMost, .n = 72, .k = 528, .d = f32, .scale = Scale::tensor}, 2,
                   {1, 31, 64, 65, 129, 191, 299});
}

TEST(BatchInvariant, WhatAGpuWouldTakeGivesTheSameBits) {
  const Device device = open_emu();
  const HostProblem all = make_problem({.m = kMost, .n = 136, .k = 1040, .scale = Scale::block_1x128_128x128}, {}, 3);
  const std::vector<std::uint8_t> whole = reference(all);
  std::set<std::string> configs;
  for (const std::int64_t m : {1, 100, 300}) {
    HostProblem host = first_rows(all, m);
    host.config = select::choose(host.problem, {.batch_invariant = true});
    configs.insert(to_text(host.config));
    const auto d = run_on(device, host);
    ASSERT_TRUE(d) << d.error().message;
    EXPECT_EQ(first_difference(*d, whole, 136 * 2), -1) << to_text(host.config);
  }
}

TEST(BatchInvariant, StreamKIsNot) {
  const Device device = open_emu();
  const HostProblem all = make_problem({.m = kMost, .n = 136, .k = 1040, .d = f32},
                                       *parse_config("tile=64x64x128,cluster=1x1,tile_scheduler=stream-k"), 4);
  const auto whole = run_on(device, all);
  ASSERT_TRUE(whole) << whole.error().message;
  int differ = 0;
  for (const std::int64_t m : {1, 64, 130, 200, 260}) {
    const auto d = run_on(device, first_rows(all, m));
    ASSERT_TRUE(d) << d.error().message;
    differ += first_difference(*d, *whole, 136 * 4) >= 0;
  }
  EXPECT_GT(differ, 0) << "sums of other splits round alike in every element: the mode would not be needed";
}

}  // namespace
}  // namespace ww
