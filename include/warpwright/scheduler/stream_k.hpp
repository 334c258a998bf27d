// SPDX-License-Identifier: Apache-2.0
// Stream-K (Osama et al., 2023): the k-blocks of all tiles form one line, divided into equal ranges for the clusters.
//   tiles | 0      | 1      | 2      |      a range may end one tile, hold whole ones, and begin another
//   range |  0  |  1  |  2  |  3  |  4  |
// The cluster that has the beginning of a tile reduces it. It waits for the clusters behind it in the line, each of
// which first works on its end of that tile. No cluster waits before it has stored the partial tiles that others wait
// for.
// If there are more tiles than clusters, only the first of the order, at most two waves, are split. The others are
// whole waves and are distributed as tiles afterwards, when no cluster waits any more.
#pragma once

#include "warpwright/scheduler/tile.hpp"

namespace ww::scheduler {

template <pipeline::ClusterShape kCluster> class StreamK {
  using CtaPosition = scheduler::CtaPosition<kCluster>;

 public:
  WW_DEVICE StreamK(const SchedulerParams& params, int k_blocks, arch::SharedAddress, Reader)
      : params_(params), k_blocks_(k_blocks) {
    const int start = start_of(CtaPosition::cluster());
    const int index = start / max(1, k_blocks);
    first_ = start - index * k_blocks;
    index_ = index - 1;
  }

  WW_DEVICE bool next(Tile& tile) {
    const int cluster = CtaPosition::cluster(), first_whole = params_.stream_tiles + cluster;
    const int whole = index_ < first_whole ? first_whole : index_ + CtaPosition::clusters();
    const int left = start_of(cluster + 1) - ((index_ + 1) * k_blocks_ + first_);  // of this range, in the line
    const bool in_line = left > 0;
    index_ = in_line ? index_ + 1 : whole;
    tile = CtaPosition::tile(index_, {in_line ? first_ : 0, in_line ? min(k_blocks_ - first_, left) : k_blocks_});
    first_ = 0;
    return index_ < params_.grid.tiles();
  }

  WW_DEVICE FixUp fix_up(const Tile& tile) const {
    const int cluster = CtaPosition::cluster();
    if (tile.k.first != 0)
      return {2, CtaPosition::slot(cluster)};  // the count 2 only marks the tile as split; this cluster
                                               // does not reduce it
    FixUp fix_up{1, CtaPosition::slot(cluster + 1)};
    if (tile.index >= params_.stream_tiles) return fix_up;
    const int end = (tile.index + 1) * k_blocks_;
    while (start_of(cluster + fix_up.splits) < end) ++fix_up.splits;
    return fix_up;
  }

 private:
  /// Returns the first k-block of a cluster's range. The whole line has at most 2^30.
  WW_DEVICE int start_of(int cluster) const {
    return cluster * params_.stream_blocks + min(cluster, params_.stream_extra);
  }

  const SchedulerParams& params_;
  int k_blocks_;
  int index_;  // the last tile returned; starts one step before the first tile
  int first_;  // first k-block of the next tile, if that is in the line
};

}  // namespace ww::scheduler
