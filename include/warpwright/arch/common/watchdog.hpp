// SPDX-License-Identifier: Apache-2.0
// A limit on every wait of a kernel built for debugging. Compiled with WARPWRIGHT_WATCHDOG_MS, a wait that lasts longer
// records its thread and what it waits for in host memory and then faults, so that a kernel that would hang ends with a
// report.
//   wait -> limit -> record -> a delay in which others write theirs -> store to an illegal address
// Not covered: named barriers and the cluster barrier, which cannot be polled. The emulated device needs none of this,
// because it detects deadlocks.
#pragma once

#include "warpwright/arch/common/clock.hpp"
#include "warpwright/arch/common/special.hpp"

namespace ww::arch {

/// The role that a warp has set (arch/common/role.hpp).
struct WatchdogRole {
  static constexpr u32 kNameBytes = 24;
  u32 block;   // block index + 1; 0 when no role was set
  i32 number;  // -1 for none
  u64 name[kNameBytes / 8];
};

/// The record of one warp that gave up. `kind` is written last.
struct WatchdogRecord {
  enum Kind : u32 { none, mbarrier, global };
  u32 kind, cta, thread, lanes;
  u32 offset, parity;  // mbarrier: from the start of the CTA's dynamic shared memory
  u64 address;         // global
  u32 milliseconds, padding;
  WatchdogRole role;
};

inline constexpr u32 kWatchdogRecords = 100;
struct WatchdogBuffer {
  WatchdogRecord records[kWatchdogRecords];
};

#if defined(__CUDACC__) && defined(WARPWRIGHT_WATCHDOG_MS)
// The loader of the module finds these by name and sets them; without a buffer, the kernel faults without a record.
extern "C" {
__device__ WatchdogBuffer* ww_watchdog_buffer;
__device__ u32 ww_watchdog_count;
__device__ ww::arch::WatchdogRole ww_watchdog_roles[1024][32];  // by block modulo 1024, by warp
}

inline namespace ptx {

WW_DEVICE volatile WatchdogRole& role_of_this_warp() {
  return ww_watchdog_roles[block_index() % 1024][thread_index() / 32];
}
template <u32 kBytes> WW_DEVICE void note_role(const char (&name)[kBytes], int number) {
  u64 words[WatchdogRole::kNameBytes / 8] = {};
  for (u32 i = 0; i + 1 < kBytes; ++i) words[i / 8] |= static_cast<u64>(name[i]) << i % 8 * 8;
  volatile WatchdogRole& out = role_of_this_warp();
  out.block = block_index() + 1, out.number = number;
  for (u32 i = 0; i < WatchdogRole::kNameBytes / 8; ++i) out.name[i] = words[i];
}

class Watchdog {
 public:
  WW_DEVICE Watchdog() : start_(global_timer()) {}

  WW_DEVICE void look_at_barrier(SharedAddress barrier, u32 parity) const {
    if (expired())
      give_up({0, 0, 0, 0, barrier.value - dynamic_shared().value, parity, 0, 0, 0, {}}, WatchdogRecord::mbarrier);
  }
  WW_DEVICE void look_at_global(const void* address) const {
    if (expired()) give_up({0, 0, 0, 0, 0, 0, reinterpret_cast<u64>(address), 0, 0, {}}, WatchdogRecord::global);
  }

 private:
  static constexpr u64 kNanoseconds = WARPWRIGHT_WATCHDOG_MS * 1000000ull;
  static constexpr u64 kMoment = 20000000;  // for warps that give up a little later

  WW_DEVICE bool expired() const { return global_timer() - start_ > kNanoseconds; }

  WW_DEVICE static void give_up(WatchdogRecord record, WatchdogRecord::Kind kind) {
    u32 active;
    asm volatile("activemask.b32 %0;" : "=r"(active));
    const bool speaks = (active & ((1u << lane_index()) - 1)) == 0;  // the lowest lane writes for all of them
    if (speaks && ww_watchdog_buffer) {
      u32 slot;
      asm volatile("atom.relaxed.gpu.global.add.u32 %0, [%1], 1;" : "=r"(slot) : "l"(&ww_watchdog_count) : "memory");
      if (slot < kWatchdogRecords) {
        record.cta = block_index();
        record.thread = thread_index();
        record.lanes = active;
        record.milliseconds = WARPWRIGHT_WATCHDOG_MS;
        volatile WatchdogRecord& out = ww_watchdog_buffer->records[slot];
        out.cta = record.cta, out.thread = record.thread, out.lanes = record.lanes;
        out.offset = record.offset, out.parity = record.parity, out.address = record.address;
        out.milliseconds = record.milliseconds;
        const volatile WatchdogRole& role = role_of_this_warp();
        if (role.block == record.cta + 1) {
          out.role.block = role.block, out.role.number = role.number;
          for (u32 i = 0; i < WatchdogRole::kNameBytes / 8; ++i) out.role.name[i] = role.name[i];
        }
        asm volatile("fence.acq_rel.sys;" ::: "memory");
        out.kind = kind;
        asm volatile("fence.acq_rel.sys;" ::: "memory");
      }
    }
    const u64 now = global_timer();
    while (global_timer() - now < kMoment) {
    }
    // An illegal store instead of trap, because a trap anywhere in a kernel makes ptxas ignore setmaxnreg.
    asm volatile("st.global.u32 [%0], %1;" ::"l"(16ull), "r"(record.thread) : "memory");
  }

  u64 start_;
};

}  // namespace ptx
#endif

}  // namespace ww::arch
