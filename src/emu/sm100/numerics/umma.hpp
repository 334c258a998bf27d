// SPDX-License-Identifier: Apache-2.0
// One tcgen05.mma (32 bytes of K) as the tensor core of sm_100 is said to compute it, to the bit:
//   D(m, n) = C(m, n) * 2^-s + A(m, K) * B(n, K)^T,   s = scale_input_d,   C = D before, or 0.
// docs/numerics.md gives the sources of every rule, and which are assumptions: nothing of this was measured here.
//
// All kinds but mxf4 and mxf4nvf4: the K products and C are one fused sum. A product has the significand sa * sb and
// the exponent ea + eb, with the exponents of both block scales added. All terms are shifted right by max(e) - e and
// truncated (towards zero) to 25 fraction bits. The exact sum of these is truncated to FP32 or rounded to nearest even
// to FP16.
// mxf4, mxf4nvf4: K = 64. The products of 16 elements are added exactly; that sum times the significands of both scales
// is one term, whose exponent is that of the scales alone. 35 fraction bits remain; the result is truncated to FP32.
// Not here: the location of operands, scales and accumulators, and when they are read.
#pragma once

#include "emu/numerics/target.hpp"
#include "warpwright/arch/sm100/instruction_descriptor.hpp"

namespace ww::emu::sm100 {

/// The fields of an instruction that decide about its arithmetic.
struct UmmaArithmetic {
  arch::MmaKind kind;
  arch::MmaFormat a, b;  // formats of equal operand width for f16 and tf32, any two of at most 8 bits otherwise
  arch::MmaResult d = arch::MmaResult::f32;
  bool negate_a = false, negate_b = false;
  u8 scale_input_d = 0;
  u8 scale_vector = 0;  // scales of a row: 1, 2 or 4; 0 for kinds without block scales
  arch::ScaleFormat scale = arch::ScaleFormat::ue8m0;
};

/// Multiplies and accumulates in place.
/// `a`, `b`: m and n rows of 32 bytes, K-major, contiguous. An element of at most 8 bits takes one byte, of which bits
/// above its own are ignored; mxf4 and mxf4nvf4 have element 2i in the low half of byte i and 2i + 1 in the high one.
/// `scale_a`, `scale_b`: scale_vector bytes for each row; ignored by kinds without block scales.
/// `d`: m rows of n 32-bit cells, `stride` cells apart. An FP16 result takes the low half of its cell and zeroes the
/// other, which is not read. Without `accumulate` the old values are ignored. m and n are multiples of 8, at most 256.
///
/// A NaN among operands, scales and C, Inf * 0 and +Inf - Inf give 0x7FFFFFFF (FP16: 0x7FFF), an Inf term the signed
/// Inf, a sum of zero +0. A finite sum past the range of D becomes the signed Inf. A sum below the range of normal
/// numbers is cut or rounded at the subnormal grid and keeps its sign, but is +0 when nothing is left.
/// With MmaMath::fp32_chain operands are multiplied by their scales in FP32, d = fma(a[k], b[k], d) in FP32 follows for
/// k = 0, 1, ..., and an FP16 result is rounded once at the end.
/// It is reentrant, allocates nothing, and uses about 40 KiB of stack; the host's rounding and flush modes do not
/// matter.
void multiply(const UmmaArithmetic& how, int m, int n, const u8* a, const u8* b, const u8* scale_a, const u8* scale_b,
              u32* d, int stride, bool accumulate, MmaMath math);

/// Does the same on a given target, for tests and measurements; the target must be supported.
void multiply_on(MmaTarget target, const UmmaArithmetic& how, int m, int n, const u8* a, const u8* b, const u8* scale_a,
                 const u8* scale_b, u32* d, int stride, bool accumulate, MmaMath math);

}  // namespace ww::emu::sm100
