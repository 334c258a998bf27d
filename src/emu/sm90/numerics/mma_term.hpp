// SPDX-License-Identifier: Apache-2.0
// Shared by the engines of mma.hpp: one call, and the operand formats.
#pragma once

#include "emu/numerics/fused_sum.hpp"
#include "emu/sm90/numerics/mma.hpp"

namespace ww::emu {

inline constexpr int kMmaRows = 64;
inline constexpr int kMmaRowBytes = 32;

/// One call of mma_m64; the signs of the scales have become "flip the sign bit of every element".
struct MmaCall {
  DType type_a, type_b;
  int n;
  const u8* a;  // (64, 32 bytes)
  const u8* b;  // (n, 32 bytes)
  float* d;     // (64, n)
  bool accumulate;
  bool flip_a, flip_b;
};

void mma_exact_portable(const MmaCall& call);
void mma_exact_avx2(const MmaCall& call);
void mma_exact_avx512(const MmaCall& call);
void mma_chain(MmaTarget target, const MmaCall& call);

/// An operand format as the tensor core reads it. `kSumFraction` is F; normalisation keeps `kOutFraction` bits.
template <DType kType> struct MmaFormat;
template <> struct MmaFormat<DType::e4m3> {
  static constexpr int kK = 32, kBits = 8, kFraction = 3, kBias = 7, kSumFraction = 13, kOutFraction = 13;
  static constexpr bool kHasInfinity = false;
};
template <> struct MmaFormat<DType::e5m2> {
  static constexpr int kK = 32, kBits = 8, kFraction = 2, kBias = 15, kSumFraction = 13, kOutFraction = 13;
  static constexpr bool kHasInfinity = true;
};
template <> struct MmaFormat<DType::tf32> {  // the upper 19 bits of each four bytes
  static constexpr int kK = 8, kBits = 19, kFraction = 10, kBias = 127, kSumFraction = 25, kOutFraction = 23;
  static constexpr bool kHasInfinity = true;
};
template <> struct MmaFormat<DType::bf16> {
  static constexpr int kK = 16, kBits = 16, kFraction = 7, kBias = 127, kSumFraction = 25, kOutFraction = 23;
  static constexpr bool kHasInfinity = true;
};
template <> struct MmaFormat<DType::f16> {
  static constexpr int kK = 16, kBits = 16, kFraction = 10, kBias = 15, kSumFraction = 25, kOutFraction = 23;
  static constexpr bool kHasInfinity = true;
};

}  // namespace ww::emu
