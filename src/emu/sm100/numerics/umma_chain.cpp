// SPDX-License-Identifier: Apache-2.0
// The FP32 chain of umma.hpp. Every target gives the same bits. A NaN result is 0x7FFFFFFF; everything else follows
// IEEE.
#include "emu/numerics/fma_chain.hpp"
#include "emu/sm100/numerics/umma_term.hpp"
#include "warpwright/arch/common/convert.hpp"

namespace ww::emu::sm100 {
namespace {

#define WW_ALWAYS_INLINE __attribute__((always_inline)) inline

constexpr int kColumns = kChainColumns;
constexpr int kMaxDepth = kGroups * kGroup;

float power_of_two(int exponent) { return arch::float_of(static_cast<u32>(exponent + 127) << 23); }

float widen(const OperandFormat& format, u32 bits) {
  const u32 magnitude = bits & format.magnitude_mask();
  const bool top = magnitude >> format.fraction == format.magnitude_mask() >> format.fraction;
  float value = 0;
  if ((format.infinity && top) || (format.single_nan && magnitude == 0x7F)) {
    const u32 fraction = format.infinity ? magnitude << (23 - format.fraction) & 0x7FFFFF : 1;
    value = arch::float_of(fraction != 0 ? kNan : kInfinity);
  } else if (format.bias == 127) {
    value = arch::float_of(magnitude << (23 - format.fraction));
  } else {  // as a number of FP32's bias, subnormals included
    value = arch::float_of(magnitude << (23 - format.fraction)) * power_of_two(127 - format.bias);
  }
  return bits >> (format.bits - 1) & 1 ? -value : value;
}

float widen_scale(arch::ScaleFormat format, u8 bits) {
  const ScaleTerm scale = decode_scale(format, bits);
  if (scale.nan) return arch::float_of(kNan);
  if (scale.significand == 0) return 0;
  return scale.exponent < -126 ? arch::float_of(0x00400000)  // 2^-127
                               : static_cast<float>(scale.significand) / 8 * power_of_two(scale.exponent);
}

/// Element k of a row, negated and scaled.
float operand(const Call& call, bool is_a, int row, int k) {
  const UmmaArithmetic& how = call.how;
  const float value =
      widen(format_of(is_a ? how.a : how.b), element_bits(how.kind, (is_a ? call.a : call.b) + row * kRowBytes, k));
  const float signed_value = (is_a ? how.negate_a : how.negate_b) ? -value : value;
  if (!arch::is_block_scaled(how.kind)) return signed_value;
  const u8* scales = (is_a ? call.scale_a : call.scale_b) + row * how.scale_vector;
  return signed_value * widen_scale(how.scale, scales[k * how.scale_vector / arch::sm100::mma_k(how.kind)]);
}

float addend(const Call& call, u32 cell) {
  if (!call.accumulate) return 0;
  const float c = call.f16() ? arch::from_f16(static_cast<u16>(cell)) : arch::float_of(cell);
  return c * power_of_two(-call.how.scale_input_d);
}

u32 result(const Call& call, float value) {
  if (call.f16()) return arch::to_f16(value);
  return value == value ? arch::bits_of(value) : kNan;
}

WW_ALWAYS_INLINE void multiply_rows(const Call& call) {
  alignas(64) float a[kBlockRows][kMaxDepth], b[kMaxDepth][kColumns];
  const int depth = arch::sm100::mma_k(call.how.kind);
  for (int block = 0; block < call.m; block += kBlockRows) {
    const int rows = call.m - block < kBlockRows ? call.m - block : kBlockRows;
    for (int row = 0; row < rows; ++row) {
      for (int k = 0; k < depth; ++k) a[row][k] = operand(call, true, block + row, k);
    }
    for (int first = 0; first < call.n; first += kColumns) {
      for (int column = 0; column < kColumns; ++column) {
        for (int k = 0; k < depth; ++k) b[k][column] = operand(call, false, first + column, k);
      }
      for (int row = 0; row < rows; ++row) {
        u32* d = call.d + static_cast<i64>(block + row) * call.stride + first;
        float sum[kColumns];
        for (int column = 0; column < kColumns; ++column) sum[column] = addend(call, d[column]);
        chain_row(a[row], b, depth, sum);
        for (int column = 0; column < kColumns; ++column) d[column] = result(call, sum[column]);
      }
    }
  }
}

void chain_portable(const Call& call) { multiply_rows(call); }
#if defined(__x86_64__)
__attribute__((target("avx2,fma"))) void chain_fma(const Call& call) { multiply_rows(call); }
#else
void chain_fma(const Call& call) { multiply_rows(call); }
#endif

}  // namespace

void chain(MmaTarget target, const Call& call) {
  if (target == MmaTarget::portable) chain_portable(call);
  else chain_fma(call);
}

}  // namespace ww::emu::sm100
