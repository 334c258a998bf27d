// SPDX-License-Identifier: Apache-2.0
// Epilogues as C++ expressions and as text, and the pointers that a launch passes to them.
//   using namespace ww::evt;
//   problem.epilogue = silu(acc * alpha + bias());                    or  *parse_epilogue("silu(acc * alpha + bias)")
// Both lines make the same value (epilogue_nodes.hpp); print and parse round-trip. Every operation rounds once, in the
// order written; fma(x, y, z) is a multiply-add that rounds once. docs/numerics.md has the formulas.
#pragma once

#include <bit>
#include <cstdint>
#include <string>
#include <string_view>

#include "warpwright/config/epilogue_nodes.hpp"
#include "warpwright/host/result.hpp"

namespace ww {

/// Returns the text of `tree`, from which parse_epilogue() makes the same tree. It contains no blanks, so that it can
/// be part of a config's text.
std::string to_text(const EpilogueTree& tree);

/// Parses the epilogue expression `text`. Errors are invalid; they name the position (from 1), what is accepted there,
/// and what was found.
///   names      acc; alpha, beta, scalar2, scalar3; c; bias (= row0), row1 to row3; col0 to col3; aux0 to aux3; numbers
///   types      name:bf16, :f16, :f32 for c, aux and row; without: bf16 for matrices, f32 for vectors
///   operators  + - * / ( ), from left to right, * and / before + and -
///   functions  relu(x), ...; max(x, y), ...: the lines of the tables in config/epilogue_nodes.hpp, which `warpwright
///              gemm --help` prints; fma(x, y, z); clamp(x, low, high); convert(x, type)
///              store(x, out0:type); row_amax(x, out1), row_sum, column_amax, column_sum
///   at the end swiglu(x), swiglu_halves(x); quantise(x), quantise_block(x), quantise_block_pow2(x); on Blackwell
///              quantise_mx(x), quantise_nv(x)
Result<EpilogueTree> parse_epilogue(std::string_view text);

/// The operands of a tree, in device memory. Operands that the tree does not name may stay empty. Vectors are
/// contiguous; matrices are contiguous along N. If the product has no elements (M or N is 0), column reductions of N
/// columns, row reductions of M rows and amax become 0, and nothing else is written.
struct EpilogueOperands {
  float scalar[kEpilogueSlots] = {1, 1, 1, 1};  // alpha, beta, the factor of `quantise` and `quantise_nv`, one more
  const float* scalar_pointer[kEpilogueSlots] = {};  // when not null, one float each that replaces the value above
  // Matrices are (M, N). With GemmProblem::c_layout column they are (N, M) in memory, and M replaces N in the strides.
  // C may be the same memory as D if its type, layout and strides are D's. Apart from that, no output shares a byte
  // with another operand; they may interleave.
  const void* c = nullptr;
  std::int64_t ldc = 0;                             // elements from row to row; 0: N
  const void* row_vector[kEpilogueSlots] = {};      // (N)
  const float* column_vector[kEpilogueSlots] = {};  // (M)
  const void* auxiliary[kEpilogueSlots] = {};       // (M, N)
  std::int64_t ld_auxiliary[kEpilogueSlots] = {};   // 0: N
  void* out[kEpilogueSlots] = {};            // store: (M, N); row reductions: (M) floats; column reductions: (N) floats
  std::int64_t ld_out[kEpilogueSlots] = {};  // of store; 0: N
  float* out_scales = nullptr;               // quantise_block: (M, ceil(columns of D / 128)) floats
  std::int64_t out_scales_row = 0, out_scales_block = 0;  // strides; both 0: packed row-major
  float* amax = nullptr;                                  // quantise: one float
  // Strides of a batch or of groups of rows (host/grouped.hpp): the elements between the operands of consecutive
  // matrices. 0 means that all matrices share an input, and that outputs are packed one after another. Every matrix and
  // vector starts at an even element.
  std::int64_t batch_scalar[kEpilogueSlots] = {};                                                // of scalar_pointer
  std::int64_t batch_c = 0;                                                                      // of c, and so on
  std::int64_t batch_row_vector[kEpilogueSlots] = {}, batch_column_vector[kEpilogueSlots] = {};  // of the vectors
  std::int64_t batch_auxiliary[kEpilogueSlots] = {};                                             // of auxiliary
  std::int64_t batch_out[kEpilogueSlots] = {};                                                   // of out
  std::int64_t batch_out_scales = 0, batch_amax = 0;  // of the outputs of quantising epilogues
  // quantise_mx and quantise_nv: scales of D in chunks (core/scale_chunks.hpp), at a multiple of 16 bytes, and the
  // bytes from one matrix of a batch to the next; 0: packed. Scales behind the last row of a matrix are left alone.
  // Groups of rows have theirs where host/grouped.hpp has those of A.
  void* out_scale_chunks = nullptr;
  std::int64_t batch_out_scale_chunks = 0;
};

namespace evt {

/// An expression from which an epilogue tree is built.
class Expression {
 public:
  /// The constant `value`.
  constexpr Expression(float value) : tree_{} {  // NOLINT: numbers are expressions
    tree_.constant[0] = std::bit_cast<u32>(value);
    push({EpilogueOp::constant, 0, DType::f32});
  }
  /// A node without operands, `leaf`.
  constexpr explicit Expression(EpilogueNode leaf) : tree_{} { push(leaf); }
  /// A `node` of `operands`. One tree holds 32 nodes and 8 constants; a longer one is refused when a plan is made.
  template <class... Operands> constexpr Expression(EpilogueNode node, const Operands&... operands) : tree_{} {
    (append(operands.tree_), ...);
    push(node);
  }
  /// The tree, for GemmProblem::epilogue.
  constexpr operator EpilogueTree() const { return tree_; }  // NOLINT: that is what it is for

