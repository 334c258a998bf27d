// SPDX-License-Identifier: Apache-2.0
// Selection for Blackwell: predictions that follow from published rates alone, and what auto takes on a device of
// compute capability 10.0. No time here is a measurement.
#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "config/config_text.hpp"
#include "ops/gemm_choice.hpp"
#include "ops/operand_checks.hpp"
#include "select/config_list.hpp"
#include "select/grouped_list.hpp"
#include "select/sm100_cost.hpp"
#include "warpwright/config/faults.hpp"
#include "warpwright/config/resolve.hpp"
#include "warpwright/host/epilogue.hpp"
#include "warpwright/host/explain.hpp"
#include "warpwright/host/grouped.hpp"
#include "warpwright/host/k_grouped.hpp"
#include "warpwright/host/prepare.hpp"

namespace ww::select {
namespace {

constexpr ops::LaunchTarget kB200Target{148, false, Arch::sm100};

GemmProblem bf16_problem(std::int64_t m, std::int64_t n, std::int64_t k) {
  return {.m = m, .n = n, .k = k, .a = bf16, .b = bf16, .d = bf16};
}
GemmConfig config_of(const GemmProblem& p, const char* text) {
  const Result<GemmConfig> parsed = parse_config(text, {.arch = Arch::sm100});
  EXPECT_TRUE(parsed) << text;
  const GemmConfig made = config::resolve(of_problem(p, *parsed));
  EXPECT_FALSE(config::fault_of(made)) << to_text(made);
  return made;
}
Result<ops::Decision> decide(const GemmProblem& p, GemmOptions options = {},
                             const ops::LaunchTarget& target = kB200Target) {
  WW_TRY(const GemmOptions made, ops::for_arch(options, target.arch));
  return ops::decide(p, made, target);
}

/// The time of waves of tiles, without prologue, epilogue and memory.
double waves_us(const Cost& cost) {
  return cost[Term::tensor] + cost[Term::shared] + cost[Term::edges] + cost[Term::clusters] + cost[Term::last_wave];
}

/// The rates of docs/selection.md: 14 waves of 512 instructions of 128 clocks, 917,504 in all.
TEST(Sm100Cost, MeetsPredictionsByHand) {
  const GemmProblem large = bf16_problem(8192, 8192, 8192), middle = bf16_problem(4096, 4096, 4096);
  const char* pair = "tile=128x256x0,cluster=2x1,pair=1";
  const Cost cost = cost_of(large, config_of(large, pair), 148);
  EXPECT_EQ(cost.waves, 14);
  EXPECT_EQ(cost.resident, 148);
  EXPECT_NEAR(waves_us(cost) * kB200.ghz * 1e3, 917504, 1);
  EXPECT_NEAR(waves_us(cost), 496, 0.5);
  const Cost second = cost_of(middle, config_of(middle, pair), 148);
  EXPECT_EQ(second.waves, 4);
  EXPECT_NEAR(2 * std::pow(4096.0, 3) / waves_us(second) / 1e6, 1940, 1);  // TFLOP/s
}

/// Clocks of one instruction: the tensor core's, and those of its reads of shared memory.
TEST(Sm100Cost, InstructionsTakeTheSlowerOfTensorCoreAndSharedMemory) {
  const GemmProblem p = bf16_problem(8192, 8192, 8192);
  const auto clocks = [&](const char* text) {
    const Sm100Tile tile = sm100_tile(config_of(p, text), 1);
    return std::pair{tile.tensor / 4, (tile.tensor + tile.shared) / 4};
  };
  EXPECT_EQ(clocks("tile=128x64x0,cluster=1x1"), std::pair(32.0, 48.0));
  EXPECT_EQ(clocks("tile=128x128x0,cluster=1x1"), std::pair(64.0, 64.0));
  EXPECT_EQ(clocks("tile=128x256x0,cluster=1x1"), std::pair(128.0, 128.0));
  EXPECT_EQ(clocks("tile=128x256x0,cluster=2x1,pair=1"), std::pair(128.0, 128.0));
  EXPECT_EQ(clocks("tile=128x64x0,cluster=2x1,pair=1"), std::pair(32.0, 40.0));
  EXPECT_EQ(clocks("tile=64x128x0,cluster=1x1"), std::pair(64.0, 64.0));  // half the rate of 128 rows
}

/// Promotion is FMA of the consumers, which instructions of the next k-blocks hide where scales differ by row alone.
TEST(Sm100Cost, PromotionCostsFma) {
  const GemmProblem p{.m = 4096, .n = 4096, .k = 4096, .scale = Scale::block_1x128_128x128};
  const Sm100Tile tile = sm100_tile(config_of(p, "tile=128x128x0,cluster=1x1"), 32);
  EXPECT_NEAR(tile.promotion, 32 * (128 * 128 / 128 + 4 * 128 * 128 / 2500.0), 1e-6);
  EXPECT_EQ(tile.promotion_seen, 0);
  const GemmProblem both{.m = 4096, .n = 4096, .k = 4096, .scale = Scale::block_1x128_1x128};
  EXPECT_GT(sm100_tile(config_of(both, "tile=128x128x0,cluster=1x1"), 32).promotion_seen, 0);
}

TEST(Sm100Cost, TermsAreFiniteAndNotNegative) {
  for (const Scale scale : {Scale::none, Scale::block_1x128_128x128})
    for (const std::int64_t m : {0, 1, 300, 5000})
      for (const std::int64_t n : {0, 8, 1000, 40000})
        for (const std::int64_t k : {0, 16, 60000})
          for (const int sms : {1, 4, 148}) {
            const DType a = scale == Scale::none ? bf16 : e4m3;
            const GemmProblem p{.m = m, .n = n, .k = k, .a = a, .b = a, .scale = scale};
            for (const GemmConfig& c : config_list(of_problem(p, {.arch = Arch::sm100}))) {
              const Cost cost = cost_of(p, c, sms);
              for (int t = 0; t < kTerms; ++t)
                ASSERT_TRUE(std::isfinite(cost.us[t]) && cost.us[t] >= 0)
                    << name_of(Term(t)) << " = " << cost.us[t] << " of " << to_text(c) << ", " << m << " x " << n
                    << " x " << k << " on " << sms;
            }
          }
}

TEST(Sm100List, HasEveryKindOfShape) {
  bool pairs = false, large = false, stream = false, split = false, control = false, swapped = false, single = false;
  for (const GemmConfig& c : config_list(of_problem(bf16_problem(512, 512, 512), {.arch = Arch::sm100}))) {
    EXPECT_FALSE(config::fault_of(c)) << to_text(c);
    EXPECT_EQ(c.arch, Arch::sm100);
    pairs = pairs || c.sm100.pair;
    large = large || (c.cluster.m == 4 && c.cluster.n == 4);
    stream = stream || c.sm90.tile_scheduler == TileScheduler::stream_k;
    split = split || c.cluster.k > 1;
    control = control || c.sm90.tile_scheduler == TileScheduler::clc;
    single = single || c.sm90.tile_scheduler == TileScheduler::single;
    swapped = swapped || (c.sm90.swap_ab == SwapAb::on && c.tile.n <= 32);
  }
  EXPECT_TRUE(pairs && large && stream && split && control && swapped && single);
}

/// A resolved config is its own choice, whether its CTAs are pairs or not.
TEST(Sm100List, KeepsResolvedConfigs) {
  const GemmProblem p = bf16_problem(4096, 4096, 4096);
  for (const GemmConfig& c : config_list(of_problem(p, {.arch = Arch::sm100}))) {
    const auto decision = decide(p, {.config = c});
    ASSERT_TRUE(decision) << to_text(c) << decision.error().message;
    EXPECT_EQ(to_text(decision->config), to_text(c));
  }
}

TEST(Sm100List, HasTheShapesOfTheStaticOrderForGroupsUnderLaunchControl) {
  for (const GroupEncoding encoding : {GroupEncoding::offsets, GroupEncoding::masked})
    for (const Scale scale : {Scale::none, Scale::block_1x128_128x128, Scale::mx}) {
      const DType type = scale == Scale::none ? bf16 : e4m3;
      GemmConfig requested{.arch = Arch::sm100, .operands = {.a = type, .b = type, .d = bf16, .scale = scale}};
      requested.row_groups = {
          .variant = encoding == GroupEncoding::masked ? GroupedVariant::masked : GroupedVariant::contiguous,
          .capacity = 128};
      const auto shapes = [&](TileScheduler order) {
        requested.sm90.tile_scheduler = order;
        std::vector<std::string> texts;
        for (const GemmConfig& c : grouped_list(requested, encoding, 256)) {
          EXPECT_EQ(c.sm90.tile_scheduler, order);
          texts.push_back(fmt::format("{}x{} {} {}", c.tile.m, c.tile.n, c.cluster.m, c.sm100.pair));
        }
        return texts;
      };
      const std::vector<std::string> fixed = shapes(TileScheduler::fixed);
      EXPECT_GT(fixed.size(), 4u);
      EXPECT_EQ(shapes(TileScheduler::clc), fixed) << name_of(scale);
    }
}

TEST(Sm100Choice, TakesPairsForLargeProductsAndSwapsForFewRows) {
  const auto large = decide(bf16_problem(8192, 8192, 8192));
  ASSERT_TRUE(large) << large.error().message;
  EXPECT_EQ(large->config.arch, Arch::sm100);
  EXPECT_TRUE(large->config.sm100.pair) << to_text(large->config);
  EXPECT_GE(large->config.tile.n, 192) << to_text(large->config);
  const auto thin = decide(bf16_problem(8, 7168, 7168));
  ASSERT_TRUE(thin) << thin.error().message;
  EXPECT_EQ(thin->config.sm90.swap_ab, SwapAb::on) << to_text(thin->config);
  const auto one = decide(bf16_problem(8192, 8192, 8192), {.sms = 1});  // a pair needs two SMs
  ASSERT_TRUE(one) << one.error().message;
  EXPECT_FALSE(one->config.sm100.pair) << to_text(one->config);
}

TEST(Sm100Choice, RefusesWhatNamesHopper) {
  const auto parsed = parse_config("arch=sm90,tile=128x128x0");
  ASSERT_TRUE(parsed);
  const auto decision = decide(bf16_problem(512, 512, 512), {.config = *parsed});
  ASSERT_FALSE(decision);
  EXPECT_EQ(decision.error().argument, "config, arch");
}

TEST(Sm100Choice, ExplanationsSayThatRatesAreUnmeasured) {
  const auto made = explain(bf16_problem(8192, 8192, 8192), {.config = {.arch = Arch::sm100}});
  ASSERT_TRUE(made) << made.error().message;
  EXPECT_EQ(made->sms, 148);
  EXPECT_FALSE(made->measured);
  EXPECT_STREQ(made->modelled_for, "B200");
  EXPECT_NE(made->because.find("unmeasured: published rates"), std::string::npos) << made->because;
  EXPECT_TRUE(made->chosen.config.sm100.pair);
  const auto hopper = explain(bf16_problem(8192, 8192, 8192));
  ASSERT_TRUE(hopper);
  EXPECT_TRUE(hopper->measured);
  EXPECT_EQ(hopper->because.find("unmeasured"), std::string::npos);
}

/// The emulated devices choose from a few shapes, so that an epilogue, a layout or an N may fit none of them.
TEST(EmulatedChoice, SolvesWhatTheWholeListSolves) {
  using namespace evt;
  std::mt19937_64 rng(20261128);
  const auto pick = [&](std::uint64_t count) { return static_cast<std::int64_t>(rng() % count); };
  int solved = 0;
  for (int i = 0; i < 600; ++i) {
    const bool blackwell = i % 3 != 0;
    GemmProblem p{.m = 1 + pick(400), .n = 16 * (1 + pick(40)), .k = 32 * (1 + pick(20))};
    const DType types[] = {bf16, e4m3, e4m3, DType::e2m1};
    p.a = p.b = types[pick(blackwell ? 4 : 3)];
    const bool packed = p.a == DType::e2m1;
    if (is_fp8(p.a)) p.scale = blackwell && pick(2) == 0 ? Scale::mx : pick(2) == 0 ? Scale::tensor : Scale::row_column;
    if (packed) p.scale = pick(2) == 0 ? Scale::mx : Scale::nv, p.k *= 2;
    const Expression bodies[] = {acc, swiglu(acc), swiglu_halves(acc), acc + column(0)};
    const auto body = bodies[pick(4)];
    const std::int64_t last = pick(blackwell ? 4 : 2);
    p.epilogue = last == 1   ? quantise_block(body)
                 : last == 2 ? quantise_mx(body)
                 : last == 3 ? quantise_nv(body)
                             : body;
    p.d = last == 0 ? bf16 : last == 3 ? DType::e2m1 : e4m3;
    if (blackwell && !packed && pick(3) == 0) p.a_major = p.b_major = Major::mn, p.m = 16 * ceil_div(p.m, 16l);
    const Arch arch = blackwell ? Arch::sm100 : Arch::sm90;
    const auto whole = decide(p, {}, {blackwell ? 148 : 132, false, arch});
    if (!whole) continue;
    ++solved;
    const auto few = decide(p, {}, {4, true, arch});
    EXPECT_TRUE(few) << "draw " << i << ", " << to_text(whole->config) << "\n" << few.error().message;
  }
  EXPECT_GT(solved, 200);
}

/// A D that is quantised by blocks takes tiles of whole blocks, also where N has fewer columns.
TEST(EmulatedChoice, QuantisesHalvesOfFewColumns) {
  using namespace evt;
  for (const std::int64_t n : {64, 128, 192, 320}) {
    GemmProblem mx{.m = 5, .n = n, .k = 256, .a = e4m3, .b = e4m3, .d = e4m3, .scale = Scale::mx};
    mx.epilogue = quantise_mx(swiglu_halves(acc));
    for (const bool emulated : {false, true}) {
      const auto chosen = decide(mx, {}, {emulated ? 4 : 148, emulated, Arch::sm100});
      EXPECT_TRUE(chosen) << n << ": " << chosen.error().message;
    }
    GemmProblem plain{.m = 5, .n = n, .k = 256, .a = bf16, .b = bf16, .d = e4m3};
    plain.epilogue = quantise_block(swiglu_halves(acc));
    for (const bool emulated : {false, true}) {
      const auto chosen = decide(plain, {}, {emulated ? 4 : 132, emulated, Arch::sm90});
      EXPECT_TRUE(chosen) << n << ": " << chosen.error().message;
    }
  }
}

TEST(EmulatedChoice, LaunchControlForGroupsNeedsNoClusterOfTwo) {
  const GemmOptions options{.config = {.arch = Arch::sm100, .sm90 = {.tile_scheduler = TileScheduler::clc}}};
  const Device device = Device::open("emu:sm100", {.cache_dir = {}, .emu = {.sms = 1}}).value();
  const auto few = plan_grouped(device, {.groups = 2, .rows = 14, .n = 72, .k = 128}, options);
  EXPECT_TRUE(few) << few.error().message;
  const GroupedProblem many{.groups = 2000, .rows = 2000, .n = 64, .k = 128, .a = e4m3, .b = e4m3, .scale = Scale::mx};
  const auto solved = can_implement(many, options);
  EXPECT_TRUE(solved) << solved.error().message;
}

TEST(EmulatedChoice, TakesPairsOfGroupsOfKWhereTheyAreAllThatIsAskedFor) {
  for (const auto& [m, n] : {std::pair<std::int64_t, std::int64_t>{64, 64}, {128, 8}, {304, 296}}) {
    KGroupedProblem p{.groups = 2, .m = m, .n = n, .k = 256, .a = bf16, .b = bf16};
    const auto made = can_implement(p, {.config = {.arch = Arch::sm100, .sm100 = {.pair = true}}});
    EXPECT_TRUE(made) << m << " x " << n << ": " << made.error().message;
  }
}

}  // namespace
}  // namespace ww::select
