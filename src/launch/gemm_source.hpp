// SPDX-License-Identifier: Apache-2.0
// The translation unit that instantiates a kernel for one config; the same text for the GPU and the emulated
// device.
#pragma once

#include "runtime/backend.hpp"
#include "warpwright/config/gemm_config.hpp"

namespace ww::adapters {

/// A kernel that is a template on its config.
struct KernelTemplate {
  const char* kind;  // in the kernel's name: "", "grouped_" or "k_grouped_"
  const char* header;
  const char* type;
  const char* params;  // type of its one parameter
};

/// Named ww_<operand type>_gemm_<kind><hash of the config's text>, where the type is fp8, bf16, f16 or tf32: benchmarks
/// of callers search profiles for "gemm_" and "bf16_gemm". Every field of `config` is rendered, raster excepted.
runtime::KernelSource kernel_source(const KernelTemplate& kernel, const GemmConfig& config);

/// `config` is resolved.
runtime::KernelSource gemm_source(const GemmConfig& config);

/// Returns the kernel of the launch before a product with pointer arrays.
runtime::KernelSource pointer_maps_source();

/// Returns the kernel of the launch before a product with groups of K that are packed one by one.
runtime::KernelSource k_group_maps_source();

}  // namespace ww::adapters
