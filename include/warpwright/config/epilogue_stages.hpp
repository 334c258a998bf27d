// SPDX-License-Identifier: Apache-2.0
// The structure of an epilogue tree: classes of nodes, where operands begin, the stages that follow one another, and
// what is wrong with a tree by itself. The nodes are in epilogue_nodes.hpp.
#pragma once

#include "warpwright/config/epilogue_nodes.hpp"
#include "warpwright/core/scale_chunks.hpp"

namespace ww::config {

/// Returns whether the node makes D an operand with scales of mx or nv.
WW_HOST_DEVICE constexpr bool is_microscale(EpilogueOp op) {
  return op == EpilogueOp::quantise_mx || op == EpilogueOp::quantise_nv;
}
WW_HOST_DEVICE constexpr bool is_quantise(EpilogueOp op) {
  return (op >= EpilogueOp::quantise && op <= EpilogueOp::quantise_block_pow2) || is_microscale(op);
}
/// Returns the columns of D that share a scale, and those of a chunk of scales; 128 without chunks.
WW_HOST_DEVICE constexpr int columns_of_out_scale(EpilogueOp op) {
  return op == EpilogueOp::quantise_mx ? 32 : op == EpilogueOp::quantise_nv ? 16 : 128;
}
WW_HOST_DEVICE constexpr int columns_of_out_chunk(EpilogueOp op) {
  return is_microscale(op) ? kScaleChunkScales * columns_of_out_scale(op) : 128;
}
/// Returns whether the node, which quantises, makes values of `type`. Without one, all wider than 8 bits are right.
WW_HOST_DEVICE constexpr bool makes_type(EpilogueOp quantise, DType type) {
  if (quantise == EpilogueOp::none) return bits_of(type) > 8;
  if (quantise == EpilogueOp::quantise_nv) return type == DType::e2m1;
  return is_fp8(type) || (quantise == EpilogueOp::quantise_mx && type == DType::e2m1);
}
WW_HOST_DEVICE constexpr bool is_swiglu(EpilogueOp op) {
  return op == EpilogueOp::swiglu || op == EpilogueOp::swiglu_halves;
}
WW_HOST_DEVICE constexpr bool is_row_reduction(EpilogueOp op) {
  return op == EpilogueOp::row_amax || op == EpilogueOp::row_sum;
}
WW_HOST_DEVICE constexpr bool is_column_reduction(EpilogueOp op) {
  return op == EpilogueOp::column_amax || op == EpilogueOp::column_sum;
}
WW_HOST_DEVICE constexpr bool is_reduction(EpilogueOp op) { return is_row_reduction(op) || is_column_reduction(op); }
/// Returns whether the node writes one of the outputs 0 to 3.
WW_HOST_DEVICE constexpr bool is_output(EpilogueOp op) { return op == EpilogueOp::store || is_reduction(op); }

/// Returns the first node of the operand that ends with node `last`, or -1 if operands are missing.
WW_HOST_DEVICE constexpr int first_node(const EpilogueTree& tree, int last) {
  int missing = 1;
  for (int i = last; i >= 0; --i) {
    missing += operands_of(tree.node(i).op) - 1;
    if (missing == 0) return i;
  }
  return -1;
}
/// Returns the last node of operand `which` (from 0) of node `at`.
WW_HOST_DEVICE constexpr int operand_node(const EpilogueTree& tree, int at, int which) {
  int last = at - 1;
  for (int i = operands_of(tree.node(at).op) - 1; i > which; --i) last = first_node(tree, last) - 1;
  return last;
}

/// The stages of a tree: element by element up to `body`, then optionally SwiGLU, then optionally quantisation.
struct EpilogueStages {
  int body = -1;  // last node of the part that is evaluated for each element
  EpilogueOp swiglu = EpilogueOp::none, quantise = EpilogueOp::none;
};
WW_HOST_DEVICE constexpr EpilogueStages stages_of(const EpilogueTree& tree) {
  EpilogueStages stages;
  stages.body = tree.size() - 1;
  if (stages.body >= 0 && is_quantise(tree.node(stages.body).op)) stages.quantise = tree.node(stages.body--).op;
  if (stages.body >= 0 && is_swiglu(tree.node(stages.body).op)) stages.swiglu = tree.node(stages.body--).op;
  return stages;
}

/// Returns the columns of D for `n` columns of the product.
template <class Int> WW_HOST_DEVICE constexpr Int output_columns(const EpilogueTree& tree, Int n) {
  return stages_of(tree).swiglu == EpilogueOp::none ? n : n / 2;
}

WW_HOST_DEVICE constexpr bool has_row_reductions(const EpilogueTree& tree) {
  return tree.has(EpilogueOp::row_amax) || tree.has(EpilogueOp::row_sum);
}
WW_HOST_DEVICE constexpr bool has_column_reductions(const EpilogueTree& tree) {
  return tree.has(EpilogueOp::column_amax) || tree.has(EpilogueOp::column_sum);
}
/// Returns whether tiles combine results; the kernel then needs a workspace.
WW_HOST_DEVICE constexpr bool reduces(const EpilogueTree& tree) {
  return has_row_reductions(tree) || has_column_reductions(tree) || tree.has(EpilogueOp::quantise);
}
/// Returns the number of reductions of node `at`'s direction that precede it.
WW_HOST_DEVICE constexpr int reduction_index(const EpilogueTree& tree, int at) {
  int count = 0;
  for (int i = 0; i < at; ++i)
    count +=
        is_row_reduction(tree.node(at).op) ? is_row_reduction(tree.node(i).op) : is_column_reduction(tree.node(i).op);
  return count;
}

/// Returns what is wrong with a tree by itself, or null. `exchanged`: the tree is that of a kernel under swap-AB, whose
/// column vectors are the row vectors of the requested tree.
WW_HOST_DEVICE constexpr const char* fault_of(const EpilogueTree& tree, bool exchanged = false) {
  const int size = tree.size();
  if (size == 0) return nullptr;
  for (int i = 0; i < size; ++i)
    if (tree.node(i).op == EpilogueOp::too_long) return "at most 32 nodes and 8 different constants";
  for (u32 bits : tree.constant)
    if ((bits & 0x7f800000u) == 0x7f800000u) return "finite constants";
  for (int i = size; i < kEpilogueNodes; ++i)
    if (tree.node(i).op != EpilogueOp::none) return "nodes without a gap (an expression of more than 32 nodes has one)";
  if (first_node(tree, size - 1) != 0) return "one expression: every node with its operands before it";
  const EpilogueStages stages = stages_of(tree);
  for (int i = 0; i < size; ++i) {
    const EpilogueNode x = tree.node(i);
    if (x.op >= EpilogueOp::too_long || x.slot >= (x.op == EpilogueOp::constant ? kEpilogueConstants : kEpilogueSlots))
      return "operands and outputs 0 to 3, at most 8 constants";
    if (i <= stages.body && (is_quantise(x.op) || is_swiglu(x.op)))
      return "swiglu and quantise last: quantise(swiglu(...))";
    const bool typed_vector = x.op == EpilogueOp::row_vector || (exchanged && x.op == EpilogueOp::column_vector);
    const bool in_memory = x.op == EpilogueOp::c || typed_vector || x.op == EpilogueOp::auxiliary ||
                           x.op == EpilogueOp::store || x.op == EpilogueOp::convert;
    if (in_memory && is_fp8(x.type) && x.op != EpilogueOp::convert) return "bf16, f16 or f32 in memory";
    if (!in_memory && x.type != DType::f32) return "FP32 column vectors, constants and reductions";
    for (int j = 0; j < i; ++j) {
      const EpilogueNode y = tree.node(j);
      if (is_output(x.op) && is_output(y.op) && x.slot == y.slot) return "each output written once";
      const bool same = x.op == y.op && x.slot == y.slot && in_memory && x.op != EpilogueOp::convert;
      if (same && x.type != y.type) return "one type for each operand";
    }
  }
  return nullptr;
}

}  // namespace ww::config
