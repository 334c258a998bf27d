// SPDX-License-Identifier: Apache-2.0
// Notes events for the timeline of a launch. Nothing is formatted unless the launch asks for one.
#pragma once

#include <fmt/format.h>

#include "emu/machine.hpp"
#include "emu/thread.hpp"

namespace ww::emu {

/// Appends an event of `cta` to the timeline of its machine. A repetition of the CTA's latest event counts on that one.
void add_event(Cta& cta, std::string who, std::string what);
/// Returns the role of a thread, or the number of its warp when the kernel has not named one.
std::string who_is(const Thread& thread);
/// Returns ", multicast 0x..." for a mask, nothing for 0.
std::string multicast_words(u32 mask);

inline bool has_timeline(const Cta& cta) { return cta.machine->context().options.timeline; }

/// Notes what `thread` issues: text(...) is called only for a launch with a timeline.
template <class Text> void note_issue(const Thread& thread, Text text) {
  if (has_timeline(*thread.cta)) [[unlikely]]
    add_event(*thread.cta, who_is(thread), text());
}
/// Notes what takes effect in `cta` by an engine.
template <class Text> void note_effect(Cta& cta, const char* engine, Text text) {
  if (has_timeline(cta)) [[unlikely]]
    add_event(cta, engine, text());
}

}  // namespace ww::emu
