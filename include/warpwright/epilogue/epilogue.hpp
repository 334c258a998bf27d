// SPDX-License-Identifier: Apache-2.0
// From accumulators to D: scale, convert, write the tile to shared memory, store it by TMA, 64 rows of a warpgroup at a
// time.
//   shared tile: panels of up to 128 bytes of columns, (TILE_M, panel) each, swizzled: stmatrix rows spread over banks
// D with contiguous columns is transposed on the way: epilogue/column_output.hpp.
// The store of a tile reads shared memory while the next tile is multiplied. It is waited for only before that buffer
// is written again, and at the end. A tile may be staged in parts of epilogue_n columns in two alternating buffers,
// which leaves room for more stages of operands.
#pragma once

#include "warpwright/arch/common/global.hpp"
#include "warpwright/arch/common/math.hpp"
#include "warpwright/atom/fragment_store.hpp"
#include "warpwright/atom/tma_atom.hpp"
#include "warpwright/config/config_parameter.hpp"
#include "warpwright/config/fixed_extents.hpp"
#include "warpwright/config/shared_memory.hpp"
#include "warpwright/config/sizes.hpp"
#include "warpwright/epilogue/column_output.hpp"
#include "warpwright/epilogue/rows.hpp"
#include "warpwright/epilogue/scale.hpp"
#include "warpwright/pipeline/tma_store_pipeline.hpp"
#include "warpwright/scheduler/tile_maps.hpp"

