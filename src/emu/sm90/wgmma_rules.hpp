// SPDX-License-Identifier: Apache-2.0
// What a checked run asks of wgmma: the fence before a first use, operands that are ordered before the read,
// accumulators left alone between issue and wait. One object for each warpgroup; it does nothing until start().
//   deposit of each thread -> what the issuers know; the last deposit -> reads of A and B by four agents, one a warp;
//   a thread's wait -> it knows its own warp's agent
#pragma once

#include <vector>

#include "emu/check/checker.hpp"
#include "emu/sequence_ring.hpp"

namespace ww::emu::sm90 {

class WgmmaRules {
 public:
  void start(Checker& checker);

  /// Notes that the thread has issued operation `turn`. `takes_registers`: registers that belonged to the thread until
  /// then; `fenced`: the thread has executed wgmma.fence since it used them.
  void deposited(Checker& checker, Thread& thread, bool takes_registers, bool fenced, u32 turn, arch::Site site);
  /// Notes that all threads have issued operation `turn`, whose operands are the granules at `a` and `b`.
  void ready(Checker& checker, Cta& cta, u32 turn, const u32* a, u32 a_count, const u32* b, u32 b_count, Origin origin,
             const void* from);
  /// Notes that the thread waited for the first `done` operations.
  void waited(Checker& checker, Thread& thread, u32 done) const;
  /// Reports a wgmma that takes over registers which the thread has written since its wgmma.fence.
  static void written_behind_fence(Checker& checker, Thread& thread, arch::Site site);
  /// Reports a wgmma that accumulates onto registers that nothing has set.
  static void accumulators_unset(Checker& checker, Thread& thread, arch::Site site);
  /// Reports a use of registers that belong to the tensor core. `issued` may be unknown.
  static void registers_touched(Checker& checker, Thread& thread, arch::Site issued, arch::Site touched, bool write,
                                const char* how);

 private:
  u32 agents_ = 0;                               // of the warps' reads, the first of four
  SequenceRing<std::vector<ClockRef>> issuers_;  // what the issuers of each operation knew, by turn
};

}  // namespace ww::emu::sm90
