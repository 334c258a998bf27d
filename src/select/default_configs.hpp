// SPDX-License-Identifier: Apache-2.0
// The short list that emulated devices choose from: shipped emulator modules cover all_default_configs(), anything else
// is compiled on demand. What a GPU chooses from is in config_list.hpp.
#pragma once

#include <vector>

#include "warpwright/config/gemm_config.hpp"
#include "warpwright/host/gemm.hpp"

namespace ww::select {

/// Resolved configs for operands of type `a`, outputs `d` and recipe `scale`, largest tile first; empty when
/// unsupported.
std::vector<GemmConfig> default_configs(DType a, DType d, Scale scale);

/// Every default config of every supported combination.
std::vector<GemmConfig> all_default_configs();

/// The config for `problem` on `sms` SMs of an emulated device. Fields that `requested` sets are kept; when it sets any
/// of tile, cluster, stages or warpgroups, the rest is resolved around them instead of taken from the list. Not
/// checked: see collective::fault_of. `requested` has the problem's types, recipe, layout and epilogue, as of_problem()
/// gives it.
GemmConfig choose_default(const GemmProblem& problem, const GemmConfig& requested, int sms);

}  // namespace ww::select
