// SPDX-License-Identifier: Apache-2.0
// The rasterised order visits every cluster tile once, in bands, whatever the band's width.
#include "warpwright/scheduler/static_persistent.hpp"

#include <gtest/gtest.h>

#include <vector>

namespace ww::scheduler {
namespace {

TEST(StaticPersistent, EveryTileOnce) {
  for (int rows = 1; rows <= 13; ++rows)
    for (int columns = 1; columns <= 7; ++columns)
      for (int raster = 1; raster <= 16; ++raster) {
        const StaticPersistentParams params{rows, columns, raster};
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
  const StaticPersistentParams params{5, 3, 2};
  const std::vector<TileCoord> expected = {{0, 0}, {1, 0}, {0, 1}, {1, 1}, {0, 2}, {1, 2}, {2, 0}, {3, 0},
                                           {2, 1}, {3, 1}, {2, 2}, {3, 2}, {4, 0}, {4, 1}, {4, 2}};
  for (int i = 0; i < 15; ++i) {
    EXPECT_EQ(rasterize(params, i).m, expected[i].m) << i;
    EXPECT_EQ(rasterize(params, i).n, expected[i].n) << i;
  }
}

}  // namespace
}  // namespace ww::scheduler
