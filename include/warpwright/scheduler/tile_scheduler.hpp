// SPDX-License-Identifier: Apache-2.0
// Selects the scheduler of a config; all have one constructor.
#pragma once

#include "warpwright/scheduler/dynamic.hpp"
#include "warpwright/scheduler/k_grouped.hpp"
#include "warpwright/scheduler/split_k.hpp"
#include "warpwright/scheduler/static_persistent.hpp"
#include "warpwright/scheduler/stream_k.hpp"

namespace ww::scheduler {

/// kReaders is the number of warps of a CTA that ask for tiles.
template <GemmConfig kConfig, int kReaders>
using DenseScheduler = conditional_t<
    kConfig.sm90.tile_scheduler == TileScheduler::dynamic, Dynamic<kConfig, kReaders>,
    conditional_t<kConfig.sm90.tile_scheduler == TileScheduler::stream_k, StreamK<config::cluster_of(kConfig)>,
                  conditional_t<kConfig.sm90.tile_scheduler == TileScheduler::split_k,
                                SplitK<config::cluster_of(kConfig)>, StaticPersistent<config::cluster_of(kConfig)>>>>;
template <GemmConfig kConfig, int kReaders>
using SchedulerOf = conditional_t<config::groups_k(kConfig), KGrouped<kConfig>, DenseScheduler<kConfig, kReaders>>;

}  // namespace ww::scheduler
