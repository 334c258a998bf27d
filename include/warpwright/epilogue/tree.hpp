// SPDX-License-Identifier: Apache-2.0
// Evaluates an epilogue tree over accumulators in registers. Every node is one `if constexpr`; nothing is interpreted.
//   for a pair along the lines: the vectors' values -> for each line of the thread: the tree -> back into acc
// A thread's values are pairs of neighbours along the lines of its fragment (atom/fragment.hpp). It loads and stores
// pairs too: 4 bytes of 16-bit elements, 8 of FP32; single elements where memory is contiguous across the lines. Past
// the edge of D, matrices are not accessed and vectors repeat their last elements. Nodes for which several threads must
// cooperate are in reductions.hpp and rows.hpp.
#pragma once

#include "warpwright/arch/common/convert.hpp"
#include "warpwright/arch/common/global.hpp"
#include "warpwright/arch/common/math.hpp"
#include "warpwright/epilogue/functions.hpp"
#include "warpwright/epilogue/reductions.hpp"

namespace ww::epilogue {

template <DType kType> WW_DEVICE float round_to(float x) {
  if constexpr (kType == DType::bf16) return arch::from_bf16(arch::to_bf16(x));
  else if constexpr (kType == DType::f16) return arch::from_f16(arch::to_f16(x));
  else if constexpr (is_fp8(kType)) return arch::from_fp8<kType>(static_cast<u8>(arch::to_fp8x2<kType>(x, 0.0f)));
  else return x;
}

/// Returns elements i and i + 1 at `base`; i is even.
template <DType kType> WW_DEVICE Pair load_pair(const void* base, i64 i) {
  if constexpr (kType == DType::f32) {
    const arch::Words<2> words = arch::global::load2(static_cast<const float*>(base) + i);
    return {arch::float_of(words.w[0]), arch::float_of(words.w[1])};
  } else {
    const u32 both = arch::global::load(static_cast<const u16*>(base) + i);
    const u16 low = static_cast<u16>(both), high = static_cast<u16>(both >> 16);
    if constexpr (kType == DType::bf16) return {arch::from_bf16(low), arch::from_bf16(high)};
    else return {arch::from_f16(low), arch::from_f16(high)};
  }
}

/// Returns element i at `base`.
template <DType kType> WW_DEVICE float load_one(const void* base, i64 i) {
  if constexpr (kType == DType::f32) {
    return arch::float_of(arch::global::load(static_cast<const float*>(base) + i));
  } else {
    const u16 bits = arch::global::load_u16(static_cast<const u16*>(base) + i);
    if constexpr (kType == DType::bf16) return arch::from_bf16(bits);
    else return arch::from_f16(bits);
  }
}
/// Returns element i of data that no thread writes during the kernel.
template <DType kType> WW_DEVICE float load_constant_one(const void* base, i64 i) {
  if constexpr (kType == DType::f32) return arch::global::load_constant(static_cast<const float*>(base) + i);
  else return load_one<kType>(base, i);
}
template <DType kType> WW_DEVICE void store_one_if(bool predicate, void* base, i64 i, float v) {
  if constexpr (kType == DType::f32) {
    arch::global::store_if(predicate, static_cast<float*>(base) + i, arch::bits_of(v));
  } else {
    const u16 bits = kType == DType::bf16 ? arch::to_bf16(v) : arch::to_f16(v);
    arch::global::store_u16_if(predicate, static_cast<u16*>(base) + i, bits);
  }
}

template <DType kType> WW_DEVICE void store_pair_if(bool predicate, void* base, i64 i, Pair v) {
  if constexpr (kType == DType::f32) {
    float* const to = static_cast<float*>(base) + i;
    arch::global::store_if(predicate, to, arch::bits_of(v.x));
    arch::global::store_if(predicate, to + 1, arch::bits_of(v.y));
  } else {
    const u32 both = kType == DType::bf16 ? arch::to_bf16x2(v.x, v.y) : arch::to_f16x2(v.x, v.y);
    arch::global::store_if(predicate, static_cast<u16*>(base) + i, both);
  }
}

/// Returns the number of values handled between two rotations: kAtOnce, or a divisor of the number of values.
template <int kAtOnce> WW_HOST_DEVICE constexpr int chunk_of(int values) {
  int chunk = kAtOnce;
  while (values % chunk != 0) chunk /= 2;
  return chunk;
}
/// Sets acc[i] = acc[i + kBy]; the first kBy values become the last. After kValues / kBy calls everything is in place
/// again. Registers have no run-time index, so a loop that always works on the first few is the short way to treat all
/// of them; ptxas takes seconds over a hundred copies of an activation function.
template <int kBy, class Fragment> WW_DEVICE void rotate(Fragment& acc) {
  constexpr int kValues = Fragment::kValues;
  if constexpr (kBy < kValues) {
    float first[kBy];
    WW_UNROLL
    for (int i = 0; i < kBy; ++i) first[i] = acc[i];
    WW_UNROLL
    for (int i = 0; i < kValues - kBy; ++i) acc[i] = acc[i + kBy];
    WW_UNROLL
    for (int i = 0; i < kBy; ++i) acc[kValues - kBy + i] = first[i];
  }
}

// Many values at once let loads overlap; few keep the code of long trees short.
WW_HOST_DEVICE constexpr int values_at_once(const EpilogueTree& tree) { return tree.size() > 6 ? 16 : 32; }

/// The part of a tree that one consumer warpgroup evaluates for each element of its fragments F.
template <TreeSpec kSpec, class F, int kAtOnce = values_at_once(kSpec.tree)> class EpilogueWalk {
  using L = typename F::Layout;
  static constexpr EpilogueTree kTree = kSpec.tree;
  static constexpr int kRoot = stages_of(kTree).body;
  static constexpr int kMmaBlocks = kSpec.mma_blocks, kLines = F::kLines;
  using Reductions = EpilogueReductions<kSpec, F>;
  static constexpr bool kAlongM = F::kPairsAlongM;
  // Vectors that have one value for a line of the fragment, and those that have one for each element of it.
  static constexpr EpilogueOp kLineVector = kAlongM ? EpilogueOp::row_vector : EpilogueOp::column_vector;
  static constexpr EpilogueOp kAlongVector = kAlongM ? EpilogueOp::column_vector : EpilogueOp::row_vector;
  static constexpr bool kOddN = kSpec.odd_n;
  static constexpr bool kPairs = !kAlongM && !kSpec.column_major;  // of matrices are contiguous

 public:
  WW_DEVICE EpilogueWalk(const EpilogueArguments& arguments, const TileExtent& extent)
      : arguments_(arguments), extent_(extent) {
    load_scalars();
    load_line_vectors();
  }

  /// Replaces every value of acc by the tree's; `reductions` accumulates what the tree reduces.
  WW_DEVICE void apply(F (&acc)[kMmaBlocks], Reductions& reductions) const {
    WW_NO_UNROLL
    for (int first = 0; first < F::kPairs; first += kChunk / (2 * kLines)) {
      WW_UNROLL
      for (int pair = 0; pair < kChunk / (2 * kLines); ++pair)
        apply_pairs(acc, pair, L::first_along(extent_.thread) + L::pair_offset(first + pair), reductions);
      WW_UNROLL
      for (int u = 0; u < kMmaBlocks; ++u) rotate<kChunk>(acc[u]);
    }
  }

  WW_DEVICE float scalar(int slot) const { return scalar_[slot]; }

 private:
  static constexpr int kChunk = chunk_of<kAtOnce>(F::kValues);
  static_assert(kChunk % (2 * kLines) == 0);

  /// Evaluates pair `pair` of every line of each fragment, which is `along` elements from the fragment's first.
  WW_DEVICE void apply_pairs(F (&acc)[kMmaBlocks], int pair, int along, Reductions& reductions) const {
    const int place = kAlongM ? extent_.first_row + along : product_column<kSpec, F::kColumns>(extent_, along);
    Pair vectors[kEpilogueSlots];
    load_vectors<kRoot>(place, vectors);
    typename Reductions::Columns sums{};
    WW_UNROLL
    for (int u = 0; u < kMmaBlocks; ++u) {
      WW_UNROLL
      for (int i = 0; i < kLines; ++i) {
        const int v = L::value(i, pair);
        float &x = acc[u][v], &y = acc[u][v + 1];
        const ElementPair at{u, i, extent_.template line<F>(u, i), place, Pair{x, y}, vectors};
        const Pair result = value<kRoot>(at, reductions, sums);
        x = result.x, y = result.y;
      }
    }
    reductions.finish_columns(place, sums);
  }

  /// Two neighbouring elements of D.
  struct ElementPair {
    int mma_block, i;  // line i of the thread
    int line, along;   // of D: the row and the first column, or with kAlongM the column and the first row
    Pair acc;
    const Pair* vectors;  // of these elements, by slot
  };

  template <int kSlot = 0> WW_DEVICE void load_scalars() {
    constexpr bool kQuantises =
        kSlot == kScalarOutScale && (kTree.has(EpilogueOp::quantise) || kTree.has(EpilogueOp::quantise_nv));
    if constexpr (kQuantises || kTree.has(EpilogueOp::scalar, kSlot)) {
      const float* const pointer = arguments_.scalar_pointer[kSlot];
      scalar_[kSlot] = pointer ? arch::global::load_constant(pointer) : arguments_.scalar[kSlot];
    }
    if constexpr (kSlot + 1 < kEpilogueSlots) load_scalars<kSlot + 1>();
  }
  template <int kSlot = 0> WW_DEVICE void load_line_vectors() {
    if constexpr (kTree.has(kLineVector, kSlot)) {
      WW_UNROLL
      for (int i = 0; i < kLines * kMmaBlocks; ++i)
        line_vector_[kSlot][i / kLines][i % kLines] = load_constant_one<type_of(kLineVector, kSlot)>(
            vector(kLineVector, kSlot), min(extent_.template line<F>(i / kLines, i % kLines), lines() - 1));
    }
    if constexpr (kSlot + 1 < kEpilogueSlots) load_line_vectors<kSlot + 1>();
  }
  WW_DEVICE const void* vector(EpilogueOp op, int slot) const {
    return op == EpilogueOp::row_vector ? arguments_.row_vector[slot] : arguments_.column_vector[slot];
  }
  /// The extents of D that bound lines, and elements along a line.
  WW_DEVICE int lines() const { return kAlongM ? extent_.n : extent_.m; }
  WW_DEVICE int length() const { return kAlongM ? extent_.m : extent_.n; }
  WW_HOST_DEVICE static constexpr DType type_of(EpilogueOp op, int slot) {
    for (int i = 0; i < kTree.size(); ++i)
      if (kTree.node(i).op == op && kTree.node(i).slot == slot) return kTree.node(i).type;
    return DType::f32;
  }

  template <int kNode> WW_DEVICE void load_vectors(int first, Pair (&vectors)[kEpilogueSlots]) const {
    constexpr EpilogueNode node = kTree.node(kNode);
    if constexpr (node.op == kAlongVector && is_first_use(kNode)) {
      const void* const all = vector(kAlongVector, node.slot);
      if constexpr (kOddN || kAlongM)
        vectors[node.slot] = {load_constant_one<node.type>(all, min(first, length() - 1)),
                              load_constant_one<node.type>(all, min(first + 1, length() - 1))};
      else vectors[node.slot] = load_pair<node.type>(all, min(first, length() - 2));
    }
    if constexpr (kNode > 0) load_vectors<kNode - 1>(first, vectors);
  }
  WW_HOST_DEVICE static constexpr bool is_first_use(int at) {
    for (int i = 0; i < at; ++i)
      if (kTree.node(i).op == kTree.node(at).op && kTree.node(i).slot == kTree.node(at).slot) return false;
    return true;
  }

  template <int kNode>
  WW_DEVICE Pair value(const ElementPair& at, Reductions& reductions, typename Reductions::Columns& sums) const {
    constexpr EpilogueNode node = kTree.node(kNode);
    constexpr int kOperands = operands_of(node.op);
    if constexpr (kOperands == 0) {
      return leaf<kNode>(at);
    } else {
      const Pair x = value<operand_node(kTree, kNode, 0)>(at, reductions, sums);
      if constexpr (kOperands == 1) {
        if constexpr (node.op == EpilogueOp::store)
          store<node.type>(at, arguments_.out[node.slot], arguments_.ld_out[node.slot], x);
        if constexpr (is_row_reduction(node.op))
          reductions.template take_row<kNode>(at.mma_block, at.i, at.along < extent_.n,
                                              at.along + (kOddN ? 1 : 0) < extent_.n, x);
        if constexpr (is_column_reduction(node.op))
          reductions.template take_column<kNode>(at.line < extent_.m, x, sums);
        return {one<kNode>(x.x), one<kNode>(x.y)};
      } else {
        const Pair y = value<operand_node(kTree, kNode, 1)>(at, reductions, sums);
        if constexpr (kOperands == 2) {
          return {functions::function<node.op>(x.x, y.x), functions::function<node.op>(x.y, y.y)};
        } else {
          const Pair z = value<operand_node(kTree, kNode, 2)>(at, reductions, sums);
          if constexpr (node.op == EpilogueOp::fma) return {arch::fma(x.x, y.x, z.x), arch::fma(x.y, y.y, z.y)};
          else return {functions::clamp(x.x, y.x, z.x), functions::clamp(x.y, y.y, z.y)};
        }
      }
    }
  }

  WW_DEVICE bool inside(const ElementPair& at, int second = 0) const {
    return at.line < lines() && at.along + second < length();
  }
  /// Returns the index of an element in a matrix with D's shape.
  WW_DEVICE static i64 index(const ElementPair& at, int second, i64 ld) {
    return kAlongM != kSpec.column_major ? (at.along + second) * ld + at.line : at.line * ld + at.along + second;
  }

  /// Loads two elements of a matrix with D's shape, except past its edge.
  template <DType kType> WW_DEVICE Pair load(const ElementPair& at, const void* matrix, i64 ld) const {
    // The address is not clamped as it is for vectors, because another warp may be storing there if C is D.
    if constexpr (kPairs) {
      if (!inside(at)) return {0.0f, 0.0f};
      return load_pair<kType>(matrix, index(at, 0, ld));
    } else {
      Pair both{0.0f, 0.0f};
      if (inside(at)) both.x = load_one<kType>(matrix, index(at, 0, ld));
      if (inside(at, 1)) both.y = load_one<kType>(matrix, index(at, 1, ld));
      return both;
    }
  }
  template <DType kType> WW_DEVICE void store(const ElementPair& at, void* matrix, i64 ld, Pair x) const {
    if constexpr (kPairs) {
      store_pair_if<kType>(inside(at), matrix, index(at, 0, ld), x);
    } else {
      store_one_if<kType>(inside(at), matrix, index(at, 0, ld), x.x);
      store_one_if<kType>(inside(at, 1), matrix, index(at, 1, ld), x.y);
    }
  }

  template <int kNode> WW_DEVICE Pair leaf(const ElementPair& at) const {
    constexpr EpilogueNode node = kTree.node(kNode);
    if constexpr (node.op == EpilogueOp::accumulator) {
      return at.acc;
    } else if constexpr (node.op == EpilogueOp::constant) {
      constexpr u32 kBits = kTree.constant[node.slot];
      return {arch::float_of(kBits), arch::float_of(kBits)};
    } else if constexpr (node.op == EpilogueOp::scalar) {
      return {scalar_[node.slot], scalar_[node.slot]};
    } else if constexpr (node.op == kAlongVector) {
      return at.vectors[node.slot];
    } else if constexpr (node.op == kLineVector) {
      const float x = line_vector_[node.slot][at.mma_block][at.i];
      return {x, x};
    } else {
      if constexpr (node.op == EpilogueOp::c) return load<node.type>(at, arguments_.c, arguments_.ldc);
      else return load<node.type>(at, arguments_.auxiliary[node.slot], arguments_.ld_auxiliary[node.slot]);
    }
  }

  template <int kNode> WW_DEVICE static float one(float x) {
    constexpr EpilogueNode node = kTree.node(kNode);
    if constexpr (node.op == EpilogueOp::convert) return round_to<node.type>(x);
    else return functions::function<node.op>(x);
  }

  const EpilogueArguments& arguments_;
  const TileExtent& extent_;
  float scalar_[kEpilogueSlots];
  float line_vector_[kEpilogueSlots][kMmaBlocks][kLines];
};

}  // namespace ww::epilogue
