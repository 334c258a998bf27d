// SPDX-License-Identifier: Apache-2.0
// wgmma over a stage of K as an atom. Which thread holds which element of C: atom/sm90_accumulator.hpp.
// Operands are tiles of 128-byte rows under the 128-byte swizzle.
// - K-major: a row is 128 bytes of K, of which one instruction takes 32.
// - MN-major (16 bits): a row is 64 of M or N for one k, and one instruction takes 16 rows. 64 k form a block; blocks
//   follow one another along M or N.
#pragma once

#include "warpwright/arch/sm90/wgmma.hpp"
#include "warpwright/atom/tiles.hpp"

namespace ww::atom {

template <Major kMajor> WW_DEVICE arch::MatrixDescriptor descriptor_of(const SharedTile<kMajor>& operand) {
  return arch::make_descriptor(operand.address, arch::MatrixSwizzle::b128, kMajor == Major::k ? 0 : kMnBlockBytes,
                               kGroupBytes);
}

/// Does what the next function does, for operands whose descriptors the caller has.
template <arch::MmaOperands kOperands, int kN>
WW_DEVICE void gemm(arch::Accumulator<kN>& acc, arch::MatrixDescriptor a, arch::MatrixDescriptor b, bool accumulate) {
  arch::wgmma::mma_row<kOperands>(acc, a, b, accumulate);
}
/// Issues acc (64, kN) += sA (64, K) sB (kN, K)^T over one stage, without waiting; with `accumulate` false it starts
/// from zero.
template <arch::MmaOperands kOperands, int kN>
WW_DEVICE void gemm(arch::Accumulator<kN>& acc, const SharedTile<kOperands.major_a>& sA,
                    const SharedTile<kOperands.major_b>& sB, bool accumulate) {
  arch::wgmma::mma_row<kOperands>(acc, descriptor_of(sA), descriptor_of(sB), accumulate);
}

}  // namespace ww::atom
