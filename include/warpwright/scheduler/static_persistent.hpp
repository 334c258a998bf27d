// SPDX-License-Identifier: Apache-2.0
// Static persistent scheduler: cluster c of C takes tiles c, c + C, c + 2C, ... of one rasterised order. With as many
// clusters as tiles, each has one. CTAs do not communicate.
#pragma once

#include "warpwright/scheduler/tile.hpp"

namespace ww::scheduler {

template <pipeline::ClusterShape kCluster> class StaticPersistent {
  using CtaPosition = scheduler::CtaPosition<kCluster>;

 public:
  WW_DEVICE StaticPersistent(const SchedulerParams& params, int k_blocks, arch::SharedAddress, Reader)
      : params_(params), k_blocks_(k_blocks), next_(CtaPosition::cluster()) {}

  /// Sets `tile` to this CTA's next tile; returns false when there is none.
  WW_DEVICE bool next(Tile& tile) {
    if (next_ >= params_.grid.tiles()) return false;
    tile = CtaPosition::tile(next_, {0, k_blocks_});
    next_ += CtaPosition::clusters();
    return true;
  }

 private:
  const SchedulerParams& params_;
  int k_blocks_, next_;
};

}  // namespace ww::scheduler
