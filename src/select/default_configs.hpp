// SPDX-License-Identifier: Apache-2.0
// The finite list of configs this library chooses from, and the choice for one problem.
// Shipped emulator modules cover all_default_configs(); anything else is compiled on demand.
#pragma once

#include <vector>

#include "warpwright/collective/gemm_config.hpp"
#include "warpwright/host/gemm.hpp"

namespace ww::select {

/// Resolved configs for operands of type `a`, outputs `d` and recipe `scale`, largest tile first; empty when
/// unsupported.
std::vector<GemmConfig> default_configs(DType a, DType d, Scale scale);

/// Every default config of every supported combination.
std::vector<GemmConfig> all_default_configs();

/// The config for `problem` on `sms` SMs. Fields that `requested` sets are kept; when it sets any of tile, cluster,
/// stages or
/// warpgroups, the rest is resolved around them instead of taken from the list. Not checked: see collective::fault_of.
GemmConfig choose(const GemmProblem& problem, const GemmConfig& requested, int sms);

}  // namespace ww::select
