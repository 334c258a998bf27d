// SPDX-License-Identifier: Apache-2.0
// Loads the scales of the block recipes for the consumer threads. One or two warps of the producer warpgroup read
// scale_a and scale_b of a k-block from global memory and store what the consumers need into the stage.
//   1x128 x 128x128:  (blocks of 128 columns, TILE_M) floats, fl(scale_a[row] * scale_b[block])
//   1x128 x 1x128:    TILE_M floats of A, then TILE_N of B; the consumers multiply them
//   128x128 x 1x128:  (blocks of 128 rows, TILE_N) floats, fl(scale_a[block] * scale_b[column]); swap-AB
// Ordinary loads support any strides and need no padding. They are issued for several k-blocks at once and run ahead by
// the depth of the ring, so that no consumer waits for global memory, whose latency next to full-speed TMA is about two
// k-blocks. With the loads in the consumer warps an H200 lost a third of its speed (CUDA 13.0, 2026-11-20).
#pragma once

#include "warpwright/arch/common/convert.hpp"
#include "warpwright/arch/common/global.hpp"
#include "warpwright/arch/common/math.hpp"
#include "warpwright/config/sizes.hpp"
#include "warpwright/mainloop/scale_addresses.hpp"
#include "warpwright/pipeline/tma_pipeline.hpp"

namespace ww::mainloop {

using namespace config;

/// kAtOnce: k-blocks loaded together; 0: as many as the registers of a producer warpgroup allow. kLoadingWarps: 0: one
/// or two by the tile's rows. kPairsRows: rows r and r + 8, which a thread of a Hopper accumulator has, are neighbours
/// in a slot.
template <int kRows, int kColumns, ScaleForm kScaleForm, bool kPairsHalves = false, int kAtOnce = 0,
          int kLoadingWarps = 0, bool kPairsRows = false>
struct BlockScales {
  static constexpr bool kRowPairs = kPairsRows;
  static constexpr int kTileM = kRows, kTileN = kColumns;
  static constexpr ScaleForm kForm = kScaleForm;
  static constexpr bool kHalves = kPairsHalves;
  static constexpr bool kOfRows = kForm != ScaleForm::columns;  // A has a scale for each row
  static constexpr bool kOfColumns = kForm != ScaleForm::rows;  // B has one for each column
  static constexpr int kBlocks = kForm == ScaleForm::both ? 1   // 128-row or 128-column blocks that a tile may meet
                                 : kOfRows                ? scale_blocks_of_b(kTileN, kHalves)
                                                          : scale_blocks(kTileM);
  static constexpr int kSlotBytes = 4 * scale_floats(kForm, kTileM, kTileN, kHalves);
  static constexpr int kColumnsAt =
      kForm == ScaleForm::both ? 4 * kTileM : 0;  // byte offset within a slot of the scales of columns
  static constexpr int kWarps = kLoadingWarps > 0 ? kLoadingWarps : kTileM > 32 ? 2 : 1;
  static constexpr int kLanes = kWarps * static_cast<int>(arch::kWarpSize);
  // Loads of one lane: i, i + kLanes, ...; or all blocks.
  static constexpr int kOfA = kOfRows ? ceil_div(kTileM, kLanes) : kBlocks;
  static constexpr int kOfB = kOfColumns ? ceil_div(kTileN, kLanes) : kBlocks;
  static constexpr int kBatch = kAtOnce > 0 ? kAtOnce
                                : kOfB > 1  ? max(1, 12 / (kOfA + kOfB))
                                : kOfA == 1 ? 6
                                            : 8 / kOfA;
  using Scales = conditional_t<kHalves, HalvesScales, TileScales>;

  WW_DEVICE static arch::SharedAddress slot(arch::SharedAddress slots, u32 stage) { return slots + stage * kSlotBytes; }
  /// Returns where in a slot the scale of row `row` is, or of any multiple of 16 rows further on as much further on.
  WW_DEVICE static u32 place_of_row(u32 row) { return kRowPairs ? row / 16 * 16 + row % 8 * 2 + row / 8 % 2 : row; }
  /// Returns the 128 rows, of those that share a scale of A, that contain `row`, counted from where the first scale
  /// begins; 0 where every row has a scale.
  WW_DEVICE static int block_of_row(int row) { return kOfRows || kBlocks == 1 ? 0 : row / kScaleBlock; }
  /// Returns the address of the r-th scale of A that lane `lane` loads first: of its r-th row, or of the tile's r-th
  /// block of rows.
  WW_DEVICE static const float* start_of_a(const Scales& scales, u32 lane, int r) {
    if constexpr (kOfRows) return scales.a + min(static_cast<int>(lane) + kLanes * r, scales.rows - 1) * scales.a_row;
    else if constexpr (kBlocks > 1) return scales.a + min(r, scales.rows - 1) * scales.a_row;
    else return scales.a;
  }
  /// Does the same for B and columns.
  WW_DEVICE static const float* start_of_b(const Scales& scales, u32 lane, int j) {
    if constexpr (kOfColumns && kHalves) {
      const int column = static_cast<int>(lane) + kLanes * j;
      return scales.b + min(column + (column >= kTileN / 2 ? scales.skip : 0), scales.b_count - 1) * scales.b_n;
    } else if constexpr (kOfColumns)
      return scales.b + min(static_cast<int>(lane) + kLanes * j, scales.b_count - 1) * scales.b_n;
    else if constexpr (kBlocks > 1) return scales.b + min(j, scales.b_count - 1) * scales.b_n;
    else return scales.b;
  }

