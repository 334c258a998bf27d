// SPDX-License-Identifier: Apache-2.0
// Ragged grouped GEMM in one launch. Every CTA lists the tiles of all groups. A work-tile counter distributes them, the
// widest first, or CTA c takes tiles c, c + CTAs, ...
//   the producer's warp, or all where groups are many:
//              sizes on the device -> {start, count} -> list of tiles (scheduler/ragged_tiles.hpp)
//   producer:  next tile -> announce it -> for k: acquire stage, load weights and tokens
//   scales:    tile -> for k: acquire stage, store the block's scales, signal full
//   consumer:  tile -> the loop of its width: wait full, multiply, promote, release -> rows of D
// It needs no padding, no host hint and no descriptor per group: rows start anywhere, tails are predicated stores.
// Split-K, for few tiles: the CTAs of a cluster take the same tiles in a fixed order, each a part of K; the first adds
// their sums in order and stores.
#pragma once

#include "warpwright/arch/common/pdl.hpp"
#include "warpwright/config/config_parameter.hpp"
#include "warpwright/config/faults.hpp"
#include "warpwright/epilogue/cluster_sum.hpp"
#include "warpwright/epilogue/ragged_epilogue.hpp"
#include "warpwright/kernel/skeleton.hpp"
#include "warpwright/mainloop/sm90/ragged_mainloop.hpp"
#include "warpwright/scheduler/ragged_source.hpp"

