// SPDX-License-Identifier: Apache-2.0
// Collects a launch's events, and prints them in columns.
#include "emu/timeline.hpp"

#include <algorithm>

namespace ww {

std::string timeline_text(const std::vector<EmuEvent>& timeline) {
  std::size_t width = 3;
  for (const EmuEvent& event : timeline) width = std::max(width, event.who.size());
  std::string text = fmt::format("{:>7}  {:>3}  {:<{}}  {}\n", "step", "CTA", "who", width, "what");
  for (const EmuEvent& event : timeline)
    text += fmt::format("{:>7}  {:>3}  {:<{}}  {}{}\n", event.step, event.cta, event.who, width, event.what,
                        event.times > 1 ? fmt::format(" x {}", event.times) : "");
  return text;
}

namespace emu {

void add_event(Cta& cta, std::string who, std::string what) {
  constexpr std::ptrdiff_t kReach = 64;  // events of other CTAs that may lie between two that are counted as one
  std::vector<EmuEvent>& events = cta.machine->counters().timeline;
  const auto end = events.rend() - events.rbegin() > kReach ? events.rbegin() + kReach : events.rend();
  const auto latest = std::find_if(events.rbegin(), end, [&](const EmuEvent& event) { return event.cta == cta.index; });
  if (latest != end && latest->who == who && latest->what == what) {
    ++latest->times;
    return;
  }
  events.push_back({cta.machine->steps(), cta.index, std::move(who), std::move(what), 1});
}

std::string who_is(const Thread& thread) {
  if (!thread.role.name) return fmt::format("warp {}", thread.index / kWarpSize);
  return thread.role.number < 0 ? thread.role.name : fmt::format("{} {}", thread.role.name, thread.role.number);
}

std::string multicast_words(u32 mask) { return mask == 0 ? std::string() : fmt::format(", multicast 0x{:04X}", mask); }

}  // namespace emu
}  // namespace ww
