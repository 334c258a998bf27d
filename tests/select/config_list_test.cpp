// SPDX-License-Identifier: Apache-2.0
// The list of a wanted is finite, the same every time, without faults, and agrees with what a request sets.
#include "select/config_list.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <string>

#include "config/config_text.hpp"
#include "warpwright/config/faults.hpp"
#include "warpwright/config/resolve.hpp"
#include "warpwright/config/sizes.hpp"
#include "warpwright/config/swap_ab.hpp"

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
  return {
      .operands = {
          .a = f.a, .b = f.b, .d = f.d, .scale = f.scale, .layout = {f.a_major, f.b_major}, .d_layout = f.d_layout}};
}

TEST(ConfigList, IsFiniteDistinctAndWithoutFault) {
  for (const Family& wanted : kFamilies) {
    const std::vector<GemmConfig> list = config_list(config_of(wanted));
    EXPECT_GT(list.size(), 100u);
    EXPECT_LT(list.size(), 1700u);
    std::set<std::string> texts;
    for (const GemmConfig& c : list) {
      EXPECT_FALSE(config::fault_of(c)) << to_text(c);
      EXPECT_EQ(config::resolve(c), c) << to_text(c);
      EXPECT_TRUE(texts.insert(to_text(c)).second) << "twice: " << to_text(c);
      EXPECT_EQ(*parse_config(to_text(c)), c) << to_text(c);
      EXPECT_TRUE(c.operands.a == wanted.a && c.operands.b == wanted.b && c.operands.d == wanted.d &&
                  c.operands.scale == wanted.scale)
          << to_text(c);
      EXPECT_TRUE(c.operands.layout.a == wanted.a_major && c.operands.layout.b == wanted.b_major &&
                  c.operands.d_layout == wanted.d_layout)
          << to_text(c);
    }
  }
}

TEST(ConfigList, LeavesOutWhatPtxasSerialises) {  // 256 rows, two accumulators a thread, and K cut or D in FP32
  for (const Family& wanted : {kFamilies[2], kFamilies[3], kFamilies[4], kFamilies[5]})
    for (const GemmConfig& c : config_list(config_of(wanted))) {
      if (c.tile.m < 128 * c.sm90.consumer_warpgroups) continue;
      EXPECT_TRUE(c.sm90.tile_scheduler != TileScheduler::stream_k && c.sm90.tile_scheduler != TileScheduler::split_k)
          << to_text(c);
      EXPECT_NE(c.operands.d, f32) << to_text(c);
      EXPECT_LE(c.cluster.m * c.cluster.n, 2) << to_text(c);
    }
  GemmConfig asked = config_of(kFamilies[4]);  // on request it is there
  asked.tile.m = 256, asked.tile.n = 64, asked.sm90.tile_scheduler = TileScheduler::stream_k;
  EXPECT_FALSE(config::fault_of(config::resolve(asked)));
}

TEST(ConfigList, LeavesOutWhatPtxasSpills) {  // as ptxas_report listed has found them, a few of each kind
  for (const char* text :
       {"scale=block,tile=128x128x128,cluster=1x1x2,tile_scheduler=split-k,split=2",
        "scale=block,tile=192x128x128,cluster=1x1x4,tile_scheduler=split-k,split=4",
        "scale=block-1d,tile=64x128x128,cluster=2x1x4,tile_scheduler=split-k,split=4",
        "scale=block-1d,tile=128x128x128,cluster=2x1,tile_scheduler=stream-k",
        "scale=block-1d,tile=64x128x128,cluster=1x1,schedule=pingpong",
        "scale=block-1d,tile=128x192x128,cluster=1x2,schedule=multistage",
        "scale=tensor,tile=256x192x128,cluster=2x1,tile_scheduler=dynamic",
        "scale=tensor,tile=128x224x128,tile_scheduler=stream-k",
        "scale=row-column,tile=64x256x128,cluster=1x1x4,tile_scheduler=split-k,split=4",
        "scale=row-column,tile=256x160x128,cluster=2x1",
        "scale=row-column,tile=64x256x128,cluster=2x1,tile_scheduler=dynamic",
        "scale=row-column,tile=192x192x128,cluster=2x1,tile_scheduler=stream-k",
        "scale=row-column,tile=128x240x128,cluster=2x1", "a=bf16,b=bf16,tile=128x192x64,cluster=1x1,schedule=pingpong",
        "a=bf16,b=bf16,d=f32,tile=128x256x64,cluster=2x1,tile_scheduler=stream-k",
        "a=bf16,b=bf16,d=f32,tile=128x224x64,cluster=1x1x1,tile_scheduler=split-k,split=2"}) {
    const GemmConfig spilling = config::resolve(*parse_config(text));
    ASSERT_FALSE(config::fault_of(spilling)) << text;  // on request it is there
    const std::vector<GemmConfig> list = config_list({.operands = {.a = spilling.operands.a,
                                                                   .b = spilling.operands.b,
                                                                   .d = spilling.operands.d,
                                                                   .scale = spilling.operands.scale}});
    EXPECT_GT(list.size(), 300u);
    const auto same = [&](const GemmConfig& c) {
      return c.tile.m == spilling.tile.m && c.tile.n == spilling.tile.n && c.cluster.m == spilling.cluster.m &&
             c.cluster.n == spilling.cluster.n && c.cluster.k == spilling.cluster.k &&
             c.sm90.schedule == spilling.sm90.schedule && c.sm90.tile_scheduler == spilling.sm90.tile_scheduler &&
             c.sm90.split == spilling.sm90.split && !config::swaps(c);
    };
    EXPECT_EQ(std::count_if(list.begin(), list.end(), same), 0) << text;
  }
}

