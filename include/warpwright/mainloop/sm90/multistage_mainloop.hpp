// SPDX-License-Identifier: Apache-2.0
// The mainloop without roles: the threads that multiply also keep the ring full, one of them by TMA.
//   prologue:  loads of k-blocks 0 .. stages - 1 in flight
//   k-block k: wait (its token was requested while k - 1 was multiplied) -> wgmma -> block k - 1 is read: release its
//              stage, and load k - 1 + stages into it
// Stages are released in one of two ways. Each warp signals the CTAs that share an operand with it, which then refill
// at their own pace; or all threads of the cluster synchronise after every k-block, which is the simplest correct way.
#pragma once

#include "warpwright/arch/common/cluster.hpp"
#include "warpwright/config/config_parameter.hpp"
#include "warpwright/mainloop/sm90/mainloop.hpp"

namespace ww::mainloop {

enum class StageRelease : u8 {
  by_warp,             // mbarriers: consumer warps to the producers that will write the stage
  by_cluster_barrier,  // for comparison (examples/06_multicast_gemm.cpp)
};

template <ConfigParameter kConfig, StageRelease kRelease> struct MultistageMainloop : Mainloop<kConfig> {
  static_assert(!has_roles(kConfig));
  using Base = Mainloop<kConfig>;
  using Base::kCluster, Base::kMmaBlocks;
  using typename Base::Accumulator;
  using typename Base::Pipeline;
  static constexpr int kStages = kConfig.sm90.stages;
  static constexpr bool kByWarp = kRelease == StageRelease::by_warp;

  /// This thread's two ends of the ring.
  struct Ring {
    Pipeline filling;  // used by the loading thread only
    Pipeline reading;
    bool loads;
    WW_DEVICE explicit Ring(arch::SharedAddress barriers)
        : filling(barriers, pipeline::Role::producer),
          reading(barriers, pipeline::Role::consumer),
          loads(arch::thread_index() == 0) {}
  };

  /// Computes acc = this warpgroup's rows of `tile`. k_blocks >= 1. All threads call it.
  WW_DEVICE static void multiply(const GemmArguments& arguments, arch::SharedAddress base, Ring& ring, TileCoord tile,
                                 int warpgroup, Accumulator (&acc)[kMmaBlocks]) {
    load(arguments, base, ring, tile, 0, kStages);
    if constexpr (Base::kPromotes) multiply_promoted(arguments, base, ring, tile, warpgroup, acc);
    else multiply_plain(arguments, base, ring, tile, warpgroup, acc);
  }

 private:
  // Loads k-blocks [first, last), as far as they exist, in the loading thread. All lanes call it.
  WW_DEVICE static void load(const GemmArguments& arguments, arch::SharedAddress base, Ring& ring, TileCoord tile,
                             int first, int last) {
    last = min(last, k_blocks_of<kConfig>(arguments));
    if (ring.loads && kByWarp) Base::load_blocks(arguments, base, ring.filling, tile, first, last, {});
    if (ring.loads && !kByWarp)  // no wait: the cluster barrier has already synchronised with the readers of the stages
      for (int k = first; k < last; ++k) Base::load_blocks(arguments, base, ring.filling, tile, k, k + 1, {true});
    arch::warp::sync();  // wgmma needs converged warps
  }

  // Refills `stage` of k-block k with k-block k + kStages. All threads call it when no MMA reads the stage any more.
  WW_DEVICE static void pass_on(const GemmArguments& arguments, arch::SharedAddress base, Ring& ring, TileCoord tile,
                                pipeline::Stage stage, int k) {
    if constexpr (kByWarp) ring.reading.consumer_release(stage);
    else if constexpr (kCluster.size() == 1) arch::named_barrier::sync_cta();
    else arch::cluster::sync();
    load(arguments, base, ring, tile, k + kStages, k + kStages + 1);
  }

  // Returns whether the next k-block has arrived; requested now, and needed only when this one is in flight.
  WW_DEVICE static pipeline::WaitToken peek(const Ring& ring, bool more) {
    return more ? ring.reading.consumer_try_wait() : pipeline::WaitToken{};
  }

  // As in Mainloop, which explains the do-while loop.
  WW_DEVICE static void multiply_plain(const GemmArguments& arguments, arch::SharedAddress base, Ring& ring,
                                       TileCoord tile, int warpgroup, Accumulator (&acc)[kMmaBlocks]) {
    constexpr int kInFlight = kByWarp ? 1 : 0;  // a barrier of all threads can only follow MMAs that all have finished
    const SharedProducts<kConfig> products(base, warpgroup);
    arch::wgmma::begin(acc);
    pipeline::Stage previous{};
    pipeline::WaitToken token = peek(ring, true);
    int k = 0;
    do {
      const pipeline::Stage stage = ring.reading.consumer_wait(token);
      arch::wgmma::fence();
      WW_UNROLL
      for (int u = 0; u < kMmaBlocks; ++u) products.issue(stage, u, acc[u], k != 0);
      arch::wgmma::commit();
      arch::wgmma::wait<kInFlight>();
      if (k >= kInFlight) pass_on(arguments, base, ring, tile, kByWarp ? previous : stage, k - kInFlight);
      token = peek(ring, k + 1 < k_blocks_of<kConfig>(arguments));
      previous = stage;
    } while (++k < k_blocks_of<kConfig>(arguments));
    finish_all(acc);
    if constexpr (kByWarp) ring.reading.consumer_release(previous);
  }

  // Promotes every k-block as soon as it is multiplied. Consumer threads load their scales themselves, because no warp
  // is free for that; a schedule with roles does this better.
  WW_DEVICE static void multiply_promoted(const GemmArguments& arguments, arch::SharedAddress base, Ring& ring,
                                          TileCoord tile, int warpgroup, Accumulator (&acc)[kMmaBlocks]) {
    const SharedProducts<kConfig> products(base, warpgroup);
    const auto scales = Base::scales_of(arguments, tile);
    const TilePosition position = Base::position_of(warpgroup, Base::scale_offset(tile));
    Base::clear(acc);
    pipeline::WaitToken token = peek(ring, true);
    for (int k = 0; k < k_blocks_of<kConfig>(arguments); ++k) {
      const GlobalScales<typename Base::Scales, kMmaBlocks> of_block(scales, position, k);
      const pipeline::Stage stage = ring.reading.consumer_wait(token);
      Accumulator partial;
      WW_UNROLL
      for (int u = 0; u < kMmaBlocks; ++u) {
        products.product(stage, u, partial);
        if (u + 1 == kMmaBlocks) {
          pass_on(arguments, base, ring, tile, stage, k);
          token = peek(ring, k + 1 < k_blocks_of<kConfig>(arguments));
        }
        promote(acc[u], partial, of_block.of_block(u));
      }
    }
  }
};

}  // namespace ww::mainloop
