// SPDX-License-Identifier: Apache-2.0
// The fused sum of mma.hpp in the compiler's own vectors: one row of A against eight columns of B, 32-bit lanes.
// It is written for any CPU and compiled a second time for AVX2, whose per-lane shifts make it fast.
// Magnitudes are shifted and the sign is applied afterwards. Outputs that are not normal numbers are computed one by
// one.
#include <type_traits>

#include "emu/sm90/numerics/mma_term.hpp"

// The vectors never cross a call that is not inlined, so their calling convention cannot matter.
#pragma GCC diagnostic ignored "-Wpsabi"

namespace ww::emu {
namespace {

#define WW_ALWAYS_INLINE __attribute__((always_inline)) inline

constexpr int kLanes = 8;
typedef i32 Lanes __attribute__((vector_size(4 * kLanes)));
typedef u32 Unsigned __attribute__((vector_size(4 * kLanes)));
typedef float Floats __attribute__((vector_size(4 * kLanes)));

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

/// Decodes element k of a row as a term, and notes its kind of value in `facts`.
template <DType kType> WW_ALWAYS_INLINE MmaTerm read_term(const u8* row, int k, bool flip, RowFacts& facts) {
  using Format = MmaFormat<kType>;
  u32 bits = 0;
  if constexpr (Format::kBits == 8) bits = row[k];
  else if constexpr (Format::kBits == 16) bits = row[2 * k] | static_cast<u32>(row[2 * k + 1]) << 8;
  else __builtin_memcpy(&bits, row + 4 * k, 4), bits >>= 13;
  constexpr u32 kMagnitude = (1u << (Format::kBits - 1)) - 1;
  constexpr u32 kTopField = kMagnitude >> Format::kFraction << Format::kFraction;  // Inf where the format has one
  const u32 magnitude = bits & kMagnitude;
  const bool negative = (bits > kMagnitude) != flip;
  facts.negative |= static_cast<u32>(negative) << k;
  facts.zero |= static_cast<u32>(magnitude == 0) << k;
  facts.infinite |= static_cast<u32>(Format::kHasInfinity && magnitude == kTopField) << k;
  facts.nan |= static_cast<u32>(Format::kHasInfinity ? magnitude > kTopField : magnitude == kMagnitude) << k;
  return decode_term(magnitude, negative, std::integral_constant<int, Format::kFraction>{},
                     std::integral_constant<int, Format::kBias>{});
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

/// `kFractionA`: fraction bits of the other operand.
template <DType kType, int kFractionA> WW_ALWAYS_INLINE void pack_b(const MmaCall& call, int first, PackedB& b) {
  using Format = MmaFormat<kType>;
  b.special = false;
  for (int lane = 0; lane < kLanes; ++lane) {
    b.facts[lane] = {};
    for (int k = 0; k < Format::kK; ++k) {
      const MmaTerm term = read_term<kType>(call.b + (first + lane) * kMmaRowBytes, k, call.flip_b, b.facts[lane]);
      b.exponent[k][lane] = term.exponent;
      b.significand[k][lane] = term.significand << (Format::kSumFraction - Format::kFraction - kFractionA);
      b.sign[k][lane] = -static_cast<i32>(term.negative);
    }
    b.special |= b.facts[lane].special();
  }
}

/// C of eight outputs as terms.
struct AddendC {
  Lanes bits, significand, exponent;
};

WW_ALWAYS_INLINE void decode_c(const Lanes& bits, AddendC& c) {
  const Lanes magnitude = bits & 0x7FFFFFFF;
  const Lanes field = magnitude >> 23;
  const Lanes normal = field != 0, zero = magnitude == 0;  // all ones where true
  c.bits = bits;
  c.significand = (bits & 0x7FFFFF) | (normal & 0x800000);
  c.exponent = (zero & kZeroExponent) | (~zero & (field - 126 + normal));
}

/// Aligns the products of one row with eight columns, and C, to the largest exponent `top`. Sixteen products of 2^27
/// fit a lane, but C on top of them might not, so it stays separate.
template <DType kType>
WW_ALWAYS_INLINE void align(const PackedA& a, const PackedB& b, int row, const AddendC& c, Lanes& top, Lanes& sum,
                            Lanes& addend) {
  using Format = MmaFormat<kType>;
  Lanes e[Format::kK];
  top = c.exponent;
  for (int k = 0; k < Format::kK; ++k) {
    e[k] = b.exponent[k] + a.exponent[row][k];
    top = e[k] > top ? e[k] : top;
  }
  const Lanes floor = top - 31;  // terms have 28 bits: nothing is left after 31 places
  sum = Lanes{};
  for (int k = 0; k < Format::kK; ++k) {
    const Lanes distance = top - (e[k] > floor ? e[k] : floor);
    const Lanes magnitude = (b.significand[k] * a.significand[row][k]) >> distance;
    const Lanes sign = b.sign[k] ^ a.sign[row][k];
    sum += (magnitude ^ sign) - sign;
  }
  const Lanes unit = Format::kSumFraction > 23 ? c.significand << 2 : c.significand >> 10;  // 23 bits to F
  const Lanes magnitude = unit >> (top - (c.exponent > floor ? c.exponent : floor));
  const Lanes sign = c.bits >> 31;
  addend = (magnitude ^ sign) - sign;
}
static_assert(MmaFormat<DType::e4m3>::kSumFraction == 23 - 10 && MmaFormat<DType::bf16>::kSumFraction == 23 + 2);

/// Normalises the lanes whose result is a normal number or zero; `rare` is set for the others, and where C is not
/// finite.
template <DType kType>
WW_ALWAYS_INLINE void normalise_lanes(const AddendC& c, const Lanes& top, const Lanes& sum, const Lanes& addend,
                                      Lanes& out, Lanes& rare) {
  using Format = MmaFormat<kType>;
  // The total has 33 bits with its sign, which is that of both addends, or of `total` where theirs differ.
  const Unsigned total = (Unsigned)sum + (Unsigned)addend;
  const Lanes sign = ((sum & addend) | ((sum | addend) & (Lanes)total)) >> 31;
  const Unsigned magnitude = (total ^ (Unsigned)sign) - (Unsigned)sign;
  // The leading one follows from the exponent of an exact conversion; then the bits below the result are removed.
  const Lanes leading = ((Lanes) __builtin_convertvector((Lanes)(magnitude >> 8), Floats) >> 23) - 127 + 8;
  const Lanes excess = leading - Format::kOutFraction;
  const Lanes drop = excess > 0 ? excess : Lanes{};
  const Lanes cut = (Lanes)(magnitude >> (Unsigned)drop << (Unsigned)drop);
  const Floats high = __builtin_convertvector((Lanes)((Unsigned)cut >> 8), Floats);
  const Lanes value = (Lanes)(high * 256.0f + __builtin_convertvector(cut & 255, Floats));  // exact: 24 bits at most
  const Lanes field = (value >> 23) + (top - Format::kSumFraction);
  const Lanes some = cut != 0;
  rare = (some & ((field < 1) | (field > 254))) | ((c.bits & 0x7F800000) == 0x7F800000);
  out = some & ((sign & static_cast<i32>(0x80000000u)) | (field << 23) | (value & 0x7FFFFF));
}

/// Computes one output by scalar arithmetic, whatever its value.
template <DType kType> u32 settle(const RowFacts& a, const RowFacts& b, u32 c, i32 top, i32 sum, i32 addend) {
  using Format = MmaFormat<kType>;
  if (const u32 special = special_result(a, b, c)) return special;
  return normalise(static_cast<i64>(sum) + addend, top - Format::kSumFraction, Format::kOutFraction);
}

template <DType kType>
WW_ALWAYS_INLINE void multiply_rows(const MmaCall& call, int first, const PackedA& a, const PackedB& b) {
  for (int row = 0; row < kMmaRows; ++row) {
    float* d = call.d + row * call.n + first;
    Lanes c_bits{}, top, sum, addend, out, rare;
    if (call.accumulate) __builtin_memcpy(&c_bits, d, sizeof c_bits);
    AddendC c;
    decode_c(c_bits, c);
    align<kType>(a, b, row, c, top, sum, addend);
    normalise_lanes<kType>(c, top, sum, addend, out, rare);
    u64 any[sizeof(Lanes) / 8];
    __builtin_memcpy(any, &rare, sizeof any);
    if ((any[0] | any[1] | any[2] | any[3]) != 0 || a.facts[row].special() || b.special) {
      for (int lane = 0; lane < kLanes; ++lane) {
        const u32 bits = settle<kType>(a.facts[row], b.facts[lane], static_cast<u32>(c_bits[lane]), top[lane],
                                       sum[lane], addend[lane]);
        out[lane] = static_cast<i32>(bits);
      }
    }
    __builtin_memcpy(d, &out, sizeof out);
  }
}

template <DType kA, DType kB = kA> WW_ALWAYS_INLINE void multiply(const MmaCall& call) {
  PackedA a;
  PackedB b;
  pack_a<kA>(call, a);
  for (int first = 0; first < call.n; first += kLanes) {
    pack_b<kB, MmaFormat<kA>::kFraction>(call, first, b);
    multiply_rows<kA>(call, first, a, b);
  }
}

WW_ALWAYS_INLINE void multiply_any(const MmaCall& call) {
  const bool wide_b = call.type_b == DType::e5m2;
  if (call.type_a == DType::e4m3) wide_b ? multiply<DType::e4m3, DType::e5m2>(call) : multiply<DType::e4m3>(call);
  else if (call.type_a == DType::e5m2) wide_b ? multiply<DType::e5m2>(call) : multiply<DType::e5m2, DType::e4m3>(call);
  else if (call.type_a == DType::bf16) multiply<DType::bf16>(call);
  else if (call.type_a == DType::tf32) multiply<DType::tf32>(call);
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
