// SPDX-License-Identifier: Apache-2.0
// Schedules other than the default, bit for bit against the reference: pingpong and multistage by recipe, cluster, tile
// and depth with odd tails; promotion with one and two partial accumulators; and the effect of pingpong, seen in a
// counter.
#include <gtest/gtest.h>

#include "problems/random_problem.hpp"

namespace ww {
namespace {

using namespace ww::testing;

Device open_emu(std::uint64_t seed, EmuSchedule schedule = EmuSchedule::random) {
  auto device = Device::open("emu:sm90", {.cache_dir = {}, .emu = {.seed = seed, .schedule = schedule}});
  if (!device) throw std::runtime_error(device.error().message);
  return *device;
}

EmuStats expect_equal(const GemmProblem& problem, const std::string& config, std::uint64_t seed,
                      EmuSchedule schedule = EmuSchedule::random, int sms = 0) {
  const auto parsed = parse_config(config);
  EXPECT_TRUE(parsed) << config;
  const HostProblem host = make_problem(problem, *parsed, seed);
  EmuStats stats;
  const auto got = run_on(open_emu(seed, schedule), host, &stats, sms);
  EXPECT_TRUE(got) << (got ? "" : got.error().message) << "\n" << host.replay();
  if (got) {
    EXPECT_EQ(difference(host, *got, reference(host)), "");
  }
  return stats;
}

struct Recipe {
  DType a, d;
  Scale scale;
};
constexpr Recipe kRecipes[] = {
    {e4m3, bf16, Scale::block_1x128_128x128}, {e4m3, f16, Scale::none},  {e4m3, f32, Scale::tensor},
    {e4m3, bf16, Scale::row_column},          {bf16, bf16, Scale::none}, {f16, f32, Scale::row_column}};

/// Every recipe and cluster, one tile each; tails in M, N and K, more tiles than CTAs, an odd number of them.
void expect_every_recipe(const std::string& schedule, const char* tile) {
  std::uint64_t seed = 40;
  for (const Recipe& r : kRecipes)
    for (const char* cluster : {"1x1", "2x1", "1x2"}) {
      ++seed;
      const std::string config = schedule + ",tile=" + tile + "x64x0,cluster=" + cluster;
      for (const EmuSchedule order : {EmuSchedule::random, EmuSchedule::adversarial})
        expect_equal({.m = 330, .n = 200, .k = 464, .a = r.a, .b = r.a, .d = r.d, .scale = r.scale}, config, seed,
                     order, 2);
    }
}

TEST(Schedules, PingpongComputesEveryRecipeOnEveryCluster) { expect_every_recipe("schedule=pingpong", "64"); }
TEST(Schedules, MultistageComputesEveryRecipeOnEveryCluster) { expect_every_recipe("schedule=multistage", "128"); }

TEST(Schedules, PingpongTilesAndDepths) {
  const GemmProblem block{.m = 200, .n = 264, .k = 656, .scale = Scale::block_1x128_128x128};
  const GemmProblem plain{.m = 200, .n = 264, .k = 656, .a = bf16, .b = bf16};
  for (const char* config : {"schedule=pingpong", "schedule=pingpong,stages=2",
                             "schedule=pingpong,partial_accumulators=1,stages=3", "schedule=pingpong,tile=128x64x128"})
    expect_equal(block, config, 60, EmuSchedule::random, 2);
  for (const char* config : {"schedule=pingpong", "schedule=pingpong,stages=2,tile=64x128x64",
                             "schedule=pingpong,tile=128x128x64,cluster=2x1"})
    expect_equal(plain, config, 61, EmuSchedule::random, 2);
}

TEST(Schedules, MultistageTilesAndDepths) {
  const GemmProblem block{.m = 300, .n = 264, .k = 656, .scale = Scale::block_1x128_128x128};
  const GemmProblem plain{.m = 300, .n = 264, .k = 656, .a = bf16, .b = bf16};
  for (const char* config : {"schedule=multistage", "schedule=multistage,stages=2",
                             "schedule=multistage,tile=192x64x128", "schedule=multistage,tile=256x32x128,cluster=1x2"})
    expect_equal(block, config, 62, EmuSchedule::random, 2);
  for (const char* config : {"schedule=multistage", "schedule=multistage,stages=2,tile=64x64x64",
                             "schedule=multistage,tile=128x128x64,consumer_warpgroups=1,cluster=2x1"})
    expect_equal(plain, config, 63, EmuSchedule::random, 2);
}

// One k-block, as many as stages, one more; no K at all; a single tile; nothing.
TEST(Schedules, ShortAndEmptyExtents) {
  for (const std::string schedule : {"schedule=pingpong,tile=64x64x128,stages=3", "schedule=multistage,stages=3"})
    for (const Scale scale : {Scale::block_1x128_128x128, Scale::none}) {
      for (const std::int64_t k : {0, 16, 128, 384, 400, 512})
        expect_equal({.m = 190, .n = 72, .k = k, .scale = scale}, schedule, 70);
      expect_equal({.m = 1, .n = 8, .k = 144, .scale = scale}, schedule, 71);
      expect_equal({.m = 0, .n = 64, .k = 128, .scale = scale}, schedule, 72);
    }
}

TEST(Schedules, Batches) {
  for (const char* config : {"schedule=pingpong,tile=64x64x128,cluster=2x1", "schedule=multistage,cluster=1x2"})
    expect_equal({.m = 130,
                  .n = 136,
                  .k = 272,
                  .scale = Scale::block_1x128_128x128,
                  .batch = 3,
                  .batch_a = 130 * 272,
                  .batch_d = 130 * 136,
                  .batch_scale_a = 130 * 3},
                 config, 75);
}

TEST(Schedules, PromotionWithOnePartialAccumulatorComputesWhatTwoDo) {
  for (const char* config : {"partial_accumulators=1", "partial_accumulators=2",
                             "partial_accumulators=2,tile=192x64x128", "partial_accumulators=1,tile=64x64x128"})
    for (const std::int64_t k : {128, 256, 656})
      expect_equal({.m = 200, .n = 136, .k = k, .scale = Scale::block_1x128_128x128}, config, 80);
}

// With two partial accumulators, the sums of a k-block are promoted while the MMAs of the next one are in flight.
TEST(Schedules, WithTwoPartialAccumulatorsWgmmaIsInFlightDuringPromotion) {
  const auto overlapped = [](const char* config) {
    return expect_equal({.m = 256, .n = 256, .k = 1024, .scale = Scale::block_1x128_128x128}, config, 85)
        .results_under_wgmma;
  };
  const std::uint64_t promotions = 4 * 2 * (8 - 2);  // tiles, warpgroups, k blocks but the last two
  EXPECT_EQ(overlapped("tile=128x128x128,partial_accumulators=2"), promotions);
  EXPECT_EQ(overlapped("tile=128x128x128,partial_accumulators=1"), 0u);
  EXPECT_EQ(overlapped("tile=64x128x128,schedule=pingpong,partial_accumulators=2"), promotions);
}

// Warpgroups share no tile in pingpong, so the MMAs in flight under a store are another tile's.
TEST(Schedules, InPingpongOneEpilogueRunsUnderTheOthersProducts) {
  const char* config = "schedule=pingpong,tile=64x128x128";
  const EmuStats many = expect_equal({.m = 512, .n = 512, .k = 1024, .scale = Scale::block_1x128_128x128}, config, 90,
                                     EmuSchedule::fifo, 1);
  EXPECT_EQ(many.tma_stores, 64u);          // two panels of 32 tiles
  EXPECT_GE(many.stores_under_wgmma, 56u);  // all but the last tile's, which nothing follows, and a few
  const EmuStats one = expect_equal({.m = 64, .n = 128, .k = 1024, .scale = Scale::block_1x128_128x128}, config, 91,
                                    EmuSchedule::fifo, 1);
  EXPECT_EQ(one.tma_stores, 2u);
  EXPECT_EQ(one.stores_under_wgmma, 0u);
}

}  // namespace
}  // namespace ww