TEST(ConfigList, IsTheSameEveryTime) {
  const GemmConfig wanted = config_of(kFamilies[0]);
  const std::vector<GemmConfig> first = config_list(wanted);
  config_list(config_of(kFamilies[4]));  // another in between
  EXPECT_EQ(config_list(wanted), first);
}

TEST(ConfigList, KeepsEveryFieldThatIsSet) {
  for (const char* text :
       {"tile=128x96x128", "cluster=1x2", "stages=5", "schedule=pingpong", "tile_scheduler=stream-k",
        "tile_scheduler=split-k,split=6", "split=4", "tile=64x24x128,tile_scheduler=dynamic", "raster=3,band=n",
        "cluster=2x1,schedule=multistage", "tile=192x0x0", "consumer_warpgroups=1", "cluster=1x1x4"}) {
    const GemmConfig asked = *parse_config(text, config_of(kFamilies[2]));
    const std::vector<GemmConfig> list = config_list(asked);
    EXPECT_FALSE(list.empty()) << text;
    for (const GemmConfig& c : list) {
      const auto kept = [](int field, int got) { return field == 0 || field == got; };
      EXPECT_TRUE(kept(asked.tile.m, c.tile.m) && kept(asked.tile.n, c.tile.n) && kept(asked.cluster.m, c.cluster.m) &&
                  kept(asked.cluster.n, c.cluster.n) && kept(asked.cluster.k, c.cluster.k) &&
                  kept(asked.sm90.stages, c.sm90.stages) && kept(asked.sm90.split, c.sm90.split) &&
                  kept(asked.raster.width, c.raster.width) &&
                  kept(asked.sm90.consumer_warpgroups, c.sm90.consumer_warpgroups))
          << text << " became " << to_text(c);
      const bool open = asked.raster.band == RasterBand::automatic;
      EXPECT_EQ(c.raster.band, open ? RasterBand::along_m : asked.raster.band) << text;
      if (asked.sm90.schedule != Schedule::automatic) {
        EXPECT_EQ(c.sm90.schedule, asked.sm90.schedule) << to_text(c);
      }
      if (asked.sm90.tile_scheduler != TileScheduler::automatic) {
        EXPECT_EQ(c.sm90.tile_scheduler, asked.sm90.tile_scheduler) << to_text(c);
      }
      if (asked.sm90.split > 1) {
        EXPECT_EQ(c.sm90.tile_scheduler, TileScheduler::split_k) << to_text(c);
      }
    }
  }
}

TEST(ConfigList, SwapsOnRequestAndWhereNothingIsSaidOfTilesOrClusters) {
  const auto count = [](const char* text, bool swapped) {
    const std::vector<GemmConfig> list = config_list(*parse_config(text, config_of(kFamilies[2])));
    return std::count_if(list.begin(), list.end(), [&](const GemmConfig& c) { return config::swaps(c) == swapped; });
  };
  EXPECT_GT(count("", true), 50);
  EXPECT_GT(count("", false), 300);
  EXPECT_GT(count("tile_scheduler=split-k", true), 10);
  EXPECT_GT(count("swap_ab=on", true), 300);
  EXPECT_GT(count("swap_ab=on,tile=64x8x0", true), 5);
  EXPECT_EQ(count("swap_ab=on", false), 0);
  for (const char* off : {"swap_ab=off", "tile=64x64x0", "tile=0x16x0", "cluster=2x1"})
    EXPECT_EQ(count(off, true), 0) << off;
  EXPECT_EQ(count("swap_ab=off", false), count("", false));
}

TEST(ConfigList, IsEmptyWhereNoKernelIs) {
  for (const char* text : {"tile=128x264x128", "stages=1", "cluster=3x1", "partial_accumulators=1",
                           "schedule=pingpong,tile_scheduler=stream-k"}) {
    const auto asked = parse_config(text, config_of(kFamilies[2]));
    ASSERT_TRUE(asked) << text;
    EXPECT_TRUE(config_list(*asked).empty()) << text;
  }
}

}  // namespace
}  // namespace ww::select
