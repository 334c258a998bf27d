// SPDX-License-Identifier: Apache-2.0
// mbarrier operations of other scopes and orders than those of mbarrier.hpp, which release and acquire at CTA scope.
// A cluster-scope release and a cluster-scope acquire together order ordinary accesses of two CTAs:
//   cluster::store -> arrive_remote_release -> wait_cluster -> shared::load
// PTX ISA: mbarrier.arrive, mbarrier.try_wait (.relaxed: from PTX 8.6 on, CUDA 12.7).
#pragma once

#include "warpwright/arch/common/mbarrier.hpp"

namespace ww::arch::mbarrier {

#if defined(__CUDACC__)
inline namespace ptx {
WW_DEVICE void arrive_release_cluster(MBarrier b, u32 count = 1) {
  asm volatile("mbarrier.arrive.release.cluster.shared::cta.b64 _, [%0], %1;" ::"r"(b.address.value), "r"(count)
               : "memory");
}
/// Arrives without ordering anything.
WW_DEVICE void arrive_relaxed(MBarrier b, u32 count = 1) {
  asm volatile("mbarrier.arrive.relaxed.cta.shared::cta.b64 _, [%0], %1;" ::"r"(b.address.value), "r"(count)
               : "memory");
}
WW_DEVICE void arrive_remote_relaxed(MBarrier b, u32 rank) {
  asm volatile(
      "{\n.reg .b32 remote;\n"
      "mapa.shared::cluster.u32 remote, %0, %1;\n"
      "mbarrier.arrive.relaxed.cluster.shared::cluster.b64 _, [remote];\n}" ::"r"(b.address.value),
      "r"(rank)
      : "memory");
}
/// Tries once with an acquire at cluster scope; false may be spurious.
WW_DEVICE bool try_wait_cluster(MBarrier b, u32 parity) {
  u32 done;
  asm volatile(
      "{\n.reg .pred p;\n"
      "mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 p, [%1], %2;\n"
      "selp.u32 %0, 1, 0, p;\n}"
      : "=r"(done)
      : "r"(b.address.value), "r"(parity)
      : "memory");
  return done != 0;
}
/// Tries once without ordering anything; a fence after it acquires.
WW_DEVICE bool try_wait_relaxed(MBarrier b, u32 parity) {
  u32 done;
  asm volatile(
      "{\n.reg .pred p;\n"
      "mbarrier.try_wait.parity.relaxed.cluster.shared::cta.b64 p, [%1], %2;\n"
      "selp.u32 %0, 1, 0, p;\n}"
      : "=r"(done)
      : "r"(b.address.value), "r"(parity)
      : "memory");
  return done != 0;
}
}  // namespace ptx
#else
inline namespace emu {
WW_DEVICE void arrive_release_cluster(MBarrier b, u32 count = 1 WW_SITE) {
  table->mbarrier_arrive(b.address.value, count, {MemoryOrder::release, Scope::cluster}, site);
}
WW_DEVICE void arrive_relaxed(MBarrier b, u32 count = 1 WW_SITE) {
  table->mbarrier_arrive(b.address.value, count, {MemoryOrder::relaxed, Scope::cta}, site);
}
WW_DEVICE void arrive_remote_relaxed(MBarrier b, u32 rank WW_SITE) {
  table->mbarrier_arrive(table->cluster_map(b.address.value, rank, site), 1, {MemoryOrder::relaxed, Scope::cluster},
                         site);
}
WW_DEVICE bool try_wait_cluster(MBarrier b, u32 parity WW_SITE) {
  return table->mbarrier_try_wait(b.address.value, parity, {MemoryOrder::acquire, Scope::cluster}, site);
}
WW_DEVICE bool try_wait_relaxed(MBarrier b, u32 parity WW_SITE) {
  return table->mbarrier_try_wait(b.address.value, parity, {MemoryOrder::relaxed, Scope::cluster}, site);
}
}  // namespace emu
#endif

#if defined(__CUDACC__)
WW_DEVICE void arrive_remote_release(MBarrier b, u32 rank) { arrive_remote_release_if(true, b, rank); }
/// Waits for the phase of that parity with an acquire at cluster scope.
WW_DEVICE void wait_cluster(MBarrier b, u32 parity) {
#if defined(WARPWRIGHT_WATCHDOG_MS)
  for (const Watchdog watchdog; !try_wait_cluster(b, parity);) watchdog.look_at_barrier(b.address, parity);
#else
  while (!try_wait_cluster(b, parity)) {
  }
#endif
}
#else
WW_DEVICE void arrive_remote_release(MBarrier b, u32 rank WW_SITE) { arrive_remote_release_if(true, b, rank, site); }
WW_DEVICE void wait_cluster(MBarrier b, u32 parity WW_SITE) {
  table->mbarrier_wait(b.address.value, parity, {MemoryOrder::acquire, Scope::cluster}, site);
}
#endif

}  // namespace ww::arch::mbarrier
