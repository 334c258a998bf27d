// SPDX-License-Identifier: Apache-2.0
// Swap-AB on the emulated devices, bit for bit: against the reference for every recipe, type, schedule and scheduler
// with tails everywhere, and against the same product without it. Epilogue trees against FP64 and against themselves.
#include <gtest/gtest.h>

#include "ops/gemm_choice.hpp"
#include "problems/random_epilogue.hpp"
#include "problems/swap_problem.hpp"
#include "warpwright/config/faults.hpp"
#include "warpwright/config/resolve.hpp"
#include "warpwright/config/swap_ab.hpp"

namespace ww {
namespace {

using namespace ww::testing;

Device open_emu(std::uint64_t seed = 0, EmuSchedule schedule = EmuSchedule::random, int sms = 0,
                Arch arch = Arch::sm90) {
  auto device = Device::open(fmt::format("emu:{}", name_of(arch)),
                             {.cache_dir = {}, .emu = {.seed = seed, .schedule = schedule, .sms = sms}});
  if (!device) throw std::runtime_error(device.error().message);
  return *device;
}

GemmConfig swapped(const std::string& text, Arch arch = Arch::sm90) {
  auto config = parse_config(text + (text.empty() ? "" : ",") + "swap_ab=on");
  if (!config) throw std::runtime_error(config.error().message);
  config->arch = arch;
  return *config;
}

void expect_equal(const GemmProblem& problem, const std::string& config, std::uint64_t seed,
                  EmuSchedule schedule = EmuSchedule::random, int sms = 0, Arch arch = Arch::sm90) {
  const HostProblem host = make_problem(problem, swapped(config, arch), seed);
  const Device device = open_emu(seed, schedule, sms, arch);
  const auto made = plan_gemm(device, host.problem, options_of(host, sms));
  ASSERT_TRUE(made) << made.error().message << "\n" << host.replay();
  EXPECT_EQ(made->config().sm90.swap_ab, SwapAb::on);
  const auto got = run_on(device, host, nullptr, sms);
  ASSERT_TRUE(got) << got.error().message << "\n" << host.replay();
  const KCut cut = sms == 0 ? KCut{} : cut_of(made->config(), host.problem, sms);
  EXPECT_EQ(difference(host, *got, reference(host, emu::MmaMath::exact, cut)), "");
}

constexpr Scale kBlock = Scale::block_1x128_128x128;

class SwapAbArch : public ::testing::TestWithParam<Arch> {
 protected:
  static void expect_equal(const GemmProblem& problem, const std::string& config, std::uint64_t seed,
                           EmuSchedule schedule = EmuSchedule::random, int sms = 0) {
    ww::expect_equal(problem, config, seed, schedule, sms, GetParam());
  }
};
INSTANTIATE_TEST_SUITE_P(Archs, SwapAbArch, ::testing::Values(Arch::sm90, Arch::sm100),
                         [](const auto& info) { return std::string(name_of(info.param)); });

TEST_P(SwapAbArch, EveryNumberOfRows) {
  std::uint64_t seed = 0;
  for (std::int64_t m : {1, 7, 8, 17, 33, 64, 65, 130})
    for (std::int64_t n : {8, 72, 200})
      expect_equal({.m = m, .n = n, .k = 400, .scale = kBlock}, "tile=128x16x128", ++seed);
}

TEST_P(SwapAbArch, TailsOfKAndNoneOfIt) {
  std::uint64_t seed = 100;
  for (std::int64_t k : {0, 16, 128, 144, 1040})
    for (const EmuSchedule schedule : {EmuSchedule::random, EmuSchedule::adversarial})
      expect_equal({.m = 17, .n = 136, .k = k, .scale = kBlock}, "tile=64x8x128", ++seed, schedule);
}

TEST_P(SwapAbArch, EmptyExtents) {
  expect_equal({.m = 0, .n = 64, .k = 128, .scale = kBlock}, "tile=64x8x128", 1);
  expect_equal({.m = 5, .n = 0, .k = 128, .scale = kBlock}, "tile=64x8x128", 1);
}

TEST(SwapAb, TheTileOfARequestWithoutOne) {
  expect_equal({.m = 3, .n = 136, .k = 256, .scale = kBlock}, "", 150);
  const auto made = plan_gemm(open_emu(), {.m = 3, .n = 136, .k = 256, .scale = kBlock}, {.config = swapped("")});
  ASSERT_TRUE(made) << made.error().message;
  EXPECT_EQ(made->config().tile.m, 128);
  EXPECT_EQ(made->config().tile.n, 8);
  EXPECT_GE(made->config().sm90.stages, 8) << "a ring of the weights is as deep as shared memory allows";
}

struct Recipe {
  DType a, b, d;
  Scale scale;
  const char* tile;   // under swap-AB
  const char* other;  // without
};
constexpr Recipe kRecipes[] = {
    {e4m3, e4m3, bf16, kBlock, "tile=192x24x128", "tile=64x64x128"},
    {e4m3, e4m3, bf16, Scale::block_1x128_1x128, "tile=128x48x128,cluster=2x1", "tile=64x64x128"},
    {e4m3, e5m2, f32, kBlock, "tile=256x32x128", "tile=64x64x128"},
    {e4m3, e4m3, f16, Scale::tensor, "tile=128x32x128,cluster=1x2", "tile=64x64x128"},
    {e5m2, e4m3, bf16, Scale::row_column, "tile=64x64x128,schedule=pingpong", "tile=64x64x128"},
    {bf16, bf16, bf16, Scale::none, "tile=128x16x64", "tile=64x64x64"},
    {f16, f16, f32, Scale::row_column, "tile=128x256x64", "tile=64x64x64"},
    {tf32, tf32, f32, Scale::none, "tile=64x8x32", "tile=64x64x32"},
};

TEST(SwapAb, EveryRecipeHasTheBitsOfTheSameProductWithoutIt) {
  std::uint64_t seed = 200;
  for (const Recipe& r : kRecipes)
    for (std::int64_t m : {1, 33, 130}) {
      const GemmProblem p{.m = m, .n = 264, .k = 464, .a = r.a, .b = r.b, .d = r.d, .scale = r.scale};
      expect_equal(p, r.tile, ++seed);
      HostProblem host = make_problem(p, swapped(r.tile), seed);
      const auto with = run_on(open_emu(seed), host);
      host.config = *parse_config(r.other);
      const auto without = run_on(open_emu(seed), host);
      ASSERT_TRUE(with && without) << host.replay();
      EXPECT_EQ(difference(host, *with, *without), "");
    }
}

TEST(SwapAb, ARowHasItsBitsAloneAndAmongOthers) {
  const HostProblem many =
      make_problem({.m = 70, .n = 136, .k = 400, .scale = kBlock}, *parse_config("tile=64x64x128"), 290);
  HostProblem one = many;  // its first rows
  one.problem.m = 3, one.config = swapped("tile=64x8x128");
  const Device device = open_emu();
  ASSERT_TRUE(options_of(one).batch_invariant);
  const auto of_many = run_on(device, many), alone = run_on(device, one);
  ASSERT_TRUE(of_many && alone);
  EXPECT_TRUE(std::equal(alone->begin(), alone->end(), of_many->begin()));
}

TEST(SwapAb, Schedules) {
  const GemmProblem p{.m = 19, .n = 328, .k = 656, .scale = kBlock};
  for (const EmuSchedule schedule : {EmuSchedule::fifo, EmuSchedule::random, EmuSchedule::adversarial}) {
    expect_equal(p, "tile=64x16x128,schedule=pingpong", 300, schedule);
    expect_equal(p, "tile=256x16x128,schedule=multistage", 301, schedule);
    expect_equal(p, "tile=64x16x128,tile_scheduler=dynamic", 302, schedule);
  }
}

TEST_P(SwapAbArch, SplitAlongKInAClusterAndThroughWorkspace) {
  const GemmProblem p{.m = 9, .n = 200, .k = 1680, .scale = kBlock};
  expect_equal(p, "tile=64x16x128,tile_scheduler=split-k,split=4,cluster=1x1x4,raster=64", 310,
               EmuSchedule::adversarial, 8);
  expect_equal(p, "tile=128x16x128,tile_scheduler=split-k,split=3,cluster=1x1x1,raster=64", 311, EmuSchedule::random,
               8);
  GemmProblem rows = p;  // several tiles along M, which is the instruction's N
  rows.m = 70;
  expect_equal(rows, "tile=64x16x128,tile_scheduler=stream-k,raster=64", 312, EmuSchedule::random, 8);
}

// More splits than k-blocks, and as many as fit: one round of clusters and several, with and without workspace.
TEST(SwapAb, DeepSplitsOfFewTiles) {
  std::uint64_t seed = 320;
  for (const char* config : {"tile=64x8x128,split=16,cluster=1x1x16", "tile=64x16x128,split=32,cluster=1x1x16",
                             "tile=64x32x128,split=64,cluster=1x1x8"})
    for (const std::int64_t k : {16, 1680, 8208})
      for (const std::int64_t m : {1, 19}) {
        const GemmProblem p{.m = m, .n = 72, .k = k, .scale = seed % 2 == 0 ? kBlock : Scale::tensor};
        expect_equal(p, std::string(config) + ",tile_scheduler=split-k,raster=64", ++seed,
                     k == 1680 ? EmuSchedule::adversarial : EmuSchedule::random, 32);
      }
}

TEST_P(SwapAbArch, LayoutsAndBatches) {
  std::uint64_t seed = 320;
  for (Major a : {Major::k, Major::mn})
    for (Major b : {Major::k, Major::mn})
      expect_equal({.m = 40, .n = 136, .k = 144, .a = bf16, .b = bf16, .a_major = a, .b_major = b}, "tile=128x64x64",
                   ++seed);
  expect_equal({.m = 40, .n = 136, .k = 144, .a = f16, .b = f16, .d = f32, .d_layout = OutputLayout::column},
               "tile=64x40x64", ++seed);
  GemmProblem batch{.m = 11, .n = 136, .k = 272, .scale = kBlock, .lda = 288, .ldd = 144, .batch = 3};
  batch.batch_a = 11 * 288, batch.batch_d = 12 * 144, batch.batch_scale_a = 11 * 3;  // one B for all
  expect_equal(batch, "tile=128x16x128", ++seed);
  batch.batch_b = 136 * 272, batch.batch_scale_b = 2 * 3;
  expect_equal(batch, "tile=128x16x128", seed);
}

TEST(SwapAb, OperandsAreReadOnceUnderTheirOwnNames) {
  const HostProblem host =
      make_problem({.m = 16, .n = 512, .k = 512, .scale = kBlock}, swapped("tile=128x16x128"), 335);
  EmuStats stats;
  const auto got = run_on(open_emu(), host, &stats);
  ASSERT_TRUE(got) << got.error().message;
  EXPECT_EQ(stats.l2_read_bytes.at("b"), 512u * 512);
  EXPECT_EQ(stats.l2_read_bytes.at("a"), 16u * 512 * 4) << "by four tiles of B's rows";
  EXPECT_EQ(stats.l2_write_bytes.at("d"), 16u * 512 * 2);
}

TEST(SwapAb, NanScalesReachTheirRowsAndBlocksOnly) {
  HostProblem host = make_problem({.m = 21, .n = 264, .k = 256, .scale = kBlock}, swapped("tile=192x24x128"), 340);
  host.scale_a[7 * 2 + 1] = __builtin_nanf("");
  host.scale_b[1 * 2] = __builtin_nanf("");  // columns 128 to 255
  const auto got = run_on(open_emu(), host);
  ASSERT_TRUE(got) << got.error().message;
  const auto* d = reinterpret_cast<const std::uint16_t*>(got->data());
  for (int m = 0; m < 21; ++m)
    for (int n = 0; n < 264; ++n) EXPECT_EQ(d[m * 264 + n] == 0x7fff, m == 7 || n / 128 == 1) << m << ", " << n;
}

// --- epilogues -------------------------------------------------------------------------------------------
EpilogueCase text_case(const char* epilogue, DType d, std::int64_t m, std::int64_t n = 136, Arch arch = Arch::sm90) {
  EpilogueCase c;
  c.problem = {.m = m, .n = n, .k = 64, .a = bf16, .b = bf16, .d = d};
  const auto tree = parse_epilogue(epilogue);
  if (!tree) throw std::runtime_error(tree.error().message);
  c.problem.epilogue = *tree;
  c.config = swapped("tile=128x16x64", arch);
  return c;
}

void expect_right(const EpilogueCase& c) {
  const auto run = run_on(open_emu(0, EmuSchedule::random, 0, c.config.arch), c);
  ASSERT_TRUE(run) << run.error().message << "\n" << c.replay();
  const ref::EpilogueComparison v = verify(c, *run);
  EXPECT_EQ(v.verdict.wrong, 0) << v.where << " (" << v.verdict.first->row << ", " << v.verdict.first->column
                                << "): got " << v.verdict.first->got << ", expected " << v.verdict.first->expected
                                << " +- " << v.verdict.first->bound << "\n"
                                << c.replay();
}

/// D, amax and stores as without swap-AB, to the bit; sums over tiles follow the tile and are left out.
void expect_bits_of_the_other(EpilogueCase c) {
  const Arch arch = c.config.arch;
  const Device device = open_emu(0, EmuSchedule::random, 0, arch);
  const auto with = run_on(device, c);
  c.config = *parse_config("tile=64x64x64"), c.config.arch = arch;
  const auto without = run_on(device, c);
  ASSERT_TRUE(with && without) << c.replay() << (with ? "" : with.error().message);
  EXPECT_TRUE(bytes_of(*with) == bytes_of(*without)) << c.replay();
}

constexpr const char* kElementwise = "silu(acc*alpha+bias)+c*beta+col1*aux2+row1:bf16";

TEST_P(SwapAbArch, TreesOverOddRows) {
  for (std::int64_t m : {1, 7, 37}) {
    expect_right(text_case(kElementwise, bf16, m, 136, GetParam()));
    expect_bits_of_the_other(text_case(kElementwise, bf16, m, 136, GetParam()));
  }
}

TEST_P(SwapAbArch, ReductionsAndStores) {
  for (std::int64_t m : {1, 37}) {
    expect_right(
        text_case("column_amax(column_sum(row_sum(row_amax(acc,out0),out1),out2),out3)", f32, m, 136, GetParam()));
    const EpilogueCase stores =
        text_case("relu(store(store(acc+col0,out0:f16),out1:f32))+row_amax(acc,out2)", f16, m, 136, GetParam());
    expect_right(stores);
    expect_bits_of_the_other(stores);
  }
}

TEST(SwapAb, AccumulatesInPlaceInABatch) {
  EpilogueCase c = text_case("acc*alpha+c*beta", bf16, 13);
  c.in_place = true, c.pad = 8;
  c.problem.ldd = c.problem.n + 8;
  expect_right(c);
  c.problem.batch = 3, c.problem.batch_a = 13 * 64, c.problem.batch_b = c.problem.n * 64;
  c.problem.batch_d = 13 * c.problem.ldd;
  expect_right(c);
}

TEST(SwapAb, EachMatrixOfABatchHasItsOperands) {
  for (const bool shared : {false, true}) {
    EpilogueCase c = text_case(kElementwise, bf16, 13);
    c.shared = shared;
    c.problem.batch = 3, c.problem.batch_a = 13 * 64, c.problem.batch_b = c.problem.n * 64;
    c.problem.batch_d = 13 * c.problem.n;
    expect_right(c);
  }
}

// --- choice and refusals ---------------------------------------------------------------------------------
TEST(SwapAb, RefusalsAreOneSentence) {
  const auto refused = [&](GemmProblem p, const std::string& config, const char* part) {
    const auto can = can_implement(p, {.config = *parse_config(config)});
    ASSERT_FALSE(can) << config;
    EXPECT_NE(can.error().message.find(part), std::string::npos) << can.error().message;
  };
  GemmProblem p{.m = 8, .n = 256, .k = 128, .a = bf16, .b = bf16};
  p.epilogue = evt::swiglu(evt::acc);
  refused(p, "swap_ab=on", "SwiGLU, which combines columns");
  p.d = e4m3, p.epilogue = evt::quantise_block(evt::acc);
  refused(p, "swap_ab=on", "128 columns of D");
  p.epilogue = evt::quantise(evt::acc);
  refused(p, "swap_ab=on", "D in FP8");
  refused({.m = 8, .n = 256, .k = 128}, "swap_ab=on,tile=96x16x0", "64 or 128 rows");
  refused({.m = 8, .n = 256, .k = 128, .scale = Scale::block_128x128_1x128}, "",
          "row-column, block, block-1d, mx or nv");
}

TEST(SwapAb, AutoTakesItForFewRowsAndOnRequest) {
  const ops::LaunchTarget h200{132, false};
  const auto chosen = [&](std::int64_t m, const char* config) {
    const auto decision =
        ops::decide({.m = m, .n = 7168, .k = 2048, .scale = kBlock}, {.config = *parse_config(config)}, h200);
    EXPECT_TRUE(decision) << decision.error().message;
    return decision->config;
  };
  for (std::int64_t m : {1, 8, 16, 32}) EXPECT_EQ(chosen(m, "").sm90.swap_ab, SwapAb::on) << m;
  EXPECT_EQ(chosen(4096, "").sm90.swap_ab, SwapAb::off);
  EXPECT_EQ(chosen(4096, "swap_ab=on").sm90.swap_ab, SwapAb::on);
  EXPECT_EQ(chosen(16, "swap_ab=off").sm90.swap_ab, SwapAb::off);
  EXPECT_EQ(chosen(16, "tile=64x64x0").sm90.swap_ab, SwapAb::off) << "a tile is one of A's rows by B's";
  EXPECT_EQ(chosen(16, "tile=64x16x0,swap_ab=on").sm90.swap_ab, SwapAb::on);
}

TEST(SwapAb, ItsKernelIsThatOfTheTurnedProduct) {
  const GemmConfig c = config::resolve(
      {.operands = {.a = e4m3, .b = e5m2, .scale = kBlock}, .tile = {128, 16}, .sm90 = {.swap_ab = SwapAb::on}});
  const GemmConfig kernel = config::kernel_config(c);
  EXPECT_EQ(kernel.operands.a, e5m2);
  EXPECT_EQ(kernel.operands.scale, Scale::block_128x128_1x128);
  EXPECT_EQ(kernel.operands.d_layout, OutputLayout::column);
  EXPECT_EQ(kernel.sm90.swap_ab, SwapAb::off);
  EXPECT_EQ(config::exchanged(kernel), c);
  EXPECT_FALSE(config::fault_of(kernel));
  EXPECT_EQ(*parse_config(to_text(kernel)), kernel);
  EXPECT_EQ(*parse_config(to_text(c)), c);
  EXPECT_NE(to_text(c).find("swap_ab=on"), std::string::npos);
}

}  // namespace
}  // namespace ww
