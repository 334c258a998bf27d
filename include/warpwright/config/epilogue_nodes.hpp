// SPDX-License-Identifier: Apache-2.0
// An epilogue as a value: D = f(accumulator, C, vectors, scalars) as a postfix array of nodes, operands before the node
// that uses them. If it is empty, D is the scaled accumulator.
//   silu(acc * alpha + bias)  =  acc, scalar 0, multiply, row_vector 0, add, silu
// Functions are lines of WW_EPILOGUE_FUNCTIONS and WW_EPILOGUE_FUNCTIONS_OF_TWO. A line makes the node, its name in
// texts, its C++ function and its line of `gemm --help`. A function also needs its FP32 form (epilogue/functions.hpp)
// and its FP64 form with a bound (epilogue_bounds.hpp of the reference). The tree is part of GemmConfig and therefore
// of the kernel's type; epilogue/tree.hpp evaluates it on the device. The expressions of host/epilogue.hpp or a text
// (src/config/epilogue_text.cpp) build it. docs/numerics.md says how each node rounds.
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
  X(exp, "e^x")                                                       \
  X(quick_gelu, "x sigmoid(1.702 x), GELU by one sigmoid")
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
  quantise,             // D is FP8: x times scalar 2, amax of |x| returned
  quantise_block,       // D is FP8: x divided by amax / largest of its 128 columns; scales returned
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
  // one, and last as `quantise`: D and scales of 8 bits in chunks (core/scale_chunks.hpp)
  quantise_mx,  // D is e4m3, e5m2 or e2m1: x divided by the power of two of its 32 columns
  quantise_nv,  // D is e2m1: x times scalar 2, divided by the e4m3 scale of its 16 columns

  too_long,  // not a node: the result of an expression of more than 32 nodes or 8 constants
};
#undef WW_EPILOGUE_OP

WW_HOST_DEVICE constexpr int operands_of(EpilogueOp op) {
  return op <= EpilogueOp::auxiliary                      ? 0
         : op < EpilogueOp::add || op > EpilogueOp::clamp ? 1
         : op < EpilogueOp::fma                           ? 2
                                                          : 3;
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
