// SPDX-License-Identifier: Apache-2.0
// Kernels for one N and one K: the bits of the kernel for any, and a refusal of every other problem.
#include <gtest/gtest.h>

#include "launch/gemm_source.hpp"
#include "problems/random_problem.hpp"
#include "warpwright/config/resolve.hpp"

namespace ww {
namespace {

using namespace ww::testing;

Device open_emu(Arch arch) {
  auto device = Device::open(fmt::format("emu:{}", name_of(arch)), {.cache_dir = {}, .emu = {}});
  if (!device) throw std::runtime_error(device.error().message);
  return *device;
}

TEST(FixedExtents, ComputeTheBitsOfAnyExtents) {
  struct Case {
    GemmProblem problem;
    GemmConfig config;
  };
  const GemmProblem block{.m = 200, .n = 136, .k = 400, .scale = Scale::block_1x128_128x128};
  const GemmProblem rows{.m = 130, .n = 200, .k = 208, .a = bf16, .b = bf16, .scale = Scale::row_column};
  const Case cases[] = {
      {block, {.tile = {128, 64}, .cluster = {2, 1}}},
      {block, {.tile = {64, 96}, .cluster = {1, 1}, .sm90 = {.schedule = Schedule::multistage}}},
      {rows, {.tile = {64, 64}, .cluster = {1, 2}, .sm90 = {.schedule = Schedule::pingpong}}},
      {rows, {.tile = {64, 64}, .cluster = {1, 1}, .sm90 = {.tile_scheduler = TileScheduler::stream_k}}},
      {block, {.arch = Arch::sm100, .tile = {128, 64}, .cluster = {2, 1}, .sm100 = {.pair = true}}},
      {rows,
       {.arch = Arch::sm100,
        .tile = {64, 64},
        .cluster = {1, 2},
        .sm90 = {.tile_scheduler = TileScheduler::stream_k}}}};
  std::uint64_t seed = 0;
  for (const Case& c : cases) {
    const Device device = open_emu(c.config.arch);
    HostProblem host = make_problem(c.problem, c.config, ++seed);
    const auto want = run_on(device, host);
    ASSERT_TRUE(want) << want.error().message << "\n" << host.replay();
    for (int fixed = 1; fixed < 4; ++fixed) {
      host.config.dense.fixed_n = fixed & 1 ? static_cast<int>(c.problem.n) : 0;
      host.config.dense.fixed_k = fixed & 2 ? static_cast<int>(c.problem.k) : 0;
      const auto got = run_on(device, host);
      ASSERT_TRUE(got) << got.error().message << "\n" << host.replay();
      EXPECT_EQ(difference(host, *got, *want), "");
    }
  }
}

TEST(FixedExtents, OtherExtentsAreRefusedByName) {
  const GemmProblem p{.m = 64, .n = 64, .k = 128, .a = bf16, .b = bf16};
  const auto error = [&](const GemmConfig& config) {
    const auto done = can_implement(p, {.config = config});
    return done ? std::string("none") : done.error().message;
  };
  EXPECT_EQ(error({.dense = {.fixed_n = 64, .fixed_k = 128}}), "none");
  EXPECT_EQ(error({.dense = {.fixed_n = 72}}),
            "unsupported: argument n: expected 72: the config has fixed_n=72, a kernel for no other extent, got 64");
  EXPECT_EQ(error({.dense = {.fixed_k = 256}}),
            "unsupported: argument k: expected 256: the config has fixed_k=256, a kernel for no other extent, got 128");
}

TEST(FixedExtents, AreAKernelOfTheirOwn) {
  const GemmConfig any = config::resolve({.operands = {.a = bf16, .b = bf16}, .tile = {64, 64}});
  GemmConfig fixed = any;
  fixed.dense.fixed_k = 1 << 20;
  const std::string text = to_text(fixed);
  EXPECT_NE(text.find(",fixed_k=1048576"), std::string::npos) << text;
  EXPECT_EQ(*parse_config(text), fixed);
  EXPECT_NE(adapters::gemm_source(fixed).name, adapters::gemm_source(any).name);
  EXPECT_NE(adapters::gemm_source(fixed).text.find(".fixed_k = 1048576"), std::string::npos);
}

}  // namespace
}  // namespace ww
