// SPDX-License-Identifier: Apache-2.0
// Thread-block clusters: the barrier of all their threads, and loads and stores in another CTA's shared memory (DSMEM).
// The barriers are .aligned: all lanes of a warp must arrive together.
// store_async signals its own completion: an mbarrier in the same CTA counts its bytes, as it counts a TMA load's.
// Whoever has waited for that mbarrier sees the bytes, without a fence or an arrival of the writer. It requires a
// launch with clusters of two or more CTAs.
// PTX ISA: barrier.cluster, mapa, ld/st.shared::cluster, st.async.
#pragma once

#include "warpwright/arch/common/mbarrier.hpp"
#include "warpwright/arch/common/shared.hpp"

namespace ww::arch::cluster {

#if defined(__CUDACC__)
inline namespace ptx {
WW_DEVICE void arrive() { asm volatile("barrier.cluster.arrive.release.aligned;" ::: "memory"); }
WW_DEVICE void arrive_relaxed() { asm volatile("barrier.cluster.arrive.relaxed.aligned;" ::: "memory"); }
WW_DEVICE void wait() { asm volatile("barrier.cluster.wait.acquire.aligned;" ::: "memory"); }
/// Returns the address of the same offset in CTA `rank`.
WW_DEVICE SharedAddress map(SharedAddress address, u32 rank) {
  u32 mapped;
  asm volatile("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(mapped) : "r"(address.value), "r"(rank));
  return {mapped};
}
WW_DEVICE u32 load(SharedAddress mapped) {
  u32 value;
  asm volatile("ld.shared::cluster.u32 %0, [%1];" : "=r"(value) : "r"(mapped.value) : "memory");
  return value;
}
WW_DEVICE void store(SharedAddress mapped, u32 value) {
  asm volatile("st.shared::cluster.u32 [%0], %1;" ::"r"(mapped.value), "r"(value) : "memory");
}
/// Stores one 32-bit value to `mapped` from each lane for which `condition` holds, and counts 4 bytes on
/// `mapped_barrier`. Both addresses come from map() with the same rank.
WW_DEVICE void store_async_if(bool condition, SharedAddress mapped, u32 value, MBarrier mapped_barrier) {
  asm volatile(
      "{\n.reg .pred p;\n"
      "setp.ne.u32 p, %3, 0;\n"
      "@p st.async.weak.shared::cluster.mbarrier::complete_tx::bytes.b32 [%0], %1, [%2];\n}" ::"r"(mapped.value),
      "r"(value), "r"(mapped_barrier.address.value), "r"(static_cast<u32>(condition))
      : "memory");
}
/// Stores four 32-bit values; `mapped` is 16-byte aligned.
WW_DEVICE void store_async4(SharedAddress mapped, const Words<4>& v, MBarrier mapped_barrier) {
  asm volatile("st.async.weak.shared::cluster.mbarrier::complete_tx::bytes.v4.b32 [%0], {%1, %2, %3, %4}, [%5];" ::"r"(
                   mapped.value),
               "r"(v.w[0]), "r"(v.w[1]), "r"(v.w[2]), "r"(v.w[3]), "r"(mapped_barrier.address.value)
               : "memory");
}
}  // namespace ptx
#else
inline namespace emu {
WW_DEVICE void arrive(WW_SITE_ONLY) { table->cluster_arrive(false, site); }
WW_DEVICE void arrive_relaxed(WW_SITE_ONLY) { table->cluster_arrive(true, site); }
WW_DEVICE void wait(WW_SITE_ONLY) { table->cluster_wait(site); }
WW_DEVICE SharedAddress map(SharedAddress address, u32 rank WW_SITE) {
  return {table->cluster_map(address.value, rank, site)};
}
WW_DEVICE u32 load(SharedAddress mapped WW_SITE) {
  return *static_cast<const u32*>(table->shared_access(mapped.value, 4, Access::read, kWeak, site));
}
WW_DEVICE void store(SharedAddress mapped, u32 value WW_SITE) {
  *static_cast<u32*>(table->shared_access(mapped.value, 4, Access::write, kWeak, site)) = value;
}
WW_DEVICE void store_async_if(bool condition, SharedAddress mapped, u32 value, MBarrier mapped_barrier WW_SITE) {
  if (condition) table->store_async(mapped.value, &value, 4, mapped_barrier.address.value, site);
}
WW_DEVICE void store_async4(SharedAddress mapped, const Words<4>& v, MBarrier mapped_barrier WW_SITE) {
  table->store_async(mapped.value, v.w, 16, mapped_barrier.address.value, site);
}
}  // namespace emu
#endif

/// Synchronises all threads of all CTAs of the cluster; memory written before it is visible after it.
#if defined(__CUDACC__)
WW_DEVICE void sync() {
  arrive();
  wait();
}
#else
WW_DEVICE void sync(WW_SITE_ONLY) {
  arrive(site);
  wait(site);
}
#endif

}  // namespace ww::arch::cluster
