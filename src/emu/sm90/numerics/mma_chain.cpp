// SPDX-License-Identifier: Apache-2.0
// The FP32 chain of mma.hpp. It is one defined order, so every target gives the same bits. A NaN result is 0x7FFFFFFF;
// everything else follows IEEE.
#include "emu/numerics/fma_chain.hpp"
#include "emu/sm90/numerics/mma_term.hpp"
#include "warpwright/arch/common/convert.hpp"

namespace ww::emu {
namespace {

#define WW_ALWAYS_INLINE __attribute__((always_inline)) inline

constexpr int kColumns = kChainColumns;
constexpr int kMaxK = 32;

WW_ALWAYS_INLINE float widen(DType type, const u8* row, int k, bool flip) {
  u32 bits = 0;
  const int bytes = bytes_of(type);
  for (int i = 0; i < bytes; ++i) bits |= static_cast<u32>(row[bytes * k + i]) << (8 * i);
  const float value = type == DType::e4m3   ? arch::from_e4m3(static_cast<u8>(bits))
                      : type == DType::e5m2 ? arch::from_e5m2(static_cast<u8>(bits))
                      : type == DType::bf16 ? arch::from_bf16(static_cast<u16>(bits))
                      : type == DType::tf32 ? arch::float_of(bits & ~0x1FFFu)
                                            : arch::from_f16(static_cast<u16>(bits));
  return flip ? -value : value;
}

WW_ALWAYS_INLINE void chain(const MmaCall& call) {
  const int depth = kMmaRowBytes / bytes_of(call.type_a);
  alignas(64) float a[kMmaRows][kMaxK];
  alignas(64) float b[kMaxK][kColumns];
  for (int row = 0; row < kMmaRows; ++row) {
    for (int k = 0; k < depth; ++k) a[row][k] = widen(call.type_a, call.a + row * kMmaRowBytes, k, call.flip_a);
  }
  for (int first = 0; first < call.n; first += kColumns) {
    for (int column = 0; column < kColumns; ++column) {
      const u8* source = call.b + (first + column) * kMmaRowBytes;
      for (int k = 0; k < depth; ++k) b[k][column] = widen(call.type_b, source, k, call.flip_b);
    }
    for (int row = 0; row < kMmaRows; ++row) {
      float* d = call.d + row * call.n + first;
      float sum[kColumns] = {};
      if (call.accumulate) __builtin_memcpy(sum, d, sizeof sum);
      chain_row(a[row], b, depth, sum);
      for (int column = 0; column < kColumns; ++column)
        d[column] = sum[column] == sum[column] ? sum[column] : arch::float_of(kNan);
    }
  }
}

void chain_portable(const MmaCall& call) { chain(call); }
#if defined(__x86_64__)
__attribute__((target("avx2,fma"))) void chain_avx2(const MmaCall& call) { chain(call); }
#else
void chain_avx2(const MmaCall& call) { chain(call); }
#endif

}  // namespace

void mma_chain(MmaTarget target, const MmaCall& call) {
  if (target == MmaTarget::portable) chain_portable(call);
  else chain_avx2(call);  // 16 lanes gain nothing here, because the conversions take as long as the sums
}

}  // namespace ww::emu
