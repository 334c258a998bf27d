// SPDX-License-Identifier: Apache-2.0
// The translation unit that instantiates a kernel for one config; the same text for the GPU and the emulated
// device.
#pragma once

#include "runtime/backend.hpp"
#include "warpwright/config/gemm_config.hpp"

namespace ww::adapters {

/// A kernel that is a template on its config.
struct KernelTemplate {
  const char* prefix;  // of the kernel's name
  const char* header;
  const char* type;
  const char* params;  // type of its one parameter
};

/// Named <prefix>_<hash of the config's text>. Every field of `config` is rendered, raster excepted.
runtime::KernelSource kernel_source(const KernelTemplate& kernel, const GemmConfig& config);

/// `config` is resolved. The kernel is named warpwright_gemm_<hash of the config's text>.
runtime::KernelSource gemm_source(const GemmConfig& config);

/// Returns the kernel of the launch before a product with pointer arrays.
runtime::KernelSource pointer_maps_source();

}  // namespace ww::adapters
