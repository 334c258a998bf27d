// SPDX-License-Identifier: Apache-2.0
// The warp-specialised mainloop: one thread loads the operand ring by TMA, consumer warpgroups multiply from it.
//   load:      for each k-block: acquire stage -> this CTA's slices of A and B, multicast to the CTAs that share them
//   multiply:  for each k-block: wait -> wgmma -> release; block scales promote every block into FP32 registers
// Not here: what a tile is (scheduler/), and arrival counts (pipeline/).
#pragma once

#include "warpwright/atom/mma_atom.hpp"
#include "warpwright/atom/sm90_accumulator.hpp"
#include "warpwright/atom/tma_atom.hpp"
#include "warpwright/config/fixed_extents.hpp"
#include "warpwright/config/shared_memory.hpp"
#include "warpwright/config/sizes.hpp"
#include "warpwright/mainloop/block_scales.hpp"
#include "warpwright/mainloop/sm90/stage_transpose.hpp"
#include "warpwright/pipeline/ordered_barrier.hpp"
#include "warpwright/pipeline/tma_pipeline.hpp"
#include "warpwright/scheduler/tile_maps.hpp"

namespace ww::mainloop {

using namespace config;

template <GemmConfig kConfig> struct Mainloop {
  static constexpr DType kType = kConfig.operands.a;
  static constexpr bool kTransposesB = transposes_b(kConfig);
  static constexpr Major kMajorB = major_of_b(kConfig);  // as wgmma reads it
  static constexpr arch::MmaOperands kOperands{kConfig.operands.a, kConfig.operands.b, kConfig.operands.layout.a,
                                               kMajorB};
  static constexpr int kTileM = kConfig.tile.m, kTileN = kConfig.tile.n, kTileK = kConfig.tile.k;
  static constexpr int kMmaBlocks = mma_blocks_of(kConfig);
  static constexpr SharedPlan kShared = shared_plan(kConfig);
  static constexpr pipeline::ClusterShape kCluster = cluster_of(kConfig);
  static constexpr u32 kStageBytes = kShared.a_stage + kShared.b_stage;
  static constexpr bool kPromotes = promotes(kConfig);

  static constexpr ScaleForm kForm = scale_form(kConfig.operands.scale);
  static constexpr bool kScalesColumns = scales_columns(kConfig);
  static constexpr bool kHalves = pairs_halves(kConfig);
  using Scales = BlockScales<kTileM, kTileN, kForm, kHalves>;
  static constexpr u32 kScaleWarps = kPromotes && has_roles(kConfig) ? Scales::kWarps : 0;
  // The last argument: consumers that transpose B write a stage that a peer of the cluster then fills again.
  using Pipeline = pipeline::TmaPipeline<kConfig.sm90.stages, kCluster, 4 * warpgroups_of_tile(kConfig), kScaleWarps,
                                         kTransposesB && (kCluster.m > 1)>;
  using Accumulator = atom::Fragment<atom::Sm90Accumulator<kTileN>>;
  static constexpr bool kStacked = stacks_matrices(kConfig);
  using GlobalA = atom::TileRow<kTileM, kTileK, kStacked>;  // (TILE_M, TILE_K, k)
  template <bool kBatched>
  using TileB = conditional_t<kHalves, atom::TileHalves<kTileN, kTileK, kBatched>,
                              atom::TileRow<kTileN, kTileK, kBatched>>;  // (TILE_N, TILE_K, k)
  static constexpr int kSlicesB = slices_of_b(kConfig);
  using SharedA = atom::SharedOperand<kTileM, kConfig.operands.layout.a>;  // (TILE_M, TILE_K, STAGE)
  using SharedB = atom::SharedOperand<kTileN, kConfig.operands.layout.b>;  // (TILE_N, TILE_K, STAGE)

  WW_DEVICE static SharedA shared_a(arch::SharedAddress base) { return {base + kShared.a}; }
  WW_DEVICE static SharedB shared_b(arch::SharedAddress base) { return {base + kShared.b}; }

  /// Tile `tile_n` of B or, of several, of matrix `batch`; `n`: rows of B.
  template <bool kBatched> WW_DEVICE static TileB<kBatched> tile_of_b(int tile_n, int batch, int n) {
    if constexpr (kHalves) return {tile_n * (kTileN / 2), batch, n / 2 - kTileN / 2};
    else return {tile_n * kTileN, batch};
  }

  /// Loads k-blocks `k` of `tile`. One thread calls it.
  WW_DEVICE static void load(const GemmArguments& arguments, arch::SharedAddress base, Pipeline& pipeline,
                             TileCoord tile, KRange k) {
    if constexpr (maps_groups(kConfig)) k.first = 0;  // the maps begin where the group does
    load_blocks(arguments, base, pipeline, tile, k.first, k.first + k.blocks, {});
  }
  /// Loads k-blocks [first, last) of `tile`; the token is for the first of them. One thread calls it.
  WW_DEVICE static void load_blocks(const GemmArguments& arguments, arch::SharedAddress base, Pipeline& pipeline,
                                    TileCoord tile, int first, int last, pipeline::WaitToken token) {
    const GlobalA gA{tile.m * kTileM, tile.batch * arguments.a_steps};
    const auto gB = tile_of_b<kStacked>(tile.n, tile.batch * arguments.b_steps, n_of<kConfig>(arguments));
    fill<true>(atom::TmaLoadAtom{scheduler::map_of_a<kConfig>(arguments, tile)}, gA,
               atom::TmaLoadAtom{scheduler::map_of_b<kConfig>(arguments, tile)}, gB, first, last, base, pipeline,
               token);
  }

  /// Loads the K of a group: the rows `k` of A (K, M) and B (K, N). One thread calls it.
  // A and B are rank-3 tensors (M, K, K + 1) whose last two modes have the same stride ld, so that (m, x, y) is at row
  // x + y - K. A box from x = K - rows of plane y = end on begins where the group does. Since no plane has more than K
  // rows, it ends where the group does: TMA fills the rest of the last stage with zeros, whatever the next group holds.
  // No tensor map changes from group to group.
  WW_DEVICE static void load(const GemmArguments& arguments, arch::SharedAddress base, Pipeline& pipeline,
                             TileCoord tile, KRows k) {
    if constexpr (has_k_tails(kConfig)) {
      const GlobalA gA{tile.m * kTileM, k.end, arguments.k - k.rows};
      const atom::TileRow<kTileN, kTileK, kStacked> gB{tile.n * kTileN, k.end, arguments.k - k.rows};
      fill<true>(atom::TmaLoadAtom{arguments.a}, gA, atom::TmaLoadAtom{arguments.b}, gB, 0, k.blocks, base, pipeline,
                 {});
    } else {
      load(arguments, base, pipeline, tile, static_cast<KRange>(k));
    }
  }

  /// Fills k_blocks stages from gA (TILE_M, TILE_K, k) and gB (TILE_N, TILE_K, k). One thread calls it. Peers of the
  /// cluster that need the same A or B load a slice each and multicast it; without kPeersShare, all of B is loaded for
  /// this CTA alone.
  template <bool kPeersShare, class A, class B>
  WW_DEVICE static void fill(const atom::TmaLoadAtom& load_a, const A& gA, const atom::TmaLoadAtom& load_b, const B& gB,
                             int k_blocks, arch::SharedAddress base, Pipeline& pipeline) {
    fill<kPeersShare>(load_a, gA, load_b, gB, 0, k_blocks, base, pipeline, {});
  }
  /// Does the same for k-blocks [first, last); the token is for the first of them.
  template <bool kPeersShare, class A, class B>
  WW_DEVICE static void fill(const atom::TmaLoadAtom& load_a, const A& gA, const atom::TmaLoadAtom& load_b, const B& gB,
                             int first, int last, arch::SharedAddress base, Pipeline& pipeline,
                             pipeline::WaitToken token) {
    const auto self = pipeline::coord_of(kCluster, static_cast<int>(arch::cluster_rank()));
    constexpr bool kSharesA = kCluster.n > 1, kSharesB = kPeersShare && kCluster.m > 1;
    const u16 mask_a = kSharesA ? pipeline::mask_of_column(kCluster, self.x, self.z) : 0;
    const u16 mask_b = kSharesB ? pipeline::mask_of_row(kCluster, self.y, self.z) : 0;
    auto tAgA = atom::tma_partition<kCluster.n>(gA, self.y);                 // (TILE_M / CLUSTER_N, TILE_K, k)
    auto tAsA = atom::tma_partition<kCluster.n>(shared_a(base), self.y);     // (TILE_M / CLUSTER_N, TILE_K, STAGE)
    constexpr int kSlices = kPeersShare ? kSlicesB / kCluster.m : kSlicesB;  // of B, loaded by this CTA
    WW_NO_UNROLL
    for (int k = first; k < last; ++k) {
      const pipeline::Stage stage = pipeline.producer_acquire(kStageBytes, token);
      token = {};
      const int s = static_cast<int>(stage.index);
      load_slice<tAsA.rows>(load_a.with<kSharesA>(stage.full, mask_a), tAgA(_, _, k), tAsA(_, _, s));
      WW_UNROLL
      for (int slice = 0; slice < kSlices; ++slice) {
        const int mine = kPeersShare ? self.x * kSlices + slice : slice;
        auto tBgB = atom::tma_partition<kSlicesB>(gB, mine);              // (TILE_N / SLICES, TILE_K, k)
        auto tBsB = atom::tma_partition<kSlicesB>(shared_b(base), mine);  // (TILE_N / SLICES, TILE_K, STAGE)
        load_slice<tBsB.rows>(load_b.with<kSharesB>(stage.full, mask_b), tBgB(_, _, k), tBsB(_, _, s));
      }
    }
  }
  /// Does the same without a cluster for the first `parts` consumer warpgroups: A in one box for each, and all of B.
  /// The rest of the stage keeps its old contents. One thread calls it.
  template <class A, class B>
  WW_DEVICE static void fill_parts(const atom::TmaLoadAtom& load_part, const A& gA, const atom::TmaLoadAtom& load_b,
                                   const B& gB, int parts, int k_blocks, arch::SharedAddress base, Pipeline& pipeline) {
    static_assert(kCluster.size() == 1 && kConfig.operands.layout.a == Major::k);
    constexpr int kPartRows = kMmaBlocks * kWarpgroupRows;
    const u32 bytes = static_cast<u32>(parts) * (kPartRows * kRowBytes) + kShared.b_stage;
    WW_NO_UNROLL
    for (int k = 0; k < k_blocks; ++k) {
      const pipeline::Stage stage = pipeline.producer_acquire(bytes);
      const int s = static_cast<int>(stage.index);
      WW_UNROLL
      for (int slice = 0; slice < kSlicesB; ++slice)
        load_slice<kTileN / kSlicesB>(load_b.with(stage.full), atom::tma_partition<kSlicesB>(gB, slice)(_, _, k),
                                      atom::tma_partition<kSlicesB>(shared_b(base), slice)(_, _, s));
      for (int part = 0; part < parts; ++part)
        atom::copy(load_part.with(stage.full), gA(_, _, k).rows_from(part * kPartRows),  // (TILE_M / PARTS, TILE_K)
                   shared_a(base)(_, _, s).rows_from(part * kPartRows));
    }
  }

  /// Returns the location of the block scales of `tile`.
  WW_DEVICE static auto scales_of(const GemmArguments& arguments, TileCoord tile) {
    const int row = min(tile.m * kTileM, arguments.m - 1);  // a tile may lie wholly past the edge
    constexpr int rows = rows_of_scale(kConfig.operands.scale), columns = columns_of_scale(kConfig.operands.scale);
    const int n = n_of<kConfig>(arguments), first = first_column(tile.n, n) / columns;
    const float *scale_a = arguments.scale_a, *scale_b = arguments.scale_b;
    if constexpr (kConfig.operands.batched)
      scale_a += tile.batch * arguments.scale_a_batch, scale_b += tile.batch * arguments.scale_b_batch;
    const TileScales scales{scale_a + row / rows * arguments.scale_a_row,
                            scale_b + first * arguments.scale_b_n,
                            arguments.scale_a_row,
                            arguments.scale_a_k,
                            arguments.scale_b_k,
                            ceil_div(arguments.m, rows) - row / rows,
                            k_blocks_of<kConfig>(arguments),
                            arguments.scale_b_n,
                            ceil_div(n, columns) - first};
    if constexpr (kHalves) return of_halves(scales, tile.n, n);
    else return scales;
  }
  /// The first column of B of tile `tile_n`, or the last one of B; of halves the first gate.
  WW_DEVICE static int first_column(int tile_n, int n) {
    return kHalves ? min(tile_n * (kTileN / 2), n / 2 - 1) : min(tile_n * kTileN, n - 1);
  }
  /// `scales`, which begin with those of the first gate, and where those of the ups are.
  WW_DEVICE static HalvesScales of_halves(const TileScales& scales, int tile_n, int n) {
    HalvesScales made{scales, n / 2 - kTileN / 2};
    if constexpr (!kScalesColumns) {  // the two scales of a tile, one step apart
      const int gate = first_column(tile_n, n);
      made.b_n *= (gate + n / 2) / kScaleBlock - gate / kScaleBlock;
      made.b_count = 2;
    }
    return made;
  }
  /// Returns the offset of `tile` within the 128 columns of B, or rows of A, that share a scale; 0 where every tile has
  /// one scale.
  WW_DEVICE static int scale_offset(TileCoord tile) {
    if constexpr (!kPromotes || Scales::kBlocks == 1 || (kHalves && kForm == ScaleForm::rows)) return 0;
    else return (kForm == ScaleForm::columns ? tile.m * kTileM : tile.n * kTileN) % kScaleBlock;
  }
  /// Loads the scales of k-blocks `k` of `tile`. kScaleWarps warps call it, each with its index `warp`.
  WW_DEVICE static void load_scales(const GemmArguments& arguments, arch::SharedAddress base, Pipeline& pipeline,
                                    TileCoord tile, KRange k, u32 warp) {
    auto scales = scales_of(arguments, tile);
    scales.a += k.first * scales.a_k, scales.b += k.first * scales.b_k, scales.k_blocks = k.blocks;
    load_scales(scales, base, pipeline, warp);
  }
  WW_DEVICE static void load_scales(const typename Scales::Scales& scales, arch::SharedAddress base, Pipeline& pipeline,
                                    u32 warp) {
    Scales::load(scales, base + kShared.scales, pipeline, warp);
  }

  /// Computes acc = this warpgroup's rows of A B^T, scaled if the recipe is a block recipe. k_blocks >= 1. All threads
  /// of a consumer warpgroup call it.
  WW_DEVICE static void multiply(int k_blocks, arch::SharedAddress base, Pipeline& pipeline, int consumer_warpgroup,
                                 Accumulator (&acc)[kMmaBlocks]) {
    pipeline::Unordered order({}, 0);
    multiply_as<Mainloop, false>(k_blocks, base, pipeline, consumer_warpgroup, acc, order, 0);
  }
  /// Does the same in the warpgroup's turn, which lasts from the first wait for a stage until the last MMAs are issued.
  /// `offset` is the tile's scale_offset(). kVariesK: k_blocks differs from tile to tile.
  template <bool kVariesK, class Order>
  WW_DEVICE static void multiply(int k_blocks, arch::SharedAddress base, Pipeline& pipeline, int consumer_warpgroup,
                                 Accumulator (&acc)[kMmaBlocks], Order& order, int offset) {
    multiply_as<Mainloop, kVariesK>(k_blocks, base, pipeline, consumer_warpgroup, acc, order, offset);
  }

  /// Releases the stages of k_blocks without reading them, for a consumer warpgroup that has no rows in a tile.
  WW_DEVICE static void pass(int k_blocks, Pipeline& pipeline) {
    static_assert(!kTransposesB, "all consumer warpgroups turn a stage over");
    WW_NO_UNROLL
    for (int k = 0; k < k_blocks; ++k) pipeline.consumer_release(pipeline.consumer_wait());
  }

  /// Sets acc to an empty sum, for a consumer warpgroup without k-blocks. Behind an epilogue that adds to it this is
  /// -0, the neutral element of addition, because C + 0 would lose the sign of a C of -0.
  WW_DEVICE static void clear(Accumulator (&acc)[kMmaBlocks], float zero = 0.0f) {
    WW_UNROLL
    for (int u = 0; u < kMmaBlocks; ++u) arch::fill(acc[u], zero);
  }

 protected:
  // `Self` determines where A comes from: Mainloop, or a mainloop derived from it.
  template <class Self, bool kVariesK, class Order>
  WW_DEVICE static void multiply_as(int k_blocks, arch::SharedAddress base, Pipeline& pipeline, int consumer_warpgroup,
                                    Accumulator (&acc)[kMmaBlocks], Order& order, int offset) {
    if constexpr (kPromotes) clear(acc);
    order.wait();
    // Values that differ from tile to tile are otherwise taken by the compiler to differ from lane to lane.
    if constexpr (kVariesK) {
      pipeline.consumer_uniform();
      k_blocks = static_cast<int>(arch::warp::uniform(static_cast<u32>(k_blocks)));
    }
    if constexpr (kPromotes) multiply_promoted<Self>(k_blocks, base, pipeline, consumer_warpgroup, acc, order, offset);
    else Self::multiply_plain(k_blocks, base, pipeline, consumer_warpgroup, acc, order);
  }

  // Returns the next stage, filled and in the layout that wgmma takes. Consumer warpgroups call it.
  WW_DEVICE static pipeline::Stage next_stage(arch::SharedAddress base, Pipeline& pipeline, int consumer_warpgroup) {
    const pipeline::Stage stage = pipeline.consumer_wait();
    if constexpr (kTransposesB) {
      // In pingpong each warpgroup has all rows of its tile, as if it were the first.
      const int self = tiles_in_flight(kConfig) == 1
                           ? consumer_warpgroup
                           : static_cast<int>(arch::warp::uniform(arch::warpgroup_index())) - 1;
      StageTranspose<kTileN, warpgroups_of_tile(kConfig), tiles_in_flight(kConfig), kTransposeBarrier>::run(
          operand_b(base, stage).address, self);
    }
    return stage;
  }
  static constexpr int kTransposeBarrier = 8;  // first of its named barriers; epilogues use those before

  // Returns B of a stage, (TILE_N, TILE_K).
  WW_DEVICE static atom::SharedTile<kMajorB> operand_b(arch::SharedAddress base, pipeline::Stage stage) {
    return {shared_b(base)(_, _, static_cast<int>(stage.index)).address};
  }

  // Loads a slice of one operand of a stage, (kRows, TILE_K): one box if K-major, a box for each 128 bytes of rows if
  // MN-major.
  template <int kRows, bool kMulticast, class G, Major kMajor>
  WW_DEVICE static void load_slice(const atom::BoundTmaLoad<kMulticast>& load, const G& gX,
                                   const atom::SharedTile<kMajor>& sX) {
    if constexpr (kMajor == Major::k) {
      atom::copy(load, gX, sX);
    } else {
      WW_UNROLL
      for (int row = 0; row < kRows; row += mn_block(kType)) atom::copy(load, gX.rows_from(row), sX.rows_from(row));
    }
  }

  WW_DEVICE static auto mma_block_rows(const SharedA& sA, int consumer_warpgroup, int mma_block, u32 stage) {
    return sA(_, _, static_cast<int>(stage))
        .rows_from((consumer_warpgroup * kMmaBlocks + mma_block) * kWarpgroupRows);  // (64, TILE_K)
  }

  // The tensor core accumulates over all of K; one k-block stays in flight while the next is waited for.
  // It is a do-while loop, because a path around the loop would merge accumulators in flight with others, and ptxas
  // would serialise (C7511).
  template <class Order>
  WW_DEVICE static void multiply_plain(int k_blocks, arch::SharedAddress base, Pipeline& pipeline,
                                       int consumer_warpgroup, Accumulator (&acc)[kMmaBlocks], Order& order) {
    arch::wgmma::begin(acc);
    auto sA = shared_a(base);  // (TILE_M, TILE_K, STAGE)
    pipeline::Stage previous{};
    int k = 0;
    do {
      const pipeline::Stage stage = next_stage(base, pipeline, consumer_warpgroup);
      arch::wgmma::fence();
      WW_UNROLL
      for (int u = 0; u < kMmaBlocks; ++u)
        atom::gemm<kOperands>(acc[u], mma_block_rows(sA, consumer_warpgroup, u, stage.index), operand_b(base, stage),
                              k != 0);
      arch::wgmma::commit();
      arch::wgmma::wait<1>();  // the preceding k-block has been read
      if (k != 0) pipeline.consumer_release(previous);
      previous = stage;
    } while (++k < k_blocks);
    order.arrive();
    hand_back(acc);
    pipeline.consumer_release(previous);
  }

  WW_DEVICE static void hand_back(Accumulator (&acc)[kMmaBlocks]) {
    if constexpr (kMmaBlocks == 1) arch::wgmma::wait<0>(acc[0]);
    else arch::wgmma::wait<0>(acc[0], acc[1]);
  }

  /// One k-block in flight through the tensor core: the stage that its MMAs read, and their scales.
  struct Block {
    pipeline::Stage stage;
    typename Scales::template Set<kMmaBlocks> scale;
  };
  /// This thread's part of a tile, and the tile's position among B's scales.
  struct TilePosition {
    int row, column;  // of the tile: the thread's first
    int offset;       // scale_offset()
  };

  WW_DEVICE static Block start(arch::SharedAddress base, Pipeline& pipeline, int consumer_warpgroup,
                               const TilePosition& place, Accumulator& partial) {
    const Block block = take(base, pipeline, place);
    issue(base, block.stage, consumer_warpgroup, 0, partial);
    return block;
  }
  WW_DEVICE static Block take(arch::SharedAddress base, Pipeline& pipeline, const TilePosition& place) {
    const pipeline::Stage stage = pipeline.consumer_wait();
    return {stage, Scales::template read<kMmaBlocks>(base + kShared.scales, stage, place.row)};
  }

  WW_DEVICE static void issue(arch::SharedAddress base, pipeline::Stage stage, int consumer_warpgroup, int mma_block,
                              Accumulator& partial) {
    arch::wgmma::fence();
    atom::gemm<kOperands>(partial, mma_block_rows(shared_a(base), consumer_warpgroup, mma_block, stage.index),
                          operand_b(base, stage), false);
    arch::wgmma::commit();
  }

  /// Returns this thread's first row in an MMA_M block, counted from the first scale of A of the tile.
  WW_DEVICE static int row_of(const TilePosition& place, int mma_block) {
    return place.offset + place.row + kWarpgroupRows * mma_block;
  }

  // Multiplies one MMA_M block's rows of a stage with B into `partial`, and waits for it.
  WW_DEVICE static void product(arch::SharedAddress base, pipeline::Stage stage, int consumer_warpgroup, int mma_block,
                                Accumulator& partial) {
    issue(base, stage, consumer_warpgroup, mma_block, partial);
    arch::wgmma::wait<0>(partial);
  }

  // Adds partial times the scales of one MMA_M block to acc.
  WW_DEVICE static void promote(arch::SharedAddress base, Accumulator& acc, const Accumulator& partial,
                                const Block& block, int mma_block, const TilePosition& place) {
    promote(acc, partial, block.scale, mma_block, place,
            Scales::columns(base + kShared.scales, block.stage, row_of(place, mma_block)));
  }
  template <class Set, class Columns>
  WW_DEVICE static void promote(Accumulator& acc, const Accumulator& partial, const Set& scales, int mma_block,
                                const TilePosition& place, const Columns& columns) {
    if constexpr (kForm == ScaleForm::rows) {
      const auto& scale = scales.row[mma_block];
      constexpr int kValues =
          scale_step(kHalves ? kTileN / 2 : kTileN) / 2;  // values whose columns share a scale wherever the tile starts
      WW_UNROLL
      for (int first = 0; first < Accumulator::kValues; first += kValues) {
        // Columns from 2 first on are in this block of 128 or, from this offset of the tile on, in the next.
        // Of halves the first block is of the gates and the second of the ups.
        const int least = kHalves ? first / (kTileN / 4) : 2 * first / kScaleBlock;
        const int most = kHalves ? least : (2 * first + kScaleBlock - scale_step(kTileN)) / kScaleBlock;
        const bool next = place.offset + 2 * first >= most * kScaleBlock;
        arch::wgmma::add_scaled<kValues>(acc, partial, next ? scale[most][0] : scale[least][0],
                                         next ? scale[most][1] : scale[least][1], first);
      }
    } else {
      auto&& products = arch::values(partial);
      auto&& sums = arch::values(acc);
      WW_UNROLL
      for (int v = 0; v < Accumulator::kValues; v += 4) {  // two columns, rows r and r + 8
        const ColumnScales column = columns.pair(place.column + 2 * v);
        WW_UNROLL
        for (int i = 0; i < 4; ++i) {
          float scale = column.s[i % 2];
          if constexpr (kForm == ScaleForm::both) scale = arch::mul(scales.row[mma_block][0][i / 2], scale);
          sums[v + i] = arch::fma(products[v + i], scale, sums[v + i]);
        }
      }
      arch::put_back(acc, sums);
    }
  }

  // Releases a stage whose MMAs have finished, unless promotion still reads the scales of B in it.
  WW_DEVICE static void release_before(Pipeline& pipeline, const Block& block) {
    if constexpr (!kScalesColumns) pipeline.consumer_release(block.stage);
  }
  WW_DEVICE static void release_after(Pipeline& pipeline, const Block& block) {
    if constexpr (kScalesColumns) pipeline.consumer_release(block.stage);
  }

  WW_DEVICE static TilePosition position_of(int consumer_warpgroup, int offset) {
    const int thread = static_cast<int>(arch::thread_index() % arch::kWarpgroupSize);
    return {consumer_warpgroup * kMmaBlocks * kWarpgroupRows + Accumulator::first_row(thread),
            Accumulator::first_column(thread), offset};
  }

  // Hopper keeps 13 fraction bits while it accumulates FP8, which suffices for 128 products (docs/numerics.md).
  template <class Self, class Order>
  WW_DEVICE static void multiply_promoted(int k_blocks, arch::SharedAddress base, Pipeline& pipeline,
                                          int consumer_warpgroup, Accumulator (&acc)[kMmaBlocks], Order& order,
                                          int offset) {
    const TilePosition place = position_of(consumer_warpgroup, offset);
    if constexpr (partial_accumulators(kConfig) == 2) {
      promote_overlapped(k_blocks, base, pipeline, consumer_warpgroup, place, acc[0], order);
    } else {
      for (int k = 0; k < k_blocks; ++k)
        promote_blocks<Self>(base, pipeline, consumer_warpgroup, place, acc, k + 1 == k_blocks, order);
    }
  }

  // Two partial accumulators alternate: one block is multiplied while the other is promoted.
  // It is not one loop with conditions, because accumulators in flight must reach every wait on one path only, or ptxas
  // serialises.
  template <class Order>
  WW_DEVICE static void promote_overlapped(int k_blocks, arch::SharedAddress base, Pipeline& pipeline,
                                           int consumer_warpgroup, const TilePosition& place, Accumulator& acc,
                                           Order& order) {
    Accumulator even, odd;
    Block even_block = start(base, pipeline, consumer_warpgroup, place, even);
    int k = 0;  // the block in `even`
    WW_NO_UNROLL
    for (; k + 2 < k_blocks; k += 2) {
      const Block odd_block = start(base, pipeline, consumer_warpgroup, place, odd);
      arch::wgmma::wait<1>(even);            // `even` belongs to the thread again: only now may it be read ...
      release_before(pipeline, even_block);  // ... and its stage be overwritten
      promote(base, acc, even, even_block, 0, place);
      release_after(pipeline, even_block);
      even_block = start(base, pipeline, consumer_warpgroup, place, even);
      arch::wgmma::wait<1>(odd);
      release_before(pipeline, odd_block);
      promote(base, acc, odd, odd_block, 0, place);
      release_after(pipeline, odd_block);
    }
    if (k + 1 < k_blocks) {
      const Block odd_block = start(base, pipeline, consumer_warpgroup, place, odd);
      order.arrive();
      arch::wgmma::wait<0>(even, odd);
      release_before(pipeline, even_block);
      release_before(pipeline, odd_block);
      promote(base, acc, even, even_block, 0, place);
      promote(base, acc, odd, odd_block, 0, place);
      release_after(pipeline, even_block);
      release_after(pipeline, odd_block);
    } else {
      order.arrive();
      arch::wgmma::wait<0>(even);
      release_before(pipeline, even_block);
      promote(base, acc, even, even_block, 0, place);
      release_after(pipeline, even_block);
    }
  }

  // Several MMA_M blocks, or three warpgroups, leave registers for one partial accumulator only: multiplies and
  // promotes one block after the other.
  template <class Self, class Order>
  WW_DEVICE static void promote_blocks(arch::SharedAddress base, Pipeline& pipeline, int consumer_warpgroup,
                                       const TilePosition& place, Accumulator (&acc)[kMmaBlocks], bool last,
                                       Order& order) {
    Accumulator partial;
    const Block block = take(base, pipeline, place);
    WW_UNROLL
    for (int u = 0; u < kMmaBlocks; ++u) {
      Self::product(base, block.stage, consumer_warpgroup, u, partial);
      if (u + 1 == kMmaBlocks) {
        release_before(pipeline, block);
        if (last) order.arrive();  // only now, because no branch may separate accumulators in flight (C7511)
      }
      promote(base, acc[u], partial, block, u, place);
    }
    release_after(pipeline, block);
  }
};

}  // namespace ww::mainloop
