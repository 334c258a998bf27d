// SPDX-License-Identifier: Apache-2.0
// Static persistent scheduler: cluster c of C takes tiles c, c + C, c + 2C, ... of one rasterised order.
//   order: bands of `raster` cluster tiles along M; inside a band M runs fastest, then N
// so that the tiles in flight at one time form a block whose operands fit L2 instead of a strip. No communication
// between
// CTAs (cross_cta is false): every CTA of a cluster computes the same sequence.
#pragma once

#include "warpwright/arch/special.hpp"
#include "warpwright/collective/gemm_arguments.hpp"
#include "warpwright/pipeline/arrivals.hpp"

namespace ww::scheduler {

using collective::TileCoord;

struct StaticPersistentParams {
  int cluster_tiles_m = 0, cluster_tiles_n = 0;  // ceil of the problem over the cluster's tile
  int raster = 1;                                // cluster tiles along M per band

  WW_HOST_DEVICE constexpr i64 tiles() const { return static_cast<i64>(cluster_tiles_m) * cluster_tiles_n; }
};

/// Cluster tile number `index` of the rasterised order.
WW_HOST_DEVICE constexpr TileCoord rasterize(const StaticPersistentParams& params, int index) {
  const int band_tiles = params.raster * params.cluster_tiles_n;
  const int band = index / band_tiles;
  const int first = band * params.raster;
  const int rows = min(params.raster, params.cluster_tiles_m - first);  // the last band may be narrower
  const int within = index % band_tiles;
  return {first + within % rows, within / rows};
}

template <pipeline::ClusterShape kCluster> class StaticPersistent {
 public:
  static constexpr bool kCrossCta = false;

  WW_DEVICE explicit StaticPersistent(const StaticPersistentParams& params)
      : params_(params),
        next_(static_cast<int>(arch::block_index()) / kCluster.size()),
        stride_(static_cast<int>(arch::grid_size()) / kCluster.size()),
        self_(pipeline::coord_of(kCluster, static_cast<int>(arch::cluster_rank()))) {}

  /// This CTA's next tile; false when there is none. A tile may lie wholly outside the problem (edge of a cluster
  /// tile).
  WW_DEVICE bool next(TileCoord& tile) {
    if (next_ >= params_.tiles()) return false;
    const TileCoord cluster_tile = rasterize(params_, next_);
    tile = {cluster_tile.m * kCluster.m + self_.x, cluster_tile.n * kCluster.n + self_.y};
    next_ += stride_;
    return true;
  }

 private:
  StaticPersistentParams params_;
  int next_, stride_;
  pipeline::ClusterCoord self_;
};

}  // namespace ww::scheduler
