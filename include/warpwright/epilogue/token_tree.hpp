// SPDX-License-Identifier: Apache-2.0
// An epilogue tree over a token tile in registers. Fragments are (tokens, weights), the rows and columns of D. Their
// layout says which of the two is on the M side of the MMA (token_widths.hpp).
// Matrices and vectors along M are indexed by the row of D in the whole tensor; vectors along N and scalars are those
// of the tile's group. Both layouts compute every element alike, so its bits do not depend on the width.
#pragma once

#include "warpwright/config/grouped_arguments.hpp"
#include "warpwright/epilogue/tree.hpp"
#include "warpwright/scheduler/token_tile.hpp"

namespace ww::epilogue {

using scheduler::TokenTile;

/// Applies kTree to this warpgroup's columns of `tile`, from `first_column` of D on. All its threads call it.
template <EpilogueTree kTree, class F, int kMmaBlocks>
WW_DEVICE void apply_tree(const GroupedArguments& arguments, F (&acc)[kMmaBlocks], const TokenTile& tile,
                          int first_column) {
  constexpr TreeSpec kSpec{.tree = kTree, .mma_blocks = kMmaBlocks, .warps = 4};
  const EpilogueArguments of_tile = of_matrix(arguments.epilogue, tile.group);
  TileExtent extent{};
  extent.m = tile.row + tile.rows, extent.n = arguments.n;
  extent.first_row = tile.row, extent.first_column = first_column;
  extent.thread = static_cast<int>(arch::thread_index() % arch::kWarpgroupSize);
  EpilogueReductions<kSpec, F> reductions(of_tile, extent);  // the tree has none
  // Half as many values as usual, because more would spill beside 128 accumulators, and a ragged kernel has one
  // evaluation for every width.
  EpilogueWalk<kSpec, F, values_at_once(kTree) / 2> walk(of_tile, extent);
  walk.apply(acc, reductions);
}

}  // namespace ww::epilogue
