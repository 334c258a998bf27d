// SPDX-License-Identifier: Apache-2.0
// Accesses to global memory that few kernels need: single bytes, and stores of 8 bytes.
// PTX ISA: ld/st.global.
#pragma once

#include "warpwright/arch/common/global.hpp"

namespace ww::arch::global {

#if defined(__CUDACC__)
inline namespace ptx {
WW_DEVICE u8 load_u8(const void* p) {
  u16 v;
  asm volatile("ld.global.u8 %0, [%1];" : "=h"(v) : "l"(p) : "memory");
  return static_cast<u8>(v);
}
WW_DEVICE void store_u8(void* p, u8 v) {
  asm volatile("st.global.u8 [%0], %1;" ::"l"(p), "h"(static_cast<u16>(v)) : "memory");
}
WW_DEVICE void store2(void* p, Words<2> v) {
  asm volatile("st.global.v2.u32 [%0], {%1, %2};" ::"l"(p), "r"(v.w[0]), "r"(v.w[1]) : "memory");
}
}  // namespace ptx
#else
inline namespace emu {
WW_DEVICE u8 load_u8(const void* p WW_SITE) { return read<u8>(p, site); }
WW_DEVICE void store_u8(void* p, u8 v WW_SITE) { write(p, v, site); }
WW_DEVICE void store2(void* p, Words<2> v WW_SITE) { write(p, v, site); }
}  // namespace emu
#endif

}  // namespace ww::arch::global
