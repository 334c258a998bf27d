// SPDX-License-Identifier: Apache-2.0
// Every tile scheduler on the emulated device: D bit for bit against the reference, which sums K in the same documented
// order, and the counters that show which CTA did what.
#include <gtest/gtest.h>

#include <random>

#include "problems/k_cuts.hpp"

namespace ww {
namespace {

using namespace ww::testing;

Device open_emu(int sms, std::uint64_t seed = 0, EmuSchedule schedule = EmuSchedule::random) {
  auto device = Device::open("emu:sm90", {.cache_dir = {}, .emu = {.seed = seed, .schedule = schedule, .sms = sms}});
  if (!device) throw std::runtime_error(device.error().message);
  return *device;
}

GemmConfig config_of(const std::string& text) {
  const auto config = parse_config(text);
  if (!config) throw std::runtime_error(config.error().message);
  return *config;
}

struct Ran {
  GemmConfig config;
  EmuStats stats;
};

/// D of `text` on `sms` SMs is the reference's with the sums of its scheduler.
Ran expect_exact(const GemmProblem& problem, const std::string& text, int sms, std::uint64_t seed,
                 EmuSchedule schedule = EmuSchedule::random) {
  HostProblem host = make_problem(problem, config_of(text + ",raster=64"), seed);
  const Device device = open_emu(sms, seed, schedule);
  const auto made = plan_gemm(device, host.problem, {.config = host.config});
  EXPECT_TRUE(made) << made.error().message << " " << text;
  Ran ran{made->config(), {}};
  const auto got = run_on(device, host, &ran.stats);
  EXPECT_TRUE(got) << (got ? "" : got.error().message) << "\n" << host.replay();
  if (!got) return ran;
  const KCut cut = cut_of(ran.config, problem, sms);
  EXPECT_EQ(difference(host, *got, reference(host, emu::MmaMath::exact, cut)), "") << text << " on " << sms;
  return ran;
}

constexpr Scale kBlock = Scale::block_1x128_128x128;

#if defined(WW_EVERY_CLUSTER)
constexpr const char* kClusters[] = {"1x1", "2x1", "1x2", "2x2", "4x1", "1x4", "4x2", "4x4"};
#else
constexpr const char* kClusters[] = {"1x1", "2x2"};  // two only, because each needs five kernels and compiling is most
                                                     // of the time
#endif

TEST(Schedulers, EveryOneUnderEveryCluster) {
  std::uint64_t seed = 0;
  for (const char* cluster : kClusters)
    for (const char* order : {"single", "static", "dynamic", "stream-k", "split-k"}) {
      const bool splits = std::string(order) == "split-k";
      const std::string text = fmt::format("tile=64x64x128,cluster={}{},tile_scheduler={}{}", cluster,
                                           splits ? "x1" : "", order, splits ? ",split=3" : "");
      expect_exact({.m = 330, .n = 200, .k = 16 * 37, .scale = kBlock}, text, 48, ++seed);
    }
}

/// One 64x64 tile a CTA; compiled once for all tests that use it.
std::string small_tiles(const char* order) { return std::string("tile=64x64x128,cluster=1x1,tile_scheduler=") + order; }

TEST(StreamK, EveryCtaHasTheSameWorkWithinOneBlock) {
  for (const int sms : {5, 7}) {
    const Ran ran = expect_exact({.m = 330, .n = 200, .k = 16 * 37, .scale = kBlock}, small_tiles("stream-k"), sms, 3);
    ASSERT_EQ(ran.stats.work.size(), static_cast<std::size_t>(sms));
    std::uint64_t least = ~0ull, most = 0, parts = 0, sum = 0;
    for (const CtaWork& work : ran.stats.work) {
      least = std::min(least, work.k_blocks), most = std::max(most, work.k_blocks);
      parts += work.parts, sum += work.k_blocks;
    }
    EXPECT_EQ(sum, 24u * 5);  // tiles times k-blocks
    EXPECT_LE(most - least, 1u) << sms;
    EXPECT_GT(parts, 0u) << "no tile was split";
  }
}

TEST(StreamK, WholeWavesAreNotCut) {
  const Ran ran = expect_exact({.m = 330, .n = 200, .k = 16 * 37, .scale = kBlock}, small_tiles("stream-k"), 6, 4);
  for (const CtaWork& work : ran.stats.work) {
    EXPECT_EQ(work.tiles, 4u);
    EXPECT_EQ(work.parts, 0u);
  }
  EXPECT_EQ(ran.stats.thread_write_bytes.count("workspace"), 0u);
}

TEST(SplitK, SumsInAClusterAreDsmemBytesAndNoWorkspace) {
  const GemmProblem problem{.m = 100, .n = 200, .k = 16 * 37, .scale = kBlock};  // 2 x 4 tiles
  const Ran ran = expect_exact(problem, small_tiles("split-k") + ",split=4", 8, 5);
  EXPECT_EQ(ran.config.cluster.k, 4);
  EXPECT_EQ(ran.stats.dsmem_bytes, 8u * 3 * 64 * 64 * 4);
  EXPECT_EQ(ran.stats.thread_write_bytes.count("workspace"), 0u);
}

TEST(SplitK, SumsAcrossClustersAreWorkspaceBytes) {
  const GemmProblem problem{.m = 100, .n = 200, .k = 16 * 37, .scale = kBlock};
  const Ran ran = expect_exact(problem, "tile=64x64x128,cluster=1x1x1,tile_scheduler=split-k,split=3", 5, 6);
  EXPECT_EQ(ran.stats.dsmem_bytes, 0u);
  // partial tiles, and a flag of each of four warps put back
  EXPECT_EQ(ran.stats.thread_write_bytes.at("workspace"), 8u * 2 * (64 * 64 * 4 + 4 * 4));
}

TEST(SplitK, MorePiecesThanBlocksAndThanCtas) {
  const GemmProblem problem{.m = 70, .n = 72, .k = 272, .scale = kBlock};  // 3 k-blocks
  expect_exact(problem, "tile=64x64x128,cluster=1x1x1,tile_scheduler=split-k,split=7", 1, 7);
  expect_exact(problem, small_tiles("split-k") + ",split=4", 4, 8);
  expect_exact(problem, "tile=64x64x128,cluster=1x1x2,tile_scheduler=split-k,split=8", 4, 9);
}

/// The parts of small tiles are read up to eight at once: fewer than those, exactly as many, and a rest behind them.
TEST(SplitK, PartsThatAreReadAtOnceAreAddedInTheirOrder) {
  std::mt19937_64 draws(20261124);
  for (const char* tile : {"64x8", "64x24", "64x64"}) {  // 8, 5 and 2 at once
    std::vector<int> splits{2, 3, 9, 17};
    for (int i = 0; i < 4; ++i) splits.push_back(2 + static_cast<int>(draws() % 22));
    for (const int split : splits) {
      const GemmProblem problem{.m = 3 + static_cast<std::int64_t>(draws() % 70), .n = 72, .k = 64 * 23 + 16};
      const std::string text = fmt::format("tile={}x128,cluster=1x1x1,tile_scheduler=split-k,swap_ab=on,split=", tile);
      expect_exact(problem, text + std::to_string(split), 3, draws());
    }
  }
}

TEST(SplitK, NoKIsZeros) {
  for (const char* text :
       {"cluster=1x1x1,tile_scheduler=split-k,split=3", "cluster=1x1x4,tile_scheduler=split-k,split=4",
        "cluster=1x1,tile_scheduler=stream-k", "cluster=1x1,tile_scheduler=dynamic"})
    expect_exact({.m = 70, .n = 72, .k = 0, .scale = kBlock}, std::string("tile=64x64x128,") + text, 4, 10);
}

TEST(Schedulers, BitsOfAllButStreamKDoNotDependOnTheNumberOfCtas) {
  for (const char* text : {"cluster=1x1x1,tile_scheduler=split-k,split=3", "cluster=1x1,tile_scheduler=dynamic",
                           "cluster=1x1,tile_scheduler=single"})
    for (const int sms : {1, 3, 9})
      expect_exact({.m = 130, .n = 136, .k = 640, .scale = kBlock}, std::string("tile=64x64x128,") + text, sms, 11);
}

TEST(Schedulers, EverySchedulePlaysTheSameBits) {
  for (const EmuSchedule schedule : {EmuSchedule::fifo, EmuSchedule::pct, EmuSchedule::adversarial})
    for (const char* order : {"stream-k", "dynamic"})
      expect_exact({.m = 130, .n = 136, .k = 640, .scale = kBlock}, small_tiles(order), 5, 12, schedule);
}

TEST(Schedulers, BandsAlongN) {
  for (const char* order : {"static", "dynamic"}) {
    const HostProblem host = make_problem({.m = 330, .n = 200, .k = 128, .scale = kBlock},
                                          config_of(small_tiles(order) + ",band=n,raster=2"), 13);
    const auto got = run_on(open_emu(4), host);
    ASSERT_TRUE(got) << got.error().message;
    EXPECT_EQ(difference(host, *got, reference(host)), "");
  }
}

TEST(Dynamic, ASlowSmGetsFewerTiles) {
  const HostProblem host =
      make_problem({.m = 330, .n = 400, .k = 256, .scale = kBlock}, config_of(small_tiles("dynamic")), 14);
  const auto device = Device::open("emu:sm90", {.cache_dir = {}, .emu = {.slow_cta = 1}});
  ASSERT_TRUE(device);
  EmuStats stats;
  const auto got = run_on(*device, host, &stats);
  ASSERT_TRUE(got) << got.error().message;
  EXPECT_EQ(difference(host, *got, reference(host)), "");
  ASSERT_EQ(stats.work.size(), 4u);
  std::uint64_t tiles = 0;
  for (const CtaWork& work : stats.work) tiles += work.tiles;
  EXPECT_EQ(tiles, 42u);
  for (const int cta : {0, 2, 3}) EXPECT_LT(stats.work[1].tiles, stats.work[cta].tiles) << cta;
}

TEST(Workspace, IsChecked) {
  const Device device = open_emu(4);
  const HostProblem host =
      make_problem({.m = 100, .n = 200, .k = 512, .scale = kBlock}, config_of(small_tiles("stream-k")), 15);
  const auto made = plan_gemm(device, host.problem, {.config = host.config, .sms = 3});
  ASSERT_TRUE(made) << made.error().message;
  ASSERT_GT(made->workspace_bytes(), 0u);
  const auto buffer = device.allocate(made->workspace_bytes() + 256);
  ASSERT_TRUE(buffer);
  const auto refusal = [&](void* workspace, std::size_t bytes) {
    const auto result = made->run({.a = host.a.data(),
                                   .b = host.b.data(),
                                   .d = buffer->data(),
                                   .scale_a = host.scale_a.data(),
                                   .scale_b = host.scale_b.data(),
                                   .workspace = workspace,
                                   .workspace_bytes = bytes});
    return result ? std::string("none") : result.error().argument;
  };
  EXPECT_EQ(refusal(nullptr, made->workspace_bytes()), "workspace");
  EXPECT_EQ(refusal(static_cast<char*>(buffer->data()) + 16, made->workspace_bytes()), "workspace");
  EXPECT_EQ(refusal(buffer->data(), made->workspace_bytes() - 1), "workspace_bytes");
}

}  // namespace
}  // namespace ww
