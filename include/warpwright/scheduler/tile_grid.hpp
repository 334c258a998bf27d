// SPDX-License-Identifier: Apache-2.0
// The cluster tiles of a problem in one order: bands of `raster` tiles along one extent. Within a band that extent runs
// fastest, then the other. The tiles in flight at one time then form a block, whose operands fit L2, instead of a
// strip.
#pragma once

#include "warpwright/config/enumerations.hpp"
#include "warpwright/config/gemm_arguments.hpp"
#include "warpwright/core/meta.hpp"

namespace ww::scheduler {

using config::KRange;
using config::TileCoord;

struct TileGrid {
  int cluster_tiles_m = 0, cluster_tiles_n = 0;  // ceil of the problem over the cluster's tile
  int raster = 1;                                // cluster tiles across a band
  RasterBand band = RasterBand::along_m;

  WW_HOST_DEVICE constexpr i64 tiles() const { return static_cast<i64>(cluster_tiles_m) * cluster_tiles_n; }
};

/// Returns cluster tile number `index` of the order.
WW_HOST_DEVICE constexpr TileCoord rasterize(const TileGrid& grid, int index) {
  const bool along_m = grid.band == RasterBand::along_m;
  const int across = along_m ? grid.cluster_tiles_m : grid.cluster_tiles_n;  // the extent that is divided into bands
  const int band_tiles = grid.raster * (along_m ? grid.cluster_tiles_n : grid.cluster_tiles_m);
  const int band = index / band_tiles;
  const int first = band * grid.raster;
  const int width = min(grid.raster, across - first);  // the last band may be narrower
  const int within = index % band_tiles;
  const int inside = first + within % width, along = within / width;
  return along_m ? TileCoord{inside, along} : TileCoord{along, inside};
}

}  // namespace ww::scheduler
