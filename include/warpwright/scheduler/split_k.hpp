// SPDX-License-Identifier: Apache-2.0
// Split-K: the K of every tile is split equally, in a static order. The CTAs along K of a cluster divide one split
// between them; splits of different clusters are reduced through the workspace.
//   order: the last split of every tile, then the last but one. Split 0 waits for the others, which all come before it
//   and never wait. So no cluster waits for itself, and no two for each other.
// Clusters that follow one another are at the same K then, so that L2 delivers the rows they share only once.
#pragma once

#include "warpwright/scheduler/tile.hpp"

namespace ww::scheduler {

template <pipeline::ClusterShape kCluster> class SplitK {
  using CtaPosition = scheduler::CtaPosition<kCluster>;

 public:
  WW_DEVICE SplitK(const SchedulerParams& params, int k_blocks, arch::SharedAddress, Reader)
      : params_(params), k_blocks_(k_blocks), next_(CtaPosition::cluster()) {}

  WW_DEVICE bool next(Tile& tile) {
    const int tiles = static_cast<int>(params_.grid.tiles());
    if (next_ >= i64{tiles} * params_.splits) return false;
    const int index = next_ % tiles, split = params_.splits - 1 - next_ / tiles;
    tile = CtaPosition::tile(index, split_of({0, k_blocks_}, split, params_.splits));
    next_ += CtaPosition::clusters();
    return true;
  }

  WW_DEVICE FixUp fix_up(const Tile& tile) const {
    if (params_.splits == 1) return {};
    const KRange all{0, k_blocks_};
    int split = 0;
    while (split_of(all, split, params_.splits).first != tile.cluster_k.first) ++split;
    return {params_.splits, CtaPosition::slot(static_cast<i64>(tile.index) * (params_.splits - 1) + max(split - 1, 0))};
  }

 private:
  const SchedulerParams& params_;
  int k_blocks_, next_;
};

}  // namespace ww::scheduler
