// SPDX-License-Identifier: Apache-2.0
// tcgen05.mma over a stage of K as an atom: the kind and the instruction descriptor by types and shape, and the
// matrix descriptors of operand tiles of 128-byte rows under the 128-byte swizzle.
// - K-major: a row is 128 bytes of K, of which one instruction takes 32.
// - MN-major: a row is 128 bytes of M or N for one k. As many k as a row has elements form a block; blocks follow one
//   another along M or N. One instruction takes the rows of its K.
#pragma once

#include "warpwright/arch/sm100/instruction_descriptor.hpp"
#include "warpwright/arch/sm100/umma.hpp"
#include "warpwright/atom/tiles.hpp"

namespace ww::atom {

WW_HOST_DEVICE constexpr arch::MmaFormat mma_format(DType type) {
  switch (type) {
    case DType::f16: return arch::MmaFormat::f16;
    case DType::bf16: return arch::MmaFormat::bf16;
    case DType::tf32: return arch::MmaFormat::tf32;
    case DType::e5m2: return arch::MmaFormat::e5m2;
    default: return arch::MmaFormat::e4m3;
  }
}
WW_HOST_DEVICE constexpr arch::MmaKind mma_kind(DType type) {
  return type == DType::tf32 ? arch::MmaKind::tf32 : bytes_of(type) == 2 ? arch::MmaKind::f16 : arch::MmaKind::f8f6f4;
}

/// What an MMA multiplies: types, layouts in shared memory, CTAs, and the M and N of all of them.
struct UmmaOperands {
  DType a, b;
  Major major_a, major_b;
  arch::CtaGroup group;
  int m, n;
};

template <UmmaOperands kOperands>
inline constexpr arch::InstructionDescriptor kInstruction = arch::sm100::encode({.kind = mma_kind(kOperands.a),
                                                                                 .a = mma_format(kOperands.a),
                                                                                 .b = mma_format(kOperands.b),
                                                                                 .d = arch::MmaResult::f32,
                                                                                 .m = kOperands.m,
                                                                                 .n = kOperands.n,
                                                                                 .major_a = kOperands.major_a,
                                                                                 .major_b = kOperands.major_b});

template <DType kType, Major kMajor>
WW_DEVICE arch::sm100::MatrixDescriptor umma_descriptor(const SharedTile<kMajor>& operand) {
  constexpr u32 kBlock = kSwizzleSpan / bytes_of(kType) * kSwizzleSpan;  // of an MN-major operand
  return arch::sm100::make_descriptor(operand.address, arch::sm100::MatrixSwizzle::b128,
                                      kMajor == Major::k ? 0 : kBlock, kGroupBytes);
}
/// Bytes from the operand of one instruction of a stage to that of the next.
template <DType kType, Major kMajor>
inline constexpr u32 kUmmaStep = MachineTraits::kInstructionBytes*(kMajor == Major::k ? 1
                                                                                      : kSwizzleSpan / bytes_of(kType));

/// Issues D (m, n) += sA (m, K) sB (n, K)^T over one stage, without waiting; with `accumulate` false it starts from
/// zero. One thread calls it.
template <UmmaOperands kOperands>
WW_DEVICE void umma_gemm(arch::TensorAddress d, const SharedTile<kOperands.major_a>& sA,
                         const SharedTile<kOperands.major_b>& sB, bool accumulate) {
  constexpr auto kInstructions = static_cast<u32>(kSwizzleSpan / MachineTraits::kInstructionBytes);
  const auto a = umma_descriptor<kOperands.a>(sA);
  const auto b = umma_descriptor<kOperands.b>(sB);
  WW_UNROLL
  for (u32 i = 0; i < kInstructions; ++i)
    arch::umma::mma<mma_kind(kOperands.a), kOperands.group>(d, a + i * kUmmaStep<kOperands.a, kOperands.major_a>,
                                                            b + i * kUmmaStep<kOperands.b, kOperands.major_b>,
                                                            kInstruction<kOperands>, accumulate || i > 0);
}

}  // namespace ww::atom
