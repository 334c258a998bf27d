// SPDX-License-Identifier: Apache-2.0
// Clocks: cycles of this SM, and nanoseconds of the device. On the emulated device both count scheduler steps; they are
// monotone and say nothing about time.
#pragma once

#include "warpwright/arch/common/executor.hpp"

namespace ww::arch {

#if defined(__CUDACC__)
inline namespace ptx {
WW_DEVICE u64 clock() {
  u64 v;
  asm volatile("mov.u64 %0, %%clock64;" : "=l"(v)::"memory");
  return v;
}
WW_DEVICE u64 global_timer() {
  u64 v;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(v)::"memory");
  return v;
}
}  // namespace ptx
#else
inline namespace emu {
WW_DEVICE u64 clock() { return table->clock(); }
WW_DEVICE u64 global_timer() { return table->global_timer(); }
}  // namespace emu
#endif

}  // namespace ww::arch
