// SPDX-License-Identifier: Apache-2.0
// Ordinary accesses to global memory: loads and stores of 2 to 16 bytes, predicated stores, atomics, acquire and
// release. wait_global waits for another CTA's write; on the GPU the watchdog limits it.
// PTX ISA: ld/st.global, ld.acquire.gpu, st.release.gpu, atom.global.
#pragma once

#include "warpwright/arch/common/shared.hpp"
#include "warpwright/arch/common/warp.hpp"
#include "warpwright/arch/common/watchdog.hpp"

namespace ww::arch::global {

#if defined(__CUDACC__)
inline namespace ptx {
WW_DEVICE u32 load(const void* p) {
  u32 v;
  asm volatile("ld.global.u32 %0, [%1];" : "=r"(v) : "l"(p) : "memory");
  return v;
}
/// Loads data that no thread writes during the kernel.
WW_DEVICE float load_constant(const float* p) {
  float v;
  // The statement is volatile, because the load must not move above griddepcontrol.wait, and only volatile statements
  // keep their order.
  asm volatile("ld.global.nc.f32 %0, [%1];" : "=f"(v) : "l"(p));
  return v;
}
WW_DEVICE u16 load_u16(const void* p) {
  u16 v;
  asm volatile("ld.global.u16 %0, [%1];" : "=h"(v) : "l"(p) : "memory");
  return v;
}
WW_DEVICE Words<2> load2(const void* p) {
  Words<2> v;
  asm volatile("ld.global.v2.u32 {%0, %1}, [%2];" : "=r"(v.w[0]), "=r"(v.w[1]) : "l"(p) : "memory");
  return v;
}
WW_DEVICE u64 load_u64(const void* p) {
  u64 v;
  asm volatile("ld.global.u64 %0, [%1];" : "=l"(v) : "l"(p) : "memory");
  return v;
}
WW_DEVICE Words<4> load4(const void* p) {
  Words<4> v;
  asm volatile("ld.global.v4.u32 {%0, %1, %2, %3}, [%4];"
               : "=r"(v.w[0]), "=r"(v.w[1]), "=r"(v.w[2]), "=r"(v.w[3])
               : "l"(p)
               : "memory");
  return v;
}
WW_DEVICE void store(void* p, u32 v) { asm volatile("st.global.u32 [%0], %1;" ::"l"(p), "r"(v) : "memory"); }
WW_DEVICE void store4(void* p, Words<4> v) {
  asm volatile("st.global.v4.u32 [%0], {%1, %2, %3, %4};" ::"l"(p), "r"(v.w[0]), "r"(v.w[1]), "r"(v.w[2]), "r"(v.w[3])
               : "memory");
}
/// Stores if `predicate` holds; otherwise `p` may be anything. It is a predicated instruction, without a branch.
WW_DEVICE void store_if(bool predicate, void* p, u32 v) {
  asm volatile(
      "{\n.reg .pred p;\nsetp.ne.u32 p, %0, 0;\n@p st.global.u32 [%1], %2;\n}" ::"r"(static_cast<u32>(predicate)),
      "l"(p), "r"(v)
      : "memory");
}
WW_DEVICE void store_u16_if(bool predicate, void* p, u16 v) {
  asm volatile(
      "{\n.reg .pred p;\nsetp.ne.u32 p, %0, 0;\n@p st.global.u16 [%1], %2;\n}" ::"r"(static_cast<u32>(predicate)),
      "l"(p), "h"(v)
      : "memory");
}
WW_DEVICE void store4_if(bool predicate, void* p, Words<4> v) {
  asm volatile("{\n.reg .pred p;\nsetp.ne.u32 p, %0, 0;\n@p st.global.v4.u32 [%1], {%2, %3, %4, %5};\n}" ::"r"(
                   static_cast<u32>(predicate)),
               "l"(p), "r"(v.w[0]), "r"(v.w[1]), "r"(v.w[2]), "r"(v.w[3])
               : "memory");
}
WW_DEVICE u32 load_acquire(const u32* p) {
  u32 v;
  asm volatile("ld.acquire.gpu.global.u32 %0, [%1];" : "=r"(v) : "l"(p) : "memory");
  return v;
}
WW_DEVICE void store_release(u32* p, u32 v) {
  asm volatile("st.release.gpu.global.u32 [%0], %1;" ::"l"(p), "r"(v) : "memory");
}
/// Returns the value before the addition; relaxed at GPU scope.
WW_DEVICE u32 atomic_add(u32* p, u32 v) {
  u32 old;
  asm volatile("atom.relaxed.gpu.global.add.u32 %0, [%1], %2;" : "=r"(old) : "l"(p), "r"(v) : "memory");
  return old;
}
WW_DEVICE u32 atomic_or(u32* p, u32 v) {
  u32 old;
  asm volatile("atom.relaxed.gpu.global.or.b32 %0, [%1], %2;" : "=r"(old) : "l"(p), "r"(v) : "memory");
  return old;
}
WW_DEVICE u32 atomic_add_acq_rel(u32* p, u32 v) {
  u32 old;
  asm volatile("atom.acq_rel.gpu.global.add.u32 %0, [%1], %2;" : "=r"(old) : "l"(p), "r"(v) : "memory");
  return old;
}
WW_DEVICE u32 atomic_cas(u32* p, u32 expected, u32 desired) {
  u32 old;
  asm volatile("atom.acq_rel.gpu.global.cas.b32 %0, [%1], %2, %3;"
               : "=r"(old)
               : "l"(p), "r"(expected), "r"(desired)
               : "memory");
  return old;
}
/// Waits until predicate(*p) holds for an acquired value, and returns that value.
template <class Predicate> WW_DEVICE u32 wait_global(const u32* p, Predicate predicate) {
  u32 v = load_acquire(p);
#if defined(WARPWRIGHT_WATCHDOG_MS)
  for (const Watchdog watchdog; !predicate(v); v = load_acquire(p)) watchdog.look_at_global(p);
#else
  while (!predicate(v)) v = load_acquire(p);
#endif
  return v;
}
/// Does the same in all lanes of a warp, which leave together.
// All lanes poll, because after one polling lane and a warp::sync ptxas treats the warp as diverged: it keeps the
// surrounding mainloop out of uniform registers, and each wgmma then waits until its descriptors are moved.
template <class Predicate> WW_DEVICE void wait_global_warp(const u32* p, Predicate predicate) {
#if defined(WARPWRIGHT_WATCHDOG_MS)
  for (const Watchdog watchdog; !warp::all(predicate(load_acquire(p)));) watchdog.look_at_global(p);
#else
  while (!warp::all(predicate(load_acquire(p)))) {
  }
#endif
}
}  // namespace ptx
#else
inline namespace emu {
template <class T> WW_DEVICE T read(const void* p, Site site) {
  return *static_cast<const T*>(table->global_access(p, sizeof(T), Access::read, kWeak, site));
}
template <class T> WW_DEVICE void write(void* p, T v, Site site) {
  *static_cast<T*>(table->global_access(p, sizeof(T), Access::write, kWeak, site)) = v;
}
WW_DEVICE u32* gpu_scope(const u32* p, Access access, MemoryOrder order, Site site) {
  return static_cast<u32*>(table->global_access(p, 4, access, {order, Scope::gpu}, site));
}
WW_DEVICE u32 load(const void* p WW_SITE) { return read<u32>(p, site); }
WW_DEVICE float load_constant(const float* p WW_SITE) { return read<float>(p, site); }
WW_DEVICE u16 load_u16(const void* p WW_SITE) { return read<u16>(p, site); }
WW_DEVICE Words<2> load2(const void* p WW_SITE) { return read<Words<2>>(p, site); }
WW_DEVICE u64 load_u64(const void* p WW_SITE) { return read<u64>(p, site); }
WW_DEVICE Words<4> load4(const void* p WW_SITE) { return read<Words<4>>(p, site); }
WW_DEVICE void store(void* p, u32 v WW_SITE) { write(p, v, site); }
WW_DEVICE void store4(void* p, Words<4> v WW_SITE) { write(p, v, site); }
WW_DEVICE void store_if(bool predicate, void* p, u32 v WW_SITE) {
  if (predicate) write(p, v, site);
}
WW_DEVICE void store_u16_if(bool predicate, void* p, u16 v WW_SITE) {
  if (predicate) write(p, v, site);
}
WW_DEVICE void store4_if(bool predicate, void* p, Words<4> v WW_SITE) {
  if (predicate) write(p, v, site);
}
// Host atomics are used, because clusters may run on several OS threads: what the ISA calls atomic must be atomic on
// the host.
WW_DEVICE u32 load_acquire(const u32* p WW_SITE) {
  return __atomic_load_n(gpu_scope(p, Access::read, MemoryOrder::acquire, site), __ATOMIC_ACQUIRE);
}
WW_DEVICE void store_release(u32* p, u32 v WW_SITE) {
  __atomic_store_n(gpu_scope(p, Access::write, MemoryOrder::release, site), v, __ATOMIC_RELEASE);
}
WW_DEVICE u32 atomic_add(u32* p, u32 v WW_SITE) {
  return __atomic_fetch_add(gpu_scope(p, Access::atomic, MemoryOrder::relaxed, site), v, __ATOMIC_RELAXED);
}
WW_DEVICE u32 atomic_or(u32* p, u32 v WW_SITE) {
  return __atomic_fetch_or(gpu_scope(p, Access::atomic, MemoryOrder::relaxed, site), v, __ATOMIC_RELAXED);
}
WW_DEVICE u32 atomic_add_acq_rel(u32* p, u32 v WW_SITE) {
  return __atomic_fetch_add(gpu_scope(p, Access::atomic, MemoryOrder::acq_rel, site), v, __ATOMIC_ACQ_REL);
}
WW_DEVICE u32 atomic_cas(u32* p, u32 expected, u32 desired WW_SITE) {
  __atomic_compare_exchange_n(gpu_scope(p, Access::atomic, MemoryOrder::acq_rel, site), &expected, desired, false,
                              __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE);
  return expected;
}
template <class Predicate> WW_DEVICE u32 wait_global(const u32* p, Predicate predicate WW_SITE) {
  u32 v = load_acquire(p, site);
  while (!predicate(v)) {
    table->global_wait_step(p, site);
    v = load_acquire(p, site);
  }
  return v;
}
template <class Predicate> WW_DEVICE void wait_global_warp(const u32* p, Predicate predicate WW_SITE) {
  wait_global(p, predicate, site);
}
}  // namespace emu
#endif

}  // namespace ww::arch::global
