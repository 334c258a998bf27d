// SPDX-License-Identifier: Apache-2.0
// The block scales of one k-block as the accumulators of a consumer thread need them: of_block(u) returns the factors
// of its values in MMA_M block u.
//   StageScales    of a tile of the dense kernel, from the stage
//   GlobalScales   the same from the caller's memory, for kernels without scale warps
//   TokenScales    of a tile of tokens, on either side of wgmma, from the stage
// Factors are of one of two kinds, which promotion.hpp applies:
//   kRun > 0:   of_run(first): the scales of the thread's two lines, for kRun values from `first` on
//   kRun == 0:  of_pair(c).of(line, e): the scale of element e of the pair that is c further along the line
#pragma once

#include "warpwright/atom/fragment.hpp"
#include "warpwright/mainloop/block_scales.hpp"

namespace ww::mainloop {

/// Scales of a thread's two lines, which are rows r and r + 8.
struct RowScales {
  float upper, lower;
};
/// Scales of two neighbouring columns.
struct ColumnScales {
  float s[2];
};

/// The scales of rows r and r + 8 of each MMA_M block, for each scale of B that the tile meets.
template <int kMmaBlocks, int kBlocks> struct ScaleSet { float row[kMmaBlocks][kBlocks][2]; };
/// Empty for recipes whose scales all vary by column.
template <int kMmaBlocks> struct ScaleSet<kMmaBlocks, 0> {};

// --- columns: pair(c) returns the scales of the two columns that are c further than the thread's first -------------
/// In the stage.
struct StageColumns {
  arch::SharedAddress at;
  WW_DEVICE ColumnScales pair(int column) const {
    const arch::Words<2> words = arch::shared::load2(at + 4 * column);
    return {{arch::float_of(words.w[0]), arch::float_of(words.w[1])}};
  }
};
/// In the thread's registers, for each pair of a line.
template <class Layout> struct RegisterColumns {
  arch::Words<2> columns[Layout::kPairs];
  WW_DEVICE ColumnScales pair(int column) const {
    const int pair = column / Layout::pair_offset(1);
    return {{arch::float_of(columns[pair].w[0]), arch::float_of(columns[pair].w[1])}};
  }
};
/// In the caller's memory; kScaled: times one of A.
template <bool kScaled> struct GlobalColumns {
  const float* b;  // of the k-block
  i64 b_n;
  i32 count, first;
  float a = 1.0f;
  WW_DEVICE ColumnScales pair(int column) const { return {{one(first + column), one(first + column + 1)}}; }
  WW_DEVICE float one(int column) const {
    const float of_b = arch::global::load_constant(b + min(column, count - 1) * b_n);
    return kScaled ? arch::mul(a, of_b) : of_b;
  }
};
/// The same where columns from kHalf on are the ups of SwiGLU's halves.
template <bool kScaled, int kHalf> struct GlobalHalves {
  GlobalColumns<kScaled> columns;
  i32 skip;
  WW_DEVICE ColumnScales pair(int column) const {
    return columns.pair(column + (columns.first + column >= kHalf ? skip : 0));
  }
};

// --- factors --------------------------------------------------------------------------------------------------------
/// By row, with a scale of B for each block of 128 columns. The tile begins `offset` columns into its first block.
template <int kBlocks, int kTileN, bool kHalves> struct RowFactors {
  // Values whose columns share a scale wherever the tile starts.
  static constexpr int kRun = scale_step(kHalves ? kTileN / 2 : kTileN) / 2;
  const float (&scale)[kBlocks][2];
  int offset;

  WW_DEVICE RowScales of_run(int first) const {
    // Columns from 2 first on are in this block of 128 or, from this offset of the tile on, in the next.
    // Of halves the first block is of the gates and the second of the ups.
    const int least = kHalves ? first / (kTileN / 4) : 2 * first / kScaleBlock;
    const int most = kHalves ? least : (2 * first + kScaleBlock - scale_step(kTileN)) / kScaleBlock;
    const bool next = offset + 2 * first >= most * kScaleBlock;
    return {next ? scale[most][0] : scale[least][0], next ? scale[most][1] : scale[least][1]};
  }
};
/// By column alone.
template <class Columns> struct ColumnFactors {
  static constexpr int kRun = 0;
  struct Pair {
    ColumnScales column;
    WW_DEVICE float of(int, int e) const { return column.s[e]; }
  };
  Columns columns;
  WW_DEVICE Pair of_pair(int column) const { return {columns.pair(column)}; }
};
/// By row and column.
template <class Columns> struct ProductFactors {
  static constexpr int kRun = 0;
  struct Pair {
    const float (&row)[2];
    ColumnScales column;
    WW_DEVICE float of(int line, int e) const { return arch::mul(row[line], column.s[e]); }
  };
  const float (&row)[2];
  Columns columns;
  WW_DEVICE Pair of_pair(int column) const { return {row, columns.pair(column)}; }
};

// --- readers --------------------------------------------------------------------------------------------------------
/// This thread's part of a tile, and the tile's position among the scales.
struct TilePosition {
  int row, column;  // of the tile: the thread's first
  int offset;       // ScaleAddresses::scale_offset()

