// SPDX-License-Identifier: Apache-2.0
// Elements of quantisation in registers. A warp holds 16 rows of 128 columns:
//   lane l: rows 4 (l / 8) + {0, 1, 2, 3}; of each row kPieces times 16 bytes, from columns kVector (8 p + l % 8) on
// So eight lanes load 128 contiguous bytes, and the four rows of a thread make one 32-bit word of a transposed row.
// Magnitudes are compared as integers, so that NaN is the largest.
#pragma once

#include "warpwright/arch/common/convert.hpp"
#include "warpwright/arch/common/global_bytes.hpp"
#include "warpwright/config/quantize_arguments.hpp"
#include "warpwright/epilogue/quantise_scale.hpp"

namespace ww::kernel {

inline constexpr int kQuantizeRows = 4;  // of a thread
inline constexpr int kStripRows = 16;    // of a warp
inline constexpr u32 kLanesOfRow = 8;

/// The thread's elements of type kType. Those outside the matrix are zeros.
template <DType kType> struct QuantizeRaw {
  static constexpr int kBytes = bytes_of(kType);
  static constexpr int kVector = 16 / kBytes;
  static constexpr int kPieces = config::kQuantizeTile / (static_cast<int>(kLanesOfRow) * kVector);

  arch::Words<4> w[kPieces][kQuantizeRows];

  /// Returns the column of the tile that is element `j` of piece `p`.
  WW_DEVICE static int column(int p, int j) {
    return kVector * (static_cast<int>(kLanesOfRow) * p + static_cast<int>(arch::lane_index() % kLanesOfRow)) + j;
  }

  WW_DEVICE u32 bits(int p, int i, int j) const {
    constexpr int kEach = 4 / kBytes;  // of a word
    constexpr u32 kMask = kBytes == 4 ? 0xffffffffu : (1u << (8 * kBytes % 32)) - 1;
    return (w[p][i].w[j / kEach] >> (8 * kBytes * (j % kEach))) & kMask;
  }
  /// Returns the magnitude's bits in the type itself, which are ordered like the magnitudes.
  WW_DEVICE u32 magnitude(int p, int i, int j) const { return bits(p, i, j) & ((1u << (8 * kBytes - 1)) - 1); }
  WW_DEVICE float value(int p, int i, int j) const { return widen(bits(p, i, j)); }

  WW_DEVICE static float widen(u32 bits) {
    if constexpr (kType == DType::f32) return arch::float_of(bits);
    else if constexpr (kType == DType::f16) return arch::from_f16(static_cast<u16>(bits));
    else return arch::from_bf16(static_cast<u16>(bits));
  }

  /// Loads rows `first` + {0, 1, 2, 3} of a tile whose element (0, 0) is at `tile`. It has `rows` rows and `columns`
  /// columns, of which the excess over 128 is ignored. `wide`: rows are 16-byte aligned, and `columns` is a multiple of
  /// kVector.
  WW_DEVICE void load(const char* tile, i64 ld, int first, i32 rows, i32 columns, bool wide) {
    WW_UNROLL
    for (int p = 0; p < kPieces; ++p) {
      WW_UNROLL
      for (int i = 0; i < kQuantizeRows; ++i) w[p][i] = {{0, 0, 0, 0}};
    }
    const char* const from = tile + (first * ld + column(0, 0)) * kBytes;
    if (wide) {
      WW_UNROLL
      for (int i = 0; i < kQuantizeRows; ++i) {
        WW_UNROLL
        for (int p = 0; p < kPieces; ++p)
          if (first + i < rows && column(p, 0) < columns)
            w[p][i] = arch::global::load4(from + i * ld * kBytes + p * static_cast<int>(16 * kLanesOfRow));
      }
      return;
    }
    const char* row = from;  // goes on row by row: the addresses of all rows at once were more than the registers
    WW_UNROLL
    for (int i = 0; i < kQuantizeRows; ++i, row += ld * kBytes) {
      WW_UNROLL
      for (int p = 0; p < kPieces; ++p) {
        const i32 there = first + i < rows ? columns - column(p, 0) : 0;
        WW_UNROLL
        for (int j = 0; j < kVector; ++j)
          if (j < there) put(p, i, j, load_one(row + p * static_cast<int>(16 * kLanesOfRow) + j * kBytes));
      }
    }
  }

 private:
  WW_DEVICE static u32 load_one(const char* p) {
    if constexpr (kBytes == 4) return arch::global::load(p);
    else if constexpr (kBytes == 2) return arch::global::load_u16(p);
    else return arch::global::load_u8(p);
  }
  WW_DEVICE void put(int p, int i, int j, u32 bits) {
    constexpr int kEach = 4 / kBytes;
    w[p][i].w[j / kEach] |= bits << (8 * kBytes * (j % kEach));
  }
};

/// FP8 values of type kType.
template <DType kType> struct QuantizeTo {
  WW_DEVICE static u32 pair(float low, float high) { return arch::to_fp8x2<kType>(low, high); }
  WW_DEVICE static u32 word(float a, float b, float c, float d) { return pair(a, b) | pair(c, d) << 16; }
};

/// The scale of a block, and its rounded reciprocal, by which values are multiplied.
struct QuantizeScale {
  float scale, inverse;
};
template <DType kType> WW_DEVICE QuantizeScale quantize_scale(const config::QuantizeArguments& arguments, float amax) {
  const float bounded = arch::float_of(max(arch::bits_of(amax), arch::bits_of(arguments.min_amax)));
  const float scale = epilogue::quantise_scale(bounded, epilogue::kFp8Step<kType>, arguments.power_of_two != 0);
  return {scale, arch::div(1.0f, scale)};
}

/// Returns the largest value of lanes whose indices differ in bits kFirst, 2 kFirst ... kLast.
template <u32 kFirst, u32 kLast> WW_DEVICE u32 largest_of_lanes(u32 value) {
  WW_UNROLL
  for (u32 step = kFirst; step <= kLast; step *= 2) value = max(value, arch::warp::shuffle_xor(value, step));
  return value;
}

/// Stores the first `count` of 16 bytes.
WW_DEVICE void store_bytes(char* to, const arch::Words<4>& bytes, int count) {
  WW_UNROLL
  for (int b = 0; b < 16; ++b)
    if (b < count) arch::global::store_u8(to + b, static_cast<u8>(bytes.w[b / 4] >> (8 * (b % 4))));
}

}  // namespace ww::kernel
