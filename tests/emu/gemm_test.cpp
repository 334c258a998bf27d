// SPDX-License-Identifier: Apache-2.0
// A whole pipelined GEMM on the emulated device: exact results under every schedule, statistics, determinism, planted
// mistakes.
#include "gemm_kernel.hpp"

#include "emu/sm90/numerics/mma.hpp"

namespace ww::emu::test {
namespace {

/// The same instructions in order, without a device.
std::vector<float> reference(const GemmProblem& p) {
  std::vector<float> d(p.m * p.n);
  std::vector<u8> a(64 * 32), b(128 * 32);
  std::vector<float> acc(64 * 128);
  for (u32 m = 0; m < p.m; m += 64)
    for (u32 n = 0; n < p.n; n += 128) {
      std::vector<float> sum(64 * 128, 0.0f);
      for (u32 k = 0; k < p.k; k += 32) {
        for (u32 r = 0; r < 64; ++r) std::memcpy(&a[r * 32], &p.a[(m + r) * p.k + k], 32);
        for (u32 r = 0; r < 128; ++r) std::memcpy(&b[r * 32], &p.b[(n + r) * p.k + k], 32);
        mma_m64(e4m3, 128, a.data(), b.data(), acc.data(), p.params.promote ? k % 128 != 0 : k != 0, 1, 1,
                MmaMath::exact);
        if (p.params.promote && k % 128 == 96)
          for (u32 i = 0; i < 64 * 128; ++i) sum[i] += acc[i];
      }
      const auto& from = p.params.promote ? sum : acc;
      for (u32 r = 0; r < 64; ++r) std::memcpy(&d[(m + r) * p.n + n], &from[r * 128], 128 * sizeof(float));
    }
  return d;
}

bool same_bits(const std::vector<float>& a, const std::vector<float>& b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(float)) == 0;
}

TEST(EmuGemm, EveryScheduleGivesTheInstructionsResult) {
  for (u32 cluster : {1u, 2u})
    for (u64 seed = 0; seed < 6; ++seed) {
      GemmProblem p(256, 256, 640, cluster, 7);
      p.params.promote = seed % 2 == 0;
      const auto options = EmuOptions{.seed = seed, .schedule = seed == 5 ? EmuSchedule::fifo : EmuSchedule::random};
      const auto stats = p.run(2, options);
      ASSERT_TRUE(stats) << message(stats);
      EXPECT_TRUE(same_bits(p.d, reference(p))) << "cluster " << cluster << " seed " << seed;
    }
}

TEST(EmuGemm, StatisticsCountASharedOperandOnceACluster) {
  for (u32 cluster : {1u, 2u}) {
    GemmProblem p(512, 256, 384, cluster, 3);
    const auto stats = p.run(2);
    ASSERT_TRUE(stats) << message(stats);
    const u64 tiles = 4 * 2, tile_bytes = 3 * kTileBytes;
    EXPECT_EQ(stats->l2_read_bytes.at("a"), tiles * tile_bytes);
    EXPECT_EQ(stats->l2_read_bytes.at("b"), tiles * tile_bytes / cluster);
    EXPECT_EQ(stats->shared_write_bytes.at("b"), tiles * tile_bytes);
    EXPECT_EQ(stats->l2_write_bytes.at("d"), p.d.size() * 4);
    EXPECT_EQ(stats->wgmmas, tiles * 3 * 4 * 2);
    EXPECT_EQ(stats->ctas, 2u);
    EXPECT_EQ(stats->fibers, 2u * kGemmThreads);
  }
}

TEST(EmuGemm, ResultsAndStatisticsDependOnTheSeedNotOnTheThreads) {
  std::vector<u64> switches;
  for (u64 seed : {1, 2})
    for (int threads : {1, 2, 3}) {
      GemmProblem p(512, 256, 256, 1, 5);
      const auto stats = p.run(8, {.seed = seed, .threads = threads});
      ASSERT_TRUE(stats) << message(stats);
      EXPECT_TRUE(same_bits(p.d, reference(p)));
      switches.push_back(stats->switches);
    }
  EXPECT_EQ(switches[0], switches[1]);
  EXPECT_EQ(switches[0], switches[2]);
  EXPECT_EQ(switches[3], switches[4]);
  EXPECT_NE(switches[0], switches[3]) << "another seed should give another order";
}

TEST(EmuGemm, WithoutReleaseItIsADeadlockThatNamesWhoWaits) {
  GemmProblem p(128, 128, 1024, 1, 5);
  p.params.skip_release = true;
  const auto stats = p.run(1);
  ASSERT_FALSE(stats);
  EXPECT_EQ(stats.error().code, ErrorCode::could_not_finish);
  EXPECT_EQ(stats.error().argument, "kernel");
  for (const char* part :
       {"deadlock", "gemm_kernel.hpp:", "CTA 0", "warp 0 (1 thread)", "warpgroup 1, warps 4-7 (128 threads)",
        "waiting for parity", "8 of 8 arrivals", "1 of 1 arrivals"})
    EXPECT_NE(message(stats).find(part), std::string::npos) << part << "\n" << message(stats);
}

TEST(EmuGemm, ReleasingAStageBeforeItIsReadGivesWrongNumbersUnderSomeSeed) {
  int wrong = 0;
  for (u64 seed = 0; seed < 8; ++seed) {
    GemmProblem p(128, 128, 2048, 1, 5);
    p.params.release_early = true;
    const auto stats = p.run(1, {.seed = seed});
    wrong += !stats || !same_bits(p.d, reference(p));
  }
  EXPECT_GT(wrong, 0);
}

}  // namespace
}  // namespace ww::emu::test
