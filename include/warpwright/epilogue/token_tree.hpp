// SPDX-License-Identifier: Apache-2.0
// An epilogue tree over a token tile in registers, tokens on either side of wgmma (token_widths.hpp).
// - normal: accumulators are (tokens, weights), the rows and columns of D.
// - swapped: accumulators are (weights, tokens), which is D^T. Row vectors are evaluated as column vectors and vice
//   versa, matrices element by element (swap_ab.hpp); tokens may begin at an odd row.
// Matrices and vectors along M are indexed by the row of D in the whole tensor; vectors along N and scalars are those
// of the tile's group. Both sides compute every element alike, so its bits do not depend on the width.
#pragma once

#include "warpwright/config/grouped_arguments.hpp"
#include "warpwright/config/swap_ab.hpp"
#include "warpwright/config/token_widths.hpp"
#include "warpwright/epilogue/tree.hpp"
#include "warpwright/scheduler/token_tile.hpp"

namespace ww::epilogue {

using namespace config;
using scheduler::TokenTile;

/// Returns a config for evaluating the tree over accumulators (64 blocks, n) of one consumer warpgroup.
WW_HOST_DEVICE constexpr GemmConfig walk_config(GemmConfig c, int blocks, int n, bool swapped) {
  c.tile.m = kWarpgroupRows * blocks, c.tile.n = n;
  c.sm90.consumer_warpgroups = 1;
  if (swapped) c.epilogue = exchanged(c.epilogue), c.operands.c_layout = OutputLayout::column;
  return c;
}

/// Exchanges row vectors and column vectors.
WW_DEVICE EpilogueArguments exchanged(EpilogueArguments arguments) {
  WW_UNROLL
  for (int i = 0; i < kEpilogueSlots; ++i) {
    const void* const row = arguments.row_vector[i];
    arguments.row_vector[i] = arguments.column_vector[i], arguments.column_vector[i] = row;
  }
  return arguments;
}

/// Applies the tree of kConfig to this warpgroup's columns of `tile`, from `first_column` of D on. All its threads call
/// it.
template <GemmConfig kConfig, TokenWidth kWidth, class Accumulator, int kMmaBlocks>
WW_DEVICE void apply_tree(const GroupedArguments& arguments, Accumulator (&acc)[kMmaBlocks], const TokenTile& tile,
                          int first_column) {
  constexpr GemmConfig kWalk = walk_config(kConfig, kMmaBlocks, 2 * Accumulator::kValues, kWidth.swapped);
  const EpilogueArguments of_group = of_matrix(arguments.epilogue, tile.group);
  const EpilogueArguments of_tile = kWidth.swapped ? exchanged(of_group) : of_group;
  const int thread = static_cast<int>(arch::thread_index() % arch::kWarpgroupSize);
  const int row = 16 * (thread / 32) + thread % 32 / 4, end = tile.row + tile.rows;  // of the instruction; of tokens
  TileExtent extent{};
  extent.thread = thread;
  if constexpr (kWidth.swapped)
    extent.m = arguments.n, extent.n = end, extent.first_row = first_column + row, extent.first_column = tile.row;
  else extent.m = end, extent.n = arguments.n, extent.first_row = tile.row + row, extent.first_column = first_column;
  EpilogueReductions<kWalk> reductions(of_tile, extent);  // the tree has none
  // Half as many values as usual, because more would spill beside 128 accumulators, and a ragged kernel has one
  // evaluation for every width.
  EpilogueWalk<kWalk, values_at_once(kConfig.epilogue) / 2> walk(of_tile, extent);
  walk.apply(acc, reductions);
}

}  // namespace ww::epilogue
