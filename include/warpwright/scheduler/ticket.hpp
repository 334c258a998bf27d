// SPDX-License-Identifier: Apache-2.0
// A counter in global memory that hands out work, and puts itself back: it starts and ends every launch at zero.
#pragma once

#include "warpwright/arch/global.hpp"

namespace ww::scheduler {

struct TicketCounter {
  u32 ticket = 0;    // handed out so far
  u32 finished = 0;  // takers that will take no more
};

/// One thread of each of `takers`: the next item. Items 0 to takers - 1 need no counter, they are the takers' first.
WW_DEVICE u32 take_ticket(u32* ticket, u32 takers) { return takers + arch::global::atomic_add(ticket, 1); }

/// The same thread, after its last: the last of all takers puts both counters back, so that the next launch finds
/// zeros.
WW_DEVICE void leave_tickets(u32* ticket, u32* finished, u32 takers) {
  if (arch::global::atomic_add_acq_rel(finished, 1) + 1 != takers) return;
  arch::global::store(ticket, 0);
  arch::global::store(finished, 0);
}

}  // namespace ww::scheduler
