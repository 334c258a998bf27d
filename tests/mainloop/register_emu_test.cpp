// SPDX-License-Identifier: Apache-2.0
// GEMMs whose A comes from registers, and tf32 in all four layouts, on the emulated device, bit for bit against the
// reference, which does not depend on where operands come from: tails, empty K, clusters, batches, schedules.
#include <gtest/gtest.h>

#include "problems/k_cuts.hpp"
#include "problems/random_problem.hpp"

namespace ww {
namespace {

using namespace ww::testing;

Device open_emu(std::uint64_t seed, EmuSchedule schedule) {
  auto device = Device::open("emu:sm90", {.cache_dir = {}, .emu = {.seed = seed, .schedule = schedule}});
  if (!device) throw std::runtime_error(device.error().message);
  return *device;
}

void expect_equal(const GemmProblem& problem, const std::string& config, std::uint64_t seed,
                  EmuSchedule schedule = EmuSchedule::random) {
  const HostProblem host = make_problem(problem, *parse_config(config), seed);
  const auto got = run_on(open_emu(seed, schedule), host);
  ASSERT_TRUE(got) << got.error().message << "\n" << host.replay();
  EXPECT_EQ(difference(host, *got, reference(host)), "");
}

constexpr Major kBoth[] = {Major::k, Major::mn};

/// Odd where a layout lets it be: K-major rows, and MN-major ones, are whole 16 bytes.
GemmProblem tf32_problem(Major a, Major b) {
  return {.m = a == Major::k ? 197 : 200,
          .n = 136,
          .k = a == Major::mn && b == Major::mn ? 75 : 100,
          .a = tf32,
          .b = tf32,
          .d = f32,
          .a_major = a,
          .b_major = b};
}

TEST(GemmRegisters, Tf32InEveryLayout) {
  std::uint64_t seed = 500;
  for (Major a : kBoth)
    for (Major b : kBoth)
      for (const char* config : {"tile=128x128x32,cluster=2x1", "tile=128x64x32,cluster=1x2,stages=2"}) {
        GemmProblem p = tf32_problem(a, b);
        expect_equal(p, config, ++seed);
        p.lda = a == Major::k ? p.k + 4 : p.m + 8, p.ldb = b == Major::k ? p.k + 8 : p.n + 12;
        expect_equal(p, config, seed + 100, EmuSchedule::adversarial);
        p.k = 0, p.lda = p.ldb = 0;
        expect_equal(p, config, seed + 200);
      }
}

TEST(GemmRegisters, Tf32BatchesAndDefaults) {
  for (Major a : kBoth)
    for (Major b : kBoth) {
      GemmProblem p = tf32_problem(a, b);
      p.m = 72, p.n = 72, p.k = 52, p.scale = Scale::row_column;
      p.batch = 3, p.batch_a = 72 * 52, p.batch_b = b == Major::k ? 0 : 72 * 52, p.batch_d = 72 * 72;
      expect_equal(p, "", 560);
    }
}

TEST(GemmRegisters, Tf32Pingpong) {
  for (Major a : kBoth)
    for (EmuSchedule schedule : {EmuSchedule::random, EmuSchedule::adversarial}) {
      GemmProblem p = tf32_problem(a, Major::mn);
      p.n = 264;
      expect_equal(p, "tile=64x64x32,schedule=pingpong,stages=3", 570, schedule);
    }
}

TEST(GemmRegisters, EveryTypeAndMajor) {
  std::uint64_t seed = 600;
  const std::string config = "tile=128x72x0,stages=3,a_source=registers";
  for (const auto& [a, b] : {std::pair{e4m3, e4m3}, {e5m2, e4m3}, {tf32, tf32}})
    for (Scale scale : {Scale::tensor, Scale::row_column})
      expect_equal({.m = 197, .n = 136, .k = 400, .a = a, .b = b, .scale = scale}, config, ++seed);
  for (DType type : {bf16, f16})
    for (Major a : kBoth)
      expect_equal({.m = 200,
                    .n = 136,
                    .k = 200,
                    .a = type,
                    .b = type,
                    .d = f32,
                    .a_major = a,
                    .b_major = type == bf16 ? Major::k : Major::mn},
                   "tile=128x128x64,cluster=2x1,stages=3,a_source=registers", ++seed, EmuSchedule::adversarial);
}

TEST(GemmRegisters, UnitsBlocksAndOneKBlock) {
  std::uint64_t seed = 640;
  for (std::int64_t k : {16, 64, 128, 400}) {
    expect_equal({.m = 300, .n = 72, .k = k, .a = bf16, .b = bf16}, "tile=256x64x64,stages=3,a_source=registers",
                 ++seed);
    expect_equal({.m = 197, .n = 264, .k = k, .scale = Scale::block_1x128_128x128},
                 "tile=128x96x128,cluster=2x1,stages=2,a_source=registers", ++seed);
  }
  expect_equal({.m = 300, .n = 136, .k = 400, .scale = Scale::block_1x128_1x128},
               "tile=256x64x128,stages=2,a_source=registers", ++seed, EmuSchedule::adversarial);
}

TEST(GemmRegisters, PiecesOfK) {
  constexpr int kSms = 4;
  for (const char* order :
       {"tile_scheduler=stream-k", "tile_scheduler=split-k,split=4,cluster=1x1x2", "tile_scheduler=dynamic"}) {
    GemmProblem p = tf32_problem(Major::mn, Major::mn);
    p.k = 300;
    const std::string config = std::string("tile=64x64x32,stages=3,raster=64,a_source=registers,") + order;
    const HostProblem host = make_problem(p, *parse_config(config), 660);
    const auto got = run_on(open_emu(660, EmuSchedule::random), host, nullptr, kSms);
    ASSERT_TRUE(got) << got.error().message << "\n" << host.replay();
    const auto made = plan_gemm(open_emu(660, EmuSchedule::random), p, {.config = host.config, .sms = kSms});
    ASSERT_TRUE(made) << made.error().message;
    EXPECT_EQ(difference(host, *got, reference(host, emu::MmaMath::exact, cut_of(made->config(), p, kSms))), "")
        << order;
  }
}

TEST(GemmRegisters, RefusesWhatItCannotBe) {
  const auto device = open_emu(0, EmuSchedule::random);
  const std::pair<const char*, const char*> kRefused[] = {
      {"schedule=multistage,a_source=registers", "a_source"},
      {"a_source=registers,partial_accumulators=2", "partial_accumulators"},
      {"a_source=registers,tile=256x192x128", "tile"},
  };
  for (const auto& [config, field] : kRefused) {
    GemmProblem p{.m = 256, .n = 256, .k = 256, .scale = Scale::none};
    if (std::string(field) == "partial_accumulators") p.scale = Scale::block_1x128_128x128;
    const auto answer = can_implement(p, {.config = *parse_config(config)});
    ASSERT_FALSE(answer) << config;
    EXPECT_NE(answer.error().message.find(field), std::string::npos) << answer.error().message;
  }
  for (const auto& [config, layout] :
       {std::pair{"a_source=shared,swap_ab=off", "tt"}, {"schedule=multistage", "nn"}, {"tile=128x72x32", "nn"}}) {
    GemmProblem p = tf32_problem(layout[0] == 't' ? Major::mn : Major::k, layout[1] == 'n' ? Major::mn : Major::k);
    EXPECT_FALSE(can_implement(p, {.config = *parse_config(config)})) << config << " " << layout;
  }
}

}  // namespace
}  // namespace ww
