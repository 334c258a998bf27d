// SPDX-License-Identifier: Apache-2.0
// What the GEMM kernel of Blackwell does, in counts of the emulated device: bytes of each operand from L2, reads of
// shared memory by the MMAs of a pair, epilogues under the next tile's MMAs, and tiles by cluster launch control.
#include <gtest/gtest.h>

#include "problems/random_problem.hpp"

namespace ww {
namespace {

using namespace ww::testing;

struct Ran {
  std::vector<std::uint8_t> d;
  EmuStats stats;
};

Ran run(const GemmProblem& problem, const std::string& text, std::uint64_t seed,
        EmuSchedule schedule = EmuSchedule::random, bool check = false) {
  const auto device = Device::open(
      "emu:sm100", {.cache_dir = {}, .emu = {.seed = seed, .schedule = schedule, .sms = 32, .check = check}});
  if (!device) throw std::runtime_error(device.error().message);
  const auto config = parse_config("arch=sm100," + text);
  if (!config) throw std::runtime_error(config.error().message);
  const HostProblem host = make_problem(problem, *config, 7);
  Ran ran;
  const auto got = run_on(*device, host, &ran.stats);
  EXPECT_TRUE(got) << (got ? "" : got.error().message) << "\n" << text << ", seed " << seed;
  if (got) ran.d = *got;
  return ran;
}

constexpr GemmProblem kProblem{.m = 512, .n = 512, .k = 256, .a = bf16, .b = bf16};

TEST(Sm100Counters, L2BytesOfAnOperandAreDividedByTheClustersWidth) {
  constexpr std::uint64_t kMatrix = 512 * 256 * 2, kTiles = 4;  // tiles along M and along N
  constexpr int kClusters[][2] = {{1, 1}, {2, 1}, {1, 2}, {2, 2}, {4, 1}, {1, 4}, {4, 2}, {2, 4}, {4, 4}};
  for (const auto& [m, n] : kClusters)
    for (const int pair : {0, 1}) {
      if (pair == 1 && m % 2 != 0) continue;
      const std::string text = fmt::format("tile=128x128x64,cluster={}x{},pair={}", m, n, pair);
      const EmuStats stats = run(kProblem, text, 1).stats;
      EXPECT_EQ(stats.l2_read_bytes.at("a"), kMatrix * kTiles / static_cast<unsigned>(n)) << text;
      EXPECT_EQ(stats.l2_read_bytes.at("b"), kMatrix * kTiles / static_cast<unsigned>(m)) << text;
      // What MMAs read arrives in every CTA, however few times it was loaded.
      EXPECT_EQ(stats.shared_write_bytes.at("a"), kMatrix * kTiles) << text;
      EXPECT_EQ(stats.shared_write_bytes.at("b"), kMatrix * kTiles / (pair == 1 ? 2 : 1)) << text;
    }
}

TEST(Sm100Counters, APairReadsHalfOfBFromTheSharedMemoryOfEachCta) {
  const auto read = [](const char* config) {
    return run(kProblem, std::string("tile=128x128x64,cluster=2x2,") + config, 2).stats.umma_shared_bytes;
  };
  const std::vector<std::uint64_t> one = read("pair=0"), pair = read("pair=1");
  const std::uint64_t k_bytes = 256 * 2;
  const auto sum = [](const std::vector<std::uint64_t>& bytes) {
    std::uint64_t all = 0;
    for (const std::uint64_t b : bytes) all += b;
    return all;
  };
  EXPECT_EQ(sum(one), 16u * (128 + 128) * k_bytes);  // 16 CTA tiles
  EXPECT_EQ(sum(pair), 16u * (128 + 64) * k_bytes);
  EXPECT_EQ(pair.size(), one.size());
}

TEST(Sm100Counters, EpiloguesRunUnderTheNextTilesMmas) {
  // One CTA has all 16 tiles; with one accumulator nothing can be multiplied while it is read.
  const auto overlapped = [](const char* accumulators) {
    std::uint64_t loads = 0;
    for (std::uint64_t seed = 0; seed < 4; ++seed) {
      const auto device = Device::open("emu:sm100", {.cache_dir = {}, .emu = {.seed = seed, .sms = 1}});
      if (!device) throw std::runtime_error(device.error().message);
      const auto config =
          parse_config(std::string("arch=sm100,tile=128x128x64,cluster=1x1,tile_scheduler=static,") + accumulators);
      if (!config) throw std::runtime_error(config.error().message);
      EmuStats stats;
      const auto got = run_on(*device, make_problem(kProblem, *config, 7), &stats);
      EXPECT_TRUE(got) << (got ? "" : got.error().message);
      loads += stats.loads_under_umma;
    }
    return loads;
  };
  EXPECT_EQ(overlapped("accumulators=1"), 0u);
  EXPECT_GT(overlapped("accumulators=2"), 0u);
}

TEST(Sm100LaunchControl, TakesEveryTileOnceWithTheBitsOfTheStaticOrder) {
  const GemmProblem odd{.m = 1000, .n = 392, .k = 200, .a = bf16, .b = bf16};
  for (const char* text : {"tile=128x64x64,cluster=1x1", "tile=128x64x64,cluster=2x2,pair=1"}) {
    const std::vector<std::uint8_t> expected = run(odd, std::string(text) + ",tile_scheduler=static", 1).d;
    bool took_more = false, fewer_started = false;
    for (std::uint64_t seed = 0; seed < 6; ++seed) {
      constexpr EmuSchedule kSchedules[] = {EmuSchedule::random, EmuSchedule::pct, EmuSchedule::adversarial};
      const Ran ran = run(odd, std::string(text) + ",tile_scheduler=clc", seed, kSchedules[seed % 3]);
      EXPECT_EQ(ran.d, expected) << text << ", seed " << seed;
      std::uint64_t tiles = 0, most = 0;
      for (const CtaWork& work : ran.stats.work) tiles += work.tiles, most = std::max(most, work.tiles);
      const std::uint64_t wide = std::string(text).find("2x2") == std::string::npos ? 1 : 2;  // CTAs of a cluster
      const std::uint64_t all =
          ceil_div<std::uint64_t>(1000, 128 * wide) * ceil_div<std::uint64_t>(392, 64 * wide) * wide * wide;
      EXPECT_EQ(tiles, all) << text << ", seed " << seed;
      took_more = took_more || most > 2;
      fewer_started = fewer_started || ran.stats.ctas < all;
    }
    EXPECT_TRUE(took_more && fewer_started) << text << ": some CTA takes the tiles of others";
  }
}

TEST(Sm100LaunchControl, IsCleanUnderTheChecker) {
  const GemmProblem small{.m = 300, .n = 136, .k = 136, .a = bf16, .b = bf16};
  for (std::uint64_t seed = 0; seed < 12; ++seed) {
    constexpr EmuSchedule kSchedules[] = {EmuSchedule::random, EmuSchedule::pct, EmuSchedule::adversarial};
    run(small, "tile=128x64x64,cluster=2x2,pair=1,tile_scheduler=clc", seed, kSchedules[seed % 3], true);
  }
}

TEST(Sm100LaunchControl, WithoutProductsDIsZero) {
  const GemmProblem empty{.m = 300, .n = 136, .k = 0, .a = bf16, .b = bf16};
  const Ran ran = run(empty, "tile=128x64x64,cluster=1x1,tile_scheduler=clc", 3);
  for (const std::uint8_t byte : ran.d) ASSERT_EQ(byte, 0);
}

}  // namespace
}  // namespace ww
