// SPDX-License-Identifier: Apache-2.0
// The fused sum of mma.hpp in the compiler's own vectors: one row of A against eight columns of B, 32-bit lanes.
// It is written for any CPU and compiled a second time for AVX2, whose per-lane shifts it needs to be quick.
// Magnitudes are shifted and the sign is put on afterwards; each output is normalised as a scalar.
#include "emu/numerics/mma_term.hpp"

// why: the vectors never cross a call that is not inlined, so their calling convention cannot matter
#pragma GCC diagnostic ignored "-Wpsabi"

namespace ww::emu {
namespace {

#define WW_ALWAYS_INLINE __attribute__((always_inline)) inline

constexpr int kLanes = 8;
typedef i32 Lanes __attribute__((vector_size(4 * kLanes)));

constexpr int kMaxK = 32;

struct PackedA {
  i32 exponent[kMmaRows][kMaxK], significand[kMmaRows][kMaxK], sign[kMmaRows][kMaxK];  // sign: 0 or -1
  RowFacts facts[kMmaRows];
};

/// Eight rows of B, one a lane. Significands carry the shift to F fraction bits of the product.
struct PackedB {
  Lanes exponent[kMaxK], significand[kMaxK], sign[kMaxK];
  RowFacts facts[kLanes];
  bool special;
};

/// Element k of a row as a term; notes in `facts` what kind of value it is.
template <DType kType> WW_ALWAYS_INLINE MmaTerm read_term(const u8* row, int k, bool flip, RowFacts& facts) {
  using Format = MmaFormat<kType>;
  const u32 bits = Format::kBits == 8 ? row[k] : row[2 * k] | static_cast<u32>(row[2 * k + 1]) << 8;
  constexpr u32 kMagnitude = (1u << (Format::kBits - 1)) - 1;
  constexpr u32 kTopField = kMagnitude >> Format::kFraction << Format::kFraction;  // Inf where the format has one
  const u32 magnitude = bits & kMagnitude;
  const bool negative = (bits > kMagnitude) != flip;
  facts.negative |= static_cast<u32>(negative) << k;
  facts.zero |= static_cast<u32>(magnitude == 0) << k;
  facts.infinite |= static_cast<u32>(Format::kHasInfinity && magnitude == kTopField) << k;
  facts.nan |= static_cast<u32>(Format::kHasInfinity ? magnitude > kTopField : magnitude == kMagnitude) << k;
  return decode_term<Format::kFraction, Format::kBias>(magnitude, negative);
}

template <DType kType> WW_ALWAYS_INLINE void pack_a(const MmaCall& call, PackedA& a) {
  for (int row = 0; row < kMmaRows; ++row) {
    a.facts[row] = {};
    for (int k = 0; k < MmaFormat<kType>::kK; ++k) {
      const MmaTerm term = read_term<kType>(call.a + row * kMmaRowBytes, k, call.flip_a, a.facts[row]);
      a.exponent[row][k] = term.exponent;
      a.significand[row][k] = term.significand;
      a.sign[row][k] = -static_cast<i32>(term.negative);
    }
  }
}

template <DType kType> WW_ALWAYS_INLINE void pack_b(const MmaCall& call, int first, PackedB& b) {
  using Format = MmaFormat<kType>;
  b.special = false;
  for (int lane = 0; lane < kLanes; ++lane) {
    b.facts[lane] = {};
    for (int k = 0; k < Format::kK; ++k) {
      const MmaTerm term = read_term<kType>(call.b + (first + lane) * kMmaRowBytes, k, call.flip_b, b.facts[lane]);
      b.exponent[k][lane] = term.exponent;
      b.significand[k][lane] = term.significand << (Format::kSumFraction - 2 * Format::kFraction);
      b.sign[k][lane] = -static_cast<i32>(term.negative);
    }
    b.special |= b.facts[lane].special();
  }
}

/// The aligned sum of the products of one row with eight columns, and the exponent it is aligned to. `top` comes in as the
/// exponents of C. Sixteen products of 2^27 fit a lane, C would not: it is added later, in 64 bits.
template <DType kType> WW_ALWAYS_INLINE void sum_products(const PackedA& a, const PackedB& b, int row, Lanes& top, Lanes& sum) {
  constexpr int kK = MmaFormat<kType>::kK;
  Lanes e[kK];
  for (int k = 0; k < kK; ++k) {
    e[k] = b.exponent[k] + a.exponent[row][k];
    top = e[k] > top ? e[k] : top;
  }
  sum = Lanes{};
  const Lanes most = Lanes{} + 31;  // terms have 28 bits: nothing is left after 31 places
  for (int k = 0; k < kK; ++k) {
    const Lanes distance = top - e[k];
    const Lanes magnitude = (b.significand[k] * a.significand[row][k]) >> (distance < most ? distance : most);
    const Lanes sign = b.sign[k] ^ a.sign[row][k];
    sum += (magnitude ^ sign) - sign;
  }
}

/// One output: adds C, normalises, and settles what is not finite.
template <DType kType> WW_ALWAYS_INLINE u32 finish(i32 products, i32 top, const MmaTerm& c, u32 c_bits) {
  using Format = MmaFormat<kType>;
  if ((c_bits & kNan) >= kInfinity) return (c_bits & kNan) > kInfinity ? kNan : c_bits;
  const i32 distance = top - c.exponent;
  const i64 scaled = static_cast<i64>(c.significand) << Format::kSumFraction >> 23;  // exact for F = 25
  const i64 addend = distance > 31 ? 0 : scaled >> distance;
  return normalise(products + (c.negative ? -addend : addend), top - Format::kSumFraction, Format::kOutFraction);
}

template <DType kType> WW_ALWAYS_INLINE void multiply(const MmaCall& call) {
  PackedA a;
  PackedB b;
  pack_a<kType>(call, a);
  for (int first = 0; first < call.n; first += kLanes) {
    pack_b<kType>(call, first, b);
    for (int row = 0; row < kMmaRows; ++row) {
      float* d = call.d + row * call.n + first;
      u32 c_bits[kLanes] = {};
      if (call.accumulate) __builtin_memcpy(c_bits, d, sizeof c_bits);
      MmaTerm c[kLanes];
      Lanes top, sum;
      for (int lane = 0; lane < kLanes; ++lane) {
        c[lane] = decode_term<23, 127>(c_bits[lane] & kNan, c_bits[lane] >> 31 != 0);
        top[lane] = c[lane].exponent;
      }
      sum_products<kType>(a, b, row, top, sum);
      u32 out[kLanes];
      for (int lane = 0; lane < kLanes; ++lane) out[lane] = finish<kType>(sum[lane], top[lane], c[lane], c_bits[lane]);
      if (a.facts[row].special() || b.special) {
        for (int lane = 0; lane < kLanes; ++lane) {
          if (const u32 special = special_result(a.facts[row], b.facts[lane], c_bits[lane])) out[lane] = special;
        }
      }
      __builtin_memcpy(d, out, sizeof out);
    }
  }
}

WW_ALWAYS_INLINE void multiply_any(const MmaCall& call) {
  if (call.type == DType::e4m3) multiply<DType::e4m3>(call);
  else if (call.type == DType::bf16) multiply<DType::bf16>(call);
  else multiply<DType::f16>(call);
}

}  // namespace

void mma_exact_portable(const MmaCall& call) { multiply_any(call); }

#if defined(__x86_64__)
__attribute__((target("avx2"))) void mma_exact_avx2(const MmaCall& call) { multiply_any(call); }
#else
void mma_exact_avx2(const MmaCall& call) { multiply_any(call); }
#endif

}  // namespace ww::emu
