// SPDX-License-Identifier: Apache-2.0
// The exchange of a warp's 32 lanes, on which shuffle, vote and ldmatrix are built.
#pragma once

#include <fmt/format.h>

#include "emu/aligned.hpp"
#include "emu/check/checker.hpp"
#include "emu/machine.hpp"

namespace ww::emu {

/// Waits until all 32 lanes have come with `value` for the same `kind` of exchange, and returns which half of
/// warp.values holds them. `last(half)` runs once, in the lane that comes last, before any lane continues.
template <class Last> u32 meet(Thread& thread, u32 kind, u32 value, arch::Site site, Last last) {
  Machine& machine = *thread.machine;
  Warp& warp = *thread.warp;
  WarpMeeting& meeting = warp.meeting;
  if (meeting.arrived == 0) meeting.kind = kind;
  if (meeting.kind != kind)
    machine.fail(
        {&thread, site},
        fmt::format("lane {} executes another warp-wide operation than lanes 0x{:08x}", thread.lane(), meeting.arrived),
        Rule::divergent_call, other_of(meeting.waiters, "another operation of the warp"));
  const u32 round = meeting.round, half = round & 1;
  warp.values[half][thread.lane()] = value;
  meeting.arrived |= 1u << thread.lane();
  Checker* const checker = machine.checker();
  if (meeting.arrived == ~0u) {
    if (checker) expect_none_skipped(thread, "exchange of the warp", site);
    last(half);
    meeting.arrived = 0;
    ++meeting.round;
    machine.meets(thread);
    machine.wake_all(meeting.waiters);
    if (checker) checker->warp_exchanged(thread);
    return half;
  }
  while (meeting.round == round) {
    meeting.waiters.push(thread);
    machine.park(thread, Wait::warp, site, ~0u);
  }
  if (checker) checker->warp_exchanged(thread);
  return half;
}

}  // namespace ww::emu
