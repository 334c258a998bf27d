// SPDX-License-Identifier: Apache-2.0
// The order of tiles that a choice takes, and whether launches overlap.
#include "select/raster.hpp"

#include <gtest/gtest.h>

#include <random>

#include "config/config_text.hpp"
#include "select/config_list.hpp"
#include "select/grouped_list.hpp"
#include "select/grouped_ranking.hpp"
#include "select/overlap.hpp"
#include "select/ranking.hpp"
#include "warpwright/config/resolve.hpp"

namespace ww::select {
namespace {

constexpr int kSms = 132;

GemmProblem problem(std::int64_t m, std::int64_t n, std::int64_t k, DType type = bf16, Scale scale = Scale::none) {
  GemmProblem p{.m = m, .n = n, .k = k, .a = type, .b = type, .scale = scale};
  p.lda = p.ldb = k, p.ldd = n;
  return p;
}

GemmConfig config_of(const GemmProblem& p, const char* text) {
  return config::resolve(*parse_config(text, of_problem(p, {})));
}

Raster raster_of(const GemmProblem& p, const char* text) { return raster_for(p, config_of(p, text), kSms); }

TEST(Raster, ShortLaunchesRunAlongTheSmallerExtent) {
  // 42 x 3 tiles of the instruction: weights are its M side.
  EXPECT_EQ(raster_of(problem(260, 5344, 10880), "tile=128x88x0,swap_ab=on"), (Raster{3, RasterBand::along_n}));
  EXPECT_EQ(raster_of(problem(260, 5344, 10880), "tile=64x208x0"), (Raster{5, RasterBand::along_m}));
  // 14 x 9 tiles run in two bands of 7 tiles instead of one of 14.
  EXPECT_EQ(raster_of(problem(855, 1072, 2304), "tile=64x128x0"), (Raster{7, RasterBand::along_m}));
  EXPECT_EQ(raster_of(problem(2048, 700, 2304), "tile=128x128x0"), (Raster{6, RasterBand::along_n}));
  // Alike: 16 neighbours read 8 x 64 + 2 x 128 rows, and 7 x 128 + 16 / 7 x 64 along N.
  EXPECT_EQ(raster_of(problem(935, 784, 8640), "tile=64x128x0"), (Raster{8, RasterBand::along_m}));
  EXPECT_EQ(raster_of(problem(0, 784, 8640), "tile=64x128x0").width, 8) << "no tiles";
  // 6 x 40 pairs are no short launch: up to 16 tiles, 8 pairs, side by side.
  EXPECT_EQ(raster_of(problem(700, 4096, 2304), "tile=64x128x0,cluster=2x1"), (Raster{6, RasterBand::along_m}));
  EXPECT_EQ(raster_of(problem(700, 1024, 2304), "tile=64x128x0,cluster=2x1"), (Raster{3, RasterBand::along_m}));
}

TEST(Raster, LongLaunchesKeepTheBandsOfAWave) {
  EXPECT_EQ(raster_of(problem(8192, 8192, 8192), "tile=128x256x0"), (Raster{16, RasterBand::along_m}));
  EXPECT_EQ(raster_of(problem(8192, 4096, 8192), "tile=128x256x0"), (Raster{16, RasterBand::along_m}));
  EXPECT_EQ(raster_of(problem(8192, 4096, 8192), "tile=128x256x0,swap_ab=on"), (Raster{16, RasterBand::along_m}));
  EXPECT_EQ(raster_of(problem(17 * 128, 65536, 512), "tile=128x128x0"), (Raster{9, RasterBand::along_m}));
}

TEST(Raster, TheLastBandIsNearlyAsWideAsTheOthers) {
  std::mt19937 rng(20261128);
  const auto upto = [&](std::int64_t most) { return 1 + static_cast<std::int64_t>(rng() % most); };
  for (int i = 0; i < 200; ++i) {
    const GemmProblem p = problem(upto(5000), 8 * upto(1200), 64 * upto(100));
    const std::vector<GemmConfig>& list = config_list(of_problem(p, {}));
    const GemmConfig& c = list[rng() % list.size()];
    const Raster raster = raster_for(p, c, kSms);
    const bool swapped = c.sm90.swap_ab == SwapAb::on, along_m = raster.band == RasterBand::along_m;
    const std::int64_t extent = along_m == swapped ? p.n : p.m;
    const std::int64_t across = ceil_div(extent, along_m ? c.tile.m * c.cluster.m : c.tile.n * c.cluster.n);
    const std::int64_t bands = ceil_div(across, raster.width);
    EXPECT_GE(across - (bands - 1) * raster.width + bands - 1, raster.width)
        << p.m << " x " << p.n << ", " << to_text(c) << ": " << across << " tiles in bands of " << raster.width;
  }
}

TEST(Raster, WhatTheCallerGivesIsKept) {
  const GemmProblem p = problem(855, 1072, 2304);
  EXPECT_EQ(choose(p, {.config = {.raster = {3}}}).raster, (Raster{3, RasterBand::along_m}));
  // A band alone keeps the rule for the width.
  const GemmConfig along_n{.tile = {64, 128}, .raster = {0, RasterBand::along_n}};
  EXPECT_EQ(choose(p, {.config = along_n}).raster, (Raster{5, RasterBand::along_n}));
  const GroupedProblem groups{.groups = 8, .rows = 760, .n = 6144, .k = 8192, .a = bf16, .b = bf16};
  const GroupedRequest request{.config = {.raster = {5}, .row_groups = {.variant = GroupedVariant::contiguous}},
                               .sms = kSms};
  EXPECT_EQ(best_grouped(groups, request).raster.width, 5);
}

TEST(Raster, BatchesKeepTheirBands) {
  GemmProblem p = problem(17 * 128, 700, 512);
  p.batch = 2;
  EXPECT_EQ(raster_of(p, "tile=128x128x0"), (Raster{16, RasterBand::along_m}));
}

TEST(Raster, GroupsOfFewTokenTilesTakeTwoSideBySide) {
  const auto width = [](std::int64_t groups, std::int64_t rows, Tile tile, int pair = 1) {
    const GroupedProblem p{.groups = groups, .rows = rows, .n = 6144, .k = 8192};
    return raster_for(p, {.tile = tile, .cluster = {pair, 1}}).width;
  };
  EXPECT_EQ(width(8, 760, {128, 128}), 2);
  EXPECT_EQ(width(8, 760, {128, 128}, 2), 1) << "a pair is one of the cluster tiles that a band counts";
  EXPECT_EQ(width(8, 8 * 256 + 1, {128, 128}), 16);
  EXPECT_EQ(width(3, 30, {128, 128}), 16) << "measured slower with two";
  EXPECT_EQ(width(8, 760, {192, 128}), 2);
}

bool overlap(const GemmProblem& p, const char* text) { return overlap_pays(p, config_of(p, text), kSms); }

/// Each with the measured gain or loss (bench/results/2026-11-28_h200_shapes_raster.json).
TEST(Overlap, LaunchesOverlapWhereMeasurementsShowedAGain) {
  EXPECT_TRUE(overlap(problem(137, 5120, 512), "tile=64x144x0,swap_ab=on"));                           // 5.3 %
  EXPECT_TRUE(overlap(problem(53, 1376, 832, e4m3, Scale::tensor), "tile=64x32x0,swap_ab=on"));        // 15 %
  EXPECT_TRUE(overlap(problem(535, 4096, 6144, e4m3, Scale::tensor), "tile=128x136x0,swap_ab=on"));    // 2.2 %
  EXPECT_TRUE(overlap(problem(741, 7168, 5120, e4m3, Scale::block_1x128_128x128), "tile=192x128x0"));  // 1.3 %
  EXPECT_TRUE(overlap(problem(124, 10496, 4608, e4m3, Scale::tensor), "tile=128x80x0"));               // 3.2 %
  EXPECT_FALSE(overlap(problem(124, 10496, 4608, e4m3, Scale::tensor), "tile=64x160x0"));              // -16.7 %
  EXPECT_FALSE(overlap(problem(14, 5120, 4096), "tile=64x16x0,swap_ab=on"));                           // -18.9 %
  EXPECT_FALSE(overlap(problem(1, 5120, 25600, e4m3, Scale::tensor), "tile=64x8x0,swap_ab=on"));       // -26.5 %
  EXPECT_FALSE(overlap(problem(405, 10576, 2560), "tile=64x192x0"));                                   // -15.6 %
  EXPECT_FALSE(overlap(problem(8192, 8192, 8192), "tile=128x256x0"));  // at the power limit
}

TEST(Overlap, NothingToMultiplyAndBatchesDoNotOverlap) {
  GemmProblem p = problem(53, 1376, 832);
  EXPECT_TRUE(overlap(p, "tile=64x32x0,swap_ab=on"));
  p.k = 0;
  EXPECT_FALSE(overlap(p, "tile=64x32x0,swap_ab=on"));
  p.k = 832, p.batch = 2;
  EXPECT_FALSE(overlap(p, "tile=64x32x0,swap_ab=on"));
  p.batch = 1, p.m = 0;
  EXPECT_FALSE(overlap(p, "tile=64x32x0,swap_ab=on"));
}

TEST(Overlap, OfGroups) {
  const auto pays = [](std::int64_t groups, std::int64_t rows, std::int64_t n, std::int64_t k, const char* text) {
    const GroupedProblem p{.groups = groups, .rows = rows, .n = n, .k = k, .scale = Scale::block_1x128_128x128};
    return overlap_pays(p, config::resolve_grouped(*parse_config(text, of_problem(p, {}))), kSms);
  };
  EXPECT_TRUE(pays(4, 1673, 896, 1472, "grouping=row-groups,variant=contiguous,tile=128x128x0"));      // 5.7 %
  EXPECT_TRUE(pays(2, 208, 1296, 640, "grouping=row-groups,variant=contiguous,tile=64x64x0"));         // 12 %
  EXPECT_FALSE(pays(2, 247, 4096, 3584, "grouping=row-groups,variant=contiguous,tile=64x128x0"));      // -13.3 %
  EXPECT_FALSE(pays(128, 12748, 384, 2048, "grouping=row-groups,variant=contiguous,tile=128x192x0"));  // -7.2 %
  EXPECT_FALSE(pays(32, 26816, 1184, 7488, "grouping=row-groups,variant=contiguous,tile=192x128x0")) << "540 us";
  EXPECT_TRUE(pays(6, 108, 576, 1344, "grouping=row-groups,variant=ragged,tile=32x64x0"));   // 12 %
  EXPECT_FALSE(pays(16, 47, 384, 4096, "grouping=row-groups,variant=ragged,tile=32x64x0"));  // -18 %
  EXPECT_FALSE(pays(0, 0, 384, 4096, "grouping=row-groups,variant=ragged,tile=32x64x0"));
  EXPECT_FALSE(pays(4, 100, 384, 0, "grouping=row-groups,variant=contiguous,tile=128x128x0"));
}

}  // namespace
}  // namespace ww::select
