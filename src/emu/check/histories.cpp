// SPDX-License-Identifier: Apache-2.0
// The latest events of the mbarriers that a finding is about: the one on which a copy completes, the one that let its
// issuer pass, and the one on which the other side arrived.
#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "emu/check/checker.hpp"
#include "emu/machine.hpp"
#include "emu/report.hpp"

namespace ww::emu {
namespace {

using Event = EventLog::Event;
using What = EventLog::What;

/// Several events that differ only in the warp.
struct Group {
  Event event;
  std::set<u32> warps;  // by number in the CTA
  u32 threads = 0;
};

std::string counted(i64 amount, const char* thing) {
  return fmt::format("{} {}{}", amount, thing, amount == 1 ? "" : "s");
}

std::string words_of(const Group& group) {
  const i64 amount = group.event.amount;
  switch (group.event.what) {
    case What::initialised: return fmt::format("initialised for {}", counted(amount, "arrival"));
    case What::expected: return fmt::format("{} expected", counted(amount, "byte"));
    case What::arrived: return counted(amount, "arrival");
    case What::landed: return fmt::format("{} landed", counted(amount, "byte"));
    case What::passed: return fmt::format("passed by {}", counted(group.threads, "thread"));
  }
  return "";
}

/// Returns "warp 3" or "warps 0-3, 8".
std::string words_of(const std::set<u32>& warps) {
  std::string text;
  for (auto at = warps.begin(); at != warps.end();) {
    const u32 first = *at;
    u32 last = first;
    while (++at != warps.end() && *at == last + 1) last = *at;
    text += fmt::format("{}{}", text.empty() ? "" : ", ", first);
    if (last != first) text += fmt::format("-{}", last);
  }
  return (warps.size() == 1 ? "warp " : "warps ") + text;
}

}  // namespace

BarrierHistory Checker::one_history(u32 number, std::string relation) const {
  constexpr std::size_t kMostEvents = 12;
  const BarrierState& barrier = barriers_[number];
  std::vector<Group> groups;
  barrier.log.each([&](const Event& event) {
    const u32 warp = names_[event.first_thread()].index / kWarpSize;
    const u32 threads = static_cast<u32>(__builtin_popcount(event.lanes));
    if (!groups.empty()) {
      Group& last = groups.back();
      const ThreadName &a = names_[last.event.first_thread()], &b = names_[event.first_thread()];
      const bool same_site = last.event.site.file == event.site.file && last.event.site.line == event.site.line;
      const bool same_role = a.role.name == b.role.name && a.role.number == b.role.number && a.cta == b.cta;
      if (last.event.what == event.what && last.event.phase == event.phase && same_site && same_role) {
        last.warps.insert(warp);
        last.threads += threads;
        last.event.amount += event.amount;
        return;
      }
    }
    groups.push_back({event, {warp}, threads});
  });
  BarrierHistory history;
  history.cta = static_cast<int>(ctas_[barrier.cta]->index);
  history.offset = barrier.offset;
  history.relation = std::move(relation);
  for (std::size_t i = groups.size() > kMostEvents ? groups.size() - kMostEvents : 0; i < groups.size(); ++i) {
    const Group& group = groups[i];
    const ThreadName& who = names_[group.event.first_thread()];
    const std::string where =
        group.event.site.file ? fmt::format("{}:{}", group.event.site.file, group.event.site.line) : "(no line)";
    const std::string warps = words_of(group.warps);
    const std::string lane = group.threads == 1 ? fmt::format(", lane {}", who.index % kWarpSize) : "";
    const bool fresh = group.event.phase == ~0u;  // a wait for the parity of the phase before the first
    const std::string phase = fresh ? "before phase 0" : fmt::format("phase {}", group.event.phase);
    history.events.push_back(fmt::format("{}: {} ({}; CTA {}, {}, {}{})", phase, words_of(group), where,
                                         ctas_[who.cta]->index, emu::words_of(who.role, who.index / kWarpgroupSize),
                                         warps, lane));
  }
  return history;
}

std::vector<BarrierHistory> Checker::history_of(u32 number) const {
  if (number >= barriers_.size()) return {};
  return {one_history(number, {})};
}

std::vector<BarrierHistory> Checker::histories_of(const AccessRecord& old, const AccessRecord& mine) const {
  std::vector<BarrierHistory> histories;
  std::vector<u32> told;
  const auto tell = [&](u32 number, const char* relation) {
    if (number >= barriers_.size() || std::find(told.begin(), told.end(), number) != told.end()) return;
    told.push_back(number);
    histories.push_back(one_history(number, relation));
  };
  for (const AccessRecord* copy : {&mine, &old}) {
    if (copy->barrier == ~0u || copy->kind == Access::mbarrier) continue;
    const AccessRecord& other = copy == &mine ? old : mine;
    tell(copy->barrier, copy == &mine ? "on which the second copy completes" : "on which the first copy completes");
    tell(copy->passed, "which the issuer of the copy passed last");
    // One lane arrives for its warp, so that the arrival is that of any lane.
    const ThreadName& thread = names_[other.thread];
    const u32 warp = other.thread - thread.index % kWarpSize;
    for (u32 lane = 0; lane < kWarpSize; ++lane)
      if (last_arrived(warp + lane) != ~0u)
        tell(last_arrived(warp + lane), "on which the warp of the other party arrived last");
  }
  if (histories.empty()) {
    const u32 number = old.barrier != ~0u ? old.barrier : mine.barrier;
    if (number != ~0u) histories = history_of(number);
  }
  return histories;
}

}  // namespace ww::emu
