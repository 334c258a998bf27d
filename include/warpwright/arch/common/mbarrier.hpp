// SPDX-License-Identifier: Apache-2.0
// mbarrier: a phase completes when its pending arrivals and its pending transaction bytes are both zero.
//   wait(parity P) returns once the phase of parity P has completed; on a fresh barrier wait(1) returns at once.
// Scopes: the forms without .sem/.scope are used (release and acquire at CTA scope). They suffice here, because the
// data that these barriers guard is written by the async proxy, whose completion makes it visible. The explicit cluster
// scopes cost 40 % (arrive) and 5 to 7 % (wait) of a GEMM (H200, CUDA 13.0, 2026-11-20).
// PTX ISA: mbarrier.*, mapa.
#pragma once

#include "warpwright/arch/common/special.hpp"
#include "warpwright/arch/common/watchdog.hpp"

namespace ww::arch {

/// The shared address of a 64-bit barrier, 8-byte aligned.
struct MBarrier {
  SharedAddress address;
};

inline constexpr u32 kMBarrierBytes = 8;

namespace mbarrier {

#if defined(__CUDACC__)
inline namespace ptx {

WW_DEVICE void init(MBarrier b, u32 count) {
  asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(b.address.value), "r"(count) : "memory");
}
WW_DEVICE void invalidate(MBarrier b) {
  asm volatile("mbarrier.inval.shared::cta.b64 [%0];" ::"r"(b.address.value) : "memory");
}
WW_DEVICE void arrive(MBarrier b, u32 count = 1) {
  asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0], %1;" ::"r"(b.address.value), "r"(count) : "memory");
}
/// Arrives in the threads for which `condition` holds.
// The arrival is predicated: after a branch the other lanes could reach the next wait before the arrival is made.
WW_DEVICE void arrive_if(bool condition, MBarrier b) {
  asm volatile(
      "{\n.reg .pred p;\n"
      "setp.ne.u32 p, %1, 0;\n"
      "@p mbarrier.arrive.shared::cta.b64 _, [%0];\n}" ::"r"(b.address.value),
      "r"(static_cast<u32>(condition))
      : "memory");
}
/// Arrives, in the threads for which `condition` holds, at the barrier of the same offset in CTA `rank` of the cluster
/// (which may be this CTA).
WW_DEVICE void arrive_remote_if(bool condition, MBarrier b, u32 rank) {
  asm volatile(
      "{\n.reg .pred p;\n.reg .b32 remote;\n"
      "setp.ne.u32 p, %2, 0;\n"
      "@p mapa.shared::cluster.u32 remote, %0, %1;\n"
      "@p mbarrier.arrive.shared::cluster.b64 _, [remote];\n}" ::"r"(b.address.value),
      "r"(rank), "r"(static_cast<u32>(condition))
      : "memory");
}
/// Does the same with a release at cluster scope: what the thread has written, or has observed as written, comes
/// before.
WW_DEVICE void arrive_remote_release_if(bool condition, MBarrier b, u32 rank) {
  asm volatile(
      "{\n.reg .pred p;\n.reg .b32 remote;\n"
      "setp.ne.u32 p, %2, 0;\n"
      "@p mapa.shared::cluster.u32 remote, %0, %1;\n"
      "@p mbarrier.arrive.release.cluster.shared::cluster.b64 _, [remote];\n}" ::"r"(b.address.value),
      "r"(rank), "r"(static_cast<u32>(condition))
      : "memory");
}
WW_DEVICE void arrive_remote(MBarrier b, u32 rank) { arrive_remote_if(true, b, rank); }
WW_DEVICE void expect_tx(MBarrier b, u32 bytes) {
  asm volatile("mbarrier.expect_tx.shared::cta.b64 [%0], %1;" ::"r"(b.address.value), "r"(bytes) : "memory");
}
WW_DEVICE void arrive_expect_tx(MBarrier b, u32 bytes) {
  asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(b.address.value), "r"(bytes) : "memory");
}
/// Tries once; false may be spurious. The GPU suspends the try while the thread continues: a later arrival of the same
/// thread that does not depend on the result can make it true (observed on an H200).
WW_DEVICE bool try_wait(MBarrier b, u32 parity) {
  u32 done;
  asm volatile(
      "{\n.reg .pred p;\n"
      "mbarrier.try_wait.parity.shared::cta.b64 p, [%1], %2;\n"
      "selp.u32 %0, 1, 0, p;\n}"
      : "=r"(done)
      : "r"(b.address.value), "r"(parity)
      : "memory");
  return done != 0;
}
WW_DEVICE void wait(MBarrier b, u32 parity) {
#if defined(WARPWRIGHT_WATCHDOG_MS)
  if (try_wait(b, parity)) return;
  for (const Watchdog watchdog; !try_wait(b, parity);) watchdog.look_at_barrier(b.address, parity);
#else
  asm volatile(
      "{\n.reg .pred p;\n"
      "again:\n"
      "mbarrier.try_wait.parity.shared::cta.b64 p, [%0], %1;\n"
      "@p bra done;\n"
      "bra again;\n"
      "done:\n}" ::"r"(b.address.value),
      "r"(parity)
      : "memory");
#endif
}

}  // namespace ptx
#else
inline namespace emu {

WW_DEVICE void init(MBarrier b, u32 count WW_SITE) { table->mbarrier_init(b.address.value, count, site); }
WW_DEVICE void invalidate(MBarrier b WW_SITE) { table->mbarrier_invalidate(b.address.value, site); }
WW_DEVICE void arrive(MBarrier b, u32 count = 1 WW_SITE) {
  table->mbarrier_arrive(b.address.value, count, kReleaseCta, site);
}
WW_DEVICE void arrive_if(bool condition, MBarrier b WW_SITE) {
  if (condition) table->mbarrier_arrive(b.address.value, 1, kReleaseCta, site);
}
WW_DEVICE void arrive_remote(MBarrier b, u32 rank WW_SITE) {
  table->mbarrier_arrive(table->cluster_map(b.address.value, rank, site), 1, kReleaseCta, site);
}
WW_DEVICE void arrive_remote_if(bool condition, MBarrier b, u32 rank WW_SITE) {
  if (condition) arrive_remote(b, rank, site);
}
WW_DEVICE void arrive_remote_release_if(bool condition, MBarrier b, u32 rank WW_SITE) {
  if (!condition) return;
  table->mbarrier_arrive(table->cluster_map(b.address.value, rank, site), 1, {MemoryOrder::release, Scope::cluster},
                         site);
}
WW_DEVICE void expect_tx(MBarrier b, u32 bytes WW_SITE) { table->mbarrier_expect_tx(b.address.value, bytes, site); }
WW_DEVICE void arrive_expect_tx(MBarrier b, u32 bytes WW_SITE) {
  table->mbarrier_arrive_expect_tx(b.address.value, bytes, site);
}
WW_DEVICE bool try_wait(MBarrier b, u32 parity WW_SITE) {
  return table->mbarrier_try_wait(b.address.value, parity, kAcquireCta, site);
}
WW_DEVICE void wait(MBarrier b, u32 parity WW_SITE) {
  table->mbarrier_wait(b.address.value, parity, kAcquireCta, site);
}

}  // namespace emu
#endif

}  // namespace mbarrier
}  // namespace ww::arch
