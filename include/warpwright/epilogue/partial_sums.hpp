// SPDX-License-Identifier: Apache-2.0
// Reduces the K splits of a tile, first inside the cluster, then through the workspace. If a config does not split K,
// the kernel contains none of it.
#pragma once

#include "warpwright/config/config_parameter.hpp"
#include "warpwright/epilogue/cluster_sum.hpp"
#include "warpwright/epilogue/workspace_sum.hpp"
#include "warpwright/scheduler/tile.hpp"

namespace ww::epilogue {

template <ConfigParameter kConfig> class PartialSums {
  static constexpr bool kInCluster = config::sums_in_cluster(kConfig);
  static constexpr bool kInWorkspace = config::sums_in_workspace(kConfig);
  static constexpr int kMmaBlocks = config::mma_blocks_of(kConfig);
  static constexpr pipeline::ClusterShape kCluster = config::cluster_of(kConfig);
  using Workspace = WorkspaceSum<kConfig>;
  struct NoCluster {
    WW_DEVICE NoCluster(arch::SharedAddress, int) {}
  };

 public:
  WW_DEVICE PartialSums(arch::SharedAddress base, int consumer_warpgroup)
      : cluster_(base, consumer_warpgroup), consumer_warpgroup_(consumer_warpgroup) {}

  /// Initialises the barriers. One thread of each CTA calls it, before make_barriers_visible.
  WW_DEVICE static void initialize(arch::SharedAddress base) {
    if constexpr (kInCluster) ClusterSum<config::sum_plan(kConfig)>::initialize(base);
  }

  /// Returns whether this CTA reduces for the CTAs along K of its cluster.
  WW_DEVICE static bool is_first_along_k() { return !kInCluster || scheduler::CtaPosition<kCluster>::rank_k() == 0; }

  /// Returns true if acc is then the sum of all of `tile`, and this CTA stores it. All threads of a consumer warpgroup
  /// call it.
  template <class Accumulator, class Walk, class Tile>
  WW_DEVICE bool complete(const config::PartialTiles& partials, Accumulator (&acc)[kMmaBlocks], const Walk& walk,
                          const Tile& tile) {
    if constexpr (kInCluster) {
      if (!is_first_along_k()) {
        cluster_.send_partial(acc, tile.k.blocks > 0);
        return false;
      }
      cluster_.reduce(acc, min(kCluster.k, tile.cluster_k.blocks));
    }
    if constexpr (kInWorkspace) {
      const scheduler::FixUp fix_up = walk.fix_up(tile);
      if (tile.k.first != 0) {
        Workspace::store_partial(partials, fix_up.slot, consumer_warpgroup_, acc);
        return false;
      }
      Workspace::reduce(partials, fix_up.slot, kCluster.plane(), fix_up.splits, consumer_warpgroup_, acc);
    }
    return true;
  }

 private:
  conditional_t<kInCluster, ClusterSum<config::sum_plan(kConfig)>, NoCluster> cluster_;
  int consumer_warpgroup_;
};

}  // namespace ww::epilogue
