// SPDX-License-Identifier: Apache-2.0
// The kernels that ship as emulator modules: every default config of dense products, and of grouped ones the usual few:
// a grouped module takes about twice the compile time of a dense one. Casts to e4m3 from bf16 and f32, and the
// transpose of e4m3.
#include "launch/default_sources.hpp"

#include "launch/gemm_source.hpp"
#include "launch/grouped_source.hpp"
#include "launch/pack_scales_adapter.hpp"
#include "launch/quantize_adapter.hpp"
#include "select/default_configs.hpp"
#include "select/grouped_configs.hpp"

namespace ww::adapters {

std::vector<runtime::KernelSource> default_sources() {
  std::vector<runtime::KernelSource> sources;
  for (const GemmConfig& config : select::all_default_configs()) sources.push_back(gemm_source(config));
  for (const GemmConfig& config : select::shipped_grouped_configs()) sources.push_back(grouped_source(config));
  sources.push_back(descriptor_update_source());
  sources.push_back(zero_rows_source());
  sources.push_back(pack_scales_source());
  for (DType x : {DType::bf16, DType::f32}) {
    constexpr DType q = DType::e4m3;
    sources.push_back(quantize_source({x, q, true, false, false}));
    sources.push_back(quantize_source({x, q, false, true, false}));
    sources.push_back(quantize_source({x, q, true, true, false}));
    sources.push_back(quantize_source({x, q, true, false, true}));
    sources.push_back(quantize_source({x, q, true, true, true}));
  }
  sources.push_back(quantize_source({DType::e4m3, DType::e4m3, false, true, true}));
  return sources;
}

}  // namespace ww::adapters