  /// Returns this thread's first row in an MMA_M block, counted from where the first scale of A begins.
  WW_DEVICE int row_of(int mma_block) const { return offset + row + kWarpgroupRows * mma_block; }
};

template <class Scales, int kMmaBlocks> using SetOf = ScaleSet<kMmaBlocks, Scales::kOfRows ? Scales::kBlocks : 0>;

/// Returns the factors of MMA_M block u from the scales of its rows and from columns(), which is called if a recipe
/// scales columns.
template <class Scales, class Set, class MakeColumns>
WW_DEVICE auto factors_of(const Set& set, int u, const TilePosition& at, const MakeColumns& columns) {
  if constexpr (Scales::kForm == ScaleForm::rows)
    return RowFactors<Scales::kBlocks, Scales::kTileN, Scales::kHalves>{set.row[u], at.offset};
  else if constexpr (Scales::kForm == ScaleForm::both)
    return ProductFactors<decltype(columns())>{set.row[u][0], columns()};
  else return ColumnFactors<decltype(columns())>{columns()};
}

/// Reads rows' scales from a stage when it is made, and columns' scales during promotion.
template <class Scales, int kMmaBlocks> struct StageScales {
  static constexpr bool kReadsStage = Scales::kOfColumns;  // during promotion
  SetOf<Scales, kMmaBlocks> set;
  arch::SharedAddress slot;
  TilePosition at;

  WW_DEVICE StageScales(arch::SharedAddress slots, u32 stage, const TilePosition& position)
      : slot(Scales::slot(slots, stage)), at(position) {
    if constexpr (Scales::kOfRows) {
      const arch::SharedAddress rows = slot + 4 * Scales::place_of_row(static_cast<u32>(position.row));
      WW_UNROLL
      for (int u = 0; u < kMmaBlocks; ++u) {
        WW_UNROLL
        for (int j = 0; j < Scales::kBlocks; ++j) {
          const arch::SharedAddress at_j = rows + 4 * (j * Scales::kTileM + 64 * u);
          if constexpr (Scales::kRowPairs) {
            const arch::Words<2> pair = arch::shared::load2(at_j);
            set.row[u][j][0] = arch::float_of(pair.w[0]), set.row[u][j][1] = arch::float_of(pair.w[1]);
          } else {
            WW_UNROLL
            for (int half = 0; half < 2; ++half)
              set.row[u][j][half] = arch::float_of(arch::shared::load(at_j + 32 * half));
          }
        }
      }
    }
  }
  WW_DEVICE auto of_block(int u) const {
    return factors_of<Scales>(set, u, at, [&]() -> StageColumns {
      return {slot + (Scales::kColumnsAt + 4 * Scales::kTileN * Scales::block_of_row(at.row_of(u)) + 4 * at.column)};
    });
  }
};

/// Reads rows' scales of k-block k from the caller's memory when it is made, and columns' scales during promotion.
template <class Scales, int kMmaBlocks> struct GlobalScales {
  static constexpr bool kReadsStage = false;
  const typename Scales::Scales& scales;
  TilePosition at;
  int k;
  SetOf<Scales, kMmaBlocks> set;

  WW_DEVICE GlobalScales(const typename Scales::Scales& of_tile, const TilePosition& position, int k_block)
      : scales(of_tile), at(position), k(k_block) {
    if constexpr (Scales::kOfRows) {
      float b[Scales::kBlocks];
      WW_UNROLL
      for (int j = 0; j < Scales::kBlocks; ++j)
        b[j] =
            Scales::kOfColumns ? 1.0f : arch::global::load_constant(Scales::start_of_b(scales, 0, j) + k * scales.b_k);
      WW_UNROLL
      for (int u = 0; u < kMmaBlocks; ++u) {
        WW_UNROLL
        for (int half = 0; half < 2; ++half) {
          const int r = min(at.row + 64 * u + 8 * half, scales.rows - 1);
          const float a = arch::global::load_constant(scales.a + r * scales.a_row + k * scales.a_k);
          WW_UNROLL
          for (int j = 0; j < Scales::kBlocks; ++j) set.row[u][j][half] = Scales::kOfColumns ? a : arch::mul(a, b[j]);
        }
      }
    }
  }
  WW_DEVICE auto of_block(int u) const {
    return factors_of<Scales>(set, u, at, [&]() { return columns(at.row_of(u)); });
  }

 private:
  WW_DEVICE auto columns(int row) const {
    constexpr bool kScaled = !Scales::kOfRows;
    const float a =
        kScaled ? arch::global::load_constant(Scales::start_of_a(scales, 0, Scales::block_of_row(row)) + k * scales.a_k)
                : 1.0f;
    const GlobalColumns<kScaled> columns{scales.b + k * scales.b_k, scales.b_n, scales.b_count, at.column, a};
    if constexpr (Scales::kHalves) return GlobalHalves<kScaled, Scales::kTileN / 2>{columns, scales.skip};
    else return columns;
  }
};

/// Reads all scales of a tile of tokens from `slot`, the stage's scales of this consumer warpgroup's weights.
template <int kMmaBlocks, class Accumulator, bool kTokensAlongLines = Accumulator::kPairsAlongM> struct TokenScales;

// Tokens are the M side of wgmma: a token for each line of each MMA_M block.
template <int kMmaBlocks, class Accumulator> struct TokenScales<kMmaBlocks, Accumulator, false> {
  static constexpr bool kReadsStage = false;
  float row[kMmaBlocks][1][2];

  WW_DEVICE TokenScales(arch::SharedAddress slot, int thread) {
    const int first = Accumulator::first_row(thread);
    WW_UNROLL
    for (int u = 0; u < kMmaBlocks; ++u) {
      WW_UNROLL
      for (int line = 0; line < 2; ++line)
        row[u][0][line] = arch::float_of(
            arch::shared::load(slot + 4 * (first + kWarpgroupRows * u + Accumulator::Layout::line_offset(line))));
    }
  }
  WW_DEVICE RowFactors<1, Accumulator::kColumns, false> of_block(int u) const { return {row[u], 0}; }
};

// Tokens are the N side: a pair of tokens for each pair of a line, the same for all MMA_M blocks.
template <int kMmaBlocks, class Accumulator> struct TokenScales<kMmaBlocks, Accumulator, true> {
  static constexpr bool kReadsStage = false;
  using Tokens = RegisterColumns<typename Accumulator::Layout>;
  Tokens tokens;

  WW_DEVICE TokenScales(arch::SharedAddress slot, int thread) {
    const int first = Accumulator::first_row(thread);
    WW_UNROLL
    for (int pair = 0; pair < Accumulator::kPairs; ++pair)
      tokens.columns[pair] = arch::shared::load2(slot + 4 * (first + Accumulator::Layout::pair_offset(pair)));
  }
  WW_DEVICE ColumnFactors<const Tokens&> of_block(int) const { return {tokens}; }
};

}  // namespace ww::mainloop
