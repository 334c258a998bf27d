// SPDX-License-Identifier: Apache-2.0
// Extents of a problem as a kernel sees them: constants where its config fixes them, arguments otherwise.
#pragma once

#include "warpwright/config/config_parameter.hpp"
#include "warpwright/config/gemm_arguments.hpp"
#include "warpwright/config/sizes.hpp"

namespace ww::config {

using namespace config;

template <ConfigParameter kConfig> WW_DEVICE i32 n_of(const GemmArguments& arguments) {
  return kConfig.dense.fixed_n > 0 ? kConfig.dense.fixed_n : arguments.n;
}
template <ConfigParameter kConfig> WW_DEVICE i32 k_of(const GemmArguments& arguments) {
  return kConfig.dense.fixed_k > 0 ? kConfig.dense.fixed_k : arguments.k;
}
template <ConfigParameter kConfig> WW_DEVICE i32 k_blocks_of(const GemmArguments& arguments) {
  return kConfig.dense.fixed_k > 0 ? ceil_div(kConfig.dense.fixed_k, kConfig.tile.k) : arguments.k_blocks;
}

}  // namespace ww::config
