// SPDX-License-Identifier: Apache-2.0
// The short list from which emulated devices choose. Shipped emulator modules cover all_default_configs(); any other
// config is compiled on demand. A GPU chooses from config_list.hpp.
#pragma once

#include <vector>

#include "warpwright/config/gemm_config.hpp"
#include "warpwright/host/gemm.hpp"

namespace ww::select {

/// Returns the resolved configs for operands of type `a`, outputs `d` and recipe `scale`, largest tile first. Empty if
/// the combination is unsupported.
std::vector<GemmConfig> default_configs(DType a, DType d, Scale scale);

/// Returns every default config of every supported combination.
std::vector<GemmConfig> all_default_configs();

/// Returns the config for `problem` on `sms` SMs of an emulated device, with all fields that `requested` sets. If it
/// sets tile, cluster, stages or warpgroups, the rest is resolved around them instead of taken from the list. The
/// result is not checked: see config::fault_of. `requested` has the problem's types, recipe, layout and epilogue,
/// as of_problem() returns it.
GemmConfig choose_default(const GemmProblem& problem, const GemmConfig& requested, int sms);

}  // namespace ww::select
