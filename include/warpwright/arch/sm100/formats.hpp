// SPDX-License-Identifier: Apache-2.0
// The terms of sm_100's tensor instructions: kinds of MMA, types of operands and scales, CTA groups, shapes of tensor
// memory accesses. The values are those of the instruction descriptor where it has a field for them.
#pragma once

#include "warpwright/core/dtype.hpp"

namespace ww::arch {

/// The `.kind` of tcgen05.mma. The last three take a scale for each block of K.
enum class MmaKind : u8 { f16, tf32, f8f6f4, mxf8f6f4, mxf4, mxf4nvf4 };
WW_HOST_DEVICE constexpr bool is_block_scaled(MmaKind kind) { return kind >= MmaKind::mxf8f6f4; }

/// The type of an operand. f8f6f4 and mxf8f6f4 mix the five types of at most 8 bits; mxf4 and mxf4nvf4 take e2m1 alone.
enum class MmaFormat : u8 { f16, bf16, tf32, e4m3, e5m2, e2m3, e3m2, e2m1 };
WW_HOST_DEVICE constexpr int bits_of(MmaFormat format) {
  switch (format) {
    case MmaFormat::tf32: return 32;
    case MmaFormat::f16:
    case MmaFormat::bf16: return 16;
    case MmaFormat::e4m3:
    case MmaFormat::e5m2: return 8;
    case MmaFormat::e2m3:
    case MmaFormat::e3m2: return 6;
    default: return 4;
  }
}

/// The type of D. f16 takes the low half of a 32-bit cell of tensor memory.
enum class MmaResult : u8 { f16, f32 };

/// The type of block scales: ue8m0 is a power of two, 2^(bits - 127); ue4m3 is e4m3 without its sign.
enum class ScaleFormat : u8 { ue4m3, ue8m0 };

/// The CTAs that an instruction works for: one, or the pair of ranks r and r ^ 1 of a cluster.
enum class CtaGroup : u8 { one = 1, pair = 2 };
WW_HOST_DEVICE constexpr int ctas_of(CtaGroup group) { return static_cast<int>(group); }

/// The shape of tcgen05.ld and tcgen05.st: lanes x bits for each repetition.
enum class TensorShape : u8 { lanes32_bits32, lanes16_bits64, lanes16_bits128, lanes16_bits256, lanes16_bits32_split };

/// Returns the 32-bit registers of a thread for one repetition.
WW_HOST_DEVICE constexpr int registers_of(TensorShape shape) {
  return shape == TensorShape::lanes16_bits256 ? 4 : shape == TensorShape::lanes16_bits128 ? 2 : 1;
}

/// The shape of tcgen05.cp: rows x bits of shared memory, and which quarters of the lanes take a copy.
enum class CopyShape : u8 {
  rows128_bits256,
  rows4_bits256,
  rows128_bits128,
  rows64_bits128_02_13,  // .warpx2::02_13
  rows64_bits128_01_23,  // .warpx2::01_23
  rows32_bits128_all,    // .warpx4
};

/// How tcgen05.cp widens elements to bytes: from 4 bits, with 8 bytes of padding after 16 elements, or from 6 bits,
/// with 4 bytes of it.
enum class CopyUnpack : u8 { none, from4_padded64, from6_padded32 };

}  // namespace ww::arch
