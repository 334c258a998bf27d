// SPDX-License-Identifier: Apache-2.0
// Transposes an N-major tf32 B to K-major, in its stage. wgmma reads 32-bit operands from shared memory K-major only,
// so the consumer warps transpose each stage in place.
//   TMA wrote blocks of 32 columns, 4 KiB each, a row of 32 columns for each k; K-major, the same 32 columns are 32
//   rows
//   of 32 k, in the same 4 KiB. A warp takes a block: lane n reads column n, all lanes have read, lane n writes row n.
//   [k][n] -> registers -> [n][k],   both under the 128-byte swizzle, without bank conflicts
// A proxy fence then makes the writes visible to the tensor core, and all warps that multiply from the stage
// synchronise.
// Alternatives: a second tile would take a stage of the ring. B cannot come from registers. The transposed problem D^T
// = B A^T helps one layout of three and would transpose epilogues too.
#pragma once

#include "warpwright/arch/common/fence.hpp"
#include "warpwright/arch/common/named_barrier.hpp"
#include "warpwright/arch/common/shared.hpp"
#include "warpwright/arch/common/warp.hpp"
#include "warpwright/atom/tiles.hpp"

namespace ww::mainloop {

/// Transposes stages of kColumns columns by kWarpgroups consumer warpgroups together; kGroups of those take turns in
/// the ring. Group g synchronises at named barrier kFirstBarrier + g.
template <int kColumns, int kWarpgroups, int kGroups, int kFirstBarrier> struct StageTranspose {
  static constexpr int kBlock = 32;  // columns, and k
  static_assert(kColumns % kBlock == 0, "an N-major tf32 B: whole blocks of 32 columns");
  static constexpr int kBlocks = kColumns / kBlock, kWarps = 4 * kWarpgroups;
  static constexpr u32 kSpan = atom::kSwizzleSpan, kBlockBytes = kBlock * kSpan;

  /// Transposes the columns at `tile`, which the producer filled. All threads of the consumer warpgroups call it;
  /// `consumer_warpgroup` counts from 0.
  WW_DEVICE static void run(arch::SharedAddress tile, int consumer_warpgroup) {
    const int warp = consumer_warpgroup % kWarpgroups * 4 + static_cast<int>(arch::warp_index() % 4);
    WW_UNROLL
    for (int first = 0; first < kBlocks; first += kWarps)
      if (kBlocks % kWarps == 0 || first + warp < kBlocks)
        turn_over(tile + static_cast<u32>(first + warp) * kBlockBytes);
    arch::fence::proxy_async_shared();
    meet(consumer_warpgroup / kWarpgroups);
  }

 private:
  // Transposes one block in one warp.
  WW_DEVICE static void turn_over(arch::SharedAddress block) {
    const u32 lane = arch::lane_index();
    u32 column[kBlock];
    WW_UNROLL
    for (u32 k = 0; k < kBlock; ++k) column[k] = arch::shared::load(block + (k * kSpan + (lane * 4 ^ k % 8 * 16)));
    arch::warp::sync();  // all columns are in registers
    WW_UNROLL
    for (u32 k = 0; k < kBlock; k += 4)
      arch::shared::store4(block + (lane * kSpan + (k * 4 ^ lane % 8 * 16)),
                           {{column[k], column[k + 1], column[k + 2], column[k + 3]}});
  }

  // The branches make each id a constant of its instruction.
  WW_DEVICE static void meet(int group) {
    static_assert(kGroups <= 2);
    if (kGroups == 1 || group == 0) arch::named_barrier::sync<kFirstBarrier>(kWarpgroups * arch::kWarpgroupSize);
    else arch::named_barrier::sync<kFirstBarrier + kGroups - 1>(kWarpgroups * arch::kWarpgroupSize);
  }
};

}  // namespace ww::mainloop
