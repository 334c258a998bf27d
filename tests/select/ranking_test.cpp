// SPDX-License-Identifier: Apache-2.0
// What auto chooses, which fields it leaves alone, and why the other configs are excluded.
#include "select/ranking.hpp"

#include <gtest/gtest.h>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <random>
#include <set>
#include <string>

#include "config/config_text.hpp"
#include "ops/gemm_choice.hpp"
#include "select/common_shapes.hpp"
#include "select/correction.hpp"
#include "select/default_configs.hpp"
#include "select/swap_ab.hpp"
#include "warpwright/config/faults.hpp"
#include "warpwright/config/resolve.hpp"
#include "warpwright/config/sizes.hpp"
#include "warpwright/config/swap_ab.hpp"
#include "warpwright/host/explain.hpp"

namespace ww::select {
namespace {

GemmProblem problem(std::int64_t m, std::int64_t n, std::int64_t k, Scale scale = Scale::block_1x128_128x128) {
  return {.m = m, .n = n, .k = k, .scale = scale, .lda = k, .ldb = k, .ldd = n};
}

TEST(Choose, SuitsTheProblem) {
  const GemmConfig few_rows = choose(problem(64, 24576, 1536), {});
  EXPECT_EQ(config::swaps(few_rows) ? few_rows.tile.n : few_rows.tile.m, 64) << "no more rows than there are";
  EXPECT_EQ(choose(problem(4096, 2112, 7168), {}).tile.m, 192) << "22 rows of tiles: three waves instead of five";
  const int columns = ceil_div(2112, choose(problem(4096, 2112, 7168, Scale::tensor), {}).tile.n);
  EXPECT_TRUE(columns == 11 || columns == 12) << columns << " columns; 11 and 12 are three waves of 132 tiles";
  EXPECT_FALSE(is_batch_invariant(choose(problem(64, 2112, 7168), {}))) << "33 tiles of 56 k-blocks for 132 SMs";
  EXPECT_FALSE(is_batch_invariant(choose(problem(256, 256, 65536), {}))) << "few tiles, long K";
}

TEST(Choose, TakesSwapAbForFewRowsOnly) {
  for (const Scale scale : {Scale::tensor, Scale::block_1x128_128x128}) {
    for (const std::int64_t m : {1, 8, 16}) {
      const GemmConfig c = choose(problem(m, 7168, 2048, scale), {});
      EXPECT_EQ(c.sm90.swap_ab, SwapAb::on) << m;
      EXPECT_LE(c.tile.n, 16) << m;
      EXPECT_GE(c.sm90.stages, 8) << to_text(c);
    }
    EXPECT_EQ(choose(problem(512, 7168, 2048, scale), {}).sm90.swap_ab, SwapAb::off);
    EXPECT_EQ(choose(problem(16, 7168, 2048, scale), {.emulated = true}).sm90.swap_ab, SwapAb::off);
  }
  const GemmProblem p = problem(16, 7168, 2048);
  EXPECT_EQ(cost_of(p, choose(p, {.config = *parse_config("swap_ab=on,tile=64x64x0")}), 132).waves,
            cost_of(problem(16, 7168, 2048), config::resolve(*parse_config("scale=block,tile=64x64x0")), 132).waves)
      << "112 tiles either way";
}

// A few rows and columns with K of tens of thousands: one tile for each SM would be a handful of CTAs.
TEST(Choose, SplitsSmallOutputsOfLongKOverManySms) {
  std::mt19937_64 random(3219);
  for (int i = 0; i < 60; ++i) {
    GemmProblem p = problem(
        1 + static_cast<std::int64_t>(random() % 32), 8 * (1 + static_cast<std::int64_t>(random() % 16)),
        128 * (200 + static_cast<std::int64_t>(random() % 400)), i % 2 == 0 ? Scale::block_1x128_128x128 : Scale::none);
    if (i % 2 != 0) p.a = p.b = bf16;
    const std::string replay = fmt::format("seed 3219, draw {}: {} x {} x {}", i, p.m, p.n, p.k);
    const auto ctas = [&](const GemmConfig& c) {
      const GemmProblem q = kernel_problem(p, c);
      const GemmConfig k = config::swaps(c) ? config::exchanged(c) : c;
      return ceil_div(q.m, std::int64_t{k.tile.m}) * ceil_div(q.n, std::int64_t{k.tile.n}) * c.sm90.split;
    };
    const GemmConfig chosen = choose(p, {});
    EXPECT_GE(ctas(chosen), 16) << replay << ": " << to_text(chosen);
    EXPECT_GE(chosen.sm90.split, p.m <= 8 ? 16 : 8) << replay << ": " << to_text(chosen);
    // Not every device has room for a cluster of 16 CTAs.
    EXPECT_LE(choose(p, {.sms = 114}).cluster.k, 8) << replay;
    EXPECT_EQ(choose(p, {.config = {.cluster = {0, 0, 16}}, .sms = 114}).cluster.k, 16) << replay << ", on request";
  }
  // A cluster may be requested without K, too.
  const Ranking wide = rank(problem(512, 4096, 4096, Scale::tensor), {.config = {.cluster = {4, 4}}, .sms = 114});
  EXPECT_FALSE(wide.candidates.empty());
}

TEST(Choose, IsTheFirstOfTheRanking) {
  for (const std::int64_t m : {1, 64, 300, 4096})
    for (const Scale scale : {Scale::tensor, Scale::block_1x128_128x128})
      for (const bool invariant : {false, true}) {
        const GemmProblem p = problem(m, 4096, 7168, scale);
        const Request request{.batch_invariant = invariant};
        const Ranking ranking = rank(p, request);
        ASSERT_FALSE(ranking.candidates.empty());
        EXPECT_EQ(choose(p, request), ranking.candidates.front().config);
        for (std::size_t i = 2; i < ranking.candidates.size(); ++i)
          EXPECT_LE(ranking.candidates[i - 1].cost.total(), ranking.candidates[i].cost.total());
      }
}

/// choose() prunes configs by lower bounds, and must still return the first of rank(), which is the fastest or a common
/// kernel within kIndistinct of it.
TEST(Choose, IsTheFirstOfTheRankingOfRandomProblems) {
  constexpr unsigned kSeed = 1128;
  std::mt19937 random(kSeed);
  const auto up_to = [&](double most) {
    return static_cast<std::int64_t>(std::exp(std::uniform_real_distribution(0.0, std::log(most))(random)));
  };
  for (int i = 0; i < 40; ++i) {
    const Scale scale = std::array{Scale::none, Scale::tensor, Scale::block_1x128_128x128}[i % 3];
    GemmProblem p = problem(up_to(20000), 8 * up_to(4000), 128 * up_to(150), scale);
    if (scale == Scale::none) p.a = p.b = bf16;
    p.batch = i % 6 == 1 ? 3 : 1;
    if (i % 11 == 0) p.k = 0;
    const Request request{.sms = i % 5 == 0 ? 66 : 132, .batch_invariant = i % 7 == 0};
    const std::string replay =
        fmt::format("draw {}: {} x {} x {}, {}, batch {}, seed {}", i, p.m, p.n, p.k, name_of(scale), p.batch, kSeed);
    const std::vector<Candidate> candidates = rank(p, request).candidates;
    ASSERT_FALSE(candidates.empty()) << replay;
    EXPECT_EQ(choose(p, request), candidates.front().config) << replay;
    double least = candidates.front().cost.total();
    for (const Candidate& c : candidates) least = std::min(least, c.cost.total());
    EXPECT_LE(candidates.front().cost.total(),
              least * (has_correction(p, candidates.front().config) ? 1 + kIndistinct : 1))
        << replay;
  }
}

TEST(Choose, TakesACommonKernelWhereTimesAreAlike) {
  const GemmProblem p = problem(64, 7168, 2048);
  const auto candidate = [](const char* text, double us) {
    Candidate made{config::resolve(*parse_config(text)), {}};
    made.cost[Term::tensor] = us;
    return made;
  };
  const Candidate rare = candidate("scale=block,tile=192x16x128,cluster=1x1", 10),
                  common = candidate("scale=block,tile=128x128x128,cluster=1x1", 10.05),
                  slower = candidate("scale=block,tile=128x128x128,cluster=1x1", 10.2);
  ASSERT_LT(place_among_common(common.config), place_among_common(rare.config));
  const auto first = [&](GemmProblem of, std::vector<Candidate> candidates) {
    prefer_common(of, candidates);
    return candidates.front().cost.total();
  };
  EXPECT_EQ(first(p, {rare, common, slower}), 10.05);
  EXPECT_EQ(first(p, {rare, slower}), 10) << "2 % are more than the model errs";
  EXPECT_EQ(first(problem(16384, 7168, 2048), {rare, common}), 10) << "at the power limit";
  int moved = 0;
  for (std::int64_t m = 1; m < 200; m += 2) {
    const Explanation made = explain(problem(m, 2112, 7168)).value();
    const bool least = std::all_of(made.ranking.begin(), made.ranking.end(),
                                   [&](const RankedConfig& other) { return made.chosen.us <= other.us; });
    EXPECT_EQ(made.because.starts_with("the least modelled time"), least) << m << ": " << made.because;
    moved += !least;
  }
  EXPECT_GT(moved, 0);
}

TEST(Choose, ManyShapesGetManyConfigs) {
  std::set<std::string> chosen;
  for (const std::int64_t m : {1, 64, 128, 256, 1024, 4096})
    for (const auto& [n, k] : {std::pair{2112, 7168}, {24576, 1536}, {32768, 512}, {7168, 16384}, {7168, 2048}})
      for (const Scale scale : {Scale::tensor, Scale::block_1x128_128x128})
        chosen.insert(to_text(choose(problem(m, n, k, scale), {})));
  EXPECT_GE(chosen.size(), 8u);
}

TEST(Choose, EmulatedDevicesTakeWhatShips) {
  for (const std::int64_t m : {1, 64, 500, 4096}) {
    const GemmConfig c = choose(problem(m, 2112, 7168), {.sms = 4, .emulated = true});
    const std::vector<GemmConfig> shipped = default_configs(e4m3, bf16, Scale::block_1x128_128x128);
    EXPECT_NE(std::find(shipped.begin(), shipped.end(), c), shipped.end()) << to_text(c);
  }
}

TEST(Choose, WhatIsGivenIsCompleted) {
  const GemmProblem p = problem(64, 2112, 7168);
  const auto given = [&](const char* text, bool emulated) {
    return choose(p, {.config = *parse_config(text), .emulated = emulated});
  };
  for (const bool emulated : {false, true}) {
    EXPECT_EQ(given("stages=10", emulated).sm90.stages, 10) << "only small tiles have room for ten";
    EXPECT_FALSE(config::fault_of(given("stages=10", emulated)));
    EXPECT_EQ(given("cluster=4x2", emulated).cluster.m, 4);
    EXPECT_EQ(given("tile=64x32x128", emulated).tile.n, 32);
    EXPECT_EQ(given("schedule=pingpong", emulated).sm90.schedule, Schedule::pingpong);
    EXPECT_EQ(given("tile_scheduler=split-k", emulated).sm90.tile_scheduler, TileScheduler::split_k);
    // Nothing fits: the result has the fault of the request.
    EXPECT_EQ(std::string(config::fault_of(given("stages=1", emulated)).field), "stages");
    EXPECT_EQ(std::string(config::fault_of(given("tile=128x132x128", emulated)).field), "tile (n)");
  }
}

TEST(Choose, TakesTheLayoutsOfTheProblem) {
  GemmProblem p{.m = 512, .n = 512, .k = 512, .a = bf16, .b = bf16, .lda = 512, .ldb = 512, .ldd = 512};
  p.a_major = Major::mn, p.d_layout = OutputLayout::column;
  for (const bool emulated : {false, true}) {
    const GemmConfig c = choose(p, {.emulated = emulated});
    EXPECT_FALSE(config::fault_of(c)) << to_text(c);
    EXPECT_EQ(c.operands.d_layout, OutputLayout::column) << to_text(c);
    EXPECT_EQ(c.operands.layout.a, Major::mn) << to_text(c);
  }
  for (const Candidate& c : rank(p, {}).candidates) EXPECT_EQ(c.config.operands.d_layout, OutputLayout::column);
}

TEST(Choose, LayoutOfMatricesCountsWhereTheTreeNamesOne) {
  GemmProblem p = problem(16, 512, 512, Scale::tensor);
  for (const char* text : {"", "silu(acc*alpha+bias)*col0", "row_sum(column_amax(acc,out0),out1)", "swiglu(acc)"}) {
    p.epilogue = *text ? *parse_epilogue(text) : EpilogueTree{};
    for (const bool emulated : {false, true}) {
      p.c_layout = OutputLayout::row;
      const GemmConfig by_row = choose(p, {.emulated = emulated});
      p.c_layout = OutputLayout::column;
      EXPECT_EQ(choose(p, {.emulated = emulated}), by_row) << "one kernel: " << text;
      EXPECT_FALSE(config::fault_of(by_row)) << text;
    }
    const GemmConfig swapped = choose(p, {.config = *parse_config("swap_ab=on")});
    EXPECT_EQ(!config::fault_of(swapped), !p.epilogue.has(EpilogueOp::swiglu)) << text;
  }
  for (const char* text : {"acc+c", "acc*aux2", "relu(store(acc,out3:f32))"}) {
    p.epilogue = *parse_epilogue(text);
    for (const OutputLayout layout : {OutputLayout::row, OutputLayout::column}) {
      p.c_layout = layout;
      EXPECT_EQ(choose(p, {}).operands.c_layout, layout) << text;
      EXPECT_EQ(choose(p, {.emulated = true}).operands.c_layout, layout) << text;
    }
  }
}

TEST(Choose, WorkspaceLimitRulesOutStreamK) {
  const GemmProblem p = problem(256, 256, 65536);
  for (const std::size_t limit : {std::size_t{0}, std::size_t{1} << 20}) {
    const Request request{.workspace_limit = limit};
    const Ranking ranking = rank(p, request);
    for (const Candidate& c : ranking.candidates)
      EXPECT_FALSE(limit == 0 && config::sums_in_workspace(c.config)) << to_text(c.config);
    bool said = false;
    for (const Exclusion& e : ranking.exclusions) said |= e.reason.find("workspace") == 0 && !e.configs.empty();
    EXPECT_TRUE(said);
  }
}

TEST(Choose, BatchInvariantConfigsNeverCutK) {
  for (const std::int64_t m : {1, 2, 64, 300, 4096}) {
    const GemmConfig c = choose(problem(m, 256, 65536), {.batch_invariant = true});
    EXPECT_TRUE(is_batch_invariant(c)) << to_text(c);
  }
  GemmProblem sums = problem(1, 4096, 4096);
  sums.scale = Scale::none;
  sums.epilogue = *parse_epilogue("row_sum(acc,out0)");
  const GemmConfig one = choose(sums, {.batch_invariant = true});
  for (const std::int64_t m : {5, 300, 4096}) {
    sums.m = m;
    EXPECT_EQ(choose(sums, {.batch_invariant = true}), one) << "sums over tiles follow the tile";
    EXPECT_EQ(choose(sums, {.sms = 20, .batch_invariant = true}), one);
  }
}

TEST(Choose, BatchInvarianceRefusesWhatItCannotKeep) {
  for (const char* text : {"tile_scheduler=stream-k", "tile_scheduler=split-k", "split=4", "cluster=1x1x2"}) {
    const auto decided =
        ops::decide(problem(64, 256, 512), {.config = *parse_config(text), .batch_invariant = true}, {});
    ASSERT_FALSE(decided) << text;
    EXPECT_EQ(decided.error().code, ErrorCode::invalid);
    EXPECT_EQ(decided.error().argument, "config, tile_scheduler");
  }
}

TEST(Rank, ExclusionsNameTheFieldAndWhatItTakes) {
  const Ranking ranking = rank(problem(512, 512, 512), {});
  std::set<std::string> fields;
  for (const Exclusion& e : ranking.exclusions) {
    EXPECT_FALSE(e.configs.empty());
    EXPECT_NE(e.reason.find(": "), std::string::npos) << e.reason;
    fields.insert(e.reason.substr(0, e.reason.find(": ")));
  }
  EXPECT_TRUE(fields.count("tile (n)")) << "256 columns do not fit block scales";
  EXPECT_EQ(ranking.exclusions.size(), std::set<std::string>([&] {
                                         std::set<std::string> reasons;
                                         for (const Exclusion& e : ranking.exclusions) reasons.insert(e.reason);
                                         return reasons;
                                       }())
                                           .size());
}

}  // namespace
}  // namespace ww::select
