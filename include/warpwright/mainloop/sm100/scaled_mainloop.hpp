// SPDX-License-Identifier: Apache-2.0
// The mainloop of products whose block scales the tensor core applies: mxfp8, mxfp4, nvfp4 and mixes of 4, 6 and 8
// bits.
//   load:         for each k-block: A, B, and the chunks of 512 bytes of their scales   (core/scale_chunks.hpp)
//   Multiplier:   for each k-block: wait -> copy the chunks to tensor memory -> 4 MMAs -> commit
// The last k-block has as many MMAs as it has K for, because scales behind K may be anything
// (mainloop/sm100/scale_tail.hpp).
// A chunk, the scales of 128 rows, becomes 4 columns. An instruction takes one, two or four scales of each row from one
// chunk, by its column and the scale ids of its descriptor. Columns of B begin where the tile does within 128 of its
// rows.
// The order of a copy after the MMAs that read what it overwrites is not documented, so that two sets of columns take
// turns, and a copy waits until the MMAs before the last ones are complete.
// SwiGLU of halves: gates and ups begin anywhere within their chunks, so that each have MMAs of their own, of half the
// columns. A pair has one MMA for both, whose CTAs hold the gates and the ups: they are whole chunks there.
// The consumers' part is that of mainloop/sm100/mainloop.hpp. Every CTA of a pair loads all scales of B itself.
#pragma once

#include "warpwright/mainloop/sm100/mainloop.hpp"
#include "warpwright/mainloop/sm100/scale_tail.hpp"

