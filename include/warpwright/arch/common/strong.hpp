// SPDX-License-Identifier: Apache-2.0
// Strong accesses in every order and scope: relaxed, acquire, release, volatile; atomics. The templates stand beside
// the forms of global.hpp and shared.hpp, which have one scope each.
//   global::load_acquire<Scope::cluster>(p)     shared::atomic_add<MemoryOrder::acq_rel, Scope::cta>(a, 1)
// An address of shared:: is of any CTA of the cluster: this CTA's own, or one that cluster::map() returned.
// Each atomic returns the value before.
// PTX ISA: ld, st (.relaxed, .acquire, .release, .volatile), atom.
#pragma once

#include "warpwright/arch/common/global.hpp"
#include "warpwright/arch/common/order.hpp"

namespace ww::arch {

#if defined(__CUDACC__)

// An asm statement's text is a literal, so that each scope and each order has a statement of its own.
#define WW_SCOPED(before, after, ...)                                                             \
  if constexpr (kScope == Scope::cta) asm volatile(before ".cta" after __VA_ARGS__);              \
  else if constexpr (kScope == Scope::cluster) asm volatile(before ".cluster" after __VA_ARGS__); \
  else if constexpr (kScope == Scope::gpu) asm volatile(before ".gpu" after __VA_ARGS__);         \
  else asm volatile(before ".sys" after __VA_ARGS__)
#define WW_ORDERED(before, after, ...)                              \
  static_assert(kOrder != MemoryOrder::weak, "atomics are strong"); \
  if constexpr (kOrder == MemoryOrder::relaxed) {                   \
    WW_SCOPED(before ".relaxed", after, __VA_ARGS__);               \
  } else if constexpr (kOrder == MemoryOrder::acquire) {            \
    WW_SCOPED(before ".acquire", after, __VA_ARGS__);               \
  } else if constexpr (kOrder == MemoryOrder::release) {            \
    WW_SCOPED(before ".release", after, __VA_ARGS__);               \
  } else {                                                          \
    WW_SCOPED(before ".acq_rel", after, __VA_ARGS__);               \
  }
// The forms of one state space: its name in PTX, the type of an address here, how asm takes it, the default scope.
#define WW_STRONG(space, Place, Target, at, kind, kDefault)                                                   \
  template <Scope kScope = kDefault> WW_DEVICE u32 load_relaxed(Place p) {                                    \
    u32 v;                                                                                                    \
    WW_SCOPED("ld.relaxed", space ".u32 %0, [%1];", : "=r"(v) : kind(at) : "memory");                         \
    return v;                                                                                                 \
  }                                                                                                           \
  template <Scope kScope = kDefault> WW_DEVICE u64 load_relaxed_u64(Place p) {                                \
    u64 v;                                                                                                    \
    WW_SCOPED("ld.relaxed", space ".u64 %0, [%1];", : "=l"(v) : kind(at) : "memory");                         \
    return v;                                                                                                 \
  }                                                                                                           \
  template <Scope kScope> WW_DEVICE u32 load_acquire(Place p) {                                               \
    u32 v;                                                                                                    \
    WW_SCOPED("ld.acquire", space ".u32 %0, [%1];", : "=r"(v) : kind(at) : "memory");                         \
    return v;                                                                                                 \
  }                                                                                                           \
  WW_DEVICE u32 load_volatile(Place p) {                                                                      \
    u32 v;                                                                                                    \
    asm volatile("ld.volatile" space ".u32 %0, [%1];" : "=r"(v) : kind(at) : "memory");                       \
    return v;                                                                                                 \
  }                                                                                                           \
  template <Scope kScope = kDefault> WW_DEVICE void store_relaxed(Target p, u32 v) {                          \
    WW_SCOPED("st.relaxed", space ".u32 [%0], %1;", ::kind(at), "r"(v) : "memory");                           \
  }                                                                                                           \
  template <Scope kScope = kDefault> WW_DEVICE void store_relaxed_u64(Target p, u64 v) {                      \
    WW_SCOPED("st.relaxed", space ".u64 [%0], %1;", ::kind(at), "l"(v) : "memory");                           \
  }                                                                                                           \
  template <Scope kScope> WW_DEVICE void store_release(Target p, u32 v) {                                     \
    WW_SCOPED("st.release", space ".u32 [%0], %1;", ::kind(at), "r"(v) : "memory");                           \
  }                                                                                                           \
  WW_DEVICE void store_volatile(Target p, u32 v) {                                                            \
    asm volatile("st.volatile" space ".u32 [%0], %1;" ::kind(at), "r"(v) : "memory");                         \
  }                                                                                                           \
  template <MemoryOrder kOrder, Scope kScope> WW_DEVICE u32 atomic_add(Target p, u32 v) {                     \
    u32 old;                                                                                                  \
    WW_ORDERED("atom", space ".add.u32 %0, [%1], %2;", : "=r"(old) : kind(at), "r"(v) : "memory")             \
    return old;                                                                                               \
  }                                                                                                           \
  template <MemoryOrder kOrder, Scope kScope> WW_DEVICE u32 atomic_or(Target p, u32 v) {                      \
    u32 old;                                                                                                  \
    WW_ORDERED("atom", space ".or.b32 %0, [%1], %2;", : "=r"(old) : kind(at), "r"(v) : "memory")              \
    return old;                                                                                               \
  }                                                                                                           \
  template <MemoryOrder kOrder, Scope kScope> WW_DEVICE u32 atomic_exchange(Target p, u32 v) {                \
    u32 old;                                                                                                  \
    WW_ORDERED("atom", space ".exch.b32 %0, [%1], %2;", : "=r"(old) : kind(at), "r"(v) : "memory")            \
    return old;                                                                                               \
  }                                                                                                           \
  template <MemoryOrder kOrder, Scope kScope> WW_DEVICE u32 atomic_cas(Target p, u32 expected, u32 desired) { \
    u32 old;                                                                                                  \
    WW_ORDERED("atom", space ".cas.b32 %0, [%1], %2, %3;",                                                    \
               : "=r"(old)                                                                                    \
               : kind(at), "r"(expected), "r"(desired)                                                        \
               : "memory")                                                                                    \
    return old;                                                                                               \
  }

namespace global {
inline namespace ptx {
WW_STRONG(".global", const void*, void*, p, "l", Scope::gpu)
}  // namespace ptx
}  // namespace global
namespace shared {
inline namespace ptx {
WW_STRONG(".shared::cluster", SharedAddress, SharedAddress, p.value, "r", Scope::cta)
}  // namespace ptx
}  // namespace shared
#undef WW_STRONG
#undef WW_ORDERED
#undef WW_SCOPED

#else

// A host atomic executes each, because clusters may run on several OS threads.
#define WW_STRONG(Place, Target, kDefault)                                                                            \
  template <Scope kScope = kDefault> WW_DEVICE u32 load_relaxed(Place p WW_SITE) {                                    \
    return __atomic_load_n(strong<const u32>(p, Access::read, {MemoryOrder::relaxed, kScope}, site),                  \
                           __ATOMIC_RELAXED);                                                                         \
  }                                                                                                                   \
  template <Scope kScope = kDefault> WW_DEVICE u64 load_relaxed_u64(Place p WW_SITE) {                                \
    return __atomic_load_n(strong<const u64>(p, Access::read, {MemoryOrder::relaxed, kScope}, site),                  \
                           __ATOMIC_RELAXED);                                                                         \
  }                                                                                                                   \
  template <Scope kScope> WW_DEVICE u32 load_acquire(Place p WW_SITE) {                                               \
    return __atomic_load_n(strong<const u32>(p, Access::read, {MemoryOrder::acquire, kScope}, site),                  \
                           __ATOMIC_ACQUIRE);                                                                         \
  }                                                                                                                   \
  WW_DEVICE u32 load_volatile(Place p WW_SITE) { return load_relaxed<Scope::system>(p, site); }                       \
  template <Scope kScope = kDefault> WW_DEVICE void store_relaxed(Target p, u32 v WW_SITE) {                          \
    __atomic_store_n(strong<u32>(p, Access::write, {MemoryOrder::relaxed, kScope}, site), v, __ATOMIC_RELAXED);       \
  }                                                                                                                   \
  template <Scope kScope = kDefault> WW_DEVICE void store_relaxed_u64(Target p, u64 v WW_SITE) {                      \
    __atomic_store_n(strong<u64>(p, Access::write, {MemoryOrder::relaxed, kScope}, site), v, __ATOMIC_RELAXED);       \
  }                                                                                                                   \
  template <Scope kScope> WW_DEVICE void store_release(Target p, u32 v WW_SITE) {                                     \
    __atomic_store_n(strong<u32>(p, Access::write, {MemoryOrder::release, kScope}, site), v, __ATOMIC_RELEASE);       \
  }                                                                                                                   \
  WW_DEVICE void store_volatile(Target p, u32 v WW_SITE) { store_relaxed<Scope::system>(p, v, site); }                \
  template <MemoryOrder kOrder, Scope kScope> WW_DEVICE u32 atomic_add(Target p, u32 v WW_SITE) {                     \
    return __atomic_fetch_add(strong<u32>(p, Access::atomic, {kOrder, kScope}, site), v, __ATOMIC_SEQ_CST);           \
  }                                                                                                                   \
  template <MemoryOrder kOrder, Scope kScope> WW_DEVICE u32 atomic_or(Target p, u32 v WW_SITE) {                      \
    return __atomic_fetch_or(strong<u32>(p, Access::atomic, {kOrder, kScope}, site), v, __ATOMIC_SEQ_CST);            \
  }                                                                                                                   \
  template <MemoryOrder kOrder, Scope kScope> WW_DEVICE u32 atomic_exchange(Target p, u32 v WW_SITE) {                \
    return __atomic_exchange_n(strong<u32>(p, Access::atomic, {kOrder, kScope}, site), v, __ATOMIC_SEQ_CST);          \
  }                                                                                                                   \
  template <MemoryOrder kOrder, Scope kScope> WW_DEVICE u32 atomic_cas(Target p, u32 expected, u32 desired WW_SITE) { \
    u32* const word = strong<u32>(p, Access::atomic, {kOrder, kScope}, site);                                         \
    __atomic_compare_exchange_n(word, &expected, desired, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);                 \
    return expected;                                                                                                  \
  }

namespace global {
inline namespace emu {
template <class T> WW_DEVICE T* strong(const void* p, Access access, Ordering ordering, Site site) {
  return static_cast<T*>(table->global_access(p, sizeof(T), access, ordering, site));
}
WW_STRONG(const void*, void*, Scope::gpu)
}  // namespace emu
}  // namespace global
namespace shared {
inline namespace emu {
template <class T> WW_DEVICE T* strong(SharedAddress a, Access access, Ordering ordering, Site site) {
  return static_cast<T*>(table->shared_access(a.value, sizeof(T), access, ordering, site));
}
WW_STRONG(SharedAddress, SharedAddress, Scope::cta)
}  // namespace emu
}  // namespace shared
#undef WW_STRONG

#endif

}  // namespace ww::arch
