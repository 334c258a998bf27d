// SPDX-License-Identifier: Apache-2.0
// The two sides of a finding: threads with their operations and lines, what an asynchronous operation completes on, and
// what the launch provided where there is no second thread.
#include <fmt/format.h>

#include "emu/check/checker.hpp"
#include "emu/check/source_lines.hpp"
#include "emu/machine.hpp"
#include "emu/memory.hpp"
#include "emu/report.hpp"

namespace ww::emu {
namespace {

void set_frames(FindingParty& party, const SourceLines& lines) {
  if (lines.frames.empty()) return;
  party.frames = lines.frames;
  party.file = lines.first().file;
  party.line = lines.first().line;
}

/// "ld.acquire.gpu.global", "atom.relaxed.cta.shared"; of weak accesses and copies the name of their kind.
std::string name_of(const AccessRecord& access, const MachineModel& model) {
  const std::string plain = name_of(access.kind, model);
  if (!access.strong()) return plain;
  constexpr const char* kOrders[] = {"weak", "relaxed", "acquire", "release", "acq_rel"};
  constexpr const char* kScopes[] = {"cta", "cluster", "gpu", "sys"};
  const std::size_t dot = plain.find('.');
  return fmt::format("{}.{}.{}{}", plain.substr(0, dot), kOrders[static_cast<u32>(access.order)],
                     kScopes[static_cast<u32>(access.scope)], plain.substr(dot));
}

}  // namespace

FindingParty Checker::party(u32 thread, arch::Site site, std::string operation, const void* from) const {
  const ThreadName& who = names_[thread];
  FindingParty party;
  party.cta = static_cast<int>(ctas_[who.cta]->index);
  party.warp = static_cast<int>(who.index / kWarpSize);
  party.lane = static_cast<int>(who.index % kWarpSize);
  party.role = words_of(who.role, who.index / kWarpgroupSize);
  if (site.line < 0) {  // an address in the module
    const SourceLines lines = source_lines(site.file);
    set_frames(party, lines);
    party.inner_file = lines.inner_file;
    party.inner_line = lines.inner_line;
  } else {
    if (site.file) party.file = party.inner_file = site.file;
    party.line = party.inner_line = site.line;
    if (from && context_->hooked) {
      const SourceLines lines = source_lines(from);
      if (lines.first().line > 0) set_frames(party, lines);
    }
  }
  if (party.frames.empty() && !party.file.empty()) party.frames.push_back({party.file, party.line, {}});
  party.operation = std::move(operation);
  return party;
}

FindingParty Checker::party(const AccessRecord& record) const {
  FindingParty who =
      party(record.thread, record.site, name_of(record, context_->model), record.site.line < 0 ? nullptr : record.from);
  who.completion = completion_of(record);
  return who;
}

FindingParty Checker::party(const EventLog::Event& event, std::string operation) const {
  return party(event.first_thread(), event.site, std::move(operation), event.from);
}

FindingParty Checker::launch_party(std::string what) const {
  const runtime::Launch& launch = context_->launch;
  FindingParty party;
  party.operation =
      fmt::format("{} (kernel {}: grid {}, cluster {}, {} threads, {} bytes of dynamic shared memory)", what,
                  context_->entry.name, launch.grid, launch.cluster, launch.threads, launch.shared_bytes);
  if (!context_->hooked) return party;
  // The entry's first instruction; source_lines() takes return addresses and looks at the byte before.
  const SourceLines lines = source_lines(reinterpret_cast<const char*>(context_->entry.run) + 1);
  const SourceFrame& entry = lines.first();
  if (entry.line == 0 || entry.file == "kernel.cpp") return party;
  party.file = party.inner_file = entry.file;
  party.line = party.inner_line = entry.line;
  party.frames = {{entry.file, entry.line, context_->entry.name}};
  return party;
}

FindingParty Checker::shared_memory_party(u32 cta) const {
  const CtaState& state = *ctas_[cta];
  return launch_party(fmt::format("shared memory of CTA {}, offsets [0x{:x}, 0x{:x}), as the launch gives it",
                                  state.index, kSharedBase, state.cta->shared_end));
}

FindingParty Checker::operands_party() const {
  std::string operands;
  for (const runtime::MemoryRange& range : context_->launch.memory)
    operands += fmt::format("{}{} of {} bytes{}", operands.empty() ? "" : ", ", range.name, range.bytes,
                            range.writable ? "" : ", read-only");
  return launch_party(operands.empty() ? "a launch without operands" : "operands of the launch: " + operands);
}

FindingParty Checker::exit_party(u32 cta) const {
  const u32 last = ctas_[cta]->last_exit;
  if (last == ~0u) return launch_party(fmt::format("CTA {}", ctas_[cta]->index));
  return party(last, {}, "exit of the CTA's last thread", nullptr);
}

FindingParty Checker::last_change_of(const BarrierState& barrier, Origin now) const {
  using What = EventLog::What;
  u32 skipped = 0;  // kinds of events: what happens now is in the log, once of each kind
  const EventLog::Event* event = barrier.log.newest([&](const EventLog::Event& e) {
    if (e.what == What::passed || e.what == What::initialised) return false;
    const u32 kind = 1u << static_cast<u32>(e.what);
    const bool mine = now.thread && e.is_by(now.thread->check_slot) && (e.lanes & (e.lanes - 1)) == 0 &&
                      e.site.line == now.site.line && e.site.file == now.site.file;
    if (!mine || (skipped & kind)) return true;
    skipped |= kind;
    return false;
  });
  if (!event) return party(barrier.init_thread, barrier.init_site, "mbarrier.init", barrier.init_from);
  return party(*event, event->what == What::arrived    ? "arrival on the mbarrier"
                       : event->what == What::expected ? "announcement of bytes to the mbarrier"
                                                       : "copy that landed on the mbarrier");
}

FindingParty Checker::store_party(const ThreadState& thread) const {
  return party(accesses_[thread.last_store_access]);
}

std::string Checker::words_of_barrier(u32 number) const {
  const BarrierState& barrier = barriers_[number];
  return fmt::format("the mbarrier at offset 0x{:x} of CTA {}", barrier.offset, ctas_[barrier.cta]->index);
}

std::string Checker::words_of_thread(u32 slot) const {
  const ThreadName& who = names_[slot];
  return fmt::format("CTA {}, {}, warp {}, lane {}", ctas_[who.cta]->index,
                     words_of(who.role, who.index / kWarpgroupSize), who.index / kWarpSize, who.index % kWarpSize);
}

std::string Checker::completion_of(const AccessRecord& record) const {
  if (record.barrier != ~0u && record.kind != Access::mbarrier) {
    const std::string phase = fmt::format("completes phase {} of {}", record.phase, words_of_barrier(record.barrier));
    const EventLog::Event* passed = barriers_[record.barrier].log.newest([&](const EventLog::Event& event) {
      return event.what == EventLog::What::passed && event.phase == record.phase;
    });
    if (!passed) return phase + ", for which nobody has waited yet";
    return fmt::format("{}, for which {} waited at {}:{}", phase, words_of_thread(passed->first_thread()),
                       passed->site.file ? passed->site.file : "", passed->site.line);
  }
  const ThreadName& issuer = names_[record.thread];
  const ThreadState* const now = state_of(record.thread);
  if (!now) return {};
  if (record.kind == Access::tma_store_source || record.kind == Access::tma_store) {
    const Cta& cta = *ctas_[issuer.cta]->cta;
    const bool there = cta.check_index == issuer.cta;
    if (there) {
      const Thread& thread = cta.threads[issuer.index];
      const u32 open = thread.bulk_first + static_cast<u32>(thread.bulk_groups.size());
      if (thread.check_slot == record.thread && record.epoch >= open)
        return "completes with a bulk group that its thread has not committed";
    }
    if (now->stores_read < record.epoch) return "completes with a bulk group for which its thread has not waited";
    const bool written = now->base && now->base->executed().at(record.slot) >= record.epoch;
    return record.kind == Access::tma_store_source || !written
               ? "completes with a bulk group of which its thread has waited for the reads of the source"
               : "completes with a bulk group for which its thread has waited";
  }
  if (record.kind >= Access::of_machines && record.slots > 1) {
    std::string waiting;
    const u32 group = issuer.index / kWarpgroupSize * kWarpgroupSize;
    for (u32 i = 0; i < record.slots; ++i) {
      const ThreadState* const warp = state_of(record.thread - issuer.index + group + i * kWarpSize);
      const bool done = warp && warp->base && warp->base->executed().at(record.slot + i) >= record.epoch;
      if (!done) waiting += fmt::format("{}{}", waiting.empty() ? "" : ", ", group / kWarpSize + i);
    }
    return waiting.empty() ? "completes at a wait in each warp of its warpgroup, and all of them have waited"
                           : "completes at a wait in each warp of its warpgroup; not in warps " + waiting + " yet";
  }
  return {};
}

std::string Checker::space_of(u32 cta, u64& begin, u64& end) const {
  if (cta != kSharedSpaceOfNobody) return fmt::format("shared memory of CTA {}", ctas_[cta]->index);
  for (const runtime::MemoryRange& range : context_->launch.memory) {
    const u64 base = reinterpret_cast<u64>(range.base);
    if (begin < base || begin >= base + range.bytes) continue;
    begin -= base;
    end -= base;
    return fmt::format("operand {}", range.name);
  }
  begin = end = 0;  // an address means nothing to the reader, and differs from run to run
  return "global memory outside the operands";
}

}  // namespace ww::emu
