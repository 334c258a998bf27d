// SPDX-License-Identifier: Apache-2.0
// The kernels that ship as emulator modules: every default config of dense products, and of grouped ones the usual few:
// a grouped module takes about twice the compile time of a dense one.
#include "launch/default_sources.hpp"

#include "launch/gemm_source.hpp"
#include "launch/grouped_source.hpp"
#include "select/default_configs.hpp"
#include "select/grouped_configs.hpp"

namespace ww::adapters {

std::vector<runtime::KernelSource> default_sources() {
  std::vector<runtime::KernelSource> sources;
  for (const GemmConfig& config : select::all_default_configs()) sources.push_back(gemm_source(config));
  for (const GemmConfig& config : select::shipped_grouped_configs()) sources.push_back(grouped_source(config));
  sources.push_back(descriptor_update_source());
  sources.push_back(zero_rows_source());
  return sources;
}

}  // namespace ww::adapters
