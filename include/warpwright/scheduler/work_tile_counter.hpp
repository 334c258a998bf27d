// SPDX-License-Identifier: Apache-2.0
// A work-tile counter in global memory that resets itself: it is zero at the start and the end of every launch.
#pragma once

#include "warpwright/arch/common/global.hpp"

namespace ww::scheduler {

struct WorkTileCounter {
  u32 next = 0;      // tiles handed out so far
  u32 finished = 0;  // clusters or CTAs that will take no more
};

/// Returns the next item; one thread of each of `takers` calls it. Items 0 to takers - 1 are the takers' first and need
/// no counter.
WW_DEVICE u32 next_work_tile(u32* next, u32 takers) { return takers + arch::global::atomic_add(next, 1); }

/// Called by the same thread after its last item. The last of all takers resets both counters for the next launch.
WW_DEVICE void retire_from_counter(u32* next, u32* finished, u32 takers) {
  if (arch::global::atomic_add_acq_rel(finished, 1) + 1 != takers) return;
  arch::global::store(next, 0);
  arch::global::store(finished, 0);
}

}  // namespace ww::scheduler
