// SPDX-License-Identifier: Apache-2.0
// The tile source of dense products and batches: cluster tiles of one grid, walked in the order of the config's
// scheduler. The matrices of a batch are stacked along M of the grid.
#pragma once

#include "warpwright/config/config_parameter.hpp"
#include "warpwright/config/fixed_extents.hpp"
#include "warpwright/config/sizes.hpp"
#include "warpwright/scheduler/dynamic.hpp"
#include "warpwright/scheduler/split_k.hpp"
#include "warpwright/scheduler/static_persistent.hpp"
#include "warpwright/scheduler/stream_k.hpp"
#include "warpwright/scheduler/tile_source.hpp"

namespace ww::scheduler {

/// The order of a config. kReaders is the number of warps of a CTA that ask for tiles.
template <ConfigParameter kConfig, int kReaders>
using DenseOrder = conditional_t<
    kConfig.sm90.tile_scheduler == TileScheduler::dynamic, Dynamic<kConfig, kReaders>,
    conditional_t<
        kConfig.sm90.tile_scheduler == TileScheduler::clc, ClusterLaunchControl<kConfig, kReaders>,
        conditional_t<
            kConfig.sm90.tile_scheduler == TileScheduler::stream_k, StreamK<config::cluster_of(kConfig)>,
            conditional_t<kConfig.sm90.tile_scheduler == TileScheduler::split_k, SplitK<config::cluster_of(kConfig)>,
                          StaticPersistent<config::cluster_of(kConfig)>>>>>;

template <ConfigParameter kConfig, class Order> class DenseTiles : public PlainSource {
  using CtaPosition = scheduler::CtaPosition<config::cluster_of(kConfig)>;

 public:
  using Tile = scheduler::Tile;
  static constexpr bool kServes = config::announces_tiles(kConfig);
  static constexpr bool kVariesK =
      kConfig.sm90.tile_scheduler == TileScheduler::stream_k || kConfig.sm90.tile_scheduler == TileScheduler::split_k;
  static constexpr bool kMayBeEmpty = config::sums_in_cluster(kConfig);

  template <class Params>
  WW_DEVICE DenseTiles(const Params& params, arch::SharedAddress shared)
      : gemm_(params.gemm), params_(params.scheduler), shared_(shared) {}

  WW_DEVICE static void initialize(arch::SharedAddress shared) {
    if constexpr (kServes) Order::initialize(shared);
  }
  WW_DEVICE void serve() const {
    if constexpr (kServes) Order::serve(params_, shared_);
  }

  struct Walk : Order {
    WW_DEVICE Walk(const DenseTiles& tiles, Reader reader)
        : Order(tiles.params_, tiles.k_blocks(), tiles.shared_, reader) {}
  };

  /// Returns the k-blocks of a whole tile.
  WW_DEVICE i32 k_blocks() const { return config::k_blocks_of<kConfig>(gemm_); }
  WW_DEVICE bool has_products() const { return k_blocks() != 0; }

  WW_DEVICE TileCoord at(const Tile& tile) const {
    TileGrid grid = params_.grid;
    if constexpr (kConfig.dense.fixed_n > 0)
      grid.cluster_tiles_n = ceil_div(kConfig.dense.fixed_n, kConfig.tile.n * kConfig.cluster.n);
    const TileCoord at = CtaPosition::at(grid, tile.index);
    if constexpr (kConfig.operands.batched) return config::tile_of_matrix(gemm_, at);
    else return at;
  }
  WW_DEVICE static i32 k_blocks_of(const Tile& tile) { return tile.k.blocks; }
  WW_DEVICE bool is_part(const Tile& tile) const { return tile.k.blocks < k_blocks(); }
  WW_DEVICE i32 n() const { return config::n_of<kConfig>(gemm_); }
  /// Returns the elements of K in the last k-block of `tile`.
  WW_DEVICE i32 last_k_of(const Tile& tile) const {
    const i32 before = (tile.k.first + tile.k.blocks - 1) * kConfig.tile.k;
    return min(kConfig.tile.k, config::k_of<kConfig>(gemm_) - before);
  }

 private:
  const config::GemmArguments& gemm_;
  const SchedulerParams& params_;
  arch::SharedAddress shared_;
};

}  // namespace ww::scheduler
