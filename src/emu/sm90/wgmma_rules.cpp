// SPDX-License-Identifier: Apache-2.0
// Findings about wgmma.
#include "emu/sm90/wgmma_rules.hpp"

#include "emu/sm90/model.hpp"

namespace ww::emu::sm90 {
namespace {

constexpr u32 kWarps = kWarpgroupSize / kWarpSize;

[[gnu::noinline]] void use_unfenced(Checker& checker, Thread& thread, arch::Site site) {
  checker.report(Rule::accumulator_in_flight, checker.party(thread.check_slot, {}, "use of the accumulator registers"),
                 checker.party(thread.check_slot, site, "wgmma.mma_async"), 0, 0, "registers", {},
                 "a wgmma takes over registers without wgmma.fence after the thread's own use of them");
}

}  // namespace

void WgmmaRules::start(Checker& checker) {
  issuers_ = {};
  agents_ = checker.new_agents(kWarps);
}

void WgmmaRules::deposited(Checker& checker, Thread& thread, bool takes_registers, bool fenced, u32 turn,
                           arch::Site site) {
  if (takes_registers && !fenced) use_unfenced(checker, thread, site);
  if (turn == issuers_.end()) issuers_.append().clear();
  std::vector<ClockRef>& issuers = issuers_[turn];
  const ClockRef& knows = checker.knowledge(thread);
  for (const ClockRef& known : issuers)
    if (known == knows) return;
  issuers.push_back(knows);
}

void WgmmaRules::ready(Checker& checker, Cta& cta, u32 turn, const u32* a, u32 a_count, const u32* b, u32 b_count,
                       Origin origin, const void* from) {
  // In order: the last issuer of this operation has issued all before it.
  std::vector<ClockRef>& issuers = issuers_[turn];
  Checker::EngineAccess access{.kind = kReadOfA,
                               .agent = agents_,
                               .agents = kWarps,
                               .epoch = turn + 1,
                               .origin = origin,
                               .from = from,
                               .issuers = issuers};
  checker.engine_access(cta, access, a, a_count);
  access.kind = kReadOfB;
  checker.engine_access(cta, access, b, b_count);
  issuers.clear();
  issuers_.drop_first();
}

void WgmmaRules::waited(Checker& checker, Thread& thread, u32 done) const {
  checker.learn(thread, agents_ + thread.index / kWarpSize % kWarps, done);
}

[[gnu::noinline]] void WgmmaRules::written_behind_fence(Checker& checker, Thread& thread, arch::Site site) {
  checker.report(Rule::accumulator_in_flight, checker.party(thread.check_slot, {}, "write of registers"),
                 checker.party(thread.check_slot, site, "wgmma.mma_async", thread.call), 0, 0, "registers", {},
                 "a wgmma takes over registers that the thread has written since its wgmma.fence: the fence orders "
                 "writes before it");
}

[[gnu::noinline]] void WgmmaRules::accumulators_unset(Checker& checker, Thread& thread, arch::Site site) {
  checker.report(
      Rule::uninitialised_read, checker.party(thread.check_slot, site, "accumulator registers, which nothing has set"),
      checker.party(thread.check_slot, site, "wgmma.mma_async", thread.call), 0, 0, "registers", {},
      "a wgmma accumulates onto registers that nothing has set: the first must not accumulate, or zeros must "
      "be stored before it");
}

void WgmmaRules::registers_touched(Checker& checker, Thread& thread, arch::Site issued, arch::Site touched, bool write,
                                   const char* how) {
  checker.report(
      Rule::accumulator_in_flight, checker.party(thread.check_slot, issued, "wgmma.mma_async"),
      checker.party(thread.check_slot, touched, write ? "write of its accumulators" : "read of its accumulators"), 0, 0,
      "registers", {}, how);
}

}  // namespace ww::emu::sm90
