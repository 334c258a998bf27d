// SPDX-License-Identifier: Apache-2.0
// tcgen05.mma over a stage of K as an atom: the kind and the instruction descriptor by types and shape, and the
// matrix descriptors of operand tiles of 128-byte rows under the 128-byte swizzle. MN-major TF32 operands, and they
// alone, have the swizzle of 32-byte units, whose pattern repeats every 4 rows instead of 8.
// - K-major: a row is 128 bytes of K, of which one instruction takes 32.
// - MN-major: a row is 128 bytes of M or N for one k. As many k as a row has elements form a block; blocks follow one
//   another along M or N. One instruction takes the rows of its K.
#pragma once

#include "warpwright/arch/sm100/instruction_descriptor.hpp"
#include "warpwright/arch/sm100/umma.hpp"
#include "warpwright/atom/tiles.hpp"
#include "warpwright/core/scale_chunks.hpp"

namespace ww::atom {

WW_HOST_DEVICE constexpr arch::MmaFormat mma_format(DType type) {
  switch (type) {
    case DType::f16: return arch::MmaFormat::f16;
    case DType::bf16: return arch::MmaFormat::bf16;
    case DType::tf32: return arch::MmaFormat::tf32;
    case DType::e5m2: return arch::MmaFormat::e5m2;
    case DType::e2m1: return arch::MmaFormat::e2m1;
    case DType::e3m2: return arch::MmaFormat::e3m2;
    case DType::e2m3: return arch::MmaFormat::e2m3;
    default: return arch::MmaFormat::e4m3;
  }
}
WW_HOST_DEVICE constexpr arch::MmaKind mma_kind(DType type) {
  return type == DType::tf32 ? arch::MmaKind::tf32 : bits_of(type) == 16 ? arch::MmaKind::f16 : arch::MmaKind::f8f6f4;
}
/// Returns the bytes of an element in shared memory, where those of 4 and 6 bits are widened to a byte.
WW_HOST_DEVICE constexpr int container_bytes(DType type) { return max(1, bits_of(type) / 8); }

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
  constexpr u32 kBlock = kSwizzleSpan / container_bytes(kType) * kSwizzleSpan;  // of an MN-major operand
  constexpr bool kUnit32 = kType == DType::tf32 && kMajor == Major::mn;
  return arch::sm100::make_descriptor(
      operand.address, kUnit32 ? arch::sm100::MatrixSwizzle::b128_base32 : arch::sm100::MatrixSwizzle::b128,
      kMajor == Major::k ? 0 : kBlock, kUnit32 ? kGroupBytes / 2 : kGroupBytes);
}
/// Bytes from the operand of one instruction of a stage to that of the next.
template <DType kType, Major kMajor>
inline constexpr u32 kUmmaStep = MachineTraits::kInstructionBytes*(kMajor == Major::k
                                                                       ? 1
                                                                       : kSwizzleSpan / container_bytes(kType));

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

/// How an instruction takes block scales: its kind, the scales of a row that it takes, and their format.
struct ScaledKind {
  arch::MmaKind kind;
  int scales;
  arch::ScaleFormat format;
};

/// Issues D (m, n) += (sA (m, K) scales of A) (sB (n, K) scales of B)^T over the first `instructions` of a stage,
/// without waiting; with `accumulate` false it starts from zero. Scales are columns of tensor memory: of A 4 for each
/// chunk of a stage, of B `columns_b`. One thread calls it.
template <UmmaOperands kOperands, ScaledKind kKind>
WW_DEVICE void umma_gemm_scaled(arch::TensorAddress d, const SharedTile<kOperands.major_a>& sA,
                                const SharedTile<kOperands.major_b>& sB, arch::TensorAddress scale_a,
                                arch::TensorAddress scale_b, u32 columns_b, bool accumulate, u32 instructions) {
  constexpr auto kInstructions = static_cast<u32>(kSwizzleSpan / MachineTraits::kInstructionBytes);
  constexpr arch::InstructionDescriptor kInstruction = arch::sm100::encode({.kind = kKind.kind,
                                                                            .a = mma_format(kOperands.a),
                                                                            .b = mma_format(kOperands.b),
                                                                            .d = arch::MmaResult::f32,
                                                                            .m = kOperands.m,
                                                                            .n = kOperands.n,
                                                                            .major_a = kOperands.major_a,
                                                                            .major_b = kOperands.major_b,
                                                                            .scale = kKind.format});
  const auto a = umma_descriptor<kOperands.a>(sA);
  const auto b = umma_descriptor<kOperands.b>(sB);
  WW_UNROLL
  for (u32 i = 0; i < kInstructions; ++i) {
    if (i >= instructions) break;
    const u32 first = i * kKind.scales, chunk = first / kScaleChunkScales, id = first % kScaleChunkScales;
    arch::umma::mma_scaled<kKind.kind, kOperands.group, kKind.scales>(
        d, a + i * kUmmaStep<kOperands.a, kOperands.major_a>, b + i * kUmmaStep<kOperands.b, kOperands.major_b>,
        kInstruction.with_scale_ids(id, id), scale_a + chunk * kScaleChunkScales, scale_b + chunk * columns_b,
        accumulate || i > 0);
  }
}

}  // namespace ww::atom
