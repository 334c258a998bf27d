// SPDX-License-Identifier: Apache-2.0
// The list of a family is finite, the same every time, without faults, and agrees with what a request sets.
#include "select/config_list.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <string>

#include "select/config_text.hpp"
#include "warpwright/collective/builder.hpp"

namespace ww::select {
namespace {

struct Family {
  DType a, b, d;
  Scale scale;
  Major a_major = Major::k, b_major = Major::k;
  OutputLayout d_layout = OutputLayout::row;
};

constexpr Family kFamilies[] = {{e4m3, e4m3, bf16, Scale::block_1x128_128x128},
                                {e4m3, e5m2, f32, Scale::block_1x128_128x128},
                                {e4m3, e4m3, f16, Scale::tensor},
                                {e5m2, e5m2, f32, Scale::row_column},
                                {bf16, bf16, bf16, Scale::none},
                                {bf16, bf16, f32, Scale::none, Major::mn, Major::mn},
                                {f16, f16, f16, Scale::none, Major::k, Major::mn},
                                {bf16, bf16, bf16, Scale::none, Major::mn, Major::k, OutputLayout::column},
                                {tf32, tf32, f32, Scale::none},
                                {tf32, tf32, f32, Scale::none, Major::mn, Major::mn},
                                {tf32, tf32, bf16, Scale::none, Major::k, Major::mn}};

GemmConfig config_of(const Family& f) {
  return {.a = f.a,
          .b = f.b,
          .d = f.d,
          .scale = f.scale,
          .a_major = f.a_major,
          .b_major = f.b_major,
          .d_layout = f.d_layout};
}

TEST(ConfigList, IsFiniteDistinctAndWithoutFault) {
  for (const Family& family : kFamilies) {
    const std::vector<GemmConfig> list = config_list(config_of(family));
    EXPECT_GT(list.size(), 100u);
    EXPECT_LT(list.size(), 1000u);
    std::set<std::string> texts;
    for (const GemmConfig& c : list) {
      EXPECT_FALSE(collective::fault_of(c)) << to_text(c);
      EXPECT_EQ(collective::resolve(c), c) << to_text(c);
      EXPECT_TRUE(texts.insert(to_text(c)).second) << "twice: " << to_text(c);
      EXPECT_EQ(*parse_config(to_text(c)), c) << to_text(c);
      EXPECT_TRUE(c.a == family.a && c.b == family.b && c.d == family.d && c.scale == family.scale) << to_text(c);
      EXPECT_TRUE(c.a_major == family.a_major && c.b_major == family.b_major && c.d_layout == family.d_layout)
          << to_text(c);
    }
  }
}

TEST(ConfigList, LeavesOutWhatPtxasSerialises) {  // 256 rows, two accumulators a thread, and K cut or D in FP32
  for (const Family& family : {kFamilies[2], kFamilies[3], kFamilies[4], kFamilies[5]})
    for (const GemmConfig& c : config_list(config_of(family))) {
      if (c.tile_m < 128 * c.math_warpgroups) continue;
      EXPECT_TRUE(c.order != TileOrder::stream_k && c.order != TileOrder::split_k) << to_text(c);
      EXPECT_NE(c.d, f32) << to_text(c);
      EXPECT_LE(c.cluster_m * c.cluster_n, 2) << to_text(c);
    }
  GemmConfig asked = config_of(kFamilies[4]);  // on request it is there
  asked.tile_m = 256, asked.tile_n = 64, asked.order = TileOrder::stream_k;
  EXPECT_FALSE(collective::fault_of(collective::resolve(asked)));
}

TEST(ConfigList, LeavesOutWhatPtxasSpills) {  // as ptxas_report listed has found them, a few of each kind
  for (const char* text :
       {"scale=block,tile=128x128x128,cluster=1x1x2,order=split-k,split=2",
        "scale=block,tile=192x128x128,cluster=1x1x4,order=split-k,split=4",
        "scale=block-1d,tile=64x128x128,cluster=2x1x4,order=split-k,split=4",
        "scale=block-1d,tile=128x128x128,cluster=2x1,order=stream-k",
        "scale=block-1d,tile=64x128x128,cluster=1x1,schedule=pingpong",
        "scale=block-1d,tile=128x192x128,cluster=1x2,schedule=multistage",
        "scale=tensor,tile=256x192x128,cluster=2x1,order=dynamic", "scale=tensor,tile=128x224x128,order=stream-k",
        "scale=row-column,tile=64x256x128,cluster=1x1x4,order=split-k,split=4",
        "scale=row-column,tile=256x160x128,cluster=2x1", "scale=row-column,tile=64x256x128,cluster=2x1,order=dynamic",
        "scale=row-column,tile=192x192x128,cluster=2x1,order=stream-k", "scale=row-column,tile=128x240x128,cluster=2x1",
        "a=bf16,b=bf16,tile=128x192x64,cluster=1x1,schedule=pingpong",
        "a=bf16,b=bf16,d=f32,tile=128x256x64,cluster=2x1,order=stream-k",
        "a=bf16,b=bf16,d=f32,tile=128x224x64,cluster=1x1x1,order=split-k,split=2"}) {
    const GemmConfig spilling = collective::resolve(*parse_config(text));
    ASSERT_FALSE(collective::fault_of(spilling)) << text;  // on request it is there
    const std::vector<GemmConfig> list =
        config_list({.a = spilling.a, .b = spilling.b, .d = spilling.d, .scale = spilling.scale});
    EXPECT_GT(list.size(), 300u);
    const auto same = [&](const GemmConfig& c) {
      return c.tile_m == spilling.tile_m && c.tile_n == spilling.tile_n && c.cluster_m == spilling.cluster_m &&
             c.cluster_n == spilling.cluster_n && c.cluster_k == spilling.cluster_k &&
             c.schedule == spilling.schedule && c.order == spilling.order && c.split == spilling.split &&
             !collective::swaps(c);
    };
    EXPECT_EQ(std::count_if(list.begin(), list.end(), same), 0) << text;
  }
}

TEST(ConfigList, IsTheSameEveryTime) {
  const GemmConfig family = config_of(kFamilies[0]);
  const std::vector<GemmConfig> first = config_list(family);
  config_list(config_of(kFamilies[4]));  // another in between
  EXPECT_EQ(config_list(family), first);
}

TEST(ConfigList, KeepsEveryFieldThatIsSet) {
  for (const char* text : {"tile=128x96x128", "cluster=1x2", "stages=5", "schedule=pingpong", "order=stream-k",
                           "order=split-k,split=6", "split=4", "tile=64x24x128,order=dynamic", "raster=3,band=n",
                           "cluster=2x1,schedule=multistage", "tile=192x0x0", "warpgroups=1", "cluster=1x1x4"}) {
    const GemmConfig asked = *parse_config(text, config_of(kFamilies[2]));
    const std::vector<GemmConfig> list = config_list(asked);
    EXPECT_FALSE(list.empty()) << text;
    for (const GemmConfig& c : list) {
      const auto kept = [](int field, int got) { return field == 0 || field == got; };
      EXPECT_TRUE(kept(asked.tile_m, c.tile_m) && kept(asked.tile_n, c.tile_n) && kept(asked.cluster_m, c.cluster_m) &&
                  kept(asked.cluster_n, c.cluster_n) && kept(asked.cluster_k, c.cluster_k) &&
                  kept(asked.stages, c.stages) && kept(asked.split, c.split) && kept(asked.raster, c.raster) &&
                  kept(asked.math_warpgroups, c.math_warpgroups))
          << text << " became " << to_text(c);
      EXPECT_EQ(c.band, asked.band) << text;
      if (asked.schedule != Schedule::automatic) {
        EXPECT_EQ(c.schedule, asked.schedule) << to_text(c);
      }
      if (asked.order != TileOrder::automatic) {
        EXPECT_EQ(c.order, asked.order) << to_text(c);
      }
      if (asked.split > 1) {
        EXPECT_EQ(c.order, TileOrder::split_k) << to_text(c);
      }
    }
  }
}

TEST(ConfigList, SwapsOnRequestAndWhereNothingIsSaidOfTilesOrClusters) {
  const auto count = [](const char* text, bool swapped) {
    const std::vector<GemmConfig> list = config_list(*parse_config(text, config_of(kFamilies[2])));
    return std::count_if(list.begin(), list.end(),
                         [&](const GemmConfig& c) { return collective::swaps(c) == swapped; });
  };
  EXPECT_GT(count("", true), 50);
  EXPECT_GT(count("", false), 300);
  EXPECT_GT(count("order=split-k", true), 10);
  EXPECT_GT(count("swap_ab=on", true), 300);
  EXPECT_GT(count("swap_ab=on,tile=64x8x0", true), 5);
  EXPECT_EQ(count("swap_ab=on", false), 0);
  for (const char* off : {"swap_ab=off", "tile=64x64x0", "tile=0x16x0", "cluster=2x1"})
    EXPECT_EQ(count(off, true), 0) << off;
  EXPECT_EQ(count("swap_ab=off", false), count("", false));
}

TEST(ConfigList, IsEmptyWhereNoKernelIs) {
  for (const char* text :
       {"tile=128x264x128", "stages=1", "cluster=3x1", "promotion=1", "schedule=pingpong,order=stream-k"}) {
    const auto asked = parse_config(text, config_of(kFamilies[2]));
    ASSERT_TRUE(asked) << text;
    EXPECT_TRUE(config_list(*asked).empty()) << text;
  }
}

}  // namespace
}  // namespace ww::select
