// SPDX-License-Identifier: Apache-2.0
// stmatrix / ldmatrix: a warp moves one, two or four 8x8 matrices of 16-bit items.
// Lane l gives the address of row l % 8 of matrix l / 8 (16 bytes, 16-byte aligned). In register i it holds items 2 (l
// % 4) and 2 (l % 4) + 1 of row l / 4 of matrix i. Transposed, register i holds the same items of column l / 4 instead.
// PTX ISA: stmatrix, ldmatrix.
#pragma once

#include "warpwright/arch/common/shared.hpp"

namespace ww::arch {

#if defined(__CUDACC__)
inline namespace ptx {
WW_DEVICE void stmatrix(SharedAddress row, Words<1> m) {
  asm volatile("stmatrix.sync.aligned.m8n8.x1.shared.b16 [%0], {%1};" ::"r"(row.value), "r"(m.w[0]) : "memory");
}
WW_DEVICE void stmatrix(SharedAddress row, Words<2> m) {
  asm volatile("stmatrix.sync.aligned.m8n8.x2.shared.b16 [%0], {%1, %2};" ::"r"(row.value), "r"(m.w[0]), "r"(m.w[1])
               : "memory");
}
WW_DEVICE void stmatrix(SharedAddress row, Words<4> m) {
  asm volatile("stmatrix.sync.aligned.m8n8.x4.shared.b16 [%0], {%1, %2, %3, %4};" ::"r"(row.value), "r"(m.w[0]),
               "r"(m.w[1]), "r"(m.w[2]), "r"(m.w[3])
               : "memory");
}
WW_DEVICE void stmatrix_transposed(SharedAddress row, Words<1> m) {
  asm volatile("stmatrix.sync.aligned.m8n8.x1.trans.shared.b16 [%0], {%1};" ::"r"(row.value), "r"(m.w[0]) : "memory");
}
WW_DEVICE void stmatrix_transposed(SharedAddress row, Words<2> m) {
  asm volatile("stmatrix.sync.aligned.m8n8.x2.trans.shared.b16 [%0], {%1, %2};" ::"r"(row.value), "r"(m.w[0]),
               "r"(m.w[1])
               : "memory");
}
WW_DEVICE void stmatrix_transposed(SharedAddress row, Words<4> m) {
  asm volatile("stmatrix.sync.aligned.m8n8.x4.trans.shared.b16 [%0], {%1, %2, %3, %4};" ::"r"(row.value), "r"(m.w[0]),
               "r"(m.w[1]), "r"(m.w[2]), "r"(m.w[3])
               : "memory");
}
WW_DEVICE Words<4> ldmatrix(SharedAddress row) {
  Words<4> m;
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(m.w[0]), "=r"(m.w[1]), "=r"(m.w[2]), "=r"(m.w[3])
               : "r"(row.value)
               : "memory");
  return m;
}
WW_DEVICE Words<4> ldmatrix_transposed(SharedAddress row) {
  Words<4> m;
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(m.w[0]), "=r"(m.w[1]), "=r"(m.w[2]), "=r"(m.w[3])
               : "r"(row.value)
               : "memory");
  return m;
}
}  // namespace ptx
#else
inline namespace emu {
template <int kCount>
requires(kCount == 1 || kCount == 2 || kCount == 4) WW_DEVICE
    void stmatrix(SharedAddress row, Words<kCount> m WW_SITE) {
  table->stmatrix(row.value, m.w, kCount, false, site);
}
template <int kCount>
requires(kCount == 1 || kCount == 2 || kCount == 4) WW_DEVICE
    void stmatrix_transposed(SharedAddress row, Words<kCount> m WW_SITE) {
  table->stmatrix(row.value, m.w, kCount, true, site);
}
WW_DEVICE Words<4> ldmatrix(SharedAddress row WW_SITE) {
  Words<4> m;
  table->ldmatrix(row.value, m.w, 4, false, site);
  return m;
}
WW_DEVICE Words<4> ldmatrix_transposed(SharedAddress row WW_SITE) {
  Words<4> m;
  table->ldmatrix(row.value, m.w, 4, true, site);
  return m;
}
}  // namespace emu
#endif

}  // namespace ww::arch
