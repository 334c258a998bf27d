// SPDX-License-Identifier: Apache-2.0
// Swap-AB as an exchange of names. D^T = B A^T is an ordinary product of B and A, with their types, layouts and scales
// exchanged and D unchanged in memory. No kernel knows of it: the kernel of the exchanged config runs.
//   weights B (N, K)  -> the instruction's M side, 64 rows at least
//   tokens A (M, K)   -> its N side, 8 rows at least
//   D (M, N) by rows  -> D^T (N, M) by columns; C and auxiliary matrices alike; row vectors are column vectors
// Every element of D is the same sum in the same order of K, so its bits do not depend on swap-AB.
#pragma once

#include "warpwright/config/gemm_config.hpp"

namespace ww::config {

WW_HOST_DEVICE constexpr bool swaps(const GemmConfig& c) { return c.sm90.swap_ab == SwapAb::on; }

WW_HOST_DEVICE constexpr OutputLayout exchanged(OutputLayout layout) {
  return layout == OutputLayout::row ? OutputLayout::column : OutputLayout::row;
}

WW_HOST_DEVICE constexpr Scale exchanged(Scale scale) {
  return scale == Scale::block_1x128_128x128   ? Scale::block_128x128_1x128
         : scale == Scale::block_128x128_1x128 ? Scale::block_1x128_128x128
                                               : scale;
}

WW_HOST_DEVICE constexpr EpilogueOp exchanged(EpilogueOp op) {
  return op == EpilogueOp::row_vector      ? EpilogueOp::column_vector
         : op == EpilogueOp::column_vector ? EpilogueOp::row_vector
         : op == EpilogueOp::row_amax      ? EpilogueOp::column_amax
         : op == EpilogueOp::column_amax   ? EpilogueOp::row_amax
         : op == EpilogueOp::row_sum       ? EpilogueOp::column_sum
         : op == EpilogueOp::column_sum    ? EpilogueOp::row_sum
                                           : op;
}

WW_HOST_DEVICE constexpr EpilogueTree exchanged(EpilogueTree tree) {
  for (int i = 0; i < tree.size(); ++i) {
    const EpilogueNode node = tree.node(i);
    tree.set_node(i, {exchanged(node.op), node.slot, node.type});
  }
  return tree;
}

/// Maps a config with swap_ab on to the config of its kernel, which has it off, and back.
WW_HOST_DEVICE constexpr GemmConfig exchanged(GemmConfig c) {
  const GemmConfig from = c;
  c.operands.a = from.operands.b, c.operands.b = from.operands.a;
  c.operands.layout.a = from.operands.layout.b, c.operands.layout.b = from.operands.layout.a;
  c.operands.scale = exchanged(from.operands.scale);
  c.operands.d_layout = exchanged(from.operands.d_layout), c.operands.c_layout = exchanged(from.operands.c_layout);
  c.epilogue = exchanged(from.epilogue);
  c.sm90.swap_ab = swaps(from) ? SwapAb::off : SwapAb::on;
  return c;
}

/// Returns the config of the kernel that runs for `c`; it is a template argument of the kernel.
WW_HOST_DEVICE constexpr GemmConfig kernel_config(const GemmConfig& c) { return swaps(c) ? exchanged(c) : c; }

}  // namespace ww::config
