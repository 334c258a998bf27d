// SPDX-License-Identifier: Apache-2.0
// Stream-K (Osama et al., 2023): the k-blocks of all tiles form one line, cut into equal shares for the clusters.
//   tiles | 0      | 1      | 2      |      a share may end one tile, hold whole ones, and begin another
//   share |  0  |  1  |  2  |  3  |  4  |
// Whoever has the beginning of a tile sums it: it waits for those behind it in the line, each of which works on its end
// of that tile first. Nobody waits before it has handed over what others wait for. Where there are more tiles than
// clusters, only the first of the order, at most two waves of them, are cut; the others are whole waves and are shared
// out as tiles afterwards, while nobody waits any more.
#pragma once

#include "warpwright/scheduler/tile.hpp"

namespace ww::scheduler {

template <pipeline::ClusterShape kCluster> class StreamK {
  using Place = scheduler::Place<kCluster>;

 public:
  WW_DEVICE StreamK(const SchedulerParams& params, int k_blocks, arch::SharedAddress, Reader)
      : params_(params), k_blocks_(k_blocks) {
    const int start = start_of(Place::cluster());
    const int index = start / max(1, k_blocks);
    first_ = start - index * k_blocks;
    index_ = index - 1;
  }

  WW_DEVICE bool next(Tile& tile) {
    const int cluster = Place::cluster(), first_whole = params_.stream_tiles + cluster;
    const int whole = index_ < first_whole ? first_whole : index_ + Place::clusters();
    const int left = start_of(cluster + 1) - ((index_ + 1) * k_blocks_ + first_);  // of this share, in the line
    const bool in_line = left > 0;
    index_ = in_line ? index_ + 1 : whole;
    tile = Place::tile(index_, {in_line ? first_ : 0, in_line ? min(k_blocks_ - first_, left) : k_blocks_});
    first_ = 0;
    return index_ < params_.grid.tiles();
  }

  WW_DEVICE Meeting meeting(const Tile& tile) const {
    const int cluster = Place::cluster();
    if (tile.k.first != 0) return {2, Place::slot(cluster)};  // why 2 whatever it is: this is not the one that asks
    Meeting meeting{1, Place::slot(cluster + 1)};
    if (tile.index >= params_.stream_tiles) return meeting;
    const int end = (tile.index + 1) * k_blocks_;
    while (start_of(cluster + meeting.pieces) < end) ++meeting.pieces;
    return meeting;
  }

 private:
  /// The first k-block of a cluster's share. The whole line has at most 2^30.
  WW_DEVICE int start_of(int cluster) const {
    return cluster * params_.stream_blocks + min(cluster, params_.stream_extra);
  }

  const SchedulerParams& params_;
  int k_blocks_;
  int index_;  // handed out last; before the first: the one before it
  int first_;  // k-block of what comes next, if that is in the line
};

}  // namespace ww::scheduler
