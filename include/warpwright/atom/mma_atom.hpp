// SPDX-License-Identifier: Apache-2.0
// One wgmma as an atom: its shape, which thread holds which element of C, and the loop over the K of a stage.
//   C layout: (thread, value) -> m + 64 n,  ((4,8,4),(2,2,N/8)) : ((128,1,16),(64,8,512))
// Operands are K-major tiles of 128-byte rows under the 128-byte swizzle; one instruction takes 32 bytes of a row.
#pragma once

#include "warpwright/arch/wgmma.hpp"
#include "warpwright/core/tensor.hpp"

namespace ww::atom {

inline constexpr int kSwizzleSpan = 128;  // bytes of a row
inline constexpr int kGroupBytes = 8 * kSwizzleSpan;

/// A K-major shared-memory operand, (kRows, 128 bytes of K, kStages), as TMA writes it and wgmma reads it.
template <DType kType, int kRows, int kStages>
using OperandLayout = decltype(composition(
    upcast<bytes_of(kType)>(Swizzle<3, 4, 3>{}),
    make_layout(Shape<Int<kRows>, Int<kSwizzleSpan / bytes_of(kType)>, Int<kStages>>{},
                Stride<Int<kSwizzleSpan / bytes_of(kType)>, _1, Int<kRows * kSwizzleSpan / bytes_of(kType)>>{})));

template <DType kType, int kN> struct MmaAtom {
  static constexpr int kM = 64;
  static constexpr int kK = arch::wgmma_k(kType);
  using CLayout = Layout<Shape<Shape<_4, _8, _4>, Shape<_2, _2, Int<kN / 8>>>,
                         Stride<Stride<Int<128>, _1, _16>, Stride<_64, _8, Int<512>>>>;

  /// Row of value `v` of `thread` in the 64 x kN tile. Values v and v ^ 1 share a row.
  WW_HOST_DEVICE static constexpr int row(int thread, int v) { return CLayout{}(make_coord(thread, v)) % kM; }
  WW_HOST_DEVICE static constexpr int column(int thread, int v) { return CLayout{}(make_coord(thread, v)) / kM; }
};

template <class Operand> WW_DEVICE arch::MatrixDescriptor descriptor_of(const Operand& operand) {
  return arch::make_descriptor(operand.origin().address, arch::MatrixSwizzle::b128, 0, kGroupBytes);
}

/// acc (64, kN) += sA (64, K) sB (kN, K)^T over one stage; `accumulate` false starts from zero. Issues, does not wait.
template <DType kType, int kN, class OperandA, class OperandB>
WW_DEVICE void gemm(arch::Accumulator<kN>& acc, const OperandA& sA, const OperandB& sB, bool accumulate) {
  arch::wgmma::mma_row<kType>(acc, descriptor_of(sA), descriptor_of(sB), accumulate);
}

}  // namespace ww::atom
