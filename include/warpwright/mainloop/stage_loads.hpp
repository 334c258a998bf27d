// SPDX-License-Identifier: Apache-2.0
// Fills the operand ring by TMA from one thread: for each k-block it acquires a stage and loads this CTA's slices of A
// and B, multicast to the CTAs that share them. With a CtaGroup of two, each CTA of a pair holds half of B's rows, and
// shares them with the CTAs at the same place of their pairs.
// Not here: what a tile is (scheduler/), arrival counts (pipeline/), who multiplies from the stages.
#pragma once

#include "warpwright/atom/tma_atom.hpp"
#include "warpwright/config/config_parameter.hpp"
#include "warpwright/config/fixed_extents.hpp"
#include "warpwright/config/shared_memory.hpp"
#include "warpwright/config/sizes.hpp"
#include "warpwright/pipeline/tma_pipeline.hpp"
#include "warpwright/scheduler/tile_maps.hpp"

namespace ww::mainloop {

using namespace config;

/// Loads that a stage has beside those of A and B: none.
struct NoOtherLoads {
  static constexpr u32 kBytes = 0;
  WW_DEVICE void operator()(pipeline::Stage, int) const {}
};

/// LoadAtom: TmaLoadAtom, or TmaPairLoadAtom for pairs.
template <ConfigParameter kConfig, class LoadAtom = atom::TmaLoadAtom> struct StageLoads {
  using OperandLoad = LoadAtom;
  /// What the thread that loads remembers from tile to tile. Mainloops that remember something have their own.
  struct LoadState {};
  static constexpr DType kTypeA = kConfig.operands.a, kTypeB = kConfig.operands.b;
  static constexpr int kTileM = kConfig.tile.m, kTileN = kConfig.tile.n, kTileK = kConfig.tile.k;
  static constexpr SharedPlan kShared = shared_plan(kConfig);
  static constexpr pipeline::ClusterShape kCluster = cluster_of(kConfig);
  static constexpr u32 kStageBytes = loaded_bytes(kConfig, kConfig.operands.a, kShared.a_stage) +
                                     loaded_bytes(kConfig, kConfig.operands.b, kShared.b_stage);
  static constexpr bool kHalves = pairs_halves(kConfig);
  static constexpr bool kStacked = stacks_matrices(kConfig);
  using GlobalA = atom::TileRow<kTileM, kTileK, kStacked>;  // (TILE_M, TILE_K, k)
  template <bool kBatched>
  using TileB = conditional_t<kHalves, atom::TileHalves<kTileN, kTileK, kBatched>,
                              atom::TileRow<kTileN, kTileK, kBatched>>;  // (TILE_N, TILE_K, k)
  static constexpr int kSlicesB = slices_of_b(kConfig);
  static constexpr int kCtas = ctas_of_mma(kConfig);                               // that hold a part of B's rows each
  using SharedA = atom::SharedOperand<kTileM, kConfig.operands.layout.a>;          // (TILE_M, TILE_K, STAGE)
  using SharedB = atom::SharedOperand<kTileN / kCtas, kConfig.operands.layout.b>;  // (TILE_N / CTAS, TILE_K, STAGE)

  WW_DEVICE static SharedA shared_a(arch::SharedAddress base) { return {base + kShared.a}; }
  WW_DEVICE static SharedB shared_b(arch::SharedAddress base) { return {base + kShared.b}; }

  /// Tile `tile_n` of B or, of several, of matrix `batch`; `n`: rows of B.
  template <bool kBatched> WW_DEVICE static TileB<kBatched> tile_of_b(int tile_n, int batch, int n) {
    if constexpr (kHalves) return {tile_n * (kTileN / 2), batch, n / 2 - kTileN / 2};
    else return {tile_n * kTileN, batch};
  }

  /// Loads k-blocks `k` of `tile`, and others(stage, k) for each of them. One thread calls it.
  template <class Pipeline, class Others = NoOtherLoads>
  WW_DEVICE static void load(const GemmArguments& arguments, arch::SharedAddress base, Pipeline& pipeline,
                             TileCoord tile, KRange k, const Others& others = {}) {
    if constexpr (maps_groups(kConfig)) k.first = 0;  // the maps begin where the group does
    load_blocks(arguments, base, pipeline, tile, k.first, k.first + k.blocks, {}, others);
  }
  /// Loads k-blocks [first, last) of `tile`; the token is for the first of them. One thread calls it.
  template <class Pipeline, class Others = NoOtherLoads>
  WW_DEVICE static void load_blocks(const GemmArguments& arguments, arch::SharedAddress base, Pipeline& pipeline,
                                    TileCoord tile, int first, int last, pipeline::WaitToken token,
                                    const Others& others = {}) {
    const GlobalA gA{tile.m * kTileM, tile.batch * arguments.a_steps};
    const auto gB = tile_of_b<kStacked>(tile.n, tile.batch * arguments.b_steps, n_of<kConfig>(arguments));
    fill<true>(LoadAtom{scheduler::map_of_a<kConfig>(arguments, tile)}, gA,
               LoadAtom{scheduler::map_of_b<kConfig>(arguments, tile)}, gB, first, last, base, pipeline, token, others);
  }

  /// Loads the K of a group: the rows `k` of A (K, M) and B (K, N). One thread calls it.
  // A and B are rank-3 tensors (M, K, K + 1) whose last two modes have the same stride ld, so that (m, x, y) is at row
  // x + y - K. A box from x = K - rows of plane y = end on begins where the group does. Since no plane has more than K
  // rows, it ends where the group does: TMA fills the rest of the last stage with zeros, whatever the next group holds.
  // No tensor map changes from group to group.
  template <class Pipeline>
  WW_DEVICE static void load(const GemmArguments& arguments, arch::SharedAddress base, Pipeline& pipeline,
                             TileCoord tile, KRows k) {
    if constexpr (has_k_tails(kConfig)) {
      const GlobalA gA{tile.m * kTileM, k.end, arguments.k - k.rows};
      const atom::TileRow<kTileN, kTileK, kStacked> gB{tile.n * kTileN, k.end, arguments.k - k.rows};
      fill<true>(LoadAtom{arguments.a}, gA, LoadAtom{arguments.b}, gB, 0, k.blocks, base, pipeline, {});
    } else {
      load(arguments, base, pipeline, tile, static_cast<KRange>(k));
    }
  }

  /// Fills k_blocks stages from gA (TILE_M, TILE_K, k) and gB (TILE_N, TILE_K, k). One thread calls it. Peers of the
  /// cluster that need the same A or B load a slice each and multicast it; without kPeersShare, all of B is loaded for
  /// this CTA alone.
  template <bool kPeersShare, class A, class B, class Pipeline>
  WW_DEVICE static void fill(const LoadAtom& load_a, const A& gA, const LoadAtom& load_b, const B& gB, int k_blocks,
                             arch::SharedAddress base, Pipeline& pipeline) {
    fill<kPeersShare>(load_a, gA, load_b, gB, 0, k_blocks, base, pipeline, {});
  }
  /// Does the same for k-blocks [first, last); the token is for the first of them.
  template <bool kPeersShare, class A, class B, class Pipeline, class Others = NoOtherLoads>
  WW_DEVICE static void fill(const LoadAtom& load_a, const A& gA, const LoadAtom& load_b, const B& gB, int first,
                             int last, arch::SharedAddress base, Pipeline& pipeline, pipeline::WaitToken token,
                             const Others& others = {}) {
    const auto self = pipeline::coord_of(kCluster, static_cast<int>(arch::cluster_rank()));
    constexpr bool kSharesA = kCluster.n > 1, kSharesB = kPeersShare && kCluster.m > kCtas;
    const u16 mask_a = kSharesA ? pipeline::mask_of_column(kCluster, self.x, self.z) : 0;
    const u16 mask_b = kSharesB ? mask_of_b(self) : 0;
    auto tAgA = atom::tma_partition<kCluster.n>(gA, self.y);                 // (TILE_M / CLUSTER_N, TILE_K, k)
    auto tAsA = atom::tma_partition<kCluster.n>(shared_a(base), self.y);     // (TILE_M / CLUSTER_N, TILE_K, STAGE)
    constexpr int kSlices = kPeersShare ? kSlicesB / kCluster.m : kSlicesB;  // of B, loaded by this CTA
    WW_NO_UNROLL
    for (int k = first; k < last; ++k) {
      const pipeline::Stage stage = pipeline.producer_acquire(kStageBytes + Others::kBytes, token);
      token = {};
      const int s = static_cast<int>(stage.index);
      atom::copy_tile<kTypeA, tAsA.rows>(load_a.template with<kSharesA>(stage.full, mask_a), tAgA(_, _, k),
                                         tAsA(_, _, s));
      WW_UNROLL
      for (int slice = 0; slice < kSlices; ++slice) {
        const int mine = kPeersShare ? slice_of_b(self.x) * kSlices + slice : slice;
        auto tBgB = atom::tma_partition<kSlicesB>(gB, mine);  // (TILE_N / SLICES, TILE_K, k)
        auto tBsB = atom::tma_partition<kSlicesB / kCtas>(shared_b(base), mine % (kSlicesB / kCtas));
        atom::copy_tile<kTypeB, tBsB.rows>(load_b.template with<kSharesB>(stage.full, mask_b), tBgB(_, _, k),
                                           tBsB(_, _, s));
      }
      others(stage, k);
    }
  }
  /// Does the same without a cluster for the first `parts` consumer warpgroups: A in one box for each, and all of B.
  /// The rest of the stage keeps its old contents. One thread calls it.
  template <class A, class B, class Pipeline>
  WW_DEVICE static void fill_parts(const LoadAtom& load_part, const A& gA, const LoadAtom& load_b, const B& gB,
                                   int parts, int k_blocks, arch::SharedAddress base, Pipeline& pipeline) {
    static_assert(kCluster.size() == 1 && kConfig.operands.layout.a == Major::k);
    constexpr int kPartRows = kTileM / warpgroups_of_tile(kConfig);
    const u32 bytes = static_cast<u32>(parts) * (kPartRows * kRowBytes) + kShared.b_stage;
    WW_NO_UNROLL
    for (int k = 0; k < k_blocks; ++k) {
      const pipeline::Stage stage = pipeline.producer_acquire(bytes);
      const int s = static_cast<int>(stage.index);
      WW_UNROLL
      for (int slice = 0; slice < kSlicesB; ++slice)
        atom::copy_tile<kTypeB, kTileN / kSlicesB>(load_b.with(stage.full),
                                                   atom::tma_partition<kSlicesB>(gB, slice)(_, _, k),
                                                   atom::tma_partition<kSlicesB>(shared_b(base), slice)(_, _, s));
      for (int part = 0; part < parts; ++part)
        atom::copy(load_part.with(stage.full), gA(_, _, k).rows_from(part * kPartRows),  // (TILE_M / PARTS, TILE_K)
                   shared_a(base)(_, _, s).rows_from(part * kPartRows));
    }
  }

 private:
  /// Returns the CTAs that share B with the one at `self`.
  WW_DEVICE static u16 mask_of_b(pipeline::ClusterCoord self) {
    if constexpr (kCtas == 1) return pipeline::mask_of_row(kCluster, self.y, self.z);
    else return pipeline::mask_of_places(kCluster, kCtas, self);
  }
  /// Returns the slice of B that CTA x of a row loads: those of one place of the pairs follow one another.
  WW_DEVICE static int slice_of_b(int x) {
    if constexpr (kCtas == 1) return x;
    else return x % kCtas * (kCluster.m / kCtas) + x / kCtas;
  }
};

}  // namespace ww::mainloop
