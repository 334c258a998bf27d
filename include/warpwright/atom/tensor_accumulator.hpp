// SPDX-License-Identifier: Apache-2.0
// Accumulators in tensor memory as fragments: which elements a thread of a warpgroup holds after tcgen05.ld. A warp
// reaches the 32 lanes of its own quarter, so that four warps from a multiple of four on read an accumulator.
//   TensorRows      32x32b:  one CTA, M = 128; a pair, M = 256: thread t holds row t
//   TensorHalfRows  32x32b:  a pair, M = 128: threads t and t + 64 hold row t, each of its own half of N
//   TensorMatrices  16x256b: one CTA, M = 64: the matrices of stmatrix, as in Hopper's accumulator
// A fragment may be a piece of kColumns columns, whose registers are loaded with one instruction: pieces are powers of
// two. Piece p of TensorRows and TensorMatrices is the tile of these columns; that of TensorHalfRows has the columns
// from p * kColumns on of each half.
//   TensorRegisters -> load<L>() -> tensor::wait_load(registers) -> fragment_of<L>(registers)
#pragma once

#include "warpwright/arch/common/convert.hpp"
#include "warpwright/arch/sm100/tensor_memory.hpp"
#include "warpwright/atom/matrix_lines.hpp"

namespace ww::atom {

/// FP32 values of a thread in registers.
template <int kCount> struct FragmentRegisters {
  static constexpr int kValues = kCount;
  float r[kCount];
  WW_DEVICE float& operator[](int v) { return r[v]; }
  WW_DEVICE float operator[](int v) const { return r[v]; }
};

/// Rows of a tile of kM rows and kN columns, of which a thread holds kColumns neighbouring values of one row.
template <int kM, int kN, int kColumns> struct TensorLines {
  using Storage = FragmentRegisters<kColumns>;
  static constexpr int kLineExtent = kM, kAlong = kN;
  static constexpr int kLines = 1, kPairs = kColumns / 2;
  static constexpr int kLineLanes = 1, kWarpLines = 32, kWarpStep = 32, kBlockStep = kM;
  static constexpr bool kPairsAlongM = false;
  static constexpr arch::TensorShape kShape = arch::TensorShape::lanes32_bits32;
  static constexpr int kRepetitions = kColumns;

  WW_HOST_DEVICE static constexpr int first_line(int thread) { return thread % kM; }
  WW_HOST_DEVICE static constexpr int first_along(int thread) { return thread / kM * (kN / 2); }
  WW_HOST_DEVICE static constexpr int line_offset(int) { return 0; }
  WW_HOST_DEVICE static constexpr int pair_offset(int pair) { return 2 * pair; }
  WW_HOST_DEVICE static constexpr int value(int, int pair) { return 2 * pair; }
  WW_HOST_DEVICE static constexpr int line_of(int) { return 0; }
  WW_HOST_DEVICE static constexpr int pair_of(int v) { return v / 2; }
  WW_DEVICE static Pair neighbours(float low, float high) { return {low, high}; }
};

template <int kColumns> struct TensorRows : TensorLines<128, kColumns, kColumns> {
  template <int kOther> using Resized = TensorRows<kOther>;
};

/// The halves are kN / 2 columns each.
template <int kN, int kColumns = kN / 2> struct TensorHalfRows : TensorLines<64, kN, kColumns> {
  static_assert(kN / 2 % kColumns == 0, "TensorHalfRows: expected pieces that divide half of the columns");
  template <int kOther> using Resized = TensorHalfRows<kOther, kColumns * kOther / kN>;
};

template <int kN> struct TensorMatrices : MatrixLines<kN> {
  using Storage = FragmentRegisters<kN / 2>;
  template <int kOther> using Resized = TensorMatrices<kOther>;
  static constexpr arch::TensorShape kShape = arch::TensorShape::lanes16_bits256;
  static constexpr int kRepetitions = kN / 8;
};

/// One of two blocks of an accumulator with M = 128, whose 16 rows of each warp take turns; or all of one with M = 64.
template <int kN, int kM> struct TensorBlock : MatrixLines<kN, kM / 4> {
  static_assert(kM == 64 || kM == 128);
  using Storage = FragmentRegisters<kN / 2>;
  template <int kOther> using Resized = TensorBlock<kOther, kM>;
};

/// The registers of one load.
template <class L> using TensorRegistersOf = arch::TensorRegisters<L::Storage::kValues>;

/// Loads piece `piece` of the accumulator at `accumulator`, whose lane is 0, or 16 for the other of two with M = 64.
/// All lanes of four warps from a multiple of four on call it; the values are there after
/// tensor::wait_load(registers).
template <class L>
WW_DEVICE void load(TensorRegistersOf<L>& registers, arch::TensorAddress accumulator, int piece = 0) {
  constexpr int kWidth = L::kShape == arch::TensorShape::lanes32_bits32 ? L::kRepetitions : L::kAlong;
  const u32 quarter = arch::warp_index() % 4;
  arch::tensor::load<L::kShape, L::kRepetitions>(registers,
                                                 (accumulator + static_cast<u32>(piece * kWidth)).down(32 * quarter));
}

/// Returns the fragment of registers that have been waited for.
template <class L> WW_DEVICE Fragment<L> fragment_of(const TensorRegistersOf<L>& registers) {
  Fragment<L> fragment;
  WW_UNROLL
  for (int v = 0; v < Fragment<L>::kValues; ++v) fragment[v] = arch::float_of(registers[v]);
  return fragment;
}

}  // namespace ww::atom
