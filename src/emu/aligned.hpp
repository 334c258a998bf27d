// SPDX-License-Identifier: Apache-2.0
// Instructions with .aligned: all lanes of a warp must execute the same one, which is one place of the kernel. Lanes do
// not run in step here, so each finds the call by its own count.
#pragma once

#include "emu/check/checker.hpp"
#include "emu/machine.hpp"

namespace ww::emu {

/// Reports that two lanes came from different places, unless these are copies of one place that a compiler made.
void check_same_place(Thread& thread, const AlignedCall& first, const char* instruction, arch::Site site);

/// Reports the first .aligned instruction that lanes of the thread's warp have skipped, after which the warp counts
/// anew. `next` is what these lanes did instead.
void report_skipped(Thread& thread, const char* next, arch::Site site);

/// Called when all lanes of a warp are at one place, where each has executed as many .aligned instructions as the
/// others.
inline void expect_none_skipped(Thread& thread, const char* next, arch::Site site) {
  const SequenceRing<AlignedCall>& calls = thread.warp->aligned;
  if (calls.begin() != calls.end()) [[unlikely]]
    report_skipped(thread, next, site);
}

/// Returns a lane that exited before it executed an .aligned instruction that others of the warp have executed, if all
/// lanes that have not executed it have exited; otherwise null.
Thread* lane_that_exited_before(Cta& cta, u32 warp);

/// Notes that the thread executes `instruction`, the name of which is one literal, in a checked run.
inline void aligned_call(Thread& thread, const char* instruction, arch::Site site) {
  if (!thread.machine->checker()) return;
  SequenceRing<AlignedCall>& calls = thread.warp->aligned;
  const u32 turn = thread.aligned_calls++;
  if (turn == calls.end()) calls.append() = {instruction, site, thread.call, thread.index, 0};
  AlignedCall& call = calls[turn];
  if (call.from != thread.call || call.site.line != site.line || call.instruction != instruction) [[unlikely]]
    check_same_place(thread, call, instruction, site);
  if (++call.lanes == kWarpSize) calls.drop_first();
}

}  // namespace ww::emu