namespace ww::epilogue {

using namespace config;

WW_HOST_DEVICE constexpr TreeSpec tree_spec(const GemmConfig& c) {
  return {c.epilogue,        mma_blocks_of(c), 4 * warpgroups_of_tile(c), c.operands.c_layout == OutputLayout::column,
          may_have_odd_n(c), c.operands.d};
}
/// Columns of the product from the first of one tile to the first of the next; of halves gates alone.
template <ConfigParameter kConfig> inline constexpr int kColumnStep = column_step(tree_spec(kConfig), kConfig.tile.n);

/// `Accumulator` is the mainloop's fragment, (64, TILE_N).
template <ConfigParameter kConfig, class Accumulator> struct Epilogue {
  static constexpr int kTileM = kConfig.tile.m, kTileN = kConfig.tile.n;
  static constexpr int kColumns = output_columns(kConfig);  // of D, of one tile
  static constexpr int kMmaBlocks = mma_blocks_of(kConfig);
  static constexpr DType kOut = stored_type(kConfig.operands.d);
  static constexpr int kPacked = packed_columns(kConfig.operands.d);  // columns of D in an element of kOut
  static constexpr int kPanelBytes = panel_bytes(kConfig);
  static constexpr int kPanelColumns = kPanelBytes / bytes_of(kOut);
  static constexpr int kStaged = staged_columns(kConfig);  // columns of one part
  static constexpr int kParts = kColumns / kStaged, kBuffers = output_buffers(kConfig);
  static constexpr int kPanels = kStaged / kPacked / kPanelColumns;
  static constexpr int kFirstBarrier = 1;  // named barrier of consumer warpgroup 0; 0 is the CTA's

  // Rows of the tile from the first of one consumer warpgroup to the first of the next.
  static constexpr int kWarpgroupStep = kMmaBlocks * Accumulator::Layout::kBlockStep;

  static constexpr EpilogueTree kTree = kConfig.epilogue;
  static constexpr TreeSpec kSpec = tree_spec(kConfig);
  using EvaluatedRows = EpilogueRows<kSpec, Accumulator>;
  using Reductions = EpilogueReductions<kSpec, Accumulator>;
  using Output = typename EvaluatedRows::Output;  // the values that D is rounded from
  static constexpr bool kColumnMajor = kConfig.operands.d_layout == OutputLayout::column;
  using Columns = ColumnOutput<kConfig>;
  using SharedRows = atom::SharedPanels<kOut, kTileM, kPanelBytes>;  // (TILE_M, (columns of a panel, panels))
  using SharedD = conditional_t<kColumnMajor, typename Columns::SharedD, SharedRows>;

  /// Scales that are applied once per output, after all of K: one for the tile, or one for each row and each column of
  /// it.
  struct Factors {
    const float* a;  // tensor: the scale; row-column: of the tile's first row
    const float* b;  //                              of the tile's first column
    i64 a_row, b_n;
    i32 rows, columns;  // rows and columns past these use the last scale; their products are never stored
  };

  /// Multiplies acc by fl(scale_a scale_b) for the tensor and row-column recipes. Other recipes need nothing here.
  WW_DEVICE static void scale(const GemmArguments& arguments, int consumer_warpgroup, Accumulator (&acc)[kMmaBlocks],
                              TileCoord tile) {
    const float *scale_a = arguments.scale_a, *scale_b = arguments.scale_b;
    if constexpr (kConfig.operands.batched)
      scale_a += tile.batch * arguments.scale_a_batch, scale_b += tile.batch * arguments.scale_b_batch;
    if constexpr (kConfig.operands.scale == Scale::nv) {  // one factor of all products of a batch
      scale_all(arguments.scale_a, acc);
    } else if constexpr (kConfig.operands.scale == Scale::tensor) {
      scale(Factors{scale_a, scale_b, 0, 0, 1, 1}, consumer_warpgroup, acc);
    } else if constexpr (kConfig.operands.scale == Scale::row_column) {
      const int row = min(tile.m * kTileM, arguments.m - 1);  // a tile may lie wholly past the edge
      const int n = n_of<kConfig>(arguments), column = min(tile.n * kColumnStep<kConfig>, n - 1);
      scale(Factors{scale_a + row * arguments.scale_a_row, scale_b + column * arguments.scale_b_n,
                    arguments.scale_a_row, arguments.scale_b_n, arguments.m - row, n - column},
            consumer_warpgroup, acc, skip_of(n));
    }
  }
  /// Multiplies acc by `factor`, unless it is null.
  WW_DEVICE static void scale_all(const float* factor, Accumulator (&acc)[kMmaBlocks]) {
    if (factor != nullptr) multiply<kMmaBlocks>(acc, arch::global::load_constant(factor));
  }
  /// Columns of B between the gates of a tile and its ups, where halves of `n` columns are paired.
  WW_DEVICE static constexpr int skip_of(int n) { return pairs_halves(kConfig) ? n / 2 - kTileN / 2 : 0; }
  WW_DEVICE static void scale(const Factors& factors, int consumer_warpgroup, Accumulator (&acc)[kMmaBlocks],
                              int skip = 0) {
    if constexpr (kConfig.operands.scale == Scale::tensor) {
      multiply<kMmaBlocks>(acc,
                           arch::mul(arch::global::load_constant(factors.a), arch::global::load_constant(factors.b)));
    } else if constexpr (kConfig.operands.scale == Scale::row_column) {
      const auto at = [](const float* scales, i64 stride, int i, int count) {
        return arch::global::load_constant(scales + min(i, count - 1) * stride);
      };
      const int first_row = consumer_warpgroup * kWarpgroupStep;
      multiply<kMmaBlocks>(
          acc, static_cast<int>(arch::thread_index() % arch::kWarpgroupSize),
          [&](int row) { return at(factors.a, factors.a_row, first_row + row, factors.rows); },
          [&](int of_tile) {
            const int column = pairs_halves(kConfig) && of_tile >= kTileN / 2 ? of_tile + skip : of_tile;
            return Pair{at(factors.b, factors.b_n, column, factors.columns),
                        at(factors.b, factors.b_n, column + 1, factors.columns)};
          });
    }
  }

  // Warpgroups whose rows alternate fill the 64 rows of a store together.
  static constexpr int kTogether = Accumulator::Layout::kBlockStep < kWarpgroupRows ? warpgroups_of_tile(kConfig) : 1;
  using Buffer = pipeline::TmaStorePipeline<kFirstBarrier, kConfig.sm90.consumer_warpgroups, arch::kWarpgroupSize,
                                            kBuffers, kTogether>;

  /// Stores acc as this warpgroup's rows of `tile` of D. All its threads call it.
  WW_DEVICE static void store(const GemmArguments& arguments, arch::SharedAddress base, const Buffer& buffer,
                              int consumer_warpgroup, Accumulator (&acc)[kMmaBlocks], TileCoord tile) {
    if constexpr (kTree.empty()) {
      send(arguments, base, buffer, consumer_warpgroup, acc, tile);
    } else {
      const TileExtent extent = extent_of(arguments, consumer_warpgroup, tile);
      const auto sink = [&](Output(&out)[kMmaBlocks]) { send(arguments, base, buffer, consumer_warpgroup, out, tile); };
      if constexpr (kConfig.operands.batched)
        evaluate(scheduler::epilogue_of<kConfig>(arguments, tile), extent, acc, sink);
      else evaluate(arguments.epilogue, extent, acc, sink);
    }
  }

  /// Rows of D that are no tile of it: `rows` rows from row `row` on, the tile's columns from `column` on.
  struct PlainRows {
    const arch::TensorMap& map;  // (rows of D, N), box (64, one panel)
    void* d;                     // row 0
    i64 ldd;
    i32 n;  // columns of D
    i32 row, rows, column;
    i32 tile_n;
  };
  struct ScaledRows : PlainRows {
    i32 scale_shift;  // see TileExtent
  };
  static constexpr bool kHasChunks = is_microscale(EvaluatedRows::kStages.quantise);
  using Rows = conditional_t<kHasChunks, ScaledRows, PlainRows>;
  /// Stores rows of D. All threads of a consumer warpgroup call it. Blocks of 64 rows that all belong to `to` are
  /// stored by TMA, the others 16 bytes at a time, so that memory behind the last row stays unchanged.
  WW_DEVICE static void store_rows(const Rows& to, arch::SharedAddress base, const Buffer& buffer,
                                   int consumer_warpgroup, Accumulator (&acc)[kMmaBlocks]) {
    write(base, buffer, consumer_warpgroup, acc, 0);
    send_rows(to, base, buffer, consumer_warpgroup);
  }
  /// Does the same with a tree over the rows' accumulators. `n` is the columns of the product, `of_group` the tree's
  /// arguments for the rows' group. Matrices and vectors along M are indexed by the row of D.
  WW_DEVICE static void store_rows(const Rows& to, i32 n, const EpilogueArguments& of_group, arch::SharedAddress base,
                                   const Buffer& buffer, int consumer_warpgroup, Accumulator (&acc)[kMmaBlocks]) {
    evaluate(of_group, extent_of_rows(to, n, consumer_warpgroup), acc,
             [&](Output(&out)[kMmaBlocks]) { write(base, buffer, consumer_warpgroup, out, 0); });
    send_rows(to, base, buffer, consumer_warpgroup);
  }
  /// Stores zeros without a tree, after clear(): the buffer is read repeatedly and never written.
  WW_DEVICE static void store_zero_rows(const Rows& to, arch::SharedAddress base, const Buffer& buffer,
                                        int consumer_warpgroup) {
    send_rows(to, base, buffer, consumer_warpgroup);
  }

  /// Clears this warpgroup's part of the staging buffer for store_zeros(). All threads of the consumer warpgroup call
  /// it; it replaces store().
  WW_DEVICE static void clear(arch::SharedAddress base, const Buffer& buffer, int consumer_warpgroup) {
    if constexpr (!kTree.empty()) return;  // with a tree, zeros are accumulators like others
    // This warpgroup's rows of one panel, or all of its panels.
    constexpr u32 kPart = kMmaBlocks * (kColumnMajor ? Columns::kUnitBytes : kWarpgroupRows * kPanelBytes);
    buffer.acquire();
    for (u32 panel = 0; panel < (kColumnMajor ? 1 : kPanels * kBuffers); ++panel)
      for (u32 at = 16 * (arch::thread_index() % arch::kWarpgroupSize); at < kPart; at += 16 * arch::kWarpgroupSize)
        arch::shared::store4(
            base + (shared_plan(kConfig).d + panel * kTileM * kPanelBytes + consumer_warpgroup * kPart + at),
            {{0, 0, 0, 0}});
    buffer.publish();
  }
  WW_DEVICE static void store_zeros(const GemmArguments& arguments, arch::SharedAddress base, const Buffer& buffer,
                                    int consumer_warpgroup, TileCoord tile) {
    if constexpr (!kTree.empty()) {
      Accumulator acc[kMmaBlocks] = {};
      return store(arguments, base, buffer, consumer_warpgroup, acc, tile);
    }
    if (!buffer.is_issuer()) return;
    for (int part = 0; part < kParts; ++part) issue(arguments, base, consumer_warpgroup, tile, part);
    buffer.commit();
  }

 private:
  static constexpr int kPieceColumns = 16 / bytes_of(kOut);

  // Rows end at the end of the group's rows in this tile; the first row has no alignment.
  WW_DEVICE static TileExtent extent_of_rows(const Rows& to, i32 n, int consumer_warpgroup) {
    TileExtent extent{};
    extent.m = to.row + to.rows, extent.n = n;
    extent.tile.n = to.tile_n;
    extent.thread = static_cast<int>(arch::thread_index() % arch::kWarpgroupSize);
    extent.first_row = to.row + consumer_warpgroup * kWarpgroupStep;
    extent.first_column = to.tile_n * kColumnStep<kConfig>;
    if constexpr (kHasChunks) extent.scale_shift = to.scale_shift;
    return extent;
  }
  WW_DEVICE static TileExtent extent_of(const GemmArguments& arguments, int consumer_warpgroup, TileCoord tile) {
    const int thread = static_cast<int>(arch::thread_index() % arch::kWarpgroupSize), n = n_of<kConfig>(arguments);
    return {arguments.m,
            n,
            tile,
            ceil_div(arguments.m, kTileM),
            ceil_div(n, kTileN),
            4 * consumer_warpgroup + thread / 32,
            thread,
            tile.m * kTileM + consumer_warpgroup * kWarpgroupStep,
            tile.n * kColumnStep<kConfig>};
  }

  // Evaluates the tree over the tile's accumulators; `sink` receives the values to be rounded.
  template <class Sink>
  WW_DEVICE static void evaluate(const EpilogueArguments& arguments, const TileExtent& extent,
                                 Accumulator (&acc)[kMmaBlocks], const Sink& sink) {
    Reductions reductions(arguments, extent);
    EpilogueWalk<kSpec, Accumulator> walk(arguments, extent);
    walk.apply(acc, reductions);
    reductions.finish();
    const float out_scale = walk.scalar(kScalarOutScale);
    if constexpr (kColumns != kTileN) {
      Output out[kMmaBlocks] = {};
      EvaluatedRows::swiglu(acc, out);
      finish(arguments, extent, out_scale, reductions, out, sink);
    } else {
      finish(arguments, extent, out_scale, reductions, acc, sink);
    }
  }
  template <class Sink>
  WW_DEVICE static void finish(const EpilogueArguments& arguments, const TileExtent& extent, float out_scale,
                               const Reductions& reductions, Output (&out)[kMmaBlocks], const Sink& sink) {
    if constexpr (EvaluatedRows::kStages.quantise != EpilogueOp::none)
      EvaluatedRows::quantise(arguments, extent, out_scale, reductions, out);
    sink(out);
  }

  // Stores all parts of this warpgroup's rows of `tile`; each is in flight before the next is written.
  WW_DEVICE static void send(const GemmArguments& arguments, arch::SharedAddress base, const Buffer& buffer,
                             int consumer_warpgroup, Output (&out)[kMmaBlocks], TileCoord tile) {
    WW_UNROLL
    for (int part = 0; part < kParts; ++part) {
      write(base, buffer, consumer_warpgroup, out, part);
      if (buffer.is_issuer()) {
        issue(arguments, base, consumer_warpgroup, tile, part);
        buffer.commit();
      }
    }
  }

  WW_DEVICE static void write(arch::SharedAddress base, const Buffer& buffer, int consumer_warpgroup,
                              Output (&out)[kMmaBlocks], int part) {
    const SharedD sD = shared_d(base, part);  // (TILE_M, columns of a part)
    buffer.acquire();
    WW_UNROLL
    for (int u = 0; u < kMmaBlocks; ++u) {
      const int first_row = consumer_warpgroup * kWarpgroupStep + u * kWarpgroupRows;
      atom::write_fragment<kConfig.operands.d, kStaged>(sD, first_row, 0, out[u], part * (Output::kPairs / kParts));
    }
    buffer.publish();
  }

  WW_DEVICE static void send_rows(const Rows& to, arch::SharedAddress base, const Buffer& buffer,
                                  int consumer_warpgroup) {
    const SharedD sD = shared_d(base, 0);  // (TILE_M, TILE_N)
    for (int u = consumer_warpgroup * kMmaBlocks; u < (consumer_warpgroup + 1) * kMmaBlocks; ++u) {
      const int rows = to.rows - u * kWarpgroupRows;
      if (rows >= kWarpgroupRows) {
        if (!buffer.is_issuer()) continue;
        for (int panel = 0; panel < kPanels; ++panel)
          atom::copy(atom::TmaStoreAtom{to.map}, sD.panel(u * kWarpgroupRows, panel),
                     atom::Box<false>{to.row + u * kWarpgroupRows, to.column / kPacked + panel * kPanelColumns});
      } else if (rows > 0) {
        copy_rows(to, base, u * kWarpgroupRows, rows);
      }
    }
    if (buffer.is_issuer()) buffer.commit();
  }

  // Copies `rows` rows of the shared tile from `first` on, 16 bytes a thread.
  WW_DEVICE static void copy_rows(const Rows& to, arch::SharedAddress base, int first, int rows) {
    constexpr int kPieces = kColumns / kPacked / kPieceColumns;  // of a row
    const SharedD sD = shared_d(base, 0);                        // (TILE_M, columns of D)
    for (int i = static_cast<int>(arch::thread_index() % arch::kWarpgroupSize); i < rows * kPieces;
         i += static_cast<int>(arch::kWarpgroupSize)) {
      const int row = first + i / kPieces, column = i % kPieces * kPieceColumns;
      auto* const d =
          static_cast<storage_t<kOut>*>(to.d) + (to.row + row) * to.ldd / kPacked + to.column / kPacked + column;
      arch::global::store4_if(to.column / kPacked + column < to.n / kPacked, d, arch::shared::load4(sD(row, column)));
    }
  }

  WW_DEVICE static SharedD shared_d(arch::SharedAddress base, int part) {
    constexpr u32 kOffset = shared_plan(kConfig).d, kBufferBytes = kTileM * kStaged / kPacked * bytes_of(kOut);
    return {base + (kOffset + static_cast<u32>(part % kBuffers) * kBufferBytes)};
  }

  WW_DEVICE static void issue(const GemmArguments& arguments, arch::SharedAddress base, int consumer_warpgroup,
                              TileCoord tile, int part) {
    const arch::TensorMap& map = scheduler::acquired_output<kConfig>(arguments, tile);
    const SharedD sD = shared_d(base, part);  // (TILE_M, columns of a part)
    for (int u = consumer_warpgroup * kMmaBlocks; u < (consumer_warpgroup + 1) * kMmaBlocks; ++u) {
      if constexpr (kColumnMajor) {
        Columns::issue(map, sD, tile, u);
      } else {
        for (int panel = 0; panel < kPanels; ++panel)
          atom::copy(atom::TmaStoreAtom{map}, sD.panel(u * kWarpgroupRows, panel),
                     atom::Box<stacks_matrices(kConfig)>{
                         tile.m * kTileM + u * kWarpgroupRows,
                         (tile.n * kColumns + part * kStaged) / kPacked + panel * kPanelColumns, tile.batch});
      }
    }
  }
};

}  // namespace ww::epilogue
