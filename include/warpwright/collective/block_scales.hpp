// SPDX-License-Identifier: Apache-2.0
// The scales of the block recipe on their way to the math threads: two warps of the producer warpgroup read scale_a and
// scale_b of a k-block from global memory, multiply them, and store one float per tile row into the stage.
//   slot of a stage: TILE_M floats, fl(scale_a[row] * scale_b)
// Ordinary loads take any strides. They are issued for several k-blocks at once and run ahead by the depth of the ring,
// so no
// math thread waits for global memory, whose latency next to full-speed TMA is about two k-blocks (with the loads in
// the math
// warps an H200 lost a third of its speed, CUDA 13.0, 2026-11-20).
#pragma once

#include "warpwright/arch/convert.hpp"
#include "warpwright/arch/global.hpp"
#include "warpwright/arch/math.hpp"
#include "warpwright/pipeline/tma_pipeline.hpp"

namespace ww::collective {

template <int kUnits> struct ScaleSet {
  float row[kUnits][2];  // rows r and r + 8 of each 64-row unit
};

/// The block scales of one tile: of its row r and k-block k, a[r * a_row + k * a_k] * b[k * b_k].
struct TileScales {
  const float* a;  // of the tile's first row
  const float* b;  // of the tile's columns
  i64 a_row, a_k, b_k;
  i32 rows;  // rows past these take the last one's scale; their products are never stored
  i32 k_blocks;
};

template <int kTileM, int kTileN> struct BlockScales {
  static constexpr int kSlotBytes = kTileM * 4;
  static constexpr int kWarps = 2;
  static constexpr int kLanes = kWarps * static_cast<int>(arch::kWarpSize);
  static constexpr int kRows = kTileM / kLanes;              // of one lane: i, i + kLanes, ...
  static constexpr int kBatch = kRows == 1 ? 6 : 8 / kRows;  // k-blocks loaded together: the registers of a producer

  WW_DEVICE static arch::SharedAddress slot(arch::SharedAddress slots, u32 stage) { return slots + stage * kSlotBytes; }

  /// All lanes of scale warp `warp` (0 or 1): all k-blocks of a tile.
  template <class Pipeline>
  WW_DEVICE static void load(const TileScales& scales, arch::SharedAddress slots, Pipeline& pipeline, u32 warp) {
    const u32 first = warp * arch::kWarpSize + arch::lane_index();  // row of the tile
    // why pointers that step along: products of k and a stride for all loads at once spill in the producer's 56
    // registers
    const float* b = scales.b;
    const float* a[kRows];
    WW_UNROLL
    for (int r = 0; r < kRows; ++r)
      a[r] = scales.a + min(static_cast<int>(first) + kLanes * r, scales.rows - 1) * scales.a_row;
    for (int k0 = 0; k0 < scales.k_blocks; k0 += kBatch) {
      // why products come later: every load is under way before the first product waits for one
      float values[kBatch][kRows], scale_b[kBatch];
      WW_UNROLL
      for (int i = 0; i < kBatch; ++i) {
        const bool more = k0 + i + 1 < scales.k_blocks;  // past the end the last block's are loaded again
        scale_b[i] = arch::global::load_constant(b);
        b += more ? scales.b_k : 0;
        WW_UNROLL
        for (int r = 0; r < kRows; ++r) {
          values[i][r] = arch::global::load_constant(a[r]);
          a[r] += more ? scales.a_k : 0;
        }
      }
      WW_UNROLL
      for (int i = 0; i < kBatch; ++i) {
        if (k0 + i >= scales.k_blocks) break;
        const pipeline::Stage stage = pipeline.storer_acquire();
        WW_UNROLL
        for (int r = 0; r < kRows; ++r)
          arch::shared::store(slot(slots, stage.index) + 4 * (first + kLanes * r),
                              arch::bits_of(arch::mul(values[i][r], scale_b[i])));
        pipeline.storer_commit(stage);
      }
    }
  }

  /// A math thread without scale warps: the scales of k-block k for its rows, the first of which is `row` in the tile.
  template <int kUnits> WW_DEVICE static ScaleSet<kUnits> read_global(const TileScales& scales, int row, int k) {
    ScaleSet<kUnits> read;
    const float b = arch::global::load_constant(scales.b + k * scales.b_k);
    WW_UNROLL
    for (int u = 0; u < kUnits; ++u) {
      WW_UNROLL
      for (int half = 0; half < 2; ++half) {
        const int r = min(row + 64 * u + 8 * half, scales.rows - 1);
        read.row[u][half] = arch::mul(arch::global::load_constant(scales.a + r * scales.a_row + k * scales.a_k), b);
      }
    }
    return read;
  }

  /// A math thread: the scales of its rows, the first of which is `row` in the tile.
  template <int kUnits>
  WW_DEVICE static ScaleSet<kUnits> read(arch::SharedAddress slots, pipeline::Stage stage, int row) {
    ScaleSet<kUnits> scales;
    WW_UNROLL
    for (int u = 0; u < kUnits; ++u) {
      WW_UNROLL
      for (int half = 0; half < 2; ++half)
        scales.row[u][half] =
            arch::float_of(arch::shared::load(slot(slots + 4 * row, stage.index) + 4 * (64 * u + 8 * half)));
    }
    return scales;
  }
};

}  // namespace ww::collective
