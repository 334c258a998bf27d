// SPDX-License-Identifier: Apache-2.0
// The translation unit that instantiates the GEMM kernel for one config; the same text for the GPU and the emulated
// device.
#pragma once

#include "runtime/backend.hpp"
#include "warpwright/collective/gemm_config.hpp"

namespace ww::device {

/// `config` is resolved. The kernel is named warpwright_gemm_<hash of the config's text>.
runtime::KernelSource gemm_source(const GemmConfig& config);

}  // namespace ww::device
