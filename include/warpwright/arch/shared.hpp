// SPDX-License-Identifier: Apache-2.0
// Ordinary loads and stores of this CTA's shared memory, 4 to 16 bytes, naturally aligned.
// PTX ISA: ld.shared::cta, st.shared::cta.
#pragma once

#include "warpwright/arch/special.hpp"

namespace ww::arch {

/// kCount 32-bit words that move together.
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
}  // namespace ptx
#else
inline namespace emu {
template <int kCount> WW_DEVICE Words<kCount> load_words(SharedAddress a, Site site) {
  return *static_cast<const Words<kCount>*>(table->shared_access(a.value, 4 * kCount, Access::read, site));
}
template <int kCount> WW_DEVICE void store_words(SharedAddress a, Words<kCount> v, Site site) {
  *static_cast<Words<kCount>*>(table->shared_access(a.value, 4 * kCount, Access::write, site)) = v;
}
WW_DEVICE u32 load(SharedAddress a WW_SITE) { return load_words<1>(a, site).w[0]; }
WW_DEVICE Words<2> load2(SharedAddress a WW_SITE) { return load_words<2>(a, site); }
WW_DEVICE Words<4> load4(SharedAddress a WW_SITE) { return load_words<4>(a, site); }
WW_DEVICE void store(SharedAddress a, u32 v WW_SITE) { store_words<1>(a, {{v}}, site); }
WW_DEVICE void store2(SharedAddress a, Words<2> v WW_SITE) { store_words<2>(a, v, site); }
WW_DEVICE void store4(SharedAddress a, Words<4> v WW_SITE) { store_words<4>(a, v, site); }
}  // namespace emu
#endif

}  // namespace shared
}  // namespace ww::arch
