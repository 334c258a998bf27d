// SPDX-License-Identifier: Apache-2.0
// The role of a warp, in the kernel's own words: reports of the emulated device and of the watchdog say "producer" or
// "consumer 1" instead of "warpgroup 2". On the GPU it compiles to nothing, except in kernels with a watchdog.
#pragma once

#include "warpwright/arch/common/watchdog.hpp"

namespace ww::arch {

#if defined(__CUDACC__)
inline namespace ptx {
/// Names the calling threads `name`, or "name number". `name` has at most 23 characters.
template <u32 kBytes>
WW_DEVICE void role([[maybe_unused]] const char (&name)[kBytes], [[maybe_unused]] int number = -1) {
  static_assert(kBytes <= WatchdogRole::kNameBytes, "the name of a role has at most 23 characters");
#if defined(WARPWRIGHT_WATCHDOG_MS)
  note_role(name, number);
#endif
}
/// Counts a tile, or a part of one, that this CTA works on in the statistics of the emulated device.
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
