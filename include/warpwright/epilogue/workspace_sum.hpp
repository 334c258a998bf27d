// SPDX-License-Identifier: Apache-2.0
// Reduces tiles whose K is split between CTAs of different clusters: all but the first store their accumulators in the
// workspace; the first waits for them in order and adds.
//   store_partial:  accumulators -> slot -> flag = 1 (release)
//   reduce:  flags (acquire) -> parts -> acc = ((acc + split 1) + split 2) + ... , one FP32 rounding each -> flags = 0
// Each slot and warp has a flag. The warps of both sides hold the same elements and synchronise with no other warp.
// Flags are zero again when the launch ends.
#pragma once

#include "warpwright/arch/common/global.hpp"
#include "warpwright/arch/common/math.hpp"
#include "warpwright/arch/common/warp.hpp"
#include "warpwright/atom/fragment.hpp"
#include "warpwright/config/config_parameter.hpp"
#include "warpwright/config/gemm_arguments.hpp"
#include "warpwright/config/sizes.hpp"

namespace ww::epilogue {

using namespace config;

template <ConfigParameter kConfig> struct WorkspaceSum {
  static constexpr int kMmaBlocks = mma_blocks_of(kConfig);
  static constexpr int kWarps = consumer_warps(kConfig);
  static constexpr int kThreads = 32 * kWarps;
  static constexpr int kTile = kConfig.tile.m * kConfig.tile.n;

  /// Stores this warp's accumulators. All lanes of a consumer warp call it.
  template <class Accumulator>
  WW_DEVICE static void store_partial(const PartialTiles& partials, i64 slot, int consumer_warpgroup,
                                      Accumulator (&acc)[kMmaBlocks]) {
    float* const to = part_of_thread(partials, slot, consumer_warpgroup);
    WW_UNROLL
    for (int u = 0; u < kMmaBlocks; ++u) {
      WW_UNROLL
      for (int v = 0; v < Accumulator::kValues; v += 4)
        arch::global::store4(to + (u * Accumulator::kValues + v) * kThreads,
                             {{arch::bits_of(acc[u][v]), arch::bits_of(acc[u][v + 1]), arch::bits_of(acc[u][v + 2]),
                               arch::bits_of(acc[u][v + 3])}});
    }
    arch::warp::sync();  // one lane's release stands for the stores of all 32
    if (arch::lane_index() == 0) arch::global::store_release(flag_of(partials, slot, consumer_warpgroup), 1);
  }

  /// Adds splits 1 to splits - 1, which are in slots `slot`, slot + step, ... All lanes of a consumer warp call it.
  template <class Accumulator>
  WW_DEVICE static void reduce(const PartialTiles& partials, i64 slot, int step, int splits, int consumer_warpgroup,
                               Accumulator (&acc)[kMmaBlocks]) {
    constexpr int kAtOnce = config::partial_tiles_at_once(kMmaBlocks * Accumulator::kValues);
    // Of a single part ptxas moves as many loads up as registers allow.
    constexpr int kLoaded = kAtOnce > 1 ? Accumulator::kValues : 4;
    splits = static_cast<int>(arch::warp::uniform(static_cast<u32>(splits)));  // see scheduler::uniform_for
    WW_NO_UNROLL
    for (int split = 1; split < splits; split += kAtOnce, slot += kAtOnce * step) {
      const int count = min(kAtOnce, splits - split);
      // Each lane waits for one part; those beyond the count wait for the last part too.
      const int own = kAtOnce == 1 ? 0 : min(static_cast<int>(arch::lane_index()), count - 1);
      u32* const flag = flag_of(partials, slot + own * step, consumer_warpgroup);
      arch::global::wait_global_warp(flag, [](u32 value) { return value == 1; });
      arch::warp::sync();  // now every lane may read all of these parts
      const float* const from = part_of_thread(partials, slot, consumer_warpgroup);
      WW_UNROLL
      for (int u = 0; u < kMmaBlocks; ++u) {
        WW_UNROLL
        for (int v = 0; v < Accumulator::kValues; v += kLoaded)
          add_parts<kAtOnce, kLoaded>(from + (u * Accumulator::kValues + v) * kThreads, i64{step} * kTile, count,
                                      &acc[u][v]);
      }
      // for the next launch; nobody reads it again in this one
      if (static_cast<int>(arch::lane_index()) < count) arch::global::store(flag, 0);
    }
  }

 private:
  /// Adds kLoaded values of `count` parts in their order. Those of all parts are loaded before the first is added.
  template <int kAtOnce, int kLoaded>
  WW_DEVICE static void add_parts(const float* from, i64 part_stride, int count, float* sums) {
    arch::Words<4> part[kAtOnce][kLoaded / 4];
    WW_UNROLL
    for (int i = 0; i < kAtOnce; ++i) {
      if (i > 0 && i >= count) break;
      WW_UNROLL
      for (int v = 0; v < kLoaded; v += 4) part[i][v / 4] = arch::global::load4(from + i * part_stride + v * kThreads);
    }
    WW_UNROLL
    for (int i = 0; i < kAtOnce; ++i) {
      if (i > 0 && i >= count) break;
      WW_UNROLL
      for (int v = 0; v < kLoaded; ++v) sums[v] = arch::add(sums[v], arch::float_of(part[i][v / 4].w[v % 4]));
    }
  }

  // [values / 4][threads][4]: the 16 bytes of neighbouring lanes are neighbours.
  WW_DEVICE static float* part_of_thread(const PartialTiles& partials, i64 slot, int consumer_warpgroup) {
    const int thread = consumer_warpgroup * static_cast<int>(arch::kWarpgroupSize) +
                       static_cast<int>(arch::thread_index() % arch::kWarpgroupSize);
    return partials.tiles + slot * kTile + 4 * thread;
  }
  WW_DEVICE static u32* flag_of(const PartialTiles& partials, i64 slot, int consumer_warpgroup) {
    return partials.flags + slot * kWarps + 4 * consumer_warpgroup + arch::warp_index() % 4;
  }
};

}  // namespace ww::epilogue
