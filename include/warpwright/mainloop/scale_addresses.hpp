// SPDX-License-Identifier: Apache-2.0
// Where the block scales of a tile are in the caller's memory: the addresses that a scale loader takes.
//   dense, batches, groups of K:   a TileCoord of the problem
//   groups of rows:                a group, its tile's first row, and a tile of weights
// Rows and columns past the edge use the last scale, because their products are never stored.
#pragma once

#include "warpwright/config/config_parameter.hpp"
#include "warpwright/config/fixed_extents.hpp"
#include "warpwright/config/grouped_arguments.hpp"
#include "warpwright/config/sizes.hpp"
#include "warpwright/scheduler/token_tile.hpp"

namespace ww::mainloop {

using namespace config;

/// The block scales of one tile: a[r * a_row + k * a_k] for its row r (or r-th block of 128 rows) and k-block k, and
/// b[i * b_n + k * b_k] of B.
struct TileScales {
  const float* a;  // of the tile's first row, or of the 128 rows that contain it
  const float* b;  // of the tile's first column, or of the 128 columns that contain it
  i64 a_row, a_k, b_k;
  i32 rows;  // or blocks of rows
  i32 k_blocks;
  i64 b_n = 0;
  i32 b_count = 1;  // columns, or blocks of columns, from b on
};
/// Where halves are paired: the columns of B between the gates of a tile and its ups, too.
struct HalvesScales : TileScales {
  i32 skip;
};

template <ConfigParameter kConfig> struct ScaleAddresses {
  static constexpr int kTileM = kConfig.tile.m, kTileN = kConfig.tile.n;
  static constexpr bool kHalves = pairs_halves(kConfig);
  static constexpr ScaleForm kForm = scale_form(kConfig.operands.scale);

  /// Returns where the block scales of k-blocks `k` of `tile` are.
  WW_DEVICE static auto scales_of(const GemmArguments& arguments, TileCoord tile, KRange k) {
    auto scales = scales_of(arguments, tile);
    scales.a += k.first * scales.a_k, scales.b += k.first * scales.b_k, scales.k_blocks = k.blocks;
    return scales;
  }
  /// Returns where the block scales of `tile` are.
  WW_DEVICE static auto scales_of(const GemmArguments& arguments, TileCoord tile) {
    const int row = min(tile.m * kTileM, arguments.m - 1);  // a tile may lie wholly past the edge
    constexpr int rows = rows_of_scale(kConfig.operands.scale), columns = columns_of_scale(kConfig.operands.scale);
    const int n = n_of<kConfig>(arguments), first = first_column(tile.n, n) / columns;
    const float *scale_a = arguments.scale_a, *scale_b = arguments.scale_b;
    if constexpr (kConfig.operands.batched)
      scale_a += tile.batch * arguments.scale_a_batch, scale_b += tile.batch * arguments.scale_b_batch;
    const TileScales scales{scale_a + row / rows * arguments.scale_a_row,
                            scale_b + first * arguments.scale_b_n,
                            arguments.scale_a_row,
                            arguments.scale_a_k,
                            arguments.scale_b_k,
                            ceil_div(arguments.m, rows) - row / rows,
                            k_blocks_of<kConfig>(arguments),
                            arguments.scale_b_n,
                            ceil_div(n, columns) - first};
    if constexpr (kHalves) return of_halves(scales, tile.n, n);
    else return scales;
  }
  /// The first column of B of tile `tile_n`, or the last one of B; of halves the first gate.
  WW_DEVICE static int first_column(int tile_n, int n) {
    return kHalves ? min(tile_n * (kTileN / 2), n / 2 - 1) : min(tile_n * kTileN, n - 1);
  }
  /// `scales`, which begin with those of the first gate, and where those of the ups are.
  WW_DEVICE static HalvesScales of_halves(const TileScales& scales, int tile_n, int n) {
    HalvesScales made{scales, n / 2 - kTileN / 2};
    if constexpr (!scales_columns(kConfig)) {  // the two scales of a tile, one step apart
      const int gate = first_column(tile_n, n);
      made.b_n *= (gate + n / 2) / kScaleBlock - gate / kScaleBlock;
      made.b_count = 2;
    }
    return made;
  }
  /// Returns the offset of `tile` within the 128 columns of B, or rows of A, that share a scale; 0 where every tile has
  /// one scale.
  WW_DEVICE static int scale_offset(TileCoord tile) {
    if constexpr (!promotes(kConfig) || kOneScale || (kHalves && kForm == ScaleForm::rows)) return 0;
    else return (kForm == ScaleForm::columns ? tile.m * kTileM : tile.n * kTileN) % kScaleBlock;
  }

 private:
  // Whether every tile lies within 128 columns, or rows, that share a scale.
  static constexpr bool kOneScale =
      kForm == ScaleForm::both ||
      (kForm == ScaleForm::rows ? scale_blocks_of_b(kTileN, kHalves) : scale_blocks(kTileM)) == 1;
};

/// Returns where the block scales of k-blocks `k` of a tile of tokens are, whose weights are `kWeights` columns.
template <int kWeights>
WW_DEVICE TileScales token_scales(const GroupedArguments& arguments, const scheduler::TokenTile& tile, KRange k) {
  const int first = min(tile.tile_n * kWeights, arguments.n - 1) / kScaleBlock;
  return {arguments.scale_a + tile.group * arguments.scale_a_group + tile.row * arguments.scale_a_row +
              k.first * arguments.scale_a_k,
          arguments.scale_b + tile.group * arguments.scale_b_group + first * arguments.scale_b_n +
              k.first * arguments.scale_b_k,
          arguments.scale_a_row,
          arguments.scale_a_k,
          arguments.scale_b_k,
          tile.rows,
          k.blocks,
          arguments.scale_b_n,
          ceil_div(arguments.n, kScaleBlock) - first};
}

}  // namespace ww::mainloop
