// SPDX-License-Identifier: Apache-2.0
// Ordinary loads and stores of this CTA's shared memory, 4 to 16 bytes, naturally aligned, and its atomics, relaxed at
// CTA scope. Each atomic returns the value before. None of them orders other accesses; a barrier does.
// PTX ISA: ld.shared::cta, st.shared::cta, atom.shared::cta.
#pragma once

#include "warpwright/arch/common/special.hpp"
#include "warpwright/core/meta.hpp"

namespace ww::arch {

/// kCount 32-bit values that are loaded or stored together.
template <int kCount> struct Words { u32 w[kCount]; };

namespace shared {

#if defined(__CUDACC__)
inline namespace ptx {
WW_DEVICE u32 load(SharedAddress a) {
  u32 v;
  asm volatile("ld.shared::cta.u32 %0, [%1];" : "=r"(v) : "r"(a.value) : "memory");
  return v;
}
WW_DEVICE Words<2> load2(SharedAddress a) {
  Words<2> v;
  asm volatile("ld.shared::cta.v2.u32 {%0, %1}, [%2];" : "=r"(v.w[0]), "=r"(v.w[1]) : "r"(a.value) : "memory");
  return v;
}
WW_DEVICE Words<4> load4(SharedAddress a) {
  Words<4> v;
  asm volatile("ld.shared::cta.v4.u32 {%0, %1, %2, %3}, [%4];"
               : "=r"(v.w[0]), "=r"(v.w[1]), "=r"(v.w[2]), "=r"(v.w[3])
               : "r"(a.value)
               : "memory");
  return v;
}
WW_DEVICE void store(SharedAddress a, u32 v) {
  asm volatile("st.shared::cta.u32 [%0], %1;" ::"r"(a.value), "r"(v) : "memory");
}
WW_DEVICE void store2(SharedAddress a, Words<2> v) {
  asm volatile("st.shared::cta.v2.u32 [%0], {%1, %2};" ::"r"(a.value), "r"(v.w[0]), "r"(v.w[1]) : "memory");
}
WW_DEVICE void store4(SharedAddress a, Words<4> v) {
  asm volatile("st.shared::cta.v4.u32 [%0], {%1, %2, %3, %4};" ::"r"(a.value), "r"(v.w[0]), "r"(v.w[1]), "r"(v.w[2]),
               "r"(v.w[3])
               : "memory");
}
WW_DEVICE u32 atomic_add(SharedAddress a, u32 v) {
  u32 old;
  asm volatile("atom.relaxed.cta.shared::cta.add.u32 %0, [%1], %2;" : "=r"(old) : "r"(a.value), "r"(v) : "memory");
  return old;
}
WW_DEVICE u32 atomic_min(SharedAddress a, u32 v) {
  u32 old;
  asm volatile("atom.relaxed.cta.shared::cta.min.u32 %0, [%1], %2;" : "=r"(old) : "r"(a.value), "r"(v) : "memory");
  return old;
}
WW_DEVICE u32 atomic_max(SharedAddress a, u32 v) {
  u32 old;
  asm volatile("atom.relaxed.cta.shared::cta.max.u32 %0, [%1], %2;" : "=r"(old) : "r"(a.value), "r"(v) : "memory");
  return old;
}
WW_DEVICE u32 atomic_or(SharedAddress a, u32 v) {
  u32 old;
  asm volatile("atom.relaxed.cta.shared::cta.or.b32 %0, [%1], %2;" : "=r"(old) : "r"(a.value), "r"(v) : "memory");
  return old;
}
}  // namespace ptx
#else
inline namespace emu {
template <int kCount> WW_DEVICE Words<kCount> load_words(SharedAddress a, Site site) {
  return *static_cast<const Words<kCount>*>(table->shared_access(a.value, 4 * kCount, Access::read, kWeak, site));
}
template <int kCount> WW_DEVICE void store_words(SharedAddress a, Words<kCount> v, Site site) {
  *static_cast<Words<kCount>*>(table->shared_access(a.value, 4 * kCount, Access::write, kWeak, site)) = v;
}
WW_DEVICE u32 load(SharedAddress a WW_SITE) { return load_words<1>(a, site).w[0]; }
WW_DEVICE Words<2> load2(SharedAddress a WW_SITE) { return load_words<2>(a, site); }
WW_DEVICE Words<4> load4(SharedAddress a WW_SITE) { return load_words<4>(a, site); }
WW_DEVICE void store(SharedAddress a, u32 v WW_SITE) { store_words<1>(a, {{v}}, site); }
WW_DEVICE void store2(SharedAddress a, Words<2> v WW_SITE) { store_words<2>(a, v, site); }
WW_DEVICE void store4(SharedAddress a, Words<4> v WW_SITE) { store_words<4>(a, v, site); }
// A plain update suffices: the threads of a cluster are fibers of one OS thread, and nothing runs between the read and
// the write.
template <class Change> WW_DEVICE u32 change(SharedAddress a, Site site, Change change) {
  constexpr Ordering kRelaxed{MemoryOrder::relaxed, Scope::cta};
  u32* const word = static_cast<u32*>(table->shared_access(a.value, 4, Access::atomic, kRelaxed, site));
  const u32 old = *word;
  *word = change(old);
  return old;
}
WW_DEVICE u32 atomic_add(SharedAddress a, u32 v WW_SITE) {
  return change(a, site, [v](u32 old) { return old + v; });
}
WW_DEVICE u32 atomic_min(SharedAddress a, u32 v WW_SITE) {
  return change(a, site, [v](u32 old) { return min(old, v); });
}
WW_DEVICE u32 atomic_max(SharedAddress a, u32 v WW_SITE) {
  return change(a, site, [v](u32 old) { return max(old, v); });
}
WW_DEVICE u32 atomic_or(SharedAddress a, u32 v WW_SITE) {
  return change(a, site, [v](u32 old) { return old | v; });
}
}  // namespace emu
#endif

}  // namespace shared
}  // namespace ww::arch
