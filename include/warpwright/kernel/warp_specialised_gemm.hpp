// SPDX-License-Identifier: Apache-2.0
// Warp-specialised persistent GEMM of one producer warpgroup and one to three consumer warpgroups. On Blackwell one
// thread of the producer warpgroup multiplies, and consumers read its sums (mainloop/sm100/mainloop.hpp).
//   producer:   tile -> for k: acquire stage, load A and B by TMA, (hardware signals full)
//   scales:     tile -> for k: acquire stage, store the block's scales, signal full   (two more producer warps)
//   consumer:   tile -> for k: wait full, multiply, promote, release stage -> reduce K splits -> epilogue
// Cooperative: the consumer warpgroups share each tile. Pingpong: they alternate between tiles and take turns in the
// ring, so that the epilogue of one overlaps the MMAs of the other.
// `Problem` says where the operands, scales and outputs of a tile are: kernel/gemm.hpp for dense products, batches and
// groups of K, kernel/grouped_gemm.hpp for groups of rows.
// Not here: set-up and roles (kernel/skeleton.hpp), the order of tiles (scheduler/), filling of stages (mainloop/).
#pragma once

#include "warpwright/config/config_parameter.hpp"
#include "warpwright/epilogue/epilogue.hpp"
#include "warpwright/kernel/skeleton.hpp"
#include "warpwright/pipeline/ordered_barrier.hpp"

namespace ww::kernel {

template <ConfigParameter kConfig, class Problem>
struct WarpSpecialisedGemm : Skeleton<WarpSpecialisedGemm<kConfig, Problem>> {
  using Params = typename Problem::Params;
  using Source = typename Problem::Source;
  using Mainloop = typename Problem::Mainloop;
  using Epilogue = epilogue::Epilogue<kConfig, typename Mainloop::Accumulator>;
  using Loader = typename Problem::Loader;
  using Pipeline = typename Mainloop::Pipeline;
  using ScalePipeline = typename Mainloop::ScalePipeline;
  using Tile = typename Source::Tile;
  using Sums = typename Problem::Sums;

  // An order is needed beside two consumers, because a barrier distinguishes only consecutive phases and the ring is
  // filled tile by tile.
  static constexpr int kTilesInFlight = config::tiles_in_flight(kConfig);
  using Order = conditional_t<kTilesInFlight == 1, pipeline::Unordered,
                              pipeline::OrderedBarrier<1, kTilesInFlight, 4 * config::warpgroups_of_tile(kConfig)>>;

  static constexpr int kThreads = config::threads_of(kConfig);
  static constexpr config::SharedPlan kShared = Mainloop::kShared;
  static constexpr int kBarriers = kShared.barriers;
  static constexpr auto kRegisters = config::registers_of(kConfig);
  // CTAs send each other partial sums of a split K, and numbers of tiles from a counter, outside the ring. Kernels that
  // quantise D keep the barrier, because ptxas 13.0 spills 8 bytes of one of them without it.
  static constexpr bool kPeersReachRingAlone = !config::sums_in_cluster(kConfig) &&
                                               kConfig.sm90.tile_scheduler != TileScheduler::dynamic &&
                                               config::stages_of(kConfig.epilogue).quantise == EpilogueOp::none;

  WW_DEVICE static void initialize(const Params& params, arch::SharedAddress shared) {
    Mainloop::initialize(shared + kBarriers);
    Order::initialize(shared + kShared.order);
    Source::initialize(shared);
    Sums::initialize(shared);
    Problem::prefetch(params);
  }

  WW_DEVICE static void load_scales(const Params& params, arch::SharedAddress shared, ScalePipeline& pipeline,
                                    const Source& source, const Tile& tile, u32 warp) {
    Problem::load_scales(params, shared, pipeline, source, tile, warp);
  }

  WW_DEVICE static void consume(const Params& params, arch::SharedAddress shared, const Source& source,
                                int consumer_warpgroup) {
    typename Mainloop::Consumer pipeline(shared + kBarriers, pipeline::Role::consumer);
    Order order(shared + kShared.order, static_cast<u32>(consumer_warpgroup));
    typename Source::Walk walk(source, scheduler::Reader::warp);
    Sums sums(shared, consumer_warpgroup);
    const typename Epilogue::Buffer buffer(consumer_warpgroup);
    const int part = kTilesInFlight == 1 ? consumer_warpgroup : 0;  // of the tile's rows
    const arch::SharedAddress output =
        shared + (consumer_warpgroup - part) * kShared.d_tile;  // as if its D were the only one
    if (!source.has_products()) {                               // D is zero, whatever the scales are
      Epilogue::clear(output, buffer, part);
      int turn = 0;
      for (Tile tile; walk.next(tile); ++turn)
        if (is_mine(turn, consumer_warpgroup) && sums.is_first_along_k())
          Problem::store_zeros(params, output, buffer, part, source.at(tile));
      buffer.drain();
      return;
    }
    int turn = 0;
    for (Tile tile; walk.next(tile); ++turn) {
      if constexpr (kTilesInFlight > 1) {
        if (!is_mine(turn, consumer_warpgroup)) {
          pipeline.consumer_skip(static_cast<u32>(source.k_blocks_of(tile)));
          continue;
        }
      }
      if constexpr (Problem::kEndsEarly) {
        if (!Problem::has_rows(tile, part)) {
          Mainloop::pass(source.k_blocks_of(tile), pipeline);
          continue;
        }
      }
      typename Mainloop::Accumulator acc[Mainloop::kMmaBlocks];  // (64, TILE_N) FP32 for each MMA_M block
      const int offset = Problem::scale_offset(source, tile);
      if (source.keeps_output(tile)) continue;
      if (source.is_empty(tile)) Mainloop::clear(acc, Epilogue::kTree.empty() ? 0.0f : -0.0f);
      if (!Source::kMayBeEmpty || source.k_blocks_of(tile) > 0)
        Mainloop::template multiply<Source::kVariesK>(source.k_blocks_of(tile), shared, pipeline, part, acc, order,
                                                      offset);
      if (!Problem::complete(params, sums, acc, walk, tile)) continue;
      const auto at = source.at(tile);
      if (!source.is_empty(tile)) Problem::scale(params, part, acc, at);
      Problem::store(params, output, buffer, part, acc, at);
    }
    buffer.drain();
  }

 private:
  /// Returns whether this consumer warpgroup takes the tile of this turn.
  WW_DEVICE static bool is_mine(int turn, int consumer_warpgroup) {
    return kTilesInFlight == 1 || turn % kTilesInFlight == consumer_warpgroup;
  }
};

}  // namespace ww::kernel
