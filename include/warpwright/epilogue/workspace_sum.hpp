// SPDX-License-Identifier: Apache-2.0
// Reduces tiles whose K is split between CTAs of different clusters: all but the first store their accumulators in the
// workspace; the first waits for them in order and adds.
//   store_partial:  accumulators -> slot -> flag = 1 (release)
//   reduce:  flag (acquire) -> acc = ((acc + split 1) + split 2) + ... , one FP32 rounding each -> flag = 0
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
    splits = static_cast<int>(arch::warp::uniform(static_cast<u32>(splits)));  // see scheduler::uniform_for
    WW_NO_UNROLL
    for (int split = 1; split < splits; ++split, slot += step) {
      u32* const flag = flag_of(partials, slot, consumer_warpgroup);
      arch::global::wait_global_warp(flag, [](u32 value) { return value == 1; });
      const float* const from = part_of_thread(partials, slot, consumer_warpgroup);
      WW_UNROLL
      for (int u = 0; u < kMmaBlocks; ++u) {
        WW_UNROLL
        for (int v = 0; v < Accumulator::kValues; v += 4) {
          const arch::Words<4> part = arch::global::load4(from + (u * Accumulator::kValues + v) * kThreads);
          WW_UNROLL
          for (int w = 0; w < 4; ++w) acc[u][v + w] = arch::add(acc[u][v + w], arch::float_of(part.w[w]));
        }
      }
      arch::warp::sync();  // all have seen the flag
      // for the next launch; nobody reads it again in this one
      if (arch::lane_index() == 0) arch::global::store(flag, 0);
    }
  }

 private:
  // [values / 4][threads][4]: the 16 bytes of neighbouring lanes are neighbours.
  WW_DEVICE static float* part_of_thread(const PartialTiles& partials, i64 slot, int consumer_warpgroup) {
    const int thread = consumer_warpgroup * static_cast<int>(arch::kWarpgroupSize) +
                       static_cast<int>(arch::thread_index() % arch::kWarpgroupSize);
    return partials.tiles + slot * (kConfig.tile.m * kConfig.tile.n) + 4 * thread;
  }
  WW_DEVICE static u32* flag_of(const PartialTiles& partials, i64 slot, int consumer_warpgroup) {
    return partials.flags + slot * kWarps + 4 * consumer_warpgroup + arch::warp_index() % 4;
  }
};

}  // namespace ww::epilogue