 private:
  constexpr void push(EpilogueNode node) {
    if (used_ < kEpilogueNodes) tree_.set_node(used_++, node);
    else overflow();
  }
  constexpr void append(const EpilogueTree& other) {
    for (int i = 0; i < other.size(); ++i) {
      EpilogueNode node = other.node(i);
      if (node.op == EpilogueOp::constant) node.slot = constant(other.constant[node.slot]);
      push(node);
    }
  }
  constexpr u8 constant(u32 bits) {
    for (int i = 0; i < constants_; ++i)
      if (tree_.constant[i] == bits) return static_cast<u8>(i);
    if (constants_ == kEpilogueConstants) return overflow(), 0;
    tree_.constant[constants_] = bits;
    return static_cast<u8>(constants_++);
  }
  constexpr void overflow() { tree_.set_node(0, {EpilogueOp::too_long, 0, DType::f32}); }

  EpilogueTree tree_;
  int used_ = 0, constants_ = 0;
};

/// The scaled product.
inline constexpr Expression acc(EpilogueNode{EpilogueOp::accumulator});
/// The scalar number `slot`, 0 to 3: EpilogueOperands::scalar. alpha and beta are the first two.
constexpr Expression scalar(int slot) {
  return Expression(EpilogueNode{EpilogueOp::scalar, static_cast<u8>(slot), DType::f32});
}
inline constexpr Expression alpha = scalar(kScalarAlpha), beta = scalar(kScalarBeta);
/// The matrix C, whose elements have `type`.
constexpr Expression c(DType type = bf16) { return Expression(EpilogueNode{EpilogueOp::c, 0, type}); }
/// The row vector number `slot` (N elements of `type`), the same for every row. bias() is the first.
constexpr Expression row(int slot, DType type = f32) {
  return Expression(EpilogueNode{EpilogueOp::row_vector, static_cast<u8>(slot), type});
}
constexpr Expression bias(DType type = f32) { return row(0, type); }
/// The column vector number `slot` (M floats), the same for every column.
constexpr Expression column(int slot) {
  return Expression(EpilogueNode{EpilogueOp::column_vector, static_cast<u8>(slot), DType::f32});
}
/// The auxiliary matrix number `slot`, whose elements have `type`.
constexpr Expression aux(int slot, DType type = bf16) {
  return Expression(EpilogueNode{EpilogueOp::auxiliary, static_cast<u8>(slot), type});
}

/// x + y, x * y and x / y, each rounded once.
constexpr Expression operator+(const Expression& x, const Expression& y) { return {{EpilogueOp::add}, x, y}; }
constexpr Expression operator*(const Expression& x, const Expression& y) { return {{EpilogueOp::multiply}, x, y}; }
constexpr Expression operator/(const Expression& x, const Expression& y) { return {{EpilogueOp::divide}, x, y}; }
/// Subtraction and negation, as x + y * (-1) and x * (-1). The products are exact, so both round as IEEE subtraction
/// and negation do.
constexpr Expression operator-(const Expression& x, const Expression& y) { return x + y * -1.0f; }
constexpr Expression operator-(const Expression& x) { return x * -1.0f; }

/// relu(x), gelu(x), ..., max(x, y), ...: every line of WW_EPILOGUE_FUNCTIONS and WW_EPILOGUE_FUNCTIONS_OF_TWO, in
/// config/epilogue_nodes.hpp.
#define WW_EPILOGUE_FUNCTION(name, formula) \
  constexpr Expression name(const Expression& x) { return {{EpilogueOp::name}, x}; }
WW_EPILOGUE_FUNCTIONS(WW_EPILOGUE_FUNCTION)
#undef WW_EPILOGUE_FUNCTION
#define WW_EPILOGUE_FUNCTION(name, formula) \
  constexpr Expression name(const Expression& x, const Expression& y) { return {{EpilogueOp::name}, x, y}; }
WW_EPILOGUE_FUNCTIONS_OF_TWO(WW_EPILOGUE_FUNCTION)
#undef WW_EPILOGUE_FUNCTION
/// Rounds `x` to `type` and back to FP32.
constexpr Expression convert(const Expression& x, DType type) { return {{EpilogueOp::convert, 0, type}, x}; }
/// Computes `x * y + z` with one rounding.
constexpr Expression fma(const Expression& x, const Expression& y, const Expression& z) {
  return {{EpilogueOp::fma}, x, y, z};
}
/// Limits `x` to [`low`, `high`].
constexpr Expression clamp(const Expression& x, const Expression& low, const Expression& high) {
  return {{EpilogueOp::clamp}, x, low, high};
}
/// Writes `x` to the output number `out` as `type`; the value is `x` as it was before rounding.
constexpr Expression store(const Expression& x, int out, DType type = bf16) {
  return {{EpilogueOp::store, static_cast<u8>(out), type}, x};
}
/// Writes the reduction of every row (over N) or column (over M) of `x` to the output number `out`, FP32: the largest
/// magnitude, or the sum. The value is `x`.
constexpr Expression row_amax(const Expression& x, int out) {
  return {{EpilogueOp::row_amax, static_cast<u8>(out)}, x};
}
constexpr Expression row_sum(const Expression& x, int out) { return {{EpilogueOp::row_sum, static_cast<u8>(out)}, x}; }
constexpr Expression column_amax(const Expression& x, int out) {
  return {{EpilogueOp::column_amax, static_cast<u8>(out)}, x};
}
constexpr Expression column_sum(const Expression& x, int out) {
  return {{EpilogueOp::column_sum, static_cast<u8>(out)}, x};
}
/// Combines columns of `x` to N / 2 columns: silu(gate) * up, where gate and up are columns 2j and 2j + 1. The last
/// function of an epilogue.
constexpr Expression swiglu(const Expression& x) { return {{EpilogueOp::swiglu}, x}; }
/// The same, where gate and up are columns j and j + N / 2.
constexpr Expression swiglu_halves(const Expression& x) { return {{EpilogueOp::swiglu_halves}, x}; }
/// Makes D e4m3 or e5m2: `x` times scalar 2, and the largest magnitude of `x` in EpilogueOperands::amax. The last
/// function.
constexpr Expression quantise(const Expression& x) { return {{EpilogueOp::quantise}, x}; }
/// Makes D e4m3 or e5m2: `x` divided by the scale of its row and 128 columns, which EpilogueOperands::out_scales
/// receives: their amax / 448, or / 57344 for e5m2;
/// quantise_block_pow2() rounds that scale up to a power of two. The last function.
constexpr Expression quantise_block(const Expression& x) { return {{EpilogueOp::quantise_block}, x}; }
constexpr Expression quantise_block_pow2(const Expression& x) { return {{EpilogueOp::quantise_block_pow2}, x}; }
/// Makes D e4m3, e5m2 or e2m1 with e8m0 scales of 1 x 32, an operand of products with Scale::mx, bit for bit as
/// plan_microscale() casts `x` in FP32. EpilogueOperands::out_scale_chunks receives the scales. The last function.
constexpr Expression quantise_mx(const Expression& x) { return {{EpilogueOp::quantise_mx}, x}; }
/// Makes D e2m1 with e4m3 scales of 1 x 16, an operand of products with Scale::nv. Scalar 2 is one over the tensor's
/// scale, which multiplies such a product. The last function.
constexpr Expression quantise_nv(const Expression& x) { return {{EpilogueOp::quantise_nv}, x}; }

}  // namespace evt
}  // namespace ww
