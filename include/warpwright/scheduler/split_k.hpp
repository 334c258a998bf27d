// SPDX-License-Identifier: Apache-2.0
// Split-K: the K of every tile is split equally, in a static order. The CTAs along K of a cluster divide one split
// between them; splits of different clusters are reduced through the workspace.
//   order: tile by tile, the last split first. Split 0 waits for the others, which all come before it and never wait.
//   So no cluster waits for itself, and no two for each other.
#pragma once

#include "warpwright/scheduler/tile.hpp"

namespace ww::scheduler {

template <pipeline::ClusterShape kCluster> class SplitK {
  using Place = scheduler::Place<kCluster>;

 public:
  WW_DEVICE SplitK(const SchedulerParams& params, int k_blocks, arch::SharedAddress, Reader)
      : params_(params), k_blocks_(k_blocks), next_(Place::cluster()) {}

  WW_DEVICE bool next(Tile& tile) {
    if (next_ >= params_.grid.tiles() * params_.pieces) return false;
    const int index = next_ / params_.pieces, piece = params_.pieces - 1 - next_ % params_.pieces;
    tile = Place::tile(index, part_of({0, k_blocks_}, piece, params_.pieces));
    next_ += Place::clusters();
    return true;
  }

  WW_DEVICE Meeting meeting(const Tile& tile) const {
    if (params_.pieces == 1) return {};
    const KRange all{0, k_blocks_};
    int piece = 0;
    while (part_of(all, piece, params_.pieces).first != tile.cluster_k.first) ++piece;
    return {params_.pieces, Place::slot(static_cast<i64>(tile.index) * (params_.pieces - 1) + max(piece - 1, 0))};
  }

 private:
  const SchedulerParams& params_;
  int k_blocks_, next_;
};

}  // namespace ww::scheduler
