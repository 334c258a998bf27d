// SPDX-License-Identifier: Apache-2.0
// The latest events of one mbarrier, for reports. What several lanes of one warp do at one line in one phase is one
// event, so that a phase of a barrier with hundreds of arrivals fits.
#pragma once

#include <algorithm>

#include "warpwright/arch/common/emu_table.hpp"

namespace ww::emu {

class EventLog {
 public:
  enum class What : u8 { initialised, expected, arrived, landed, passed };
  struct Event {
    u32 warp = 0;   // the slot of its lane 0
    u32 lanes = 0;  // who did it
    u32 phase = 0;
    What what{};
    i64 amount = 0;
    arch::Site site{};
    const void* from = nullptr;  // return address of the first one's call; null if unknown

    u32 first_thread() const { return warp + static_cast<u32>(__builtin_ctz(lanes)); }
    bool is_by(u32 thread) const { return thread - warp < 32 && (lanes >> (thread - warp) & 1) != 0; }
  };

  void clear() { count_ = 0; }
  /// Notes an event of the thread with that slot, which is lane `lane` of its warp.
  void note(What what, i64 amount, u32 thread, u32 lane, u32 phase, arch::Site site, const void* from) {
    const u32 warp = thread - lane, bit = 1u << lane;
    for (u32 i = count_, left = std::min(count_, kKept); left != 0; --left) {
      Event& event = events_[--i % kKept];
      if (event.phase != phase) break;
      const bool same =
          event.what == what && event.warp == warp && event.site.line == site.line && event.site.file == site.file;
      if (!same || (what == What::arrived && (event.lanes & bit))) continue;
      event.lanes |= bit;
      event.amount += amount;
      return;
    }
    events_[count_++ % kKept] = {warp, bit, phase, what, amount, site, from};
  }

  /// Calls see(event) for each, oldest first.
  template <class See> void each(See&& see) const {
    for (u32 i = count_ > kKept ? count_ - kKept : 0; i < count_; ++i) see(events_[i % kKept]);
  }
  /// Returns the newest event for which is(event); null if there is none.
  template <class Is> const Event* newest(Is&& is) const {
    for (u32 i = count_; i != 0 && count_ - i < kKept; --i)
      if (is(events_[(i - 1) % kKept])) return &events_[(i - 1) % kKept];
    return nullptr;
  }

 private:
  static constexpr u32 kKept = 16;
  Event events_[kKept];
  u32 count_ = 0;
};

}  // namespace ww::emu
