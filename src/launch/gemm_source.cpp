// SPDX-License-Identifier: Apache-2.0
// Renders a config as C++: a constant, and one entry point that runs the kernel with it.
#include "launch/gemm_source.hpp"

#include <fmt/format.h>
#define XXH_INLINE_ALL  // nothing of xxHash is linked
#include <xxhash.h>

#include "config/config_source.hpp"
#include "config/config_text.hpp"
#include "warpwright/config/sizes.hpp"
#include "warpwright/config/swap_ab.hpp"

namespace ww::adapters {
namespace {

/// The config of the kernel: what only a launch decides is set to one value, so that one kernel serves all.
GemmConfig launch_free(GemmConfig c) {
  c.raster.width = 1, c.raster.band = RasterBand::along_m;
  if (c.grouping != Grouping::dense) return c;
  if (c.sm90.tile_scheduler == TileScheduler::single) c.sm90.tile_scheduler = TileScheduler::fixed;
  // The number of K splits that are reduced in workspace is a launch parameter; whether there are any is not.
  if (c.sm90.tile_scheduler == TileScheduler::split_k)
    c.sm90.split = config::sums_in_workspace(c) ? 2 * c.cluster.k : c.cluster.k;
  return c;
}

/// The operand type as kernels' names have it. e4m3 and e5m2 are both fp8, because a kernel may mix them.
const char* name_of_operands(DType type) { return is_fp8(type) ? "fp8" : name_of(type); }

}  // namespace

runtime::KernelSource kernel_source(const KernelTemplate& kernel, const GemmConfig& config) {
  const GemmConfig c = launch_free(config);
  const std::string text = to_text(c);
  const std::string name = fmt::format("ww_{}_gemm_{}{:016x}", name_of_operands(c.operands.a), kernel.kind,
                                       XXH3_64bits(text.data(), text.size()));
  const std::string wgmma =
      config::is_sm100(c)
          ? ""
          : fmt::format("#define WARPWRIGHT_WGMMA_ONLY\n#define WARPWRIGHT_WGMMA_{}_{}\n{}", name_of(c.operands.a),
                        name_of(c.operands.b),
                        config::a_from_registers(c) ? "#define WARPWRIGHT_WGMMA_A_FROM_REGISTERS\n" : "");
  return {name, fmt::format(R"(// {}
{}#include "{}"
inline constexpr ww::GemmConfig kConfig = {};
using Kernel = {}<kConfig>;
WW_RESIDENT_KERNEL({}, Kernel::kThreads, {}, {}, params) {{ Kernel::run(params); }}
WW_MODULE()
)",
                            text, wgmma, kernel.header, to_source(c), kernel.type, name, max(1, c.sm90.occupancy),
                            kernel.params)};
}

runtime::KernelSource pointer_maps_source() {
  return {"ww_pointer_maps", R"(// tensor maps of A, B and D for every matrix of a batch
#include "warpwright/kernel/pointer_maps.hpp"
using Kernel = ww::kernel::PointerMaps;
WW_KERNEL(ww_pointer_maps, Kernel::kThreads, ww::kernel::PointerMapsArguments, params) { Kernel::run(params); }
WW_MODULE()
)"};
}

runtime::KernelSource k_group_maps_source() {
  return {"ww_k_group_maps", R"(// tensor maps of A and B for every group of K
#include "warpwright/kernel/k_group_maps.hpp"
using Kernel = ww::kernel::KGroupMaps;
WW_KERNEL(ww_k_group_maps, Kernel::kThreads, ww::kernel::KGroupMapsArguments, params) { Kernel::run(params); }
WW_MODULE()
)"};
}

runtime::KernelSource gemm_source(const GemmConfig& asked) {
  const GemmConfig config = config::kernel_config(asked);
  const bool sm100 = config::is_sm100(config);
  if (config::scales_in_mma(config)) {
    const bool groups = config::groups_k(config);
    return kernel_source(
        {groups ? "k_grouped_" : "", "warpwright/kernel/sm100_scaled_gemm.hpp", "ww::kernel::Sm100ScaledGemm",
         groups ? "ww::kernel::ScaledKGroupedParams" : "ww::kernel::ScaledGemmParams"},
        config);
  }
  const char* const header = sm100 ? "warpwright/kernel/sm100_gemm.hpp" : "warpwright/kernel/gemm.hpp";
  const char* const type = sm100 ? "ww::kernel::Sm100Gemm" : "ww::kernel::Gemm";
  if (config::groups_k(config))
    return kernel_source({"k_grouped_", header, type, "ww::kernel::KGroupedParams"}, config);
  if (config.sm90.schedule == Schedule::multistage)
    return kernel_source(
        {"", "warpwright/kernel/multistage_gemm.hpp", "ww::kernel::MultistageGemm", "ww::kernel::GemmParams"}, config);
  return kernel_source({"", header, type, "ww::kernel::GemmParams"}, config);
}

}  // namespace ww::adapters