  /// Loads the scales of all k-blocks of a tile. All lanes of scale warp `warp` < kWarps call it.
  template <class Pipeline>
  WW_DEVICE static void load(const Scales& scales, arch::SharedAddress slots, Pipeline& pipeline, u32 warp) {
    const u32 first = warp * arch::kWarpSize + arch::lane_index();  // row of the tile, or column
    // The pointers advance, because computing products of k and a stride for all loads at once spills in the producer's
    // 56 registers.
    const float* a[kOfA];
    const float* b[kOfB];
    WW_UNROLL
    for (int r = 0; r < kOfA; ++r) a[r] = start_of_a(scales, first, r);
    WW_UNROLL
    for (int j = 0; j < kOfB; ++j) b[j] = start_of_b(scales, first, j);
    if constexpr (Pipeline::kUnrolls) {
      constexpr int kRound = Pipeline::kRound;
      int k = 0;
      WW_NO_UNROLL
      while (k < scales.k_blocks) {
        if (scales.k_blocks - k >= kRound && pipeline.starts_round()) {
          // A whole round of the ring, whose stages are constants, in batches of about the same number of k-blocks.
          constexpr int kBatches = ceil_div(kRound, kBatch);
          load_round<0, kBatches>(scales, a, b, slots, first, pipeline);
          k += kRound;
        } else {
          load_batch<kBatch, true>(scales, a, b, 0, scales.k_blocks - k, slots, first, pipeline);
          k += kBatch;
        }
      }
    } else {
      for (int k = 0; k < scales.k_blocks; k += kBatch)
        load_batch<kBatch, true>(scales, a, b, k, scales.k_blocks, slots, first, pipeline);
    }
  }

 private:
  template <int kPart, int kParts, class Pipeline>
  WW_DEVICE static void load_round(const Scales& scales, const float* (&a)[kOfA], const float* (&b)[kOfB],
                                   arch::SharedAddress slots, u32 first, Pipeline& pipeline) {
    constexpr int kCount = (kPart + 1) * Pipeline::kRound / kParts - kPart * Pipeline::kRound / kParts;
    load_batch<kCount, false>(scales, a, b, 0, kCount, slots, first, pipeline);
    if constexpr (kPart + 1 < kParts) load_round<kPart + 1, kParts>(scales, a, b, slots, first, pipeline);
  }
  /// Loads the scales of kCount k-blocks or, with kMayEnd, of those from `k` to `k_blocks` if they are fewer.
  template <int kCount, bool kMayEnd, class Pipeline>
  WW_DEVICE static void load_batch(const Scales& scales, const float* (&a)[kOfA], const float* (&b)[kOfB], int k,
                                   int k_blocks, arch::SharedAddress slots, u32 first, Pipeline& pipeline) {
    // The products are computed later, so that every load is in flight before the first product waits for one.
    float of_a[kCount][kOfA], of_b[kCount][kOfB];
    WW_UNROLL
    for (int i = 0; i < kCount; ++i) {
      const bool more = !kMayEnd || k + i + 1 < k_blocks;  // past the end, the last block's are loaded again
      WW_UNROLL
      for (int j = 0; j < kOfB; ++j) {
        of_b[i][j] = arch::global::load_constant(b[j]);
        b[j] += more ? scales.b_k : 0;
      }
      WW_UNROLL
      for (int r = 0; r < kOfA; ++r) {
        of_a[i][r] = arch::global::load_constant(a[r]);
        a[r] += more ? scales.a_k : 0;
      }
    }
    WW_UNROLL
    for (int i = 0; i < kCount; ++i) {
      if (kMayEnd && k + i >= k_blocks) break;
      const pipeline::Stage stage = pipeline.storer_acquire();
      store(slot(slots, stage.index), first, of_a[i], of_b[i]);
      pipeline.storer_commit(stage);
    }
  }

  WW_DEVICE static void store(arch::SharedAddress slot, u32 first, const float (&a)[kOfA], const float (&b)[kOfB]) {
    if constexpr (kOfRows) {
      const u32 place = place_of_row(first);
      WW_UNROLL
      for (int r = 0; r < kOfA; ++r) {
        if (kTileM % kLanes != 0 && static_cast<int>(first) + kLanes * r >= kTileM) continue;
        WW_UNROLL
        for (int j = 0; j < kBlocks; ++j)
          arch::shared::store(slot + 4 * (j * kTileM + place + kLanes * r),
                              arch::bits_of(kOfColumns ? a[r] : arch::mul(a[r], b[j])));
      }
    }
    if constexpr (kOfColumns) {
      WW_UNROLL
      for (int j = 0; j < kOfB; ++j) {
        if (kTileN % kLanes != 0 && static_cast<int>(first) + kLanes * j >= kTileN) continue;
        WW_UNROLL
        for (int r = 0; r < (kOfRows ? 1 : kBlocks); ++r)
          arch::shared::store(slot + (kColumnsAt + 4 * (r * kTileN + static_cast<int>(first) + kLanes * j)),
                              arch::bits_of(kOfRows ? b[j] : arch::mul(a[r], b[j])));
      }
    }
  }
};

}  // namespace ww::mainloop
