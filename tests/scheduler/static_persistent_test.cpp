// SPDX-License-Identifier: Apache-2.0
// The rasterised order visits every cluster tile once, in bands, whatever the band's width; the parameters that the
// host gives the schedulers.
#include "warpwright/scheduler/launch_plan.hpp"

#include <gtest/gtest.h>

#include <vector>

namespace ww::scheduler {
namespace {

TEST(StaticPersistent, EveryTileOnce) {
  for (int rows = 1; rows <= 13; ++rows)
    for (int columns = 1; columns <= 7; ++columns)
      for (int raster = 1; raster <= 32; ++raster) {
        const RasterBand band = raster % 2 == 0 ? RasterBand::along_m : RasterBand::along_n;
        const TileGrid params{rows, columns, (raster + 1) / 2, band};
        std::vector<int> visits(rows * columns, 0);
        for (int i = 0; i < params.tiles(); ++i) {
          const TileCoord tile = rasterize(params, i);
          ASSERT_TRUE(tile.m >= 0 && tile.m < rows && tile.n >= 0 && tile.n < columns)
              << rows << "x" << columns << " raster " << raster << " index " << i;
          ++visits[tile.m * columns + tile.n];
        }
        for (int count : visits) ASSERT_EQ(count, 1) << rows << "x" << columns << " raster " << raster;
      }
}

TEST(StaticPersistent, ABandOfMRunsFastest) {
  const TileGrid params{5, 3, 2};
  const std::vector<TileCoord> expected = {{0, 0}, {1, 0}, {0, 1}, {1, 1}, {0, 2}, {1, 2}, {2, 0}, {3, 0},
                                           {2, 1}, {3, 1}, {2, 2}, {3, 2}, {4, 0}, {4, 1}, {4, 2}};
  for (int i = 0; i < 15; ++i) {
    EXPECT_EQ(rasterize(params, i).m, expected[i].m) << i;
    EXPECT_EQ(rasterize(params, i).n, expected[i].n) << i;
  }
}

TEST(StaticPersistent, ABandOfNRunsFastest) {
  const TileGrid grid{3, 5, 2, RasterBand::along_n}, transposed{5, 3, 2};
  for (int i = 0; i < 15; ++i) {
    EXPECT_EQ(rasterize(grid, i).m, rasterize(transposed, i).n) << i;
    EXPECT_EQ(rasterize(grid, i).n, rasterize(transposed, i).m) << i;
  }
}

// Ranges of the line differ by one k-block at most, and only tiles of less than two waves are in it.
TEST(StreamK, SharesAreEqualWithinOneBlock) {
  GemmConfig config;
  config.sm90.tile_scheduler = TileScheduler::stream_k, config.cluster.m = config.cluster.n = 1;
  for (int tiles : {1, 5, 17, 131, 132, 133, 300})
    for (int k_blocks : {1, 7, 56})
      for (i64 clusters : {1, 4, 132}) {
        const SchedulerParams params = scheduler_params(config, {tiles, 1, 1}, k_blocks, clusters);
        const i64 line = static_cast<i64>(params.stream_tiles) * k_blocks;
        EXPECT_EQ(params.stream_blocks * clusters + params.stream_extra, line) << tiles << " " << clusters;
        EXPECT_LT(params.stream_extra, clusters);
        EXPECT_EQ((tiles - params.stream_tiles) % clusters, 0) << tiles << " " << clusters;
        EXPECT_LT(params.stream_tiles, 2 * clusters);
      }
}

TEST(SplitK, PiecesAreEqualWithinOneBlockAndNeverEmpty) {
  for (int blocks = 1; blocks < 40; ++blocks)
    for (int parts = 1; parts <= blocks; ++parts) {
      int next = 3;
      for (int part = 0; part < parts; ++part) {
        const KRange range = split_of({3, blocks}, part, parts);
        EXPECT_EQ(range.first, next);
        EXPECT_GE(range.blocks, blocks / parts);
        EXPECT_LE(range.blocks, blocks / parts + 1);
        next += range.blocks;
      }
      EXPECT_EQ(next, 3 + blocks);
    }
}

TEST(Workspace, IsWhatTheSchedulersWriteAndNoMore) {
  GemmConfig config;
  config.tile.m = 64, config.tile.n = 32, config.sm90.consumer_warpgroups = 1, config.cluster.m = config.cluster.n = 1;
  const TileGrid grid{3, 1, 1};
  const auto bytes = [&](TileScheduler order, int split, int cluster_k, int k_blocks, i64 clusters) {
    config.sm90.tile_scheduler = order, config.sm90.split = split, config.cluster.k = cluster_k;
    const WorkspacePlan plan = workspace_plan(config, scheduler_params(config, grid, k_blocks, clusters), clusters);
    EXPECT_EQ(plan.waits, plan.bytes > 0);
    return plan.bytes;
  };
  constexpr i64 kTile = 64 * 32 * 4;
  EXPECT_EQ(bytes(TileScheduler::fixed, 0, 0, 8, 2), 0);
  EXPECT_EQ(bytes(TileScheduler::dynamic, 0, 0, 8, 2), 256);
  EXPECT_EQ(bytes(TileScheduler::stream_k, 0, 0, 8, 2), 512 + 2 * kTile);
  EXPECT_EQ(bytes(TileScheduler::stream_k, 0, 0, 8, 3), 0);  // whole waves
  EXPECT_EQ(bytes(TileScheduler::stream_k, 0, 0, 0, 2), 0);
  EXPECT_EQ(bytes(TileScheduler::split_k, 4, 1, 8, 2), 512 + 3 * 3 * kTile);
  EXPECT_EQ(bytes(TileScheduler::split_k, 4, 1, 2, 2), 512 + 3 * kTile);  // K has two blocks only
  EXPECT_EQ(bytes(TileScheduler::split_k, 4, 4, 8, 2), 0);                // the cluster needs none
  EXPECT_EQ(bytes(TileScheduler::split_k, 4, 2, 8, 2), 512 + 3 * kTile);
}

}  // namespace
}  // namespace ww::scheduler
