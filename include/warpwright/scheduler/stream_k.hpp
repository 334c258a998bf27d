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
    const i64 start = start_of(Place::cluster());
    const int index = k_blocks == 0 ? 0 : static_cast<int>(start / k_blocks);
    first_ = static_cast<int>(start - static_cast<i64>(index) * k_blocks);
    index_ = ~index;
  }

  WW_DEVICE bool next(Tile& tile) {
    bool in_line = true;
    if (index_ < 0) index_ = ~index_;
    else if (index_ < params_.stream_tiles) ++index_, first_ = 0;
    else in_line = false;
    if (in_line) {
      const i64 begin = static_cast<i64>(index_) * k_blocks_ + first_, end = start_of(Place::cluster() + 1);
      if (begin < end) {
        tile = Place::tile(index_, {first_, static_cast<int>(min<i64>(k_blocks_ - first_, end - begin))});
        return true;
      }
      index_ = params_.stream_tiles + Place::cluster() - Place::clusters();
      first_ = 0;
    }
    index_ += Place::clusters();
    tile = Place::tile(index_, {0, k_blocks_});
    return index_ < params_.grid.tiles();
  }

  WW_DEVICE Meeting meeting(const Tile& tile) const {
    const int cluster = Place::cluster();
    if (tile.k.first != 0) return {2, Place::slot(cluster)};  // why 2 whatever it is: this is not the one that asks
    Meeting meeting{1, Place::slot(cluster + 1)};
    if (tile.index >= params_.stream_tiles) return meeting;
    const i64 end = (tile.index + i64{1}) * k_blocks_;
    while (start_of(cluster + meeting.pieces) < end) ++meeting.pieces;
    return meeting;
  }

 private:
  /// The first k-block of a cluster's share.
  WW_DEVICE i64 start_of(int cluster) const {
    return cluster * params_.stream_blocks + min(cluster, params_.stream_extra);
  }

  const SchedulerParams& params_;
  int k_blocks_;
  // why what was handed out last, not what comes next: it is the tile itself, and takes no registers of its own
  int index_, first_;  // tile, its first k-block; before the first: ~tile
};

}  // namespace ww::scheduler
