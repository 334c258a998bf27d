// SPDX-License-Identifier: Apache-2.0
// What the evaluation of an epilogue tree depends on beside the fragments: TreeSpec at compile time, TileExtent at run
// time.
#pragma once

#include "warpwright/arch/common/special.hpp"
#include "warpwright/atom/fragment.hpp"
#include "warpwright/config/epilogue_stages.hpp"
#include "warpwright/config/gemm_arguments.hpp"

namespace ww::epilogue {

using namespace config;
using atom::Pair;

struct TreeSpec {
  EpilogueTree tree;
  int mma_blocks;             // fragments of a thread, one below the other
  int warps;                  // consumer warps that share a tile
  bool column_major = false;  // matrices of the tree are contiguous along M
  bool odd_n = false;         // N may be odd
  DType d = DType::bf16;      // type of D, FP8 where the tree quantises

  /// SwiGLU of halves: the second half of a tile's columns lies N / 2 columns further on.
  WW_HOST_DEVICE constexpr bool pairs_halves() const { return stages_of(tree).swiglu == EpilogueOp::swiglu_halves; }
};

/// The position of a consumer warpgroup's thread in D.
struct TileExtent {
  i32 m, n;  // of the product
  TileCoord tile;
  int tiles_m, tiles_n;         // that hold elements of it
  int warp;                     // of the consumer warps of the CTA
  int thread;                   // of the warpgroup
  int first_row, first_column;  // of the warpgroup's fragments
  int scale_shift = 0;          // from a row of D to that of its scales in chunks

  /// Returns false for a tile wholly past the edge.
  WW_DEVICE bool counts() const { return tile.m < tiles_m && tile.n < tiles_n; }
  /// Returns the row or column of D that is line `i` of this thread in fragment `u`.
  template <class F> WW_DEVICE int line(int u, int i) const {
    using L = typename F::Layout;
    return (F::kPairsAlongM ? first_column : first_row) + L::first_line(thread) + L::kLineExtent * u +
           L::line_offset(i);
  }
};

/// Columns of the product from the first of one tile to the first of the next; of halves gates alone.
WW_HOST_DEVICE constexpr int column_step(const TreeSpec& spec, int tile_n) {
  return spec.pairs_halves() ? tile_n / 2 : tile_n;
}

/// Returns the column of the product that is column `column` of the tile's accumulators, kTileN wide; N if there is
/// none.
template <TreeSpec kSpec, int kTileN> WW_DEVICE int product_column(const TileExtent& extent, int column) {
  if constexpr (kSpec.pairs_halves()) {
    const bool up = column >= kTileN / 2;
    const int gate = extent.first_column + column - (up ? kTileN / 2 : 0);
    return gate >= extent.n / 2 ? extent.n : gate + (up ? extent.n / 2 : 0);
  } else {
    return extent.first_column + column;
  }
}

}  // namespace ww::epilogue
