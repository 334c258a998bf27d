// SPDX-License-Identifier: Apache-2.0
// What several CTAs have of one tile becomes one sum: first inside the cluster, then through workspace. Where a config
// splits no K, there is nothing of it in the kernel.
#pragma once

#include "warpwright/collective/cluster_sum.hpp"
#include "warpwright/collective/workspace_sum.hpp"
#include "warpwright/scheduler/tile.hpp"

namespace ww::kernel {

template <GemmConfig kConfig> class PartialSums {
  static constexpr bool kInCluster = collective::sums_in_cluster(kConfig);
  static constexpr bool kInWorkspace = collective::sums_in_workspace(kConfig);
  static constexpr int kUnits = collective::units_of(kConfig);
  static constexpr pipeline::ClusterShape kCluster = collective::cluster_of(kConfig);
  using Accumulator = arch::Accumulator<kConfig.tile_n>;
  using Workspace = collective::WorkspaceSum<kConfig>;
  struct NoCluster {
    WW_DEVICE NoCluster(arch::SharedAddress, int) {}
  };

 public:
  WW_DEVICE PartialSums(arch::SharedAddress base, int math_warpgroup)
      : cluster_(base, math_warpgroup), math_warpgroup_(math_warpgroup) {}

  /// By one thread of each CTA, before make_barriers_visible.
  WW_DEVICE static void initialize(arch::SharedAddress base) {
    if constexpr (kInCluster) collective::ClusterSum<collective::sum_plan(kConfig)>::initialize(base);
  }

  /// Of the CTAs along K of a cluster this is the one that sums.
  WW_DEVICE static bool is_first_along_k() { return !kInCluster || scheduler::Place<kCluster>::rank_k() == 0; }

  /// All threads of a math warpgroup. True: acc is the sum of all of `tile`, and this CTA stores it.
  template <class Scheduler>
  WW_DEVICE bool complete(const collective::PartialTiles& partials, Accumulator (&acc)[kUnits],
                          const Scheduler& scheduler, const scheduler::Tile& tile) {
    if constexpr (kInCluster) {
      if (!is_first_along_k()) {
        cluster_.give(acc, tile.k.blocks > 0);
        return false;
      }
      cluster_.take(acc, min(kCluster.k, tile.cluster_k.blocks));
    }
    if constexpr (kInWorkspace) {
      const scheduler::Meeting meeting = scheduler.meeting(tile);
      if (tile.k.first != 0) {
        Workspace::give(partials, meeting.slot, math_warpgroup_, acc);
        return false;
      }
      Workspace::collect(partials, meeting.slot, kCluster.plane(), meeting.pieces, math_warpgroup_, acc);
    }
    return true;
  }

 private:
  conditional_t<kInCluster, collective::ClusterSum<collective::sum_plan(kConfig)>, NoCluster> cluster_;
  int math_warpgroup_;
};

}  // namespace ww::kernel
