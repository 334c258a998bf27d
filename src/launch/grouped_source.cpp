// SPDX-License-Identifier: Apache-2.0
// Selects the kernel of a grouped variant.
#include "launch/grouped_source.hpp"

#include "launch/gemm_source.hpp"
#include "warpwright/config/sizes.hpp"

namespace ww::adapters {

runtime::KernelSource grouped_source(const GemmConfig& config) {
  constexpr const char* kKind = "grouped_";
  constexpr const char* kParams = "ww::config::GroupedArguments";
  if (config.row_groups.variant == GroupedVariant::descriptors)
    return kernel_source({kKind, "warpwright/kernel/descriptor_gemm.hpp", "ww::kernel::DescriptorGemm", kParams},
                         config);
  if (config::is_ragged(config))
    return kernel_source({kKind, "warpwright/kernel/ragged_gemm.hpp", "ww::kernel::RaggedGemm", kParams}, config);
  if (config::scales_in_mma(config))
    return kernel_source({kKind, "warpwright/kernel/sm100_scaled_gemm.hpp", "ww::kernel::Sm100ScaledGroupedGemm",
                          "ww::kernel::ScaledGroupedParams"},
                         config);
  if (config::is_sm100(config))
    return kernel_source({kKind, "warpwright/kernel/sm100_grouped_gemm.hpp", "ww::kernel::Sm100GroupedGemm", kParams},
                         config);
  return kernel_source({kKind, "warpwright/kernel/grouped_gemm.hpp", "ww::kernel::GroupedGemm", kParams}, config);
}

runtime::KernelSource descriptor_update_source() {
  return {"ww_descriptor_update", R"(// tensor maps of A and D for every group
#include "warpwright/kernel/descriptor_update.hpp"
using Kernel = ww::kernel::DescriptorUpdate;
WW_KERNEL(ww_descriptor_update, Kernel::kThreads, ww::kernel::DescriptorUpdateArguments, params) {
  Kernel::run(params);
}
WW_MODULE()
)"};
}

runtime::KernelSource zero_rows_source() {
  return {"ww_zero_rows", R"(// rows of D outside every group
#include "warpwright/kernel/zero_rows.hpp"
using Kernel = ww::kernel::ZeroRows;
WW_KERNEL(ww_zero_rows, Kernel::kThreads, ww::kernel::ZeroRowsArguments, params) { Kernel::run(params); }
WW_MODULE()
)"};
}

}  // namespace ww::adapters
