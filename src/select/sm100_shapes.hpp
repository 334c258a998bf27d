// SPDX-License-Identifier: Apache-2.0
// The shapes of Blackwell's dense kernels that auto chooses from (config_list.hpp): pairs of CTAs and single ones, and
// swap-AB for few rows.
#pragma once

#include <vector>

#include "warpwright/config/gemm_config.hpp"

namespace ww::select {

std::vector<GemmConfig> sm100_shapes();

}  // namespace ww::select
