// SPDX-License-Identifier: Apache-2.0
// Clears the scales behind the end of K that the last instruction of a tile takes. One of e2m1 takes 64 of K and the
// scales of all of them, which lie in one word of a chunk for each row. Elements behind K are zero, but a scale there
// may be anything: a NaN would make every output NaN, and a large one would shift the sum's low bits out.
// The thread that multiplies clears them in the stage, between TMA and the copy to tensor memory, with a proxy fence.
// The other CTA of a pair clears its own when the leader has seen the stage full:
//   leader:  wait full -> arrive at ready of the other CTA -> clear -> wait cleared -> copies and MMAs of both
//   other:   wait ready -> clear -> arrive at cleared of the leader
// A commit orders what MMAs and copies have read before the next load of the stage, but not what a thread has stored.
// So the thread that clears arrives at another barrier of the stage, which its next load waits for.
// Kinds with instructions of 32 elements need none of this: a block of mx is as long.
#pragma once

#include "warpwright/arch/common/fence.hpp"
#include "warpwright/arch/common/mbarrier_scope.hpp"
#include "warpwright/arch/common/shared.hpp"
#include "warpwright/config/config_parameter.hpp"
#include "warpwright/config/shared_memory.hpp"
#include "warpwright/config/sizes.hpp"

namespace ww::mainloop {

/// A bit for each stage: whether its scales are cleared by ordinary stores after they are loaded, and the parity of the
/// barrier that then completes. The thread that loads remembers it.
struct ClearedStages {
  u32 pending = 0, parity = 0;
};

/// Clears the scales that the last instruction of a tile takes beyond the elements of its last k-block.
template <ConfigParameter kConfig> class ScaleTail {
  static constexpr int kChunks = config::scale_chunks_of_k(kConfig);  // of a stage along K
  static constexpr int kBlocks = 1 + config::chunk_blocks_of_b(kConfig);
  static constexpr int kVector = scale_vector(kConfig.operands.scale);
  static constexpr int kElements = kConfig.tile.k / 4;  // of an instruction
  static constexpr config::SharedPlan kShared = config::shared_plan(kConfig);
  static constexpr bool kPair = kConfig.sm100.pair;
  static constexpr u32 kStages = kConfig.sm90.stages;
  static_assert(!config::clears_scales(kConfig) || kStages <= 32, "ClearedStages has a bit for each stage");

 public:
  static constexpr bool kNeeded = config::clears_scales(kConfig);

  WW_DEVICE explicit ScaleTail(arch::SharedAddress base) : base_(base) {}

  /// Initialises the barriers. One thread of each CTA calls it, before make_barriers_visible.
  WW_DEVICE static void initialize(arch::SharedAddress barriers) {
    if constexpr (kNeeded)
      for (u32 stage = 0; stage < kStages; ++stage) arch::mbarrier::init(reusable(barriers, stage), 1);
    if constexpr (kNeeded && kPair) {
      arch::mbarrier::init(ready(barriers), 1);
      arch::mbarrier::init(cleared(barriers), 1);
    }
  }

  /// Waits before scales are loaded into `stage` until those of its last use have been cleared, if they are, and
  /// remembers whether those of this use will be. The thread that loads calls it.
  WW_DEVICE static void wait_for_clear(arch::SharedAddress base, u32 stage, bool clears, ClearedStages& state) {
    const u32 bit = 1u << stage;
    if ((state.pending & bit) != 0) {
      arch::mbarrier::wait(reusable(base + kShared.barriers, stage), state.parity >> stage & 1);
      state.parity ^= bit;
    }
    state.pending = (state.pending & ~bit) | (clears ? bit : 0);
  }

  /// Returns the instructions that `elements` of a k-block need.
  WW_DEVICE static u32 instructions_of(i32 elements) { return static_cast<u32>(ceil_div(elements, kElements)); }
  /// Returns whether the last of those instructions takes scales behind `elements`.
  WW_DEVICE static bool needs_clearing(i32 elements) {
    return kNeeded && ceil_div(elements, kVector) % (kElements / kVector) != 0;
  }

  /// Clears the scales of both CTAs of a pair behind `elements` of the k-block in stage `stage`, which is full. The
  /// thread that issues MMAs calls it.
  WW_DEVICE void clear(u32 stage, i32 elements) {
    if constexpr (kPair) arch::mbarrier::arrive_remote_release(ready(barriers()), arch::cluster_rank() + 1);
    clear_own(stage, elements);
    if constexpr (kPair) wait(cleared(barriers()));
  }
  /// Clears the scales of this CTA once the leader of its pair has seen them arrive. The other CTA's thread that would
  /// multiply calls it.
  WW_DEVICE void assist(u32 stage, i32 elements) {
    wait(ready(barriers()));
    clear_own(stage, elements);
    arch::mbarrier::arrive_remote_release(cleared(barriers()), arch::cluster_rank() - 1);
  }

 private:
  WW_DEVICE void clear_own(u32 stage, i32 elements) const {
    const u32 scales = static_cast<u32>(ceil_div(elements, kVector));
    const u32 mask = (1u << (8 * (scales % kScaleChunkScales))) - 1;  // the bytes of a row that have K
    const arch::SharedAddress chunk =
        base_ + (kShared.scales + (stage * kBlocks * kChunks + scales / kScaleChunkScales) * kScaleChunkBytes);
    constexpr u32 kTogether = 4;  // rows of 16 bytes that are in flight at once
    WW_NO_UNROLL
    for (u32 at = 0; at < kBlocks * kScaleChunkBytes; at += 16 * kTogether) {
      const arch::SharedAddress rows =
          chunk + (at / kScaleChunkBytes * kChunks * kScaleChunkBytes + at % kScaleChunkBytes);
      arch::Words<4> words[kTogether];
      WW_UNROLL
      for (u32 row = 0; row < kTogether; ++row) words[row] = arch::shared::load4(rows + 16 * row);
      WW_UNROLL
      for (u32 row = 0; row < kTogether; ++row) {
        for (u32& word : words[row].w) word &= mask;
        arch::shared::store4(rows + 16 * row, words[row]);
      }
    }
    arch::fence::proxy_async_shared();
    arch::mbarrier::arrive(reusable(barriers(), stage));
  }
  WW_DEVICE void wait(arch::MBarrier barrier) {
    arch::mbarrier::wait_cluster(barrier, parity_);
    parity_ ^= 1;
  }

  static constexpr u32 kBarriers = kShared.tail_barriers - kShared.barriers;
  WW_DEVICE arch::SharedAddress barriers() const { return base_ + kShared.barriers; }
  WW_DEVICE static arch::MBarrier barrier(arch::SharedAddress barriers, u32 index) {
    return {barriers + (kBarriers + index * arch::kMBarrierBytes)};
  }
  WW_DEVICE static arch::MBarrier reusable(arch::SharedAddress barriers, u32 stage) { return barrier(barriers, stage); }
  WW_DEVICE static arch::MBarrier ready(arch::SharedAddress barriers) { return barrier(barriers, kStages); }
  WW_DEVICE static arch::MBarrier cleared(arch::SharedAddress barriers) { return barrier(barriers, kStages + 1); }

  arch::SharedAddress base_;
  u32 parity_ = 0;
};

}  // namespace ww::mainloop
