// SPDX-License-Identifier: Apache-2.0
// The finite list of configs of a family of dense problems: every tile, cluster, schedule and scheduler that auto
// chooses from, in one order. A family is the part of a problem that its kernel depends on: types, recipe, layout,
// batch, epilogue.
#pragma once

#include <vector>

#include "warpwright/config/gemm_config.hpp"

namespace ww::select {

/// Returns the entries of an architecture before a family or a request fills them in: shape, schedule and scheduler are
/// set, every other field is auto.
const std::vector<GemmConfig>& config_shapes(Arch arch = kDefaultArch);

/// Returns whether `shape` may become a config for `requested`. Swap-AB shapes may not if it is off, or if a tile or
/// cluster is requested without it. Pairs of CTAs may not if a tile or cluster is requested without pair=1; with it, no
/// other shape may.
bool is_for(const GemmConfig& shape, const GemmConfig& requested);

/// Returns `shape` with everything that `requested` sets, resolved. The result is not checked: see
/// config::fault_of.
GemmConfig complete(const GemmConfig& shape, const GemmConfig& requested);

/// Returns the resolved configs of the family of `requested`, each once, that agree with all it sets and for which a
/// kernel exists. Stages, raster and the other fields that no shape sets are resolved. A request with a shape of its
/// own is in the list too. The list is valid until this thread asks for another family.
const std::vector<GemmConfig>& config_list(const GemmConfig& requested);

}  // namespace ww::select
