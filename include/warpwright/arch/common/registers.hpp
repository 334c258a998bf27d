// SPDX-License-Identifier: Apache-2.0
// The register budget of a warpgroup: the producer gives registers back, consumer warpgroups claim them.
// The launch gives every thread floor(65536 / threads / 8) * 8; all claims together must fit (384 threads: 40 + 2 x
// 232).
// PTX ISA: setmaxnreg. A kernel with a `trap` must not use it, because ptxas would ignore the budget (and spill).
#pragma once

#include "warpwright/arch/common/executor.hpp"

namespace ww::arch::warpgroup {

template <int kCount> inline constexpr bool valid_register_count = kCount % 8 == 0 && kCount >= 24 && kCount <= 256;

#if defined(__CUDACC__)
inline namespace ptx {
template <int kCount>
requires valid_register_count<kCount> WW_DEVICE void release_registers() {
  asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;" ::"n"(kCount));
}
template <int kCount>
requires valid_register_count<kCount> WW_DEVICE void claim_registers() {
  asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;" ::"n"(kCount));
}
}  // namespace ptx
#else
inline namespace emu {
template <int kCount>
requires valid_register_count<kCount> WW_DEVICE void release_registers(WW_SITE_ONLY) {
  table->set_max_registers(kCount, false, site);
}
template <int kCount>
requires valid_register_count<kCount> WW_DEVICE void claim_registers(WW_SITE_ONLY) {
  table->set_max_registers(kCount, true, site);
}
}  // namespace emu
#endif

}  // namespace ww::arch::warpgroup
