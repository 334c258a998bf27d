// SPDX-License-Identifier: Apache-2.0
// The scales of the block recipes on their way to the math threads: two warps of the producer warpgroup read scale_a
// and scale_b of a k-block from global memory and store what the math threads need into the stage.
//   1x128 x 128x128:  (blocks of 128 columns, TILE_M) floats, fl(scale_a[row] * scale_b[block])
//   1x128 x 1x128:    TILE_M floats of A, then TILE_N of B; the math threads multiply them
// Ordinary loads take any strides. They are issued for several k-blocks at once and run ahead by the depth of the ring,
// so no math thread waits for global memory, whose latency next to full-speed TMA is about two k-blocks (with the loads
// in the math warps an H200 lost a third of its speed, CUDA 13.0, 2026-11-20).
#pragma once

#include "warpwright/arch/convert.hpp"
#include "warpwright/arch/global.hpp"
#include "warpwright/arch/math.hpp"
#include "warpwright/collective/builder.hpp"
#include "warpwright/pipeline/tma_pipeline.hpp"

namespace ww::collective {

template <int kUnits, int kBlocks> struct ScaleSet {
  float row[kUnits][kBlocks][2];  // rows r and r + 8 of each 64-row unit, for each scale of B that the tile meets
};

/// The block scales of one tile: of its row r and k-block k a[r * a_row + k * a_k], of B's b[i * b_n + k * b_k].
struct TileScales {
  const float* a;  // of the tile's first row
  const float* b;  // of the tile's first column, or of the 128 columns with it
  i64 a_row, a_k, b_k;
  i32 rows;  // rows past these take the last one's scale; their products are never stored
  i32 k_blocks;
  i64 b_n = 0;
  i32 b_count = 1;  // columns, or blocks of columns, from b on; past these the last one's scale is taken
};

/// Scales of B for two neighbouring columns.
struct ColumnScales {
  float s[2];
};
/// Where a math thread finds the scales of the tile's columns: in the stage,
struct StageColumns {
  arch::SharedAddress at;
  WW_DEVICE ColumnScales pair(int column) const {
    const arch::Words<2> words = arch::shared::load2(at + 4 * column);
    return {{arch::float_of(words.w[0]), arch::float_of(words.w[1])}};
  }
};
/// or, without scale warps, where the caller's are.
struct GlobalColumns {
  const float* b;  // of the k-block
  i64 b_n;
  i32 count;
  WW_DEVICE ColumnScales pair(int column) const {
    return {{arch::global::load_constant(b + min(column, count - 1) * b_n),
             arch::global::load_constant(b + min(column + 1, count - 1) * b_n)}};
  }
};

template <int kTileM, int kTileN, bool kByColumn> struct BlockScales {
  static constexpr int kBlocks = kByColumn ? 1 : scale_blocks(kTileN);
  static constexpr int kSlotBytes = 4 * (kByColumn ? kTileM + kTileN : kBlocks * kTileM);
  static constexpr int kWarps = 2;
  static constexpr int kLanes = kWarps * static_cast<int>(arch::kWarpSize);
  static constexpr int kRows = kTileM / kLanes;                                // of one lane: i, i + kLanes, ...
  static constexpr int kOfB = kByColumn ? ceil_div(kTileN, kLanes) : kBlocks;  // scales of B that one lane loads
  // k-blocks loaded together: the registers of a producer
  static constexpr int kBatch = kOfB > 1 ? max(1, 12 / (kRows + kOfB)) : kRows == 1 ? 6 : 8 / kRows;
  template <int kUnits> using Set = ScaleSet<kUnits, kBlocks>;

  WW_DEVICE static arch::SharedAddress slot(arch::SharedAddress slots, u32 stage) { return slots + stage * kSlotBytes; }
  WW_DEVICE static StageColumns columns(arch::SharedAddress slots, pipeline::Stage stage) {
    return {slot(slots, stage.index) + 4 * kTileM};
  }

  /// All lanes of scale warp `warp` (0 or 1): all k-blocks of a tile.
  template <class Pipeline>
  WW_DEVICE static void load(const TileScales& scales, arch::SharedAddress slots, Pipeline& pipeline, u32 warp) {
    const u32 first = warp * arch::kWarpSize + arch::lane_index();  // row of the tile
    // why pointers that step along: products of k and a stride for all loads at once spill in the producer's 56
    // registers
    const float* a[kRows];
    const float* b[kOfB];
    WW_UNROLL
    for (int r = 0; r < kRows; ++r)
      a[r] = scales.a + min(static_cast<int>(first) + kLanes * r, scales.rows - 1) * scales.a_row;
    WW_UNROLL
    for (int j = 0; j < kOfB; ++j) b[j] = start_of_b(scales, first, j);
    for (int k0 = 0; k0 < scales.k_blocks; k0 += kBatch) {
      // why products come later: every load is under way before the first product waits for one
      float of_a[kBatch][kRows], of_b[kBatch][kOfB];
      WW_UNROLL
      for (int i = 0; i < kBatch; ++i) {
        const bool more = k0 + i + 1 < scales.k_blocks;  // past the end the last block's are loaded again
        WW_UNROLL
        for (int j = 0; j < kOfB; ++j) {
          of_b[i][j] = arch::global::load_constant(b[j]);
          b[j] += more ? scales.b_k : 0;
        }
        WW_UNROLL
        for (int r = 0; r < kRows; ++r) {
          of_a[i][r] = arch::global::load_constant(a[r]);
          a[r] += more ? scales.a_k : 0;
        }
      }
      WW_UNROLL
      for (int i = 0; i < kBatch; ++i) {
        if (k0 + i >= scales.k_blocks) break;
        const pipeline::Stage stage = pipeline.storer_acquire();
        store(slot(slots, stage.index), first, of_a[i], of_b[i]);
        pipeline.storer_commit(stage);
      }
    }
  }

  /// A math thread without scale warps: the scales of k-block k for its rows, the first of which is `row` in the tile.
  template <int kUnits> WW_DEVICE static Set<kUnits> read_global(const TileScales& scales, int row, int k) {
    Set<kUnits> read;
    float b[kBlocks];
    WW_UNROLL
    for (int j = 0; j < kBlocks; ++j)
      b[j] = kByColumn ? 1.0f : arch::global::load_constant(start_of_b(scales, 0, j) + k * scales.b_k);
    WW_UNROLL
    for (int u = 0; u < kUnits; ++u) {
      WW_UNROLL
      for (int half = 0; half < 2; ++half) {
        const int r = min(row + 64 * u + 8 * half, scales.rows - 1);
        const float a = arch::global::load_constant(scales.a + r * scales.a_row + k * scales.a_k);
        WW_UNROLL
        for (int j = 0; j < kBlocks; ++j) read.row[u][j][half] = kByColumn ? a : arch::mul(a, b[j]);
      }
    }
    return read;
  }

  /// A math thread: the scales of its rows, the first of which is `row` in the tile.
  template <int kUnits> WW_DEVICE static Set<kUnits> read(arch::SharedAddress slots, pipeline::Stage stage, int row) {
    Set<kUnits> scales;
    WW_UNROLL
    for (int u = 0; u < kUnits; ++u) {
      WW_UNROLL
      for (int j = 0; j < kBlocks; ++j) {
        WW_UNROLL
        for (int half = 0; half < 2; ++half)
          scales.row[u][j][half] = arch::float_of(
              arch::shared::load(slot(slots + 4 * row, stage.index) + 4 * (j * kTileM + 64 * u + 8 * half)));
      }
    }
    return scales;
  }

 private:
  // The first scale of B that lane `lane` loads as its j-th: of its j-th column, or of the tile's j-th block of them.
  WW_DEVICE static const float* start_of_b(const TileScales& scales, u32 lane, int j) {
    if constexpr (kByColumn)
      return scales.b + min(static_cast<int>(lane) + kLanes * j, scales.b_count - 1) * scales.b_n;
    else if constexpr (kBlocks > 1) return scales.b + min(j, scales.b_count - 1) * scales.b_n;
    else return scales.b;
  }

  WW_DEVICE static void store(arch::SharedAddress slot, u32 first, const float (&a)[kRows], const float (&b)[kOfB]) {
    WW_UNROLL
    for (int r = 0; r < kRows; ++r) {
      WW_UNROLL
      for (int j = 0; j < kBlocks; ++j)
        arch::shared::store(slot + 4 * (j * kTileM + first + kLanes * r),
                            arch::bits_of(kByColumn ? a[r] : arch::mul(a[r], b[j])));
    }
    if constexpr (kByColumn) {
      WW_UNROLL
      for (int j = 0; j < kOfB; ++j)
        if (kTileN % kLanes == 0 || static_cast<int>(first) + kLanes * j < kTileN)
          arch::shared::store(slot + 4 * (kTileM + first + kLanes * j), arch::bits_of(b[j]));
    }
  }
};

}  // namespace ww::collective
