// SPDX-License-Identifier: Apache-2.0
// From accumulators of a token tile to D through the tensor map of its group: scale, evaluate the tree, convert,
// transpose to rows of tokens in shared memory, store by TMA. Rows past the end of the group are past the map's end,
// where the hardware drops them.
//   shared tile: panels of 128 bytes of columns, (TILE_M, panel) each, swizzled; a consumer warpgroup owns whole panels
// The store reads shared memory while the next tile is multiplied.
#pragma once

#include "warpwright/epilogue/ragged_epilogue.hpp"
#include "warpwright/pipeline/tma_store_pipeline.hpp"

namespace ww::epilogue {

template <GemmConfig kConfig> struct DescriptorEpilogue {
  using Mainloop = mainloop::RaggedMainloop<kConfig>;
  using Values = RaggedEpilogue<kConfig>;  // which value is which element, and its scale
  static constexpr TokenWidth kWidth{kConfig.tile.m, true};
  static constexpr DType kOut = kConfig.operands.d;
  static constexpr EpilogueTree kTree = kConfig.epilogue;
  static constexpr int kTokens = kConfig.tile.m, kPart = Mainloop::kPart;
  static constexpr int kPanelColumns = kRowBytes / bytes_of(kOut);
  static constexpr int kPanels = Mainloop::kWeights / kPanelColumns;
  static constexpr int kFirstBarrier = 1;  // named barrier of consumer warpgroup 0; 0 is the CTA's

  using Shape = typename Mainloop::template Shape<kWidth>;
  using Accumulator = typename Shape::Accumulator;
  using SharedD = atom::SharedPanels<kOut, kTokens, kRowBytes>;  // (TILE_M, (columns of a panel, panels))
  using Buffer = pipeline::TmaStorePipeline<kFirstBarrier, 2, arch::kWarpgroupSize>;

  /// Stores acc as this warpgroup's columns of the tile's rows, from row `row` of the group on. All its threads call
  /// it.
  WW_DEVICE static void store(const GroupedArguments& arguments, arch::SharedAddress base, const Buffer& buffer,
                              int consumer_warpgroup, Accumulator (&acc)[Shape::kMmaBlocks], const TokenTile& tile,
                              const arch::TensorMap& group_d, int row) {
    if constexpr (kTree.empty()) {
      write<true>(arguments, base, buffer, consumer_warpgroup, acc, tile, group_d, row);
    } else {
      WW_UNROLL
      for (int u = 0; u < Shape::kMmaBlocks; ++u)
        Values::template scale<kWidth>(arguments, acc[u], tile, column_of(consumer_warpgroup, tile), u);
      store_tree(arguments, base, buffer, consumer_warpgroup, acc, tile, group_d, row);
    }
  }
  /// Does the same with the tree over unscaled acc, for K = 0.
  WW_DEVICE static void store_tree(const GroupedArguments& arguments, arch::SharedAddress base, const Buffer& buffer,
                                   int consumer_warpgroup, Accumulator (&acc)[Shape::kMmaBlocks], const TokenTile& tile,
                                   const arch::TensorMap& group_d, int row) {
    apply_tree<kConfig, kWidth>(arguments, acc, tile, column_of(consumer_warpgroup, tile));
    write<false>(arguments, base, buffer, consumer_warpgroup, acc, tile, group_d, row);
  }

 private:
  /// Returns the first column of D that this warpgroup owns.
  WW_DEVICE static int column_of(int consumer_warpgroup, const TokenTile& tile) {
    return tile.tile_n * Mainloop::kWeights + consumer_warpgroup * kPart;
  }

  // Without a tree the scales are applied here, so that an MMA_M block's accumulators are finished before the next
  // block's scales are loaded.
  template <bool kScales>
  WW_DEVICE static void write(const GroupedArguments& arguments, arch::SharedAddress base, const Buffer& buffer,
                              int consumer_warpgroup, Accumulator (&acc)[Shape::kMmaBlocks], const TokenTile& tile,
                              const arch::TensorMap& group_d, int row) {
    const int first_column = column_of(consumer_warpgroup, tile);
    const SharedD sD{base + Mainloop::kShared.staging};  // (TILE_M, TILE_N)
    buffer.acquire();
    WW_UNROLL
    for (int u = 0; u < Shape::kMmaBlocks; ++u) {
      if constexpr (kScales) Values::template scale<kWidth>(arguments, acc[u], tile, first_column, u);
      const int column = consumer_warpgroup * kPart + u * kWarpgroupRows;
      if constexpr (kOut == DType::f32) write_words(sD, column, acc[u]);
      else write_matrices(sD, column, acc[u]);
    }
    buffer.publish();
    if (!buffer.is_issuer()) return;
    WW_UNROLL
    for (int i = 0; i < kPanels / 2; ++i)
      atom::copy(atom::TmaStoreAtom{group_d}, sD.panel(0, consumer_warpgroup * (kPanels / 2) + i),  // (TILE_M, panel)
                 atom::Box<false>{row, first_column + i * kPanelColumns});
    buffer.commit();
  }

  // 16-bit outputs: values 8j .. 8j + 7 of a warp are 16 weights of 16 tokens, four 8 x 8 matrices. A transposed matrix
  // is 8 rows of tokens, 16 bytes each.
  WW_DEVICE static void write_matrices(const SharedD& sD, int first_column, const Accumulator& acc) {
    const int lane = static_cast<int>(arch::lane_index());
    const int column = first_column + 16 * static_cast<int>(arch::warp_index() % 4) + lane / 8 % 2 * 8;
    const auto word = [&](int v) { return Values::pack(acc[v], acc[v + 1]); };
    WW_UNROLL
    for (int t = 0; t < kTokens; t += 16) {
      const int v = t / 2;
      if (t + 8 < kTokens)
        arch::stmatrix_transposed(sD(t + lane / 16 * 8 + lane % 8, column),
                                  arch::Words<4>{{word(v), word(v + 2), word(v + 4), word(v + 6)}});
      else arch::stmatrix_transposed(sD(t + lane % 8, column), arch::Words<2>{{word(v), word(v + 2)}});
    }
  }

  // FP32 outputs, one element at a time: the swizzle keeps the 32 elements of a warp in different banks.
  WW_DEVICE static void write_words(const SharedD& sD, int first_column, const Accumulator& acc) {
    const int thread = static_cast<int>(arch::thread_index() % arch::kWarpgroupSize);
    WW_UNROLL
    for (int v = 0; v < Accumulator::kValues; ++v)
      arch::shared::store(sD(Values::template token_of<kWidth, Accumulator>(thread, 0, v),
                             first_column + Values::template column_of<kWidth, Accumulator>(thread, 0, v)),
                          arch::bits_of(acc[v]));
  }
};

}  // namespace ww::epilogue
