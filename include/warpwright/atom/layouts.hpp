// SPDX-License-Identifier: Apache-2.0
// The layouts of a GEMM's tiles in the algebra of core/: operands as TMA writes and wgmma reads them, the accumulator
// of wgmma, the output tile. These are the definitions. Kernels use the integer arithmetic of atom/tiles.hpp and
// atom/mma_atom.hpp, which must agree with them.
#pragma once

#include "warpwright/atom/tiles.hpp"
#include "warpwright/layout/tensor.hpp"

namespace ww::atom {

/// A K-major shared-memory operand, (kRows, 128 bytes of K, kStages), as TMA writes it and wgmma reads it.
template <DType kType, int kRows, int kStages>
using KMajorLayout = decltype(composition(
    upcast<bytes_of(kType)>(Swizzle<3, 4, 3>{}),
    make_layout(Shape<Int<kRows>, Int<kSwizzleSpan / bytes_of(kType)>, Int<kStages>>{},
                Stride<Int<kSwizzleSpan / bytes_of(kType)>, _1, Int<kRows * kSwizzleSpan / bytes_of(kType)>>{})));

/// An MN-major operand of 8 or 16 bits, ((block, kRows / block), block of K, kStages), where a block is 128 bytes.
template <DType kType, int kRows, int kStages, int kBlock = kSwizzleSpan / bytes_of(kType)>
using MnMajorLayout =
    decltype(composition(upcast<bytes_of(kType)>(Swizzle<3, 4, 3>{}),
                         make_layout(Shape<Shape<Int<kBlock>, Int<kRows / kBlock>>, Int<kBlock>, Int<kStages>>{},
                                     Stride<Stride<_1, Int<kBlock * kBlock>>, Int<kBlock>, Int<kRows * kBlock>>{})));

template <DType kType, int kRows, int kStages, Major kMajor = Major::k> struct OperandLayoutOf {
  using type = KMajorLayout<kType, kRows, kStages>;
};
template <DType kType, int kRows, int kStages> struct OperandLayoutOf<kType, kRows, kStages, Major::mn> {
  using type = MnMajorLayout<kType, kRows, kStages>;
};
template <DType kType, int kRows, int kStages, Major kMajor = Major::k>
using OperandLayout = typename OperandLayoutOf<kType, kRows, kStages, kMajor>::type;

/// The accumulator of wgmma: (thread, value) -> m + 64 n.
template <int kN>
using AccumulatorLayout = Layout<Shape<Shape<_4, _8, _4>, Shape<_2, _2, Int<kN / 8>>>,
                                 Stride<Stride<Int<128>, _1, _16>, Stride<_64, _8, Int<512>>>>;

/// An output tile, (kRows, (columns of a panel, panels)), in elements.
template <DType kType, int kRows, int kPanelBytes, int kPanels>
using PanelLayout = decltype(composition(
    upcast<bytes_of(kType)>(Swizzle<log2_v<kPanelBytes / 16>, 4, 3>{}),
    make_layout(Shape<Int<kRows>, Shape<Int<kPanelBytes / bytes_of(kType)>, Int<kPanels>>>{},
                Stride<Int<kPanelBytes / bytes_of(kType)>, Stride<_1, Int<kRows * kPanelBytes / bytes_of(kType)>>>{})));

/// An output tile whose columns are contiguous, ((rows of a panel, panels), kColumns).
template <DType kType, int kColumns, int kPanels>
using ColumnPanelLayout = decltype(composition(
    upcast<bytes_of(kType)>(Swizzle<3, 4, 3>{}),
    make_layout(
        Shape<Shape<Int<kSwizzleSpan / bytes_of(kType)>, Int<kPanels>>, Int<kColumns>>{},
        Stride<Stride<_1, Int<kColumns * kSwizzleSpan / bytes_of(kType)>>, Int<kSwizzleSpan / bytes_of(kType)>>{})));

}  // namespace ww::atom
