// SPDX-License-Identifier: Apache-2.0
// One wgmma.m64nNk(32 bytes of K) as Hopper's tensor core computes it, to the bit:
//   D(64, n) = C(64, n) + A(64, K) * B(n, K)^T,   K = 32 for e4m3 and e5m2 in any mix, 16 for bf16 and f16, 8 for tf32;
//   D and C are FP32. The low 13 of a tf32 operand's 32 bits are ignored.
// The K products and C are added as one fused sum. Each term is a sign, an exponent e and a significand. Significands
// are shifted right by max(e) - e, truncated (towards zero) to F fraction bits and added exactly; the sum is normalised
// and truncated. A product keeps the significand sa * sb in [1, 4) and the exponent ea + eb; a zero term has no
// exponent.
// e4m3, e5m2: F = 13, the result keeps 13 fraction bits. bf16, f16, tf32: F = 25, the result is FP32. Rounding is
// towards zero.
// Not here: the location of operands (swizzle, descriptors), when they are read, and the ownership of accumulators.
#pragma once

#include "emu/numerics/target.hpp"
#include "warpwright/core/dtype.hpp"

namespace ww::emu {

/// The types of A and B: one type for both, or two FP8 types.
struct MmaTypes {
  DType a, b;
  constexpr MmaTypes(DType type) : a(type), b(type) {}
  constexpr MmaTypes(DType type_a, DType type_b) : a(type_a), b(type_b) {}
};

/// Multiplies and accumulates in place. `a`: 64 rows of 32 bytes; `b`: n rows of 32 bytes (K-major, contiguous,
/// unswizzled); `d`: (64, n) row-major. n is a multiple of 8 from 8 to 256. Without `accumulate` it starts from +0 and
/// ignores the old d. `scale_a`, `scale_b` in {+1, -1} negate an operand.
/// It is reentrant, allocates nothing, and uses about 30 KiB of stack; the host's rounding and flush modes do not
/// matter.
///
/// A NaN term, Inf * 0 and +Inf - Inf give 0x7FFFFFFF, an Inf product or an Inf in C the signed Inf, a sum of zero +0.
/// A finite sum of 2^128 or more becomes the signed Inf. A sum below 2^-126 is truncated at the FP32 subnormal grid and
/// keeps its sign, but is +0 when nothing is left. An H200 does all of this (tests/gpu, 2026-11-20).
void mma_m64(MmaTypes types, int n, const u8* a, const u8* b, float* d, bool accumulate, int scale_a, int scale_b,
             MmaMath math);

/// Does the same on a given target, for tests and measurements; the target must be supported.
void mma_m64_on(MmaTarget target, MmaTypes types, int n, const u8* a, const u8* b, float* d, bool accumulate,
                int scale_a, int scale_b, MmaMath math);

}  // namespace ww::emu
