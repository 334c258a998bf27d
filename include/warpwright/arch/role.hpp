// SPDX-License-Identifier: Apache-2.0
// What a warp is there for, in the kernel's own words: reports of the emulated device and of the watchdog say
// "producer" or "math 1" where they would say "warpgroup 2". On the GPU it is nothing, but for kernels built with a
// watchdog.
#pragma once

#include "warpwright/arch/watchdog.hpp"

namespace ww::arch {

#if defined(__CUDACC__)
inline namespace ptx {
/// From here on the calling threads are `name`, or "name number". At most 23 characters.
template <u32 kBytes>
WW_DEVICE void role([[maybe_unused]] const char (&name)[kBytes], [[maybe_unused]] int number = -1) {
  static_assert(kBytes <= WatchdogRole::kNameBytes, "the name of a role has at most 23 characters");
#if defined(WARPWRIGHT_WATCHDOG_MS)
  note_role(name, number);
#endif
}
/// A tile, or a part of one, that this CTA works on: for the statistics of the emulated device.
WW_DEVICE void note_work(int, bool) {}
}  // namespace ptx
#else
inline namespace emu {
template <u32 kBytes> WW_DEVICE void role(const char (&name)[kBytes], int number = -1) {
  static_assert(kBytes <= WatchdogRole::kNameBytes, "the name of a role has at most 23 characters");
  table->role(name, number);
}
WW_DEVICE void note_work(int k_blocks, bool is_part) { table->note_work(static_cast<u32>(k_blocks), is_part); }
}  // namespace emu
#endif

}  // namespace ww::arch
