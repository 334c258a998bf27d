// SPDX-License-Identifier: Apache-2.0
// The slow path of .aligned instructions: places of lanes that differ.
#include "emu/aligned.hpp"

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

}  // namespace ww::emu
