// SPDX-License-Identifier: Apache-2.0
// An epilogue as a value: D = f(accumulator, C, vectors, scalars) as a postfix array of nodes, operands before the node
// that uses them. If it is empty, D is the scaled accumulator.
//   silu(acc * alpha + bias)  =  acc, scalar 0, multiply, row_vector 0, add, silu
// Functions are lines of WW_EPILOGUE_FUNCTIONS and WW_EPILOGUE_FUNCTIONS_OF_TWO. A line makes the node, its name in
// texts, its C++ function and its line of `gemm --help`. A function also needs its FP32 form (epilogue_functions.hpp)
// and its FP64 form with a bound (epilogue_bounds.hpp of the reference). The tree is part of GemmConfig and therefore
// of the kernel's type; epilogue_tree.hpp evaluates it on the device. The expressions of host/epilogue.hpp or a text
// (select/epilogue_text.cpp) build it. docs/numerics.md says how each node rounds.
#pragma once

#include "warpwright/core/dtype.hpp"

/// name, value for x
#define WW_EPILOGUE_FUNCTIONS(X)                                      \
  X(relu, "+0 where x <= 0, else x; NaN stays")                       \
  X(relu2, "relu(x)^2")                                               \
  X(gelu_erf, "x (1 + erf(x / sqrt(2))) / 2, the exact GELU")         \
  X(gelu, "x sigmoid(2 sqrt(2/pi) (x + 0.044715 x^3)), GELU by tanh") \
  X(silu, "x sigmoid(x)")                                             \
  X(sigmoid, "1 / (1 + e^-x)")                                        \
  X(tanh, "(e^x - e^-x) / (e^x + e^-x)")                              \
  X(exp, "e^x")
/// The functions of two operands.
#define WW_EPILOGUE_FUNCTIONS_OF_TWO(X)                                                         \
  X(max, "the larger of x and y, NaN where either is NaN, +0 of two zeros unless both are -0")  \
  X(min, "the smaller of x and y, NaN where either is NaN, -0 of two zeros unless both are +0") \
  X(softcap, "tanh(x / y) y")

namespace ww {

#define WW_EPILOGUE_OP(name, formula) name,
enum class EpilogueOp : u8 {
  none,
  // leaves
  accumulator,    // A B^T after the scale recipe
  constant,       // slot 0 to 7 of the tree's constants
  scalar,         // value known at launch: slot 0 is alpha, 1 is beta
  c,              // C[m, n]; may be D itself
  row_vector,     // v[n], broadcast along the rows
  column_vector,  // v[m], broadcast along the columns; FP32
  auxiliary,      // X[m, n]
  // one operand
  // clang-format off
  WW_EPILOGUE_FUNCTIONS(WW_EPILOGUE_OP)
  // clang-format on
  convert,   // rounds to `type`; its value is the rounded one, in FP32
  store,     // writes X[m, n]; its value is the one before rounding
  row_amax,  // out[m] = max over n of |x|
  row_sum,   // out[m] = sum over n of x
  column_amax,
  column_sum,
  // Nodes that combine the columns of a row; they are the last nodes of a tree.
  swiglu,               // columns 2j (gate) and 2j + 1 (up) become column j: silu(gate) up
  swiglu_halves,        // columns j and j + N / 2 become column j
  quantise,             // D is e4m3: x times scalar 2, amax of |x| returned
  quantise_block,       // D is e4m3: x divided by amax / 448 of its 128 columns; scales returned
  quantise_block_pow2,  // the same, with the scale rounded up to a power of two
  // two
  add,
  multiply,
  divide,
  // clang-format off
  WW_EPILOGUE_FUNCTIONS_OF_TWO(WW_EPILOGUE_OP)
  // clang-format on
  // three
  fma,    // x y + z, one rounding
  clamp,  // x limited to [y, z]

