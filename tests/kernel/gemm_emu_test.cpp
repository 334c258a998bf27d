// SPDX-License-Identifier: Apache-2.0
// The GEMM kernels on the emulated devices, bit for bit against the reference: every type, recipe, output, cluster,
// tail.
// A test runs on every architecture; of tests of many kernels, Blackwell's part is smaller, because its kernels are
// compiled when they are first run. tests/parity has random configs of it.
#include <gtest/gtest.h>

#include <array>

#include "problems/random_problem.hpp"

namespace ww {
namespace {

using namespace ww::testing;

class GemmEmu : public ::testing::TestWithParam<Arch> {
 protected:
  static bool on_hopper() { return GetParam() == Arch::sm90; }
  static Device open_emu(std::uint64_t seed = 0, EmuSchedule schedule = EmuSchedule::random,
                         EmuMath math = EmuMath::exact) {
    auto device = Device::open(fmt::format("emu:{}", name_of(GetParam())),
                               {.cache_dir = {}, .emu = {.seed = seed, .schedule = schedule, .math = math}});
    if (!device) throw std::runtime_error(device.error().message);
    return *device;
  }
  static HostProblem make_problem(const GemmProblem& problem, const char* config, std::uint64_t seed) {
    GemmConfig parsed = parse_config(config).value();
    parsed.arch = GetParam();
    return testing::make_problem(problem, parsed, seed);
  }
  static void expect_equal(const GemmProblem& problem, const char* config, std::uint64_t seed,
                           EmuSchedule schedule = EmuSchedule::random) {
    const HostProblem host = make_problem(problem, config, seed);
    const auto got = run_on(open_emu(seed, schedule), host);
    ASSERT_TRUE(got) << got.error().message << "\n" << host.replay();
    EXPECT_EQ(difference(host, *got, reference(host)), "");
  }

