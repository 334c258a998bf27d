// SPDX-License-Identifier: Apache-2.0
// mbarrier: a phase completes when its pending arrivals and its pending transaction bytes are both zero; then the
// arrivals are reset and the phase number grows. wait(parity) passes when the current phase has the other parity.
// The bytes in shared memory hold only a mark that names the entry here; a missing mark means that the barrier was
// overwritten.
#pragma once

#include "emu/thread.hpp"

namespace ww::emu {

struct MBarrier {
  u32 offset = 0;
  u32 count = 0;    // arrivals of a phase
  u32 pending = 0;  // arrivals still missing
  u32 phase = 0;
  i64 bytes = 0;  // still missing; negative when data came before it was announced
  WaitList waiters;
  arch::Site site{};  // of its initialisation
  bool live = false;
  u32 check_number = 0;
};

void mbarrier_init(Thread& thread, u32 address, u32 count, arch::Site site);
void mbarrier_invalidate(Thread& thread, u32 address, arch::Site site);
/// Announces `bytes`, then arrives `arrivals` times; either may be zero. It reaches another CTA's barrier later.
void mbarrier_signal(Thread& thread, u32 address, u32 arrivals, u32 bytes, arch::Ordering ordering, arch::Site site);
bool mbarrier_try_wait(Thread& thread, u32 address, u32 parity, arch::Ordering ordering, arch::Site site);
void mbarrier_wait(Thread& thread, u32 address, u32 parity, arch::Ordering ordering, arch::Site site);

/// Returns the barrier at `offset` of `cta`; reports when there is none.
MBarrier& barrier_at(Cta& cta, u32 offset, Origin origin);
/// Applies an operation in flight when it lands: expects `expect` more bytes, delivers `arrived` bytes, arrives. `note`
/// is the checker's result when the operation was issued; `ordering` is that of an arrival.
void signal_now(Cta& cta, u32 offset, u32 arrivals, i64 expect, i64 arrived, Origin origin, u32 note = 0,
                arch::Ordering ordering = arch::kReleaseCta);

}  // namespace ww::emu
