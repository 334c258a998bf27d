// SPDX-License-Identifier: Apache-2.0
// Programmatic dependent launch. A launch with that attribute may start while earlier kernels still run. Until a
// griddepcontrol.wait has returned, what they read and write must be left alone:
//   a wait of the thread, or of another that (happens before) -> the thread's access to global memory
// Clocks tell whether a wait happened before, so that barriers that order two threads' accesses pass it on as well.
// Without the attribute the launch starts when they have ended, and both operations do nothing. The attribute decides,
// not whether a kernel calls them: a kernel that lost its only call must be reported, and the first kernel of a chain
// may call launch_dependents alone.
#include <fmt/format.h>

#include "emu/check/checker.hpp"
#include "emu/machine.hpp"

namespace ww::emu {

void Checker::pdl_waited(Thread& thread, arch::Site site) {
  if (!starts_early_) return;
  ThreadState& self = state(thread);
  CtaState& cta = state(*thread.cta);
  // Kept, because all threads wait after one barrier with one clock, and should continue with one.
  if (!cta.waited || !(cta.unwaited == self.base)) {
    cta.unwaited = self.base;
    cta.waited = pool_.after_wait(self.base);
  }
  self.base = cta.waited;
  const PdlWait wait{thread.check_slot, site, thread.call};
  if (wait.thread < cta.pdl_wait.thread) cta.pdl_wait = wait;
  for (EarlyAccess& access : early_accesses_)  // few, one for each finding
    if (access.thread == wait.thread && access.wait.thread == ~0u) access.wait = wait;
}

[[gnu::noinline]] void Checker::early_access(Thread& thread, const char* operation, u64 begin, u64 end,
                                             std::string space, arch::Site site) {
  if (space.empty()) space = space_of(kSharedSpaceOfNobody, begin, end);
  const std::size_t before = findings_.size();
  report(Rule::early_access, party(thread.check_slot, site, operation, site.line < 0 ? nullptr : thread.call), {},
         begin, end, std::move(space), {}, "");
  if (findings_.size() > before) early_accesses_.push_back({before, thread.check_slot, {}});
}

void Checker::tma_early(Thread& thread, u32 range, bool write, arch::Site site) {
  early_access(thread, name_of(write ? Access::tma_store : Access::tma_load_source), 0, 0,
               fmt::format("operand {}", context_->launch.memory[range].name), site);
}

/// Sets the second party of each: the thread's own later wait, else that of the first thread of its CTA.
/// This runs at the end, because the wait comes after the access, and which thread comes first depends on the schedule.
void Checker::complete_early_accesses() {
  for (const EarlyAccess& access : early_accesses_) {
    Finding& finding = findings_[access.finding];
    const PdlWait& others = ctas_[names_[access.thread].cta]->pdl_wait;
    const PdlWait& wait = access.wait.thread != ~0u ? access.wait : others;
    finding.text = "global memory is touched while kernels before this one may still run: ";
    if (wait.thread == ~0u) {
      finding.text += "no thread of the CTA calls griddepcontrol.wait";
      finding.second = std::exchange(
          finding.first, launch_party("start of the launch, which may be before the kernels before it have ended"));
    } else {
      finding.text += "no griddepcontrol.wait happens before it";
      finding.second = party(wait.thread, wait.site, "griddepcontrol.wait", wait.from);
    }
  }
  early_accesses_.clear();
}

}  // namespace ww::emu