namespace ww::mainloop {

WW_HOST_DEVICE constexpr atom::ScaledKind scaled_kind(const GemmConfig& c) {
  if (c.operands.scale == Scale::nv) return {arch::MmaKind::mxf4nvf4, 4, arch::ScaleFormat::ue4m3};
  if (packs_nibbles(c)) return {arch::MmaKind::mxf4, 2, arch::ScaleFormat::ue8m0};
  return {arch::MmaKind::mxf8f6f4, 1, arch::ScaleFormat::ue8m0};
}

template <ConfigParameter kConfig> struct ScaledUmmaMainloop : UmmaMainloop<kConfig> {
  using Base = UmmaMainloop<kConfig>;
  using Loads = typename Base::Loads;
  using Base::kGroup, Base::kCtas, Base::kTileM, Base::kTileN, Base::kShared, Base::kHalves;
  using Pipeline = typename Base::Pipeline;
  static constexpr int kChunks = scale_chunks_of_k(kConfig);   // of a stage along K
  static constexpr int kBlocksB = chunk_blocks_of_b(kConfig);  // of 128 rows of B that a tile meets
  static constexpr int kBlocksOfLoad = chunk_blocks_of_load(kConfig);
  static constexpr int kLoadsB = kBlocksB / kBlocksOfLoad;  // all of B, or gates and ups
  static constexpr u32 kBytesA = kChunks * kScaleChunkBytes, kBytesB = kBlocksB * kBytesA;

  using ScaleBarriers = pipeline::StageRing<kScaleSets>;
  using Tail = ScaleTail<kConfig>;
  using LoadState = ClearedStages;

  /// Initialises the barriers. One thread of each CTA calls it, before make_barriers_visible.
  WW_DEVICE static void initialize(arch::SharedAddress barriers) {
    Base::initialize(barriers);
    for (u32 set = 0; set < kScaleSets; ++set) arch::mbarrier::init(done_barrier(barriers, set), 1);
    Tail::initialize(barriers);
  }

  /// Returns the first row of B, of N = `n`, that a tile has; with `part` 1 the first of its ups.
  WW_DEVICE static int first_row(int tile_n, i32 n, int part) {
    return tile_n * (kTileN / kLoadsB) + (part == 1 ? n / 2 : 0);
  }

  /// Names the last k-block of all K, and says how many elements of K a tile's own last k-block has.
  struct LastBlock {
    int index;
    i32 elements;
  };
  /// Loads the scales of one stage of a tile. The thread that loads calls it after the loads of A and B.
  struct ScaleLoads {
    static constexpr u32 kBytes = kBytesA + kBytesB;
    using LoadAtom = conditional_t<kConfig.sm100.pair, atom::TmaPairLoadAtom, atom::TmaLoadAtom>;
    const arch::TensorMap &map_a, &map_b;
    arch::SharedAddress base;
    int block_a, block_b[kLoadsB];  // of 128 rows
    LastBlock last;
    ClearedStages& cleared;

    WW_DEVICE void operator()(pipeline::Stage stage, int k) const {
      if constexpr (Tail::kNeeded)
        Tail::wait_for_clear(base, stage.index, k == last.index && Tail::needs_clearing(last.elements), cleared);
      const arch::SharedAddress at =
          base + (kShared.scales + stage.index * kBytes);  // (BLOCK, CHUNK, 512 bytes), of A, then of B
      atom::copy(LoadAtom{map_a}.with(stage.full), atom::Box<true>{k * kChunks, 0, block_a}, atom::SharedTile<>{at});
      WW_UNROLL
      for (int part = 0; part < kLoadsB; ++part)
        atom::copy(LoadAtom{map_b}.with(stage.full), atom::Box<true>{k * kChunks, 0, block_b[part]},
                   atom::SharedTile<>{at + kBytesA + static_cast<u32>(part * kBlocksOfLoad) * kBytesA});
    }
  };
  /// Returns the loads of tile `work` of `source`, which is at `at`.
  template <class Source, class Tile>
  WW_DEVICE static ScaleLoads scale_loads(const ScaleMaps& maps, arch::SharedAddress base, TileCoord at,
                                          const Source& source, const Tile& work, ClearedStages& cleared) {
    ScaleLoads loads{
        maps.a, maps.b, base, at.batch * maps.blocks_a + at.m, {}, {source.k_blocks() - 1, source.last_k_of(work)},
        cleared};
    for (int part = 0; part < kLoadsB; ++part)
      loads.block_b[part] = at.batch * maps.blocks_b + first_row(at.n, source.n(), part) / kScaleChunkRows;
    return loads;
  }

  /// Does the same for a group of K, whose scales are a matrix of their own: all chunks along K of 128 rows, then those
  /// of the next 128 rows.
  struct GroupScaleLoads {
    static constexpr u32 kBytes = ScaleLoads::kBytes;
    using LoadAtom = typename ScaleLoads::LoadAtom;
    const arch::TensorMap &map_a, &map_b;
    arch::SharedAddress stages;
    int chunk_a, chunk_b;  // of the tile's first rows, at k-block 0 of the whole K
    int chunks;            // of 128 rows

    WW_DEVICE void operator()(pipeline::Stage stage, int k) const {
      const arch::SharedAddress at = stages + stage.index * kBytes;  // (BLOCK, CHUNK, 512 bytes), of A, then of B
      atom::copy(LoadAtom{map_a}.with(stage.full), atom::Box<true>{chunk_a + k * kChunks, 0, 0},
                 atom::SharedTile<>{at});
      WW_UNROLL
      for (int block = 0; block < kBlocksB; ++block)
        atom::copy(LoadAtom{map_b}.with(stage.full), atom::Box<true>{chunk_b + block * chunks + k * kChunks, 0, 0},
                   atom::SharedTile<>{at + kBytesA + static_cast<u32>(block) * kBytesA});
    }
  };
  /// Returns the loads of a tile of a group, whose k-blocks are `k`.
  WW_DEVICE static GroupScaleLoads scale_loads(const ScaleMaps& maps, arch::SharedAddress base, TileCoord tile,
                                               KRange k) {
    const int chunks = k.blocks * kChunks, first = k.first * kChunks;
    return {maps.a,
            maps.b,
            base + kShared.scales,
            maps.blocks_a * first + tile.m * chunks - first,
            maps.blocks_b * first + tile.n * kTileN / kScaleChunkRows * chunks - first,
            chunks};
  }

  /// Multiplies tile after tile. One thread of each CTA has one; of a pair only the leader's issues MMAs.
  class Multiplier {
    static constexpr int kMmas = kHalves && kCtas == 1 ? 2 : 1;  // that share the columns of a tile
    static constexpr int kMmaN = kTileN / kMmas;
    static constexpr atom::UmmaOperands kOperands{kConfig.operands.a,
                                                  kConfig.operands.b,
                                                  kConfig.operands.layout.a,
                                                  kConfig.operands.layout.b,
                                                  kGroup,
                                                  kTileM* kCtas,
                                                  kMmaN};
    static constexpr u32 kColumnsA = kChunks * kScaleChunkColumns, kColumnsB = kBlocksB * kColumnsA;

   public:
    WW_DEVICE explicit Multiplier(arch::SharedAddress base)
        : base_(base),
          pipeline_(base + kShared.barriers, pipeline::Role::consumer),
          accumulators_(base + kShared.accumulator_barriers, pipeline::Role::producer),
          memory_(Base::accumulators(base)),
          leads_(kCtas == 1 || arch::cluster_rank() % kCtas == 0),
          set_(pipeline::Role::producer),
          followed_(pipeline::Role::consumer),
          tail_(base) {}

    /// Issues the products of a tile with k_blocks >= 1.
    template <class Source, class Tile> WW_DEVICE void multiply(const Source& source, const Tile& tile) {
      const int k_blocks = source.k_blocks_of(tile);
      const i32 last_k = source.last_k_of(tile);
      if (kCtas > 1 && !leads_) return follow(k_blocks, last_k);
      u32 shifts[kMmas] = {};
      if constexpr (kMmaN % kScaleChunkRows != 0 || kMmas > 1)
        for (int part = 0; part < kMmas; ++part)
          shifts[part] = shift_of(first_row(column_tile(source.at(tile)), n_of(source), part));
      const pipeline::AccumulatorStage acc = accumulators_.producer_acquire();
      const arch::TensorAddress d = memory_ + acc.first_column;  // (TILE_M, TILE_N)
      for (int k = 0; k < k_blocks; ++k) {
        const pipeline::Stage stage = wait_for_stage();
        const i32 elements = k + 1 < k_blocks ? kConfig.tile.k : last_k;
        if constexpr (Tail::kNeeded) {
          if (Tail::needs_clearing(elements)) tail_.clear(stage.index, elements);
        }
        const arch::MBarrier done = done_barrier(base_ + kShared.barriers, set_.index);
        arch::mbarrier::wait(done, set_.parity);  // the MMAs that read this set are complete
        issue(stage, d, shifts, k != 0, Tail::instructions_of(elements));
        pipeline_.consumer_release(stage);
        arch::umma::commit<kGroup>(done);
        set_.advance();
      }
      accumulators_.producer_commit(acc);
    }
    /// Waits until nobody needs the barriers of this CTA, and its own MMAs have arrived.
    WW_DEVICE void finish() {
      if (!leads_) return;
      accumulators_.producer_tail();
      for (int i = 0; i < kScaleSets; ++i) {
        arch::mbarrier::wait(done_barrier(base_ + kShared.barriers, set_.index), set_.parity);
        set_.advance();
      }
    }

   private:
    static constexpr u32 kScalesAt = accumulator_columns(kConfig);  // columns

    /// The other CTA of a pair reads scales of its own where the leader has seen them come, which takes cluster scope.
    WW_DEVICE pipeline::Stage wait_for_stage() {
      if constexpr (Tail::kNeeded && kCtas > 1) return pipeline_.consumer_wait_cluster();
      else return pipeline_.consumer_wait();
    }

    /// Follows the leader of a pair through a tile: only scales behind K are left to clear. The CTA that does not lead
    /// calls it instead of issuing MMAs.
    WW_DEVICE void follow(int k_blocks, i32 last_k) {
      if constexpr (Tail::kNeeded) {
        followed_.advance(static_cast<u32>(k_blocks - 1));
        if (Tail::needs_clearing(last_k)) tail_.assist(followed_.index, last_k);
        followed_.advance();
      }
    }

    /// Copies the scales of a stage to tensor memory, and issues MMAs for its first `instructions`.
    WW_DEVICE void issue(pipeline::Stage stage, arch::TensorAddress d, const u32 (&shifts)[kMmas], bool accumulate,
                         u32 instructions) {
      const arch::TensorAddress scale_a =
          memory_ + (kScalesAt + set_.index * (kColumnsA + kColumnsB));  // (CHUNK, 4 columns)
      const arch::TensorAddress scale_b = scale_a + kColumnsA;           // (CHUNK, BLOCK, 4 columns)
      copy_scales(stage, scale_a, scale_b);
      const int s = static_cast<int>(stage.index);
      WW_UNROLL
      for (int part = 0; part < kMmas; ++part)
        atom::umma_gemm_scaled<kOperands, scaled_kind(kConfig)>(
            d + static_cast<u32>(part * kMmaN), Loads::shared_a(base_)(_, _, s),
            Loads::shared_b(base_)(_, _, s).rows_from(part * kMmaN), scale_a,
            scale_b + (static_cast<u32>(part * kBlocksOfLoad * kScaleChunkColumns) + shifts[part]),
            kScaleChunkColumns * kBlocksB, accumulate, instructions);
    }

    /// Returns the columns of the first of 128 rows' scales that come before those of `row`.
    WW_DEVICE static u32 shift_of(int row) {
      return static_cast<u32>(row % kScaleChunkRows) / (kScaleChunkRows / kScaleChunkColumns);
    }
    template <class Source> WW_DEVICE static i32 n_of(const Source& source) {
      if constexpr (kHalves) return source.n();
      else return 0;
    }
    template <class Position> WW_DEVICE static int column_tile(const Position& at) {
      if constexpr (requires { at.tile_n; }) return at.tile_n;
      else return at.n;
    }

    WW_DEVICE void copy_scales(pipeline::Stage stage, arch::TensorAddress to_a, arch::TensorAddress to_b) const {
      // A chunk is 32 rows of 16 bytes without a swizzle: groups of 8 rows are 128 bytes apart.
      const auto from = arch::sm100::make_descriptor(base_ + (kShared.scales + stage.index * ScaleLoads::kBytes),
                                                     arch::sm100::MatrixSwizzle::none, 0, 128);
      WW_UNROLL
      for (u32 chunk = 0; chunk < kChunks; ++chunk) {
        copy_chunk(to_a + kScaleChunkColumns * chunk, from + chunk * kScaleChunkBytes);
        WW_UNROLL
        for (u32 block = 0; block < kBlocksB; ++block)
          copy_chunk(to_b + kScaleChunkColumns * (chunk * kBlocksB + block),
                     from + (kBytesA + (block * kChunks + chunk) * kScaleChunkBytes));
      }
    }
    WW_DEVICE static void copy_chunk(arch::TensorAddress to, arch::sm100::MatrixDescriptor from) {
      arch::tensor::copy<kGroup, arch::CopyShape::rows32_bits128_all>(to, from);
    }

    arch::SharedAddress base_;
    Pipeline pipeline_;
    typename Base::Accumulators accumulators_;
    arch::TensorAddress memory_;
    bool leads_;
    pipeline::PipelineState<kScaleSets> set_;
    pipeline::PipelineState<kConfig.sm90.stages> followed_;  // the stage that the leader multiplies next
    Tail tail_;
  };

 private:
  WW_DEVICE static arch::MBarrier done_barrier(arch::SharedAddress barriers, u32 set) {
    return {barriers + (static_cast<u32>(kShared.scale_barriers - kShared.barriers) + set * arch::kMBarrierBytes)};
  }
};

}  // namespace ww::mainloop
