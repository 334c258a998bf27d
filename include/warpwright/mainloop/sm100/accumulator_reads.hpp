// SPDX-License-Identifier: Apache-2.0
// Reads an accumulator from tensor memory into the fragment of a consumer warpgroup, and promotes one.
// One tcgen05.ld reads 8 columns or a power of two of them, so that a tile's columns may take several. Promotion reads
// few at a time, so that registers are spent on one accumulator alone.
#pragma once

#include "warpwright/arch/common/math.hpp"
#include "warpwright/atom/tensor_accumulator.hpp"
#include "warpwright/pipeline/accumulator_pipeline.hpp"

namespace ww::mainloop {

/// Returns the columns of the next piece: the largest power of two, from 8 to `most`, that `left` columns hold.
WW_HOST_DEVICE constexpr int piece_of(int left, int most) {
  int columns = most;
  while (columns > left) columns /= 2;
  return columns;
}

/// Calls visit.take<first column, count>(values) for every piece of an accumulator of kColumns columns from column
/// kFirst on. Values are those of atom::MatrixLines, 4 of each 8 columns. All threads of a warpgroup call it.
template <int kColumns, int kMost, int kFirst = 0, class Visit>
WW_DEVICE void for_each_piece(arch::TensorAddress accumulator, const Visit& visit) {
  if constexpr (kFirst < kColumns) {
    constexpr int kPiece = piece_of(kColumns - kFirst, kMost);
    arch::TensorRegisters<kPiece / 2> values;
    arch::tensor::load<arch::TensorShape::lanes16_bits256, kPiece / 8>(
        values, (accumulator + static_cast<u32>(kFirst)).down(32 * (arch::warp_index() % 4)));
    arch::tensor::wait_load(values);
    visit.template take<kFirst, kPiece / 2>(values.r);
    for_each_piece<kColumns, kMost, kFirst + kPiece>(accumulator, visit);
  }
}

/// Copies pieces to a fragment.
template <class Accumulator> struct CopyPieces {
  Accumulator& acc;
  template <int kFirst, int kCount> WW_DEVICE void take(const u32 (&values)[kCount]) const {
    WW_UNROLL
    for (int v = 0; v < kCount; ++v) acc[kFirst / 2 + v] = arch::float_of(values[v]);
  }
};
/// Adds pieces times their scales to a fragment, one rounding each.
template <class Accumulator, class Factors> struct AddPieces {
  using L = typename Accumulator::Layout;
  Accumulator& acc;
  const Factors& factors;
  template <int kFirst, int kCount> WW_DEVICE void take(const u32 (&values)[kCount]) const {
    WW_UNROLL
    for (int v = 0; v < kCount; ++v) {
      const int i = kFirst / 2 + v;
      acc[i] = arch::fma(arch::float_of(values[v]), factor(i), acc[i]);
    }
  }
  WW_DEVICE float factor(int i) const {
    if constexpr (Factors::kRun > 0) {
      const auto scale = factors.of_run(i / Factors::kRun * Factors::kRun);
      return L::line_of(i) == 0 ? scale.upper : scale.lower;
    } else {
      return factors.of_pair(L::pair_offset(L::pair_of(i))).of(L::line_of(i), i % 2);
    }
  }
};

/// Reads accumulator `index` into acc, and releases it. Of overlapping ones it reads the shared columns first, and
/// releases before it reads the others: the next accumulator needs the shared columns alone.
template <pipeline::AccumulatorColumns kColumns, class Accumulator, class Release>
WW_DEVICE void read_accumulator(Accumulator& acc, arch::TensorAddress accumulator, u32 index, const Release& release) {
  constexpr int kAll = Accumulator::kColumns, kMost = 128, kShared = kColumns.shared;
  const CopyPieces<Accumulator> copy{acc};
  if constexpr (!kColumns.overlaps()) {
    for_each_piece<kAll, kMost>(accumulator, copy);
    release();
  } else if (index == 0) {
    for_each_piece<kAll, kMost, kAll - kShared>(accumulator, copy);
    release();
    for_each_piece<kAll - kShared, kMost>(accumulator, copy);
  } else {
    for_each_piece<kShared, kMost>(accumulator, copy);
    release();
    for_each_piece<kAll, kMost, kShared>(accumulator, copy);
  }
}
/// Adds an accumulator times the scales of its values to acc. mainloop/thread_scales.hpp has factors.
template <class Accumulator, class Factors>
WW_DEVICE void promote_accumulator(Accumulator& acc, arch::TensorAddress accumulator, const Factors& factors) {
  for_each_piece<Accumulator::kColumns, 32>(accumulator, AddPieces<Accumulator, Factors>{acc, factors});
}

}  // namespace ww::mainloop
