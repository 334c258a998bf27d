// SPDX-License-Identifier: Apache-2.0
// One wgmma as an atom: its shape, which thread holds which element of C, and the loop over the K of a stage.
//   C layout: (thread, value) -> m + 64 n,  ((4,8,4),(2,2,N/8)) : ((128,1,16),(64,8,512))
// Operands are tiles of 128-byte rows under the 128-byte swizzle. K-major: a row is 128 bytes of K, one instruction
// takes
// 32 of them. MN-major (16 bits): a row is 64 of M or N for one k, one instruction takes 16 rows; 64 k are a block, and
// blocks follow one another along M or N.
#pragma once

#include "warpwright/arch/wgmma.hpp"
#include "warpwright/core/tensor.hpp"

namespace ww::atom {

inline constexpr int kSwizzleSpan = 128;  // bytes of a row
inline constexpr int kGroupBytes = 8 * kSwizzleSpan;
inline constexpr int kMnBlock = 64;  // of M or N, and of K
inline constexpr int kMnBlockBytes = kMnBlock * kSwizzleSpan;

/// A K-major shared-memory operand, (kRows, 128 bytes of K, kStages), as TMA writes it and wgmma reads it.
template <DType kType, int kRows, int kStages>
using KMajorLayout = decltype(composition(
    upcast<bytes_of(kType)>(Swizzle<3, 4, 3>{}),
    make_layout(Shape<Int<kRows>, Int<kSwizzleSpan / bytes_of(kType)>, Int<kStages>>{},
                Stride<Int<kSwizzleSpan / bytes_of(kType)>, _1, Int<kRows * kSwizzleSpan / bytes_of(kType)>>{})));

/// An MN-major one of 16-bit elements, ((64, kRows / 64), 64 of K, kStages).
template <int kRows, int kStages>
using MnMajorLayout = decltype(composition(
    upcast<2>(Swizzle<3, 4, 3>{}),
    make_layout(Shape<Shape<Int<kMnBlock>, Int<kRows / kMnBlock>>, Int<kMnBlock>, Int<kStages>>{},
                Stride<Stride<_1, Int<kMnBlock * kMnBlock>>, Int<kMnBlock>, Int<kRows * kMnBlock>>{})));

template <DType kType, int kRows, int kStages, Major kMajor = Major::k> struct OperandLayoutOf {
  using type = KMajorLayout<kType, kRows, kStages>;
};
template <DType kType, int kRows, int kStages> struct OperandLayoutOf<kType, kRows, kStages, Major::mn> {
  using type = MnMajorLayout<kRows, kStages>;
};
template <DType kType, int kRows, int kStages, Major kMajor = Major::k>
using OperandLayout = typename OperandLayoutOf<kType, kRows, kStages, kMajor>::type;

template <DType kType, int kN> struct MmaAtom {
  static constexpr int kM = 64;
  static constexpr int kK = arch::wgmma_k(kType);
  using CLayout = Layout<Shape<Shape<_4, _8, _4>, Shape<_2, _2, Int<kN / 8>>>,
                         Stride<Stride<Int<128>, _1, _16>, Stride<_64, _8, Int<512>>>>;

  /// Row of value `v` of `thread` in the 64 x kN tile. Values v and v ^ 1 share a row.
  WW_HOST_DEVICE static constexpr int row(int thread, int v) { return CLayout{}(make_coord(thread, v)) % kM; }
  WW_HOST_DEVICE static constexpr int column(int thread, int v) { return CLayout{}(make_coord(thread, v)) / kM; }
};

template <Major kMajor = Major::k, class Operand>
WW_DEVICE arch::MatrixDescriptor descriptor_of(const Operand& operand) {
  return arch::make_descriptor(operand.origin().address, arch::MatrixSwizzle::b128,
                               kMajor == Major::k ? 0 : kMnBlockBytes, kGroupBytes);
}

/// acc (64, kN) += sA (64, K) sB (kN, K)^T over one stage; `accumulate` false starts from zero. Issues, does not wait.
template <arch::MmaOperands kOperands, int kN, class OperandA, class OperandB>
WW_DEVICE void gemm(arch::Accumulator<kN>& acc, const OperandA& sA, const OperandB& sB, bool accumulate) {
  arch::wgmma::mma_row<kOperands>(acc, descriptor_of<kOperands.major_a>(sA), descriptor_of<kOperands.major_b>(sB),
                                  accumulate);
}

}  // namespace ww::atom
