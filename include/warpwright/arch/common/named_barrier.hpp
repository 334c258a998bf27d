// SPDX-License-Identifier: Apache-2.0
// The 16 named barriers of a CTA; id 0 is the barrier of the whole CTA.
// Ids are template arguments, because an id that is not a constant makes ptxas reserve all 16.
// PTX ISA: bar.sync, bar.arrive. `threads` is a multiple of 32 and the same at every use of a phase.
#pragma once

#include "warpwright/arch/common/special.hpp"
#include "warpwright/core/machine.hpp"

namespace ww::arch::named_barrier {

#if defined(__CUDACC__)
inline namespace ptx {
template <int kId>
requires(kId >= 0 && kId < MachineTraits::kNamedBarriers) WW_DEVICE void sync(u32 threads) {
  asm volatile("bar.sync %0, %1;" ::"n"(kId), "r"(threads) : "memory");
}
template <int kId>
requires(kId >= 0 && kId < MachineTraits::kNamedBarriers) WW_DEVICE void arrive(u32 threads) {
  asm volatile("bar.arrive %0, %1;" ::"n"(kId), "r"(threads) : "memory");
}
WW_DEVICE void sync_cta() { asm volatile("bar.sync 0;" ::: "memory"); }
}  // namespace ptx
#else
inline namespace emu {
template <int kId>
requires(kId >= 0 && kId < MachineTraits::kNamedBarriers) WW_DEVICE void sync(u32 threads WW_SITE) {
  table->named_barrier_sync(kId, threads, site);
}
template <int kId>
requires(kId >= 0 && kId < MachineTraits::kNamedBarriers) WW_DEVICE void arrive(u32 threads WW_SITE) {
  table->named_barrier_arrive(kId, threads, site);
}
WW_DEVICE void sync_cta(WW_SITE_ONLY) { table->named_barrier_sync(0, block_size(), site); }
}  // namespace emu
#endif

}  // namespace ww::arch::named_barrier
