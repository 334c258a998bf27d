// SPDX-License-Identifier: Apache-2.0
// The finite list of configs of a family of dense problems: every tile, cluster, schedule and scheduler that auto
// chooses from, in one order. A family is what a problem says about its kernel: types, recipe, layout, batch, epilogue.
#pragma once

#include <vector>

#include "warpwright/config/gemm_config.hpp"

namespace ww::select {

/// One entry before it meets a family or a request: shape, schedule and scheduler; every other field is auto.
const std::vector<GemmConfig>& config_shapes();

/// Whether `shape` may become a config for `requested`: those under swap-AB not where it is off, and not where a tile
/// or cluster is asked for without it.
bool is_for(const GemmConfig& shape, const GemmConfig& requested);

/// `shape` with everything that `requested` sets, resolved. Not checked: see collective::fault_of.
GemmConfig complete(const GemmConfig& shape, const GemmConfig& requested);

/// Resolved configs of the family of `requested` that agree with all it sets and that a kernel exists for, each once.
/// Stages, raster and what else no shape sets are resolved. A request that names a shape of its own is in the list.
std::vector<GemmConfig> config_list(const GemmConfig& requested);

}  // namespace ww::select
