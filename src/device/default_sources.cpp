// SPDX-License-Identifier: Apache-2.0
// The kernels that ship as emulator modules: every default config.
#include "jit/default_sources.hpp"

#include "device/gemm_source.hpp"
#include "select/default_configs.hpp"

namespace ww::jit {

std::vector<runtime::KernelSource> default_sources() {
  std::vector<runtime::KernelSource> sources;
  for (const GemmConfig& config : select::all_default_configs()) sources.push_back(device::gemm_source(config));
  return sources;
}

}  // namespace ww::jit