namespace ww::kernel {

using config::GroupedArguments;
using config::KRange;
using scheduler::TokenTile;

template <ConfigParameter kConfig> struct RaggedGemm : Skeleton<RaggedGemm<kConfig>> {
  static_assert(!config::fault_of_ragged(kConfig), "GemmConfig: resolve_grouped() it and look at fault_of_grouped()");
  using Mainloop = mainloop::RaggedMainloop<kConfig>;
  using Epilogue = epilogue::RaggedEpilogue<kConfig>;
  using Pipeline = typename Mainloop::Pipeline;

  static constexpr int kThreads = config::threads_of(kConfig);
  static constexpr auto kShared = config::grouped_shared_plan(kConfig);
  static constexpr auto kRegisters = config::registers_of(kConfig);

  static constexpr int kReaders = 4 * kConfig.sm90.consumer_warpgroups + static_cast<int>(Mainloop::kScaleWarps);
  using Params = GroupedArguments;
  using Source = scheduler::RaggedSource<kConfig, kReaders>;
  using Tile = typename Source::Tile;
  static constexpr int kBarriers = kShared.barriers;

  static constexpr bool kSplits = config::sums_in_cluster(kConfig);
  using CtaPosition = scheduler::CtaPosition<Mainloop::kCluster>;
  struct NoSum {
    WW_DEVICE NoSum(arch::SharedAddress, int) {}
  };
  using Sum = conditional_t<kSplits, epilogue::ClusterSum<config::ragged_sum_plan(kConfig)>, NoSum>;

  // The set-up differs from the skeleton's, because the list of tiles is on a launch's critical path: the second warp
  // initialises while the first one's loads of sizes are in flight, and clusters that split K only arrive at their
  // barrier, because peers are needed for the first sum, not for the first load.
  WW_DEVICE static void begin(const GroupedArguments& arguments, arch::SharedAddress shared, Source& source) {
    if constexpr (!Source::kStartsNextLate) arch::pdl::launch_dependents();
    if (arch::thread_index() == arch::kWarpSize) initialize(arguments, shared);
    source.begin();
    if constexpr (kSplits) {
      arch::fence::mbarrier_init();
      arch::cluster::arrive();
      arch::named_barrier::sync_cta();
    } else {
      pipeline::make_barriers_visible<Mainloop::kCluster>();
    }
    arch::pdl::wait();  // global memory is left alone before this line, or the same in the first warp
  }

  WW_DEVICE static void initialize(const GroupedArguments& arguments, arch::SharedAddress shared) {
    Pipeline::initialize(shared + kBarriers);
    Source::initialize(shared);
    if constexpr (kSplits) Sum::initialize(shared);
    if (arguments.k_blocks == 0) return;
    for (const arch::TensorMap& map : arguments.a) arch::tma::prefetch(map);
    arch::tma::prefetch(arguments.b);
    if constexpr (!kSplits && !Source::kStartsNextLate) {
      arch::pdl::wait();  // data prefetched while the preceding launch streams has left L2 when it ends
      prefetch_weights(arguments);
    }
  }

  struct Loader {
    WW_DEVICE void load(const GroupedArguments& arguments, arch::SharedAddress shared, Pipeline& pipeline,
                        const Source& source, const Tile& tile) const {
      Mainloop::load(arguments, shared, pipeline, tile, source.range(), config::token_width(tile.width_class));
    }
  };
  WW_DEVICE static void load_scales(const GroupedArguments& arguments, arch::SharedAddress shared, Pipeline& pipeline,
                                    const Source& source, const Tile& tile, u32 warp) {
    Mainloop::load_scales(arguments, shared, pipeline, tile, source.range(), warp);
  }

  WW_DEVICE static void consume(const GroupedArguments& arguments, arch::SharedAddress shared, const Source& source,
                                int consumer_warpgroup) {
    if constexpr (kSplits) arch::cluster::wait();
    Pipeline pipeline(shared + kBarriers, pipeline::Role::consumer);
    typename Source::Walk walk(source, scheduler::Reader::warp);
    Sum sum(shared, consumer_warpgroup);
    for (Tile tile; walk.next(tile);) {
      if (!source.has_products()) {
        if (CtaPosition::rank_k() == 0) store_zeros(arguments, shared, consumer_warpgroup, tile);
      } else {
        multiply(make_index_sequence<config::token_classes(kConfig.tile.m)>{}, arguments, shared, source, pipeline, sum,
                 consumer_warpgroup, tile);
      }
      // Lanes may have stored different parts of D. Without a point of convergence ptxas lets them diverge until the
      // next tile, and moves the descriptors of every wgmma from registers of threads to uniform ones.
      arch::warp::sync();
    }
  }
  /// The end of the producer warpgroup's roles: clusters that split K only arrived at their barrier in the set-up.
  WW_DEVICE static void finish_production() {
    if constexpr (kSplits) arch::cluster::wait();
  }

 private:
  // Prefetching keeps memory busy until the sizes and the tile list are there. The n-th tile of weights is the first of
  // CTA n if all groups have few rows and at least one; otherwise it belongs to some CTA, unless its group is empty.
  // Clusters that split K and occupancies above one CTA per SM do not prefetch: an H200 takes 5 % longer with it,
  // because the loads queue behind it.
  WW_DEVICE static void prefetch_weights(const GroupedArguments& arguments) {
    constexpr int kBlocks = max(1, kEarlyBytes / (kConfig.tile.n * config::kRowBytes));
    const int item = static_cast<int>(arch::block_index()), group = item / arguments.tiles_n;
    if (group >= arguments.groups.groups) return;
    for (int k = 0; k < min(arguments.k_blocks, kBlocks); ++k) {
      const int column = item % arguments.tiles_n * kConfig.tile.n;
      if constexpr (kConfig.operands.layout.b == Major::k) {
        arch::tma::prefetch_3d(arguments.b, k * kConfig.tile.k, column, group);
      } else {
        for (int n = 0; n < kConfig.tile.n; n += config::mn_block(kConfig.operands.b))
          arch::tma::prefetch_3d(arguments.b, column + n, k * kConfig.tile.k, group);
      }
    }
  }
  static constexpr int kEarlyBytes = 1 << 16;  // of a CTA: what memory delivers until the list is complete

  // Stores D for K = 0: zeros, or the tree of zeros.
  WW_DEVICE static void store_zeros(const GroupedArguments& arguments, arch::SharedAddress shared,
                                    int consumer_warpgroup, const TokenTile& tile) {
    using Shape = typename Mainloop::template Shape<config::token_shape(0)>;
    if constexpr (kConfig.epilogue.empty()) {
      Epilogue::store_zeros(arguments, consumer_warpgroup, tile);
    } else {
      Epilogue::template store_tree_of_zeros<typename Shape::Accumulator, Shape::kMmaBlocks>(arguments, shared,
                                                                                             consumer_warpgroup, tile);
    }
  }

  // Runs the instance of the tile's width. Accumulators are registers, so every width has its own loop.
  template <int... kClass>
  WW_DEVICE static void multiply(index_sequence<kClass...>, const GroupedArguments& arguments,
                                 arch::SharedAddress shared, const Source& source, Pipeline& pipeline, Sum& sum,
                                 int consumer_warpgroup, const Tile& tile) {
    constexpr int kLast = sizeof...(kClass) - 1;
    static_cast<void>(
        (((kClass == kLast || tile.width_class == kClass) &&
          (multiply_width<kClass>(arguments, shared, source, pipeline, sum, consumer_warpgroup, tile), true)) ||
         ...));
  }
  template <int kClass>
  WW_DEVICE static void multiply_width(const GroupedArguments& arguments, arch::SharedAddress shared,
                                       const Source& source, Pipeline& pipeline, Sum& sum, int consumer_warpgroup,
                                       const Tile& tile) {
    constexpr config::TokenWidth kWidth = config::token_shape(kClass);
    using Shape = typename Mainloop::template Shape<kWidth>;
    const KRange range = source.range();
    // There must be no path around the products below, because accumulators that one path leaves unwritten are live
    // from the start.
    if constexpr (kSplits) {
      if (range.blocks == 0) return sum.template pass<Shape::kMmaBlocks * Shape::Accumulator::kValues>();
    }
    typename Shape::Accumulator acc[Shape::kMmaBlocks];  // (64, kN) FP32 for each MMA_M block
    Mainloop::template multiply<kWidth>(range.blocks, shared, pipeline, consumer_warpgroup, acc);
    if constexpr (kSplits) {
      if (CtaPosition::rank_k() != 0) return sum.send_partial(acc, true);
      sum.reduce(acc, min(Mainloop::kCluster.k, arguments.k_blocks));
    }
    Epilogue::store(arguments, shared, consumer_warpgroup, acc, tile);
  }
};

}  // namespace ww::kernel
