// SPDX-License-Identifier: Apache-2.0
// The slow path of .aligned instructions: places of lanes that differ.
#include "emu/aligned.hpp"

#include <fmt/format.h>

#include <cstring>

#include "emu/check/source_lines.hpp"

namespace ww::emu {
namespace {

bool same_file(const char* a, const char* b) { return a == b || (a && b && std::strcmp(a, b) == 0); }

/// Compares the lines that the addresses were inlined from. A compiler may copy one call into several branches.
bool same_lines(const void* a, const void* b) {
  if (a == b) return true;
  const SourceLines x = source_lines(a), y = source_lines(b);
  return x.frames == y.frames;
}

}  // namespace

[[gnu::noinline]] void check_same_place(Thread& thread, const AlignedCall& first, const char* instruction,
                                        arch::Site site) {
  const bool hooked = thread.machine->context().hooked;  // only then do addresses have lines
  if (first.instruction == instruction && first.site.line == site.line && same_file(first.site.file, site.file) &&
      (!hooked || same_lines(first.from, thread.call)))
    return;
  Checker& checker = *thread.machine->checker();
  const u32 slot = thread.cta->threads[first.thread].check_slot;
  checker.report(
      Rule::divergent_call, checker.party(slot, first.site, first.instruction, first.from),
      checker.party(thread.check_slot, site, instruction, thread.call), 0, 0, "", {},
      "lanes of one warp execute .aligned instructions at different places; all lanes must execute the same");
}

Thread* lane_that_exited_before(Cta& cta, u32 warp) {
  SequenceRing<AlignedCall>& calls = cta.warps[warp].aligned;
  if (calls.begin() == calls.end()) return nullptr;
  Thread* found = nullptr;
  for (u32 lane = 0; lane < kWarpSize; ++lane) {
    Thread& thread = cta.threads[warp * kWarpSize + lane];
    if (thread.aligned_calls > calls.begin()) continue;  // it has executed it
    if (thread.wait != Wait::exited) return nullptr;
    if (!found) found = &thread;
  }
  return found;
}

[[gnu::noinline]] void report_skipped(Thread& thread, const char* next, arch::Site site) {
  SequenceRing<AlignedCall>& calls = thread.warp->aligned;
  const AlignedCall call = calls[calls.begin()];
  Cta& cta = *thread.cta;
  const u32 first_lane = thread.index - thread.lane();
  const Thread* skips = &thread;
  for (u32 lane = kWarpSize; lane-- > 0;)
    if (cta.threads[first_lane + lane].aligned_calls <= calls.begin()) skips = &cta.threads[first_lane + lane];
  Checker& checker = *thread.machine->checker();
  checker.report(
      Rule::divergent_call, checker.party(cta.threads[call.thread].check_slot, call.site, call.instruction, call.from),
      checker.party(skips->check_slot, site, next, skips->call), 0, 0, "", {},
      fmt::format("{} of the 32 lanes of a warp execute an .aligned instruction, and the others skip it; all "
                  "lanes must execute it",
                  call.lanes));
  while (calls.begin() != calls.end()) calls.drop_first();
  for (u32 lane = 0; lane < kWarpSize; ++lane) cta.threads[first_lane + lane].aligned_calls = calls.end();
}

}  // namespace ww::emu