  too_long,  // not a node: the result of an expression of more than 32 nodes or 8 constants
};
#undef WW_EPILOGUE_OP

WW_HOST_DEVICE constexpr int operands_of(EpilogueOp op) {
  return op <= EpilogueOp::auxiliary ? 0 : op < EpilogueOp::add ? 1 : op < EpilogueOp::fma ? 2 : 3;
}

inline constexpr int kEpilogueNodes = 32;
inline constexpr int kEpilogueSlots = 4;  // of each kind of operand and output
inline constexpr int kEpilogueConstants = 8;
inline constexpr int kScalarAlpha = 0, kScalarBeta = 1, kScalarOutScale = 2;

struct EpilogueNode {
  EpilogueOp op = EpilogueOp::none;
  u8 slot = 0;              // number of the scalar, vector, matrix, output or constant
  DType type = DType::f32;  // of the operand or output in memory, or to convert to
  bool operator==(const EpilogueNode&) const = default;
};

/// Nodes as 16-bit codes, four per 64-bit word: op in bits 0 to 7, slot 8 to 11, type 12 to 15. They are packed because
/// a tree is part of the name of every function of its kernel, in symbols and in compiler messages.
struct EpilogueTree {
  u64 code[kEpilogueNodes / 4] = {};
  u32 constant[kEpilogueConstants] = {};  // FP32 bit patterns, by slot
  bool operator==(const EpilogueTree&) const = default;

  WW_HOST_DEVICE constexpr EpilogueNode node(int i) const {
    const u32 bits = static_cast<u32>(code[i / 4] >> (16 * (i % 4)));
    return {static_cast<EpilogueOp>(bits & 0xff), static_cast<u8>(bits >> 8 & 0xf),
            static_cast<DType>(bits >> 12 & 0xf)};
  }
  WW_HOST_DEVICE constexpr void set_node(int i, EpilogueNode n) {
    const u64 bits = static_cast<u64>(n.op) | static_cast<u64>(n.slot) << 8 | static_cast<u64>(n.type) << 12;
    code[i / 4] = (code[i / 4] & ~(u64{0xffff} << (16 * (i % 4)))) | bits << (16 * (i % 4));
  }
  WW_HOST_DEVICE constexpr int size() const {
    int n = 0;
    while (n < kEpilogueNodes && node(n).op != EpilogueOp::none) ++n;
    return n;
  }
  WW_HOST_DEVICE constexpr bool empty() const { return node(0).op == EpilogueOp::none; }
  WW_HOST_DEVICE constexpr bool has(EpilogueOp op) const {
    for (int i = 0; i < size(); ++i)
      if (node(i).op == op) return true;
    return false;
  }
  WW_HOST_DEVICE constexpr bool has(EpilogueOp op, int slot) const {
    for (int i = 0; i < size(); ++i)
      if (node(i).op == op && node(i).slot == slot) return true;
    return false;
  }
};

}  // namespace ww

namespace ww::collective {

WW_HOST_DEVICE constexpr bool is_quantise(EpilogueOp op) {
  return op >= EpilogueOp::quantise && op <= EpilogueOp::quantise_block_pow2;
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
    if (x.op > EpilogueOp::clamp || x.slot >= (x.op == EpilogueOp::constant ? kEpilogueConstants : kEpilogueSlots))
      return "operands and outputs 0 to 3, at most 8 constants";
    if (i <= stages.body && (is_quantise(x.op) || is_swiglu(x.op)))
      return "swiglu and quantise last: quantise(swiglu(...))";
    const bool typed_vector = x.op == EpilogueOp::row_vector || (exchanged && x.op == EpilogueOp::column_vector);
    const bool in_memory = x.op == EpilogueOp::c || typed_vector || x.op == EpilogueOp::auxiliary ||
                           x.op == EpilogueOp::store || x.op == EpilogueOp::convert;
    if (in_memory && x.type == DType::e4m3 && x.op != EpilogueOp::convert) return "bf16, f16 or f32 in memory";
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

}  // namespace ww::collective
