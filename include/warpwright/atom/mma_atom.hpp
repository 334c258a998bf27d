// SPDX-License-Identifier: Apache-2.0
// One wgmma as an atom: its shape, which thread holds which element of C, and the loop over the K of a stage.
//   C layout: (thread, value) -> m + 64 n,  ((4,8,4),(2,2,N/8)) : ((128,1,16),(64,8,512))
// Operands are tiles of 128-byte rows under the 128-byte swizzle.
// - K-major: a row is 128 bytes of K, of which one instruction takes 32.
// - MN-major (16 bits): a row is 64 of M or N for one k, and one instruction takes 16 rows. 64 k form a block; blocks
//   follow one another along M or N.
#pragma once

#include "warpwright/arch/sm90/wgmma.hpp"
#include "warpwright/atom/tiles.hpp"

namespace ww::atom {

template <DType kType, int kN> struct MmaAtom {
  static constexpr int kM = Sm90().mma[0].m;
  static constexpr int kK = arch::wgmma_k(kType);

  /// Returns the row of value `v` of `thread` in the 64 x kN tile. Values v and v ^ 1 share a row.
  WW_HOST_DEVICE static constexpr int row(int thread, int v) {
    return thread / 4 % 8 + 16 * (thread / 32) + 8 * (v / 2 % 2);
  }
  WW_HOST_DEVICE static constexpr int column(int thread, int v) { return 2 * (thread % 4) + v % 2 + 8 * (v / 4); }
};

template <Major kMajor> WW_DEVICE arch::MatrixDescriptor descriptor_of(const SharedTile<kMajor>& operand) {
  return arch::make_descriptor(operand.address, arch::MatrixSwizzle::b128, kMajor == Major::k ? 0 : kMnBlockBytes,
                               kGroupBytes);
}

/// Issues acc (64, kN) += sA (64, K) sB (kN, K)^T over one stage, without waiting; with `accumulate` false it starts
/// from zero.
template <arch::MmaOperands kOperands, int kN>
WW_DEVICE void gemm(arch::Accumulator<kN>& acc, const SharedTile<kOperands.major_a>& sA,
                    const SharedTile<kOperands.major_b>& sB, bool accumulate) {
  arch::wgmma::mma_row<kOperands>(acc, descriptor_of(sA), descriptor_of(sB), accumulate);
}

}  // namespace ww::atom
