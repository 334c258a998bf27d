// SPDX-License-Identifier: Apache-2.0
// A from registers: loads 64 rows of a stage of A from the swizzled tile that TMA wrote into a warpgroup's AFragments,
// and issues the MMAs that read them.
//   K-major          ldmatrix: 16 bytes of K of a row are a row of an 8x8 matrix, whatever the type
//   M-major 16 bits  ldmatrix.trans: 8 rows of M for one k are a row of the matrix
//   M-major 32 bits  ld.shared, four a step, with two-way conflicts in half of the banks
// This is how tf32 can be M-major, because wgmma reads 32-bit operands from shared memory K-major only.
#pragma once

#include "warpwright/arch/common/stmatrix.hpp"
#include "warpwright/atom/mma_atom.hpp"

namespace ww::atom {

/// Reads one thread's part of a fragment; a step is 32 bytes of K, one instruction.
template <DType kType, Major kMajor> class FragmentReader {
  static_assert(kMajor == Major::k || bytes_of(kType) != 1, "A from registers: FP8 is K-major only");

 public:
  WW_DEVICE FragmentReader() : at_(first(arch::thread_index() % arch::kWarpgroupSize)) {}

  /// Loads steps kFirst, kFirst + 1, ... of sA (64, TILE_K).
  template <int kFirst, int kSteps>
  WW_DEVICE void load(arch::AFragment<kSteps>& a, const SharedTile<kMajor>& sA) const {
    WW_UNROLL
    for (int s = 0; s < kSteps; ++s) {
      const arch::Words<4> words = step(sA.address, static_cast<u32>(kFirst + s));
      WW_UNROLL
      for (int i = 0; i < 4; ++i) a.r[4 * s + i] = words.w[i];
    }
  }

 private:
  static constexpr u32 kSpan = kSwizzleSpan;

  // Returns a thread's address of step 0. Lane l addresses row l % 8 of matrix l / 8. Matrix i holds 8 rows from 8 (i %
  // 2) on, and the 16 bytes of K number i / 2.
  WW_DEVICE static u32 first(u32 thread) {
    const u32 warp = thread / arch::kWarpSize, lane = thread % arch::kWarpSize;
    const u32 row = lane % 8, low = lane / 8 % 2, late = lane / 16;
    if constexpr (kMajor == Major::k) {
      return (16 * warp + 8 * low + row) * kSpan + (late ^ row) * 16;
    } else if constexpr (bytes_of(kType) == 2) {
      return (8 * late + row) * kSpan + ((2 * warp + low) ^ row) * 16;
    } else {  // of its register 0: row lane / 4 of M, k lane % 4
      const u32 m = 16 * (warp % 2) + lane / 4, k = lane % 4;
      return warp / 2 * kTf32Block + k * kSpan + ((m / 4) ^ k) * 16 + m % 4 * 4;
    }
  }
  static constexpr u32 kTf32Block = 32 * kSpan;  // 32 rows of M for each of 32 k

  // Steps are XORed, because tiles are aligned to their swizzle pattern: a step along a row changes no other bits.
  WW_DEVICE arch::Words<4> step(arch::SharedAddress tile, u32 step) const {
    if constexpr (kMajor == Major::k) {
      return arch::ldmatrix(tile + (at_ ^ step * 32));
    } else if constexpr (bytes_of(kType) == 2) {
      return arch::ldmatrix_transposed(tile + (at_ + step * (16 * kSpan)));
    } else {
      arch::Words<4> words;
      WW_UNROLL
      for (u32 i = 0; i < 4; ++i)  // 8 (i % 2) further along M, 4 (i / 2) along K
        words.w[i] = arch::shared::load(tile + ((at_ ^ i % 2 * 32 ^ i / 2 * 64) + (8 * step + i / 2 * 4) * kSpan));
      return words;
    }
  }

  u32 at_;
};

/// Computes acc (64, kN) += a sB (kN, K)^T over the steps of `a`; their first is step `first` of sB's stage.
template <arch::MmaOperands kOperands, int kN, int kSteps>
WW_DEVICE void gemm(arch::Accumulator<kN>& acc, const arch::AFragment<kSteps>& a,
                    const SharedTile<kOperands.major_b>& sB, int first, bool accumulate) {
  arch::wgmma::mma<kOperands>(acc, a, descriptor_of(sB) + arch::wgmma_step(kOperands.major_b) * static_cast<u32>(first),
                              accumulate);
}

}  // namespace ww::atom
