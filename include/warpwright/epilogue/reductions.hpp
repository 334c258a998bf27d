// SPDX-License-Identifier: Apache-2.0
// Reductions over rows and columns of D and over all of it. They use no floating-point atomics, so every run produces
// the same bits.
//   A thread accumulates its own values and the lanes of a warp combine theirs in a fixed order. The warp writes its
//   partial results to the workspace and increments a counter. The last warp of a row (or column) of tiles combines the
//   partial results by tile index.
// Counters must be zero before the first launch; the last warp resets them. Nothing waits. amax compares the bits of
// |x| as integers, so that NaN is the largest. docs/numerics.md has the order of the sums.
#pragma once

#include "warpwright/arch/common/convert.hpp"
#include "warpwright/arch/common/global.hpp"
#include "warpwright/arch/common/math.hpp"
#include "warpwright/arch/common/warp.hpp"
#include "warpwright/epilogue/extent.hpp"

namespace ww::epilogue {

WW_DEVICE float magnitude_of(float x) { return arch::float_of(arch::bits_of(x) & ~arch::kSignBit); }
/// Returns the larger of two magnitudes; NaN is the largest.
WW_DEVICE float larger(float a, float b) { return arch::float_of(max(arch::bits_of(a), arch::bits_of(b))); }

template <bool kSum> WW_DEVICE float combine(float a, float b) {
  if constexpr (kSum) return arch::add(a, b);
  else return larger(a, b);
}
/// Combines the values of lanes whose indices differ in bits kFirst, 2 kFirst ... kLast; all of them get the result.
template <bool kSum, int kFirst, int kLast> WW_DEVICE float combine_lanes(float x) {
  WW_UNROLL
  for (u32 step = kFirst; step <= kLast; step *= 2)
    x = combine<kSum>(x, arch::float_of(arch::warp::shuffle_xor(arch::bits_of(x), step)));
  return x;
}

/// All lanes of a warp call it after storing partial results. Returns true in the last of `count` warps, which may then
/// read all partial results.
WW_DEVICE bool arrives_last(u32* counter, int count) {
  arch::warp::sync();  // orders the stores of all lanes before the release of lane 0
  u32 before = 0;
  if (arch::lane_index() == 0) before = arch::global::atomic_add_acq_rel(counter, 1);
  before = arch::warp::shuffle(before, 0);
  arch::warp::sync();
  if (static_cast<int>(before) + 1 != count) return false;
  if (arch::lane_index() == 0) arch::global::store(counter, 0);
  return true;
}

template <TreeSpec kSpec, class F> class EpilogueReductions {
  using L = typename F::Layout;
  static constexpr EpilogueTree kTree = kSpec.tree;
  static constexpr int kMmaBlocks = kSpec.mma_blocks, kLines = F::kLines;
  static constexpr int kWarps = kSpec.warps;
  static constexpr bool kOddN = kSpec.odd_n;
  static constexpr int kLastLane = static_cast<int>(arch::kWarpSize) / 2;  // of combine_lanes over a warp

 public:
  WW_DEVICE EpilogueReductions(const EpilogueArguments& arguments, const TileExtent& extent)
      : arguments_(arguments), extent_(extent) {
    WW_UNROLL
    for (int i = 0; i < kEpilogueSlots; ++i) {
      WW_UNROLL
      for (int u = 0; u < kLines * kMmaBlocks; ++u) rows_[i][u / kLines][u % kLines] = 0.0f;
    }
  }

  /// Sums of two columns over the thread's rows, one for each output.
  struct Columns {
    Pair of[kEpilogueSlots];
  };

  /// Accumulates two columns of a row, or only the first if the second is past the edge.
  template <int kNode> WW_DEVICE void take_row(int mma_block, int line, bool inside, bool second_inside, Pair x) {
    constexpr bool kSum = kTree.node(kNode).op == EpilogueOp::row_sum;
    float& row = rows_[reduction_index(kTree, kNode)][mma_block][line];
    const Pair taken = kSum ? x : Pair{magnitude_of(x.x), magnitude_of(x.y)};
    row = combine<kSum>(combine<kSum>(row, inside ? taken.x : 0.0f), second_inside ? taken.y : 0.0f);
  }
  template <int kNode> WW_DEVICE static void take_column(bool inside, Pair x, Columns& sums) {
    constexpr bool kSum = kTree.node(kNode).op == EpilogueOp::column_sum;
    Pair& column = sums.of[reduction_index(kTree, kNode)];
    const Pair taken = kSum ? x : Pair{magnitude_of(x.x), magnitude_of(x.y)};
    column = {combine<kSum>(column.x, inside ? taken.x : 0.0f), combine<kSum>(column.y, inside ? taken.y : 0.0f)};
  }

  /// Stores the warp's partial results of two columns. All lanes call it.
  WW_DEVICE void finish_columns(int column, const Columns& sums) const {
    if constexpr (has_column_reductions(kTree)) finish_columns<kTree.size() - 1>(column, sums);
  }

  /// Combines the tile's results. All lanes call it after the last value of the tile.
  WW_DEVICE void finish() const {
    if (!extent_.counts()) return;
    if constexpr (has_row_reductions(kTree)) {
      write_rows<kTree.size() - 1>();
      const int group = extent_.tile.m * kWarps + extent_.warp;
      if (arrives_last(arguments_.row_counters + group, extent_.tiles_n)) combine_rows<kTree.size() - 1>();
    }
    if constexpr (has_column_reductions(kTree)) {
      if (arrives_last(arguments_.column_counters + extent_.tile.n, extent_.tiles_m * kWarps))
        combine_columns<kTree.size() - 1>();
    }
  }

  /// Combines each thread's `amax` into that of D. All lanes call it.
  WW_DEVICE void finish_amax(float amax) const {
    if (!extent_.counts()) return;
    const int warps = extent_.tiles_m * extent_.tiles_n * kWarps, lane = static_cast<int>(arch::lane_index());
    const float of_warp = combine_lanes<false, 1, kLastLane>(amax);
    float* const partials = arguments_.amax_partials;
    if (lane == 0)
      write(partials + (extent_.tile.m * extent_.tiles_n + extent_.tile.n) * kWarps + extent_.warp, of_warp);
    if (!arrives_last(arguments_.amax_counter, warps)) return;
    float all = 0.0f;
    for (int i = lane; i < warps; i += static_cast<int>(arch::kWarpSize)) all = larger(all, read(partials + i));
    all = combine_lanes<false, 1, kLastLane>(all);
    if (lane == 0) write(arguments_.amax, all);
  }

 private:
  WW_DEVICE static float read(const float* p) { return arch::float_of(arch::global::load(p)); }
  WW_DEVICE static void write(float* p, float x) { arch::global::store(p, arch::bits_of(x)); }

  // The partial results of reduction `index`: (tiles_n, M) for rows, (tiles_m warps, N) for columns.
  WW_DEVICE float* row_partials(int index, int tile_n) const {
    return arguments_.row_partials + (static_cast<i64>(index) * extent_.tiles_n + tile_n) * extent_.m;
  }
  WW_DEVICE float* column_partials(int index, int warp) const {
    return arguments_.column_partials + (static_cast<i64>(index) * extent_.tiles_m * kWarps + warp) * extent_.n;
  }

  template <int kNode> WW_DEVICE void finish_columns(int column, const Columns& sums) const {
    constexpr EpilogueOp kOp = kTree.node(kNode).op;
    if constexpr (is_column_reduction(kOp)) {
      constexpr bool kSum = kOp == EpilogueOp::column_sum;
      constexpr int kIndex = reduction_index(kTree, kNode);
      const Pair all{combine_lanes<kSum, L::kLineLanes, kLastLane>(sums.of[kIndex].x),
                     combine_lanes<kSum, L::kLineLanes, kLastLane>(sums.of[kIndex].y)};
      if (extent_.counts() && arch::lane_index() < L::kLineLanes && column < extent_.n) {
        float* const to = column_partials(kIndex, extent_.tile.m * kWarps + extent_.warp) + column;
        write(to, all.x);
        if (!kOddN || column + 1 < extent_.n) write(to + 1, all.y);
      }
    }
    if constexpr (kNode > 0) finish_columns<kNode - 1>(column, sums);
  }

  template <int kNode> WW_DEVICE void write_rows() const {
    constexpr EpilogueOp kOp = kTree.node(kNode).op;
    if constexpr (is_row_reduction(kOp)) {
      constexpr int kIndex = reduction_index(kTree, kNode);
      WW_UNROLL
      for (int i = 0; i < kLines * kMmaBlocks; ++i) {
        const float all =
            combine_lanes<kOp == EpilogueOp::row_sum, 1, L::kLineLanes / 2>(rows_[kIndex][i / kLines][i % kLines]);
        const int row = extent_.template line<F>(i / kLines, i % kLines);
        if (extent_.thread % L::kLineLanes == 0 && row < extent_.m)
          write(row_partials(kIndex, extent_.tile.n) + row, all);
      }
    }
    if constexpr (kNode > 0) write_rows<kNode - 1>();
  }

  /// Reduces the values of each row to one lane of the warp.
  template <int kNode> WW_DEVICE void combine_rows() const {
    constexpr EpilogueNode node = kTree.node(kNode);
    if constexpr (is_row_reduction(node.op)) {
      const int lane = static_cast<int>(arch::lane_index());
      static_assert(L::kWarpLines * kMmaBlocks <= static_cast<int>(arch::kWarpSize));
      const int row = extent_.template line<F>(lane / L::kWarpLines, 0) - lane / L::kLineLanes + lane % L::kWarpLines;
      if (lane < L::kWarpLines * kMmaBlocks && row < extent_.m) {
        float all = 0.0f;
        for (int t = 0; t < extent_.tiles_n; ++t)
          all =
              combine<node.op == EpilogueOp::row_sum>(all, read(row_partials(reduction_index(kTree, kNode), t) + row));
        write(static_cast<float*>(arguments_.out[node.slot]) + row, all);
      }
    }
    if constexpr (kNode > 0) combine_rows<kNode - 1>();
  }

  template <int kNode> WW_DEVICE void combine_columns() const {
    constexpr EpilogueNode node = kTree.node(kNode);
    if constexpr (is_column_reduction(node.op)) {
      constexpr int kStep = column_step(kSpec, F::kColumns), kHalves = F::kColumns / kStep;
      const int last = min(extent_.first_column + kStep, extent_.n / kHalves);
      combine_columns<kNode>(extent_.first_column, last);
      if constexpr (kHalves == 2)  // the ups of those gates
        combine_columns<kNode>(extent_.first_column + extent_.n / 2, last + extent_.n / 2);
    }
    if constexpr (kNode > 0) combine_columns<kNode - 1>();
  }
  template <int kNode> WW_DEVICE void combine_columns(int first, int last) const {
    constexpr EpilogueNode node = kTree.node(kNode);
    for (int column = first + static_cast<int>(arch::lane_index()); column < last;
         column += static_cast<int>(arch::kWarpSize)) {
      float all = 0.0f;
      for (int w = 0; w < extent_.tiles_m * kWarps; ++w)
        all = combine<node.op == EpilogueOp::column_sum>(
            all, read(column_partials(reduction_index(kTree, kNode), w) + column));
      write(static_cast<float*>(arguments_.out[node.slot]) + column, all);
    }
  }

  const EpilogueArguments& arguments_;
  const TileExtent& extent_;
  float rows_[kEpilogueSlots][kMmaBlocks][kLines];
};

}  // namespace ww::epilogue