  using Configs = std::vector<const char*>;
  /// Returns the configs of this architecture.
  static Configs configs(const Configs& hopper, const Configs& blackwell) { return on_hopper() ? hopper : blackwell; }
};
INSTANTIATE_TEST_SUITE_P(Archs, GemmEmu, ::testing::Values(Arch::sm90, Arch::sm100),
                         [](const auto& info) { return std::string(name_of(info.param)); });

TEST_P(GemmEmu, BlockScaledDefault) {
  expect_equal({.m = 256, .n = 256, .k = 512, .scale = Scale::block_1x128_128x128}, "", 1);
}

TEST_P(GemmEmu, EveryTypeRecipeAndOutput) {
  std::uint64_t seed = 10;
  for (DType a : {e4m3, bf16, f16})
    for (Scale scale : {Scale::none, Scale::tensor, Scale::block_1x128_128x128})
      for (DType d : {bf16, f16, f32}) {
        if (a != e4m3 && scale == Scale::block_1x128_128x128) continue;
        if (++seed % 3 != 0 && !on_hopper()) continue;
        expect_equal({.m = 200, .n = 136, .k = 304, .a = a, .b = a, .d = d, .scale = scale}, "", seed);
      }
}

TEST_P(GemmEmu, Tails) {
  std::uint64_t seed = 100;
  for (std::int64_t m : {1, 63, 65, 129})
    for (std::int64_t n : {8, 120, 264})
      for (std::int64_t k : {16, 128, 144, 400})
        expect_equal({.m = m, .n = n, .k = k, .scale = Scale::block_1x128_128x128}, "", ++seed);
}

TEST_P(GemmEmu, Clusters) {
  for (const char* config : configs({"cluster=2x1", "cluster=1x2", "cluster=1x1"},
                                    {"cluster=2x1,pair=1", "cluster=4x4", "cluster=4x2,pair=1,accumulators=2"}))
    for (std::uint64_t seed = 0; seed < 4; ++seed) {
      expect_equal({.m = 300, .n = 392, .k = 640, .scale = Scale::block_1x128_128x128}, config, seed);
      expect_equal({.m = 300, .n = 392, .k = 640, .scale = Scale::block_1x128_128x128}, config, seed,
                   EmuSchedule::fifo);
    }
}

TEST_P(GemmEmu, EmptyExtents) {
  expect_equal({.m = 0, .n = 64, .k = 128}, "", 1);
  expect_equal({.m = 64, .n = 0, .k = 128}, "", 1);
  for (Scale scale : {Scale::none, Scale::tensor, Scale::block_1x128_128x128})
    expect_equal({.m = 100, .n = 72, .k = 0, .scale = scale}, "", 1);
}

TEST_P(GemmEmu, PaddedRowsAreNeitherReadNorWritten) {
  expect_equal({.m = 130, .n = 136, .k = 200, .scale = Scale::block_1x128_128x128, .lda = 256, .ldb = 208, .ldd = 144},
               "", 5);
}

TEST_P(GemmEmu, NanScalesReachTheirRowsOnly) {
  HostProblem host = make_problem({.m = 130, .n = 136, .k = 256, .scale = Scale::block_1x128_128x128}, "", 6);
  host.scale_a[77 * 2 + 1] = __builtin_nanf("");
  const auto got = run_on(open_emu(), host);
  ASSERT_TRUE(got) << got.error().message;
  EXPECT_EQ(difference(host, *got, reference(host)), "");
  const auto* d = reinterpret_cast<const std::uint16_t*>(got->data());
  for (int m = 0; m < 130; ++m)
    for (int n = 0; n < 136; ++n) EXPECT_EQ(d[m * 136 + n] == 0x7fff, m == 77) << m << ", " << n;
}

TEST_P(GemmEmu, Fp32ChainMathIsItsOwnReference) {
  const HostProblem host = make_problem({.m = 128, .n = 128, .k = 384, .scale = Scale::block_1x128_128x128}, "", 7);
  const auto got = run_on(open_emu(3, EmuSchedule::random, EmuMath::fp32_chain), host);
  ASSERT_TRUE(got) << got.error().message;
  EXPECT_EQ(difference(host, *got, reference(host, emu::MmaMath::fp32_chain)), "");
}

TEST_P(GemmEmu, MulticastReadsSharedOperandsOnce) {
  const GemmProblem problem{.m = 512, .n = 512, .k = 512, .scale = Scale::block_1x128_128x128};
  const auto bytes = [&](const char* cluster) {
    const HostProblem host = make_problem(problem, (std::string("tile=128x128x128,cluster=") + cluster).c_str(), 8);
    EmuStats stats;
    const auto got = run_on(open_emu(), host, &stats);
    EXPECT_TRUE(got) << (got ? "" : got.error().message);
    return stats;
  };
  const EmuStats one = bytes("1x1"), shares_b = bytes("2x1"), shares_a = bytes("1x2");
  EXPECT_EQ(one.l2_read_bytes.at("a"), 512u * 512 * 4);  // four column tiles read all of A
  EXPECT_EQ(one.l2_read_bytes.at("b"), 512u * 512 * 4);
  EXPECT_EQ(shares_b.l2_read_bytes.at("b"), one.l2_read_bytes.at("b") / 2);
  EXPECT_EQ(shares_b.l2_read_bytes.at("a"), one.l2_read_bytes.at("a"));
  EXPECT_EQ(shares_a.l2_read_bytes.at("a"), one.l2_read_bytes.at("a") / 2);
  EXPECT_EQ(shares_a.l2_read_bytes.at("b"), one.l2_read_bytes.at("b"));
  EXPECT_EQ(one.l2_write_bytes.at("d"), 512u * 512 * 2);
}

TEST_P(GemmEmu, OneAndThreeConsumerWarpgroupsComputeWhatTwoDo) {
  for (const char* config : configs({"tile=192x128x128,cluster=1x1", "tile=192x128x128,cluster=2x1"},
                                    {"tile=64x128x128,cluster=1x1", "tile=64x128x128,cluster=2x1"}))
    expect_equal({.m = 410, .n = 136, .k = 400, .scale = Scale::block_1x128_128x128}, config, 12);
}

TEST_P(GemmEmu, RowAndColumnScales) {
  expect_equal({.m = 130, .n = 264, .k = 400, .scale = Scale::row_column}, "", 13);
  expect_equal({.m = 70, .n = 72, .k = 200, .a = bf16, .b = bf16, .d = f32, .scale = Scale::row_column}, "", 14);
}

TEST_P(GemmEmu, BlockScalesOfBothOperandsByRow) {
  const GemmProblem p{.m = 200, .n = 136, .k = 400, .scale = Scale::block_1x128_1x128};
  GemmProblem transposed = p;  // M- and N-major scales
  transposed.scale_a_row = transposed.scale_b_n = 1, transposed.scale_a_k = 203, transposed.scale_b_k = 136;
  std::uint64_t seed = 300;
  for (const char* config : configs({"", "tile=128x64x128,cluster=2x1,stages=2", "tile=64x40x128,cluster=1x2",
                                     "tile=64x64x128,schedule=pingpong", "tile=128x64x128,schedule=multistage"},
                                    {"tile=128x64x128,cluster=2x1,stages=2,pair=1", "tile=64x40x128,cluster=1x2"})) {
    expect_equal(p, config, ++seed);
    expect_equal(transposed, config, seed, EmuSchedule::adversarial);
  }
  GemmProblem batch = p;
  batch.batch = 2, batch.batch_a = 200 * 400, batch.batch_d = 200 * 136, batch.batch_scale_a = 200 * 4;
  batch.batch_scale_b = 136 * 4;
  expect_equal(batch, "tile=128x64x128", 320);
  expect_equal({.m = 100, .n = 72, .k = 0, .scale = Scale::block_1x128_1x128}, "", 321);
  expect_equal({.m = 70, .n = 200, .k = 272, .a = e5m2, .b = e4m3, .d = f32, .scale = Scale::block_1x128_1x128},
               "tile=128x128x128", 322);
}

TEST_P(GemmEmu, NanScalesOfAColumnReachThatColumnOnly) {
  HostProblem host = make_problem({.m = 130, .n = 136, .k = 256, .scale = Scale::block_1x128_1x128}, "", 323);
  host.scale_b[77 * 2 + 1] = __builtin_nanf("");
  const auto got = run_on(open_emu(), host);
  ASSERT_TRUE(got) << got.error().message;
  EXPECT_EQ(difference(host, *got, reference(host)), "");
  const auto* d = reinterpret_cast<const std::uint16_t*>(got->data());
  for (int m = 0; m < 130; ++m)
    for (int n = 0; n < 136; ++n) EXPECT_EQ(d[m * 136 + n] == 0x7fff, n == 77) << m << ", " << n;
}

TEST_P(GemmEmu, TilesThatMeetSeveralScalesOfB) {
  constexpr Scale kBlock = Scale::block_1x128_128x128;
  std::uint64_t seed = 340;
  for (const char* config :
       configs({"tile=192x96x128", "tile=128x160x128,cluster=2x1", "tile=128x192x128", "tile=128x136x128,stages=2",
                "tile=128x176x128,stages=2", "tile=64x96x128,schedule=pingpong", "tile=128x96x128,schedule=multistage",
                "tile=256x48x128,cluster=1x2", "tile=64x96x128,tile_scheduler=split-k,split=2,raster=64"},
               {"tile=128x160x128,cluster=2x1,pair=1", "tile=128x192x128", "tile=64x136x128,stages=2",
                "tile=64x96x128,tile_scheduler=split-k,split=2,raster=64"})) {
    const HostProblem host = make_problem({.m = 200, .n = 584, .k = 400, .scale = kBlock}, config, ++seed);
    const auto got = run_on(open_emu(seed), host);
    ASSERT_TRUE(got) << got.error().message << "\n" << host.replay();
    const KCut cut = std::string_view(config).find("split-k") == std::string_view::npos
                         ? KCut{}
                         : KCut{64, 96, [](std::int64_t, std::int64_t) {
                                  return KSplits{{{0, 2}, {2, 4}}};
                                }};
    EXPECT_EQ(difference(host, *got, reference(host, emu::MmaMath::exact, cut)), "");
  }
  GemmProblem transposed{.m = 200, .n = 400, .k = 272, .scale = kBlock};
  transposed.scale_a_row = transposed.scale_b_n = 1, transposed.scale_a_k = 200, transposed.scale_b_k = 5;
  transposed.batch = 2, transposed.batch_a = 200 * 272, transposed.batch_d = 200 * 400;
  transposed.batch_scale_a = 600, transposed.batch_scale_b = 17;
  expect_equal(transposed, "tile=128x96x128", 360, EmuSchedule::adversarial);
}

TEST_P(GemmEmu, NanScalesOfABlockReachItsColumnsOnly) {
  for (const char* config : configs({"tile=128x160x128", "tile=192x96x128"}, {"tile=128x160x128"})) {
    HostProblem host = make_problem({.m = 70, .n = 392, .k = 256, .scale = Scale::block_1x128_128x128}, config, 361);
    host.scale_b[1 * 2 + 1] = __builtin_nanf("");  // columns 128 to 255
    const auto got = run_on(open_emu(), host);
    ASSERT_TRUE(got) << got.error().message;
    const auto* d = reinterpret_cast<const std::uint16_t*>(got->data());
    for (int m = 0; m < 70; ++m)
      for (int n = 0; n < 392; ++n) EXPECT_EQ(d[m * 392 + n] == 0x7fff, n / 128 == 1) << config << m << ", " << n;
  }
}

TEST_P(GemmEmu, BatchesTakeAStrideForEveryTensor) {
  const GemmProblem block{.m = 130, .n = 136, .k = 272, .scale = Scale::block_1x128_128x128, .batch = 3};
  GemmProblem own = block, shared = block;
  own.batch_a = 130 * 272 + 16, own.batch_b = 136 * 272, own.batch_d = 130 * 136 + 8;
  own.batch_scale_a = 130 * 3, own.batch_scale_b = 2 * 3 + 1;
  shared.batch_a = 130 * 272, shared.batch_d = 130 * 136, shared.batch_scale_a = 130 * 3;  // one B and its scales
  for (const char* config :
       configs({"", "cluster=2x1,stages=2", "cluster=1x2,tile=64x64x128"}, {"", "cluster=2x2,stages=2,pair=1"})) {
    expect_equal(own, config, 15);
    expect_equal(shared, config, 16, EmuSchedule::adversarial);
  }
}

TEST_P(GemmEmu, RandomBatchesOfThinMatrices) {  // one row, one column of K, few columns: modes whose strides are equal
  std::mt19937_64 random(20261122);
  const auto one_of = [&](auto... values) {
    const std::array<std::int64_t, sizeof...(values)> all{values...};
    return all[random() % all.size()];
  };
  for (std::uint64_t seed = 400; seed < (on_hopper() ? 440 : 408); ++seed) {
    const DType type = std::array{e4m3, bf16, f16}[random() % 3];
    GemmProblem p{
        .m = one_of(1, 1, 2, 65), .n = one_of(8, 16, 72), .k = one_of(16, 128, 144, 272), .a = type, .b = type};
    if (type != e4m3) {
      p.b_major = random() % 2 ? Major::mn : Major::k;
      if (p.b_major == Major::mn) p.k = one_of(8, 16, 128);
      p.d = random() % 2 ? f32 : type;
    }
    p.scale = std::array{Scale::none, Scale::tensor, Scale::row_column, Scale::block_1x128_128x128,
                         Scale::block_1x128_1x128}[random() % (type == e4m3 ? 5 : 3)];
    p.batch = one_of(1, 2, 3);
    if (random() % 4 != 0) p.batch_a = p.m * p.k;
    if (random() % 4 != 0) p.batch_b = p.n * p.k;
    p.batch_d = p.m * p.n;
    if (random() % 2) p.batch_scale_a = 65 * 3, p.batch_scale_b = 72 * 3;
    expect_equal(p, "", seed);
  }
}

TEST_P(GemmEmu, MatricesOfABatchMayLieSideBySide) {  // [M, L, K] and [M, L, N], as attention heads do
  expect_equal({.m = 70,
                .n = 72,
                .k = 80,
                .a = bf16,
                .b = bf16,
                .d = f32,
                .scale = Scale::tensor,
                .lda = 5 * 80,
                .ldb = 80,
                .ldd = 5 * 72,
                .batch = 5,
                .batch_a = 80,
                .batch_b = 72 * 80,
                .batch_d = 72,
                .batch_scale_a = 1},
               "tile=64x64x64", 17);
  expect_equal({.m = 70,
                .n = 40,
                .k = 144,
                .scale = Scale::row_column,
                .batch = 4,
                .batch_a = 70 * 144,
                .batch_d = 70 * 40,
                .batch_scale_a = 70,
                .batch_scale_b = 40},
               "tile=64x64x128,cluster=2x1", 18);
}

TEST_P(GemmEmu, MixedFp8) {
  std::uint64_t seed = 200;
  for (DType a : {e4m3, e5m2})
    for (DType b : {e4m3, e5m2})
      for (Scale scale : {Scale::tensor, Scale::block_1x128_128x128}) {
        if ((a == e4m3 && b == e4m3) || (!on_hopper() && (a == b) != (scale == Scale::tensor))) continue;
        expect_equal({.m = 130, .n = 136, .k = 400, .a = a, .b = b, .d = f32, .scale = scale}, "tile=64x64x128",
                     ++seed);
      }
}

TEST_P(GemmEmu, Tf32) {
  expect_equal({.m = 130, .n = 136, .k = 100, .a = tf32, .b = tf32, .d = f32}, "", 220);
  expect_equal({.m = 70, .n = 72, .k = 36, .a = tf32, .b = tf32, .scale = Scale::row_column},
               "tile=64x64x32,cluster=2x1", 221);
  expect_equal({.m = 70, .n = 72, .k = 0, .a = tf32, .b = tf32}, "tile=64x64x32,cluster=2x1", 222);
}

TEST_P(GemmEmu, Tf32InEveryLayoutOfBlackwell) {
  if (on_hopper()) GTEST_SKIP() << "GemmRegisters.Tf32InEveryLayout tests Hopper";
  std::uint64_t seed = 1230;
  const char *pair = "tile=128x128x32,cluster=2x1,pair=1", *shared_a = "tile=128x64x32,cluster=1x4,stages=2",
             *shared_b = "tile=64x64x32,cluster=2x1", *swapped = "tile=128x32x32,swap_ab=on";
  for (const auto& [a, b, kernels] : {std::tuple{Major::k, Major::mn, Configs{pair, swapped}},
                                      {Major::mn, Major::k, Configs{shared_a, swapped}},
                                      {Major::mn, Major::mn, Configs{pair, shared_b}}})
    for (const char* config : kernels) {
      // Contiguous rows are multiples of 4 elements; other extents are any.
      GemmProblem p{.m = a == Major::k ? 197 : 200, .n = 136, .k = 100, .a = tf32, .b = tf32, .d = f32};
      p.a_major = a, p.b_major = b;
      if (a == Major::mn && b == Major::mn) p.k = 99;
      expect_equal(p, config, ++seed);
      p.batch = 3, p.batch_a = 200 * p.k, p.batch_b = p.n * p.k, p.batch_d = p.m * p.n;
      expect_equal(p, config, ++seed);
      p.m = 1, p.lda = a == Major::mn ? 4 : 0, p.batch_a = 200 * p.k;
      expect_equal(p, config, ++seed);
      p.k = 0;
      expect_equal(p, config, ++seed);
    }
}

TEST_P(GemmEmu, EveryLayoutOf16BitOperands) {
  std::uint64_t seed = 240;
  for (Major a : {Major::k, Major::mn})
    for (Major b : {Major::k, Major::mn})
      for (const char* config : configs({"tile=128x128x64,cluster=2x1", "tile=128x64x64,cluster=1x2,stages=2"},
                                        {"tile=128x128x64,cluster=2x1,pair=1"})) {
        const DType type = ++seed % 2 != 0 ? bf16 : f16;
        // K-major rows and MN-major ones need 8 elements each; where one is not contiguous it may be any number
        GemmProblem p{.m = a == Major::k ? 197 : 200,
                      .n = 136,
                      .k = a == Major::mn && b == Major::mn ? 75 : 200,
                      .a = type,
                      .b = type,
                      .d = f32,
                      .a_major = a,
                      .b_major = b};
        expect_equal(p, config, seed);
        p.lda = a == Major::k ? p.k + 8 : p.m + 8, p.ldb = b == Major::k ? p.k + 16 : p.n + 24;
        expect_equal(p, config, seed + 100, EmuSchedule::adversarial);
      }
  expect_equal({.m = 72,
                .n = 72,
                .k = 50,
                .a = bf16,
                .b = bf16,
                .a_major = Major::mn,
                .b_major = Major::mn,
                .batch = 2,
                .batch_a = 72 * 50,
                .batch_d = 72 * 72},
               "tile=64x64x64", 260);
  expect_equal({.m = 72,
                .n = 264,
                .k = 130,
                .a = bf16,
                .b = bf16,
                .scale = Scale::tensor,
                .ldd = 272,
                .a_major = Major::mn,
                .b_major = Major::mn},
               "", 261);
}

TEST_P(GemmEmu, EveryLayoutOfFp8Operands) {
  std::uint64_t seed = 270;
  for (Major a : {Major::k, Major::mn})
    for (Major b : {Major::k, Major::mn}) {
      if (a == Major::k && b == Major::k) continue;
      GemmProblem p{.m = a == Major::k ? 197 : 208, .n = 272, .k = a == Major::mn && b == Major::mn ? 205 : 208};
      p.a = e5m2, p.b = e4m3, p.a_major = a, p.b_major = b;
      p.scale = a == b ? Scale::tensor : Scale::block_1x128_128x128;
      if (!on_hopper()) {
        expect_equal(p, b == Major::k ? "tile=128x128x128,cluster=2x1" : "tile=128x256x128,cluster=2x1,pair=1", ++seed);
        expect_equal(p, b == Major::k ? "tile=128x128x128,cluster=2x1" : "tile=128x256x128,cluster=2x1,pair=1", ++seed,
                     EmuSchedule::adversarial);
        continue;
      }
      const auto made = plan_gemm(open_emu(), p);
      ASSERT_FALSE(made);
      EXPECT_NE(made.error().message.find("K-major on Hopper"), std::string::npos) << made.error().message;
    }
}

TEST_P(GemmEmu, OutputsByColumn) {
  std::uint64_t seed = 400;
  for (DType d : {bf16, f16, f32})
    for (const char* config : configs({"tile=128x128x128,cluster=2x1", "tile=128x40x128,stages=2",
                                       "tile=64x64x128,schedule=pingpong", "tile=256x64x128,schedule=multistage"},
                                      {d == f32 ? "tile=64x40x128,stages=2" : "tile=128x128x128,cluster=2x1,pair=1"})) {
      GemmProblem p{.m = 200, .n = 264, .k = 272, .d = d, .scale = Scale::tensor, .d_layout = OutputLayout::column};
      expect_equal(p, config, ++seed);
      p.m = 136, p.ldd = 152, p.k = 0;
      expect_equal(p, config, seed, EmuSchedule::adversarial);
    }
}

TEST_P(GemmEmu, BatchesOfOutputsByColumn) {
  GemmProblem p{.m = 132, .n = 136, .k = 144, .d = f32, .d_layout = OutputLayout::column, .batch = 3};
  p.ldd = 136, p.batch_a = 132 * 144, p.batch_d = 136 * 136 + 8;
  const char* const tile = configs({"tile=128x72x128"}, {"tile=64x72x128"}).front();
  expect_equal(p, tile, 420);
  p.ldd = 3 * 136, p.batch_d = 136;  // side by side: (N, L, M)
  expect_equal(p, tile, 421);
}

TEST_P(GemmEmu, EmptyBatches) {
  expect_equal({.m = 64, .n = 64, .k = 128, .batch = 0}, "", 1);
  expect_equal({.m = 70, .n = 72, .k = 0, .scale = Scale::block_1x128_128x128, .batch = 2, .batch_d = 70 * 72}, "", 1);
}

TEST_P(GemmEmu, OneSmComputesWhatFourDo) {
  const HostProblem host =
      make_problem({.m = 300, .n = 264, .k = 256, .scale = Scale::block_1x128_128x128}, "cluster=1x1", 9);
  const auto one = run_on(open_emu(), host, nullptr, 1), four = run_on(open_emu(), host, nullptr, 4);
  ASSERT_TRUE(one && four);
  EXPECT_EQ(difference(host, *one, *four), "");
}

}  // namespace
}  // namespace ww
