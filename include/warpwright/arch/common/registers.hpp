// SPDX-License-Identifier: Apache-2.0
// The register budget of a warpgroup: the producer gives registers back, consumer warpgroups claim them.
// All claims together must fit what the launch gave (MachineTraits::split_registers() of core/machine.hpp).
// PTX ISA: setmaxnreg. A kernel with a `trap` must not use it, because ptxas would ignore the budget (and spill).
#pragma once

#include "warpwright/arch/common/executor.hpp"
#include "warpwright/core/machine.hpp"

namespace ww::arch::warpgroup {

template <int kCount> inline constexpr bool valid_register_count = MachineTraits().takes_registers(kCount);

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
