// SPDX-License-Identifier: Apache-2.0
// D staged in parts: the bits of a tile staged whole, the shared memory that it saves, and what is refused.
#include <gtest/gtest.h>

#include <tuple>
#include <utility>

#include "launch/gemm_source.hpp"
#include "problems/random_epilogue.hpp"
#include "problems/random_problem.hpp"
#include "warpwright/config/resolve.hpp"

namespace ww {
namespace {

using namespace ww::testing;

Device open_emu() {
  auto device = Device::open("emu:sm90", {.cache_dir = {}, .emu = {.check = true}});
  if (!device) throw std::runtime_error(device.error().message);
  return *device;
}

// Even and odd numbers of parts, panels of 32, 64 and 128 bytes, every schedule, two MMA_M blocks, a batch; several
// tiles for one CTA, so that a tile finds the buffers of the preceding one in use. Under the checker, a store that
// still reads what is written is a finding.
TEST(EpilogueTile, PartsHaveTheBitsOfTheWhole) {
  const GemmProblem half{.m = 270, .n = 264, .k = 72, .a = bf16, .b = bf16};
  const GemmProblem block{.m = 400, .n = 200, .k = 272, .scale = Scale::block_1x128_128x128};
  GemmProblem words = half, batch = half;
  words.d = f32;
  batch.batch = 2, batch.batch_a = half.m * half.k, batch.batch_b = half.n * half.k, batch.batch_d = half.m * half.n;
  const std::pair<const char*, GemmProblem> cases[] = {{"tile=128x256x0,epilogue_n=64", half},
                                                       {"tile=128x160x0,cluster=1x2,epilogue_n=32", half},
                                                       {"tile=256x64x0,epilogue_n=32", half},
                                                       {"tile=64x96x0,tile_scheduler=stream-k,epilogue_n=48", half},
                                                       {"tile=64x64x0,epilogue_n=16", words},
                                                       {"tile=64x64x0,schedule=pingpong,epilogue_n=32", half},
                                                       {"tile=64x64x0,schedule=multistage,epilogue_n=32", batch},
                                                       {"tile=192x128x0,epilogue_n=64", block}};
  const Device device = open_emu();
  std::uint64_t seed = 0;
  for (const auto& [text, problem] : cases) {
    const auto config = parse_config(text);
    ASSERT_TRUE(config) << config.error().message;
    for (const std::int64_t k : {problem.k, std::int64_t{0}}) {
      GemmProblem p = problem;
      p.k = k;
      const HostProblem host = make_problem(p, *config, ++seed);
      const auto got = run_on(device, host);
      ASSERT_TRUE(got) << got.error().message << "\n" << host.replay();
      EXPECT_EQ(difference(host, *got, reference(host)), "");
    }
  }
}

TEST(EpilogueTile, PartsOfTrees) {
  for (const auto& [text, d, columns] : {std::tuple{"silu(acc*alpha+bias)+aux0", bf16, 32},
                                         {"swiglu(acc)", bf16, 16},
                                         {"quantise(gelu(acc))", e4m3, 32}}) {
    EpilogueCase c;
    c.problem = {.m = 260, .n = 192, .k = 64, .a = bf16, .b = bf16, .d = d};
    c.problem.epilogue = parse_epilogue(text).value();
    c.config.tile.m = 128, c.config.tile.n = 64, c.config.dense.epilogue_n = columns;
    const auto run = run_on(open_emu(), c);
    ASSERT_TRUE(run) << run.error().message << "\n" << c.replay();
    const ref::EpilogueComparison v = verify(c, *run);
    EXPECT_EQ(v.verdict.wrong, 0) << v.where << "\n" << c.replay();
  }
}

TEST(EpilogueTile, LeavesRoomForStages) {
  const auto stages = [](const char* text) { return config::resolve(parse_config(text).value()).sm90.stages; };
  EXPECT_EQ(stages("a=bf16,b=bf16,tile=128x256x0"), 3);
  EXPECT_EQ(stages("a=bf16,b=bf16,tile=128x256x0,epilogue_n=64"), 4);
  EXPECT_EQ(stages("a=bf16,b=bf16,tile=128x192x0,epilogue_n=32"), 5);
}

TEST(EpilogueTile, IsAKernelOfItsOwnAndRefusedByName) {
  const GemmProblem p{.m = 64, .n = 64, .k = 128, .a = bf16, .b = bf16};
  const auto error = [&](GemmConfig config, GemmProblem problem) {
    config.tile.m = config.tile.n = 64;
    const auto done = can_implement(problem, {.config = config});
    return done ? std::string("none") : done.error().message;
  };
  EXPECT_EQ(error({.dense = {.epilogue_n = 32}}, p), "none");
  EXPECT_NE(error({.dense = {.epilogue_n = 24}}, p)
                .find("config, epilogue_n: expected 0, or a divisor of the tile's columns of D"),
            std::string::npos)
      << error({.dense = {.epilogue_n = 24}}, p);
  GemmProblem by_column = p;
  by_column.d_layout = OutputLayout::column;
  EXPECT_NE(error({.dense = {.epilogue_n = 32}}, by_column).find("0 for grouped products, arrays"), std::string::npos);
  EXPECT_NE(error({.sm90 = {.swap_ab = SwapAb::on}, .dense = {.epilogue_n = 32}}, p).find("0 under swap-AB"),
            std::string::npos);

  const GemmConfig whole = config::resolve({.operands = {.a = bf16, .b = bf16}, .tile = {64, 64}});
  GemmConfig parts = whole;
  parts.dense.epilogue_n = 32;
  EXPECT_EQ(*parse_config(to_text(parts)), parts) << to_text(parts);
  EXPECT_NE(adapters::gemm_source(parts).name, adapters::gemm_source(whole).name);
}

}  // namespace
}  // namespace ww
