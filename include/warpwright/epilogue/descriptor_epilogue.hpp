// SPDX-License-Identifier: Apache-2.0
// From accumulators of a token tile to D through the tensor map of its group: scale, evaluate the tree, convert,
// transpose to rows of tokens in shared memory, store by TMA. Rows past the end of the group are past the map's end,
// where the hardware drops them.
//   shared tile: panels of 128 bytes of columns, (TILE_M, panel) each, swizzled; a consumer warpgroup owns whole panels
// FP32 is written one element at a time, because the swizzle keeps the 32 elements of a warp in different banks.
// The store reads shared memory while the next tile is multiplied.
#pragma once

#include "warpwright/atom/tma_atom.hpp"
#include "warpwright/config/config_parameter.hpp"
#include "warpwright/epilogue/ragged_epilogue.hpp"
#include "warpwright/pipeline/tma_store_pipeline.hpp"

namespace ww::epilogue {

template <ConfigParameter kConfig> struct DescriptorEpilogue {
  using Ragged = RaggedEpilogue<kConfig>;  // scales, the columns of a warpgroup, zeros
  static constexpr DType kOut = kConfig.operands.d;
  static constexpr EpilogueTree kTree = kConfig.epilogue;
  static constexpr int kPanelColumns = kRowBytes / bytes_of(kOut);
  static constexpr int kPanels = Ragged::kPart / kPanelColumns;  // of a warpgroup
  static constexpr int kFirstBarrier = 1;  // named barrier of consumer warpgroup 0; 0 is the CTA's
  using SharedD = atom::SharedPanels<kOut, kConfig.tile.m, kRowBytes>;  // (TILE_M, (columns of a panel, panels))
  using Buffer = pipeline::TmaStorePipeline<kFirstBarrier, 2, arch::kWarpgroupSize>;

  /// Stores acc as this warpgroup's columns of the tile's rows, from row `row` of the group on. All its threads call
  /// it.
  template <class F, int kMmaBlocks>
  WW_DEVICE static void store(const GroupedArguments& arguments, arch::SharedAddress base, const Buffer& buffer,
                              int consumer_warpgroup, F (&acc)[kMmaBlocks], const TokenTile& tile,
                              const arch::TensorMap& group_d, int row) {
    if constexpr (kTree.empty()) {
      write<true>(arguments, base, buffer, consumer_warpgroup, acc, tile, group_d, row);
    } else {
      WW_UNROLL
      for (int u = 0; u < kMmaBlocks; ++u)
        Ragged::scale(arguments, acc[u], tile, Ragged::column_of(consumer_warpgroup, tile), u);
      store_tree(arguments, base, buffer, consumer_warpgroup, acc, tile, group_d, row);
    }
  }
  /// Does the same with the tree over unscaled acc, for K = 0.
  template <class F, int kMmaBlocks>
  WW_DEVICE static void store_tree(const GroupedArguments& arguments, arch::SharedAddress base, const Buffer& buffer,
                                   int consumer_warpgroup, F (&acc)[kMmaBlocks], const TokenTile& tile,
                                   const arch::TensorMap& group_d, int row) {
    apply_tree<kTree>(arguments, acc, tile, Ragged::column_of(consumer_warpgroup, tile));
    write<false>(arguments, base, buffer, consumer_warpgroup, acc, tile, group_d, row);
  }

 private:
  // Without a tree the scales are applied here, so that an MMA_M block's accumulators are finished before the next
  // block's scales are loaded.
  template <bool kScales, class F, int kMmaBlocks>
  WW_DEVICE static void write(const GroupedArguments& arguments, arch::SharedAddress base, const Buffer& buffer,
                              int consumer_warpgroup, F (&acc)[kMmaBlocks], const TokenTile& tile,
                              const arch::TensorMap& group_d, int row) {
    static_assert(F::kPairsAlongM);  // the fragments are side by side
    const int first_column = Ragged::column_of(consumer_warpgroup, tile);
    const SharedD sD{base + grouped_shared_plan(kConfig).staging};  // (TILE_M, TILE_N)
    buffer.acquire();
    WW_UNROLL
    for (int u = 0; u < kMmaBlocks; ++u) {
      if constexpr (kScales) Ragged::scale(arguments, acc[u], tile, first_column, u);
      atom::write_fragment<kOut, F::kRows>(sD, 0, consumer_warpgroup * Ragged::kPart + u * F::kColumns, acc[u], 0);
    }
    buffer.publish();
    if (!buffer.is_issuer()) return;
    WW_UNROLL
    for (int i = 0; i < kPanels; ++i)
      atom::copy(atom::TmaStoreAtom{group_d}, sD.panel(0, consumer_warpgroup * kPanels + i),  // (TILE_M, panel)
                 atom::Box<false>{row, first_column + i * kPanelColumns});
    buffer.commit();
  }
};

}  // namespace ww::epilogue
