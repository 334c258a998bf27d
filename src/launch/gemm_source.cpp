// SPDX-License-Identifier: Apache-2.0
// Renders a config as C++: a constant, and one entry point that runs the kernel with it.
#include "launch/gemm_source.hpp"

#include <fmt/format.h>
#define XXH_INLINE_ALL  // why: nothing of xxHash is linked
#include <xxhash.h>

#include "select/config_text.hpp"
#include "warpwright/collective/builder.hpp"

namespace ww::adapters {
namespace {

const char* cpp_name(Scale scale) {
  return scale == Scale::none                  ? "none"
         : scale == Scale::tensor              ? "tensor"
         : scale == Scale::row_column          ? "row_column"
         : scale == Scale::block_1x128_128x128 ? "block_1x128_128x128"
         : scale == Scale::block_1x128_1x128   ? "block_1x128_1x128"
                                               : "block_128x128_1x128";
}
const char* cpp_name(TileOrder order) {
  return order == TileOrder::fixed      ? "fixed"
         : order == TileOrder::stream_k ? "stream_k"
         : order == TileOrder::split_k  ? "split_k"
                                        : name_of(order);
}

const char* cpp_name(Mechanism mechanism) {
  return mechanism == Mechanism::k_grouped ? "k_grouped" : name_of(mechanism);
}

/// The fields that most configs leave alone.
std::string order_fields(const GemmConfig& c) {
  if (c.mechanism == Mechanism::dense) {
    if (c.order == TileOrder::automatic) return "";
    return fmt::format(",\n    .order = ww::TileOrder::{}, .split = {}, .cluster_k = {}", cpp_name(c.order), c.split,
                       c.cluster_k);
  }
  std::string text =
      fmt::format(",\n    .mechanism = ww::Mechanism::{}, .order = ww::TileOrder::{}, .group_capacity = {}",
                  cpp_name(c.mechanism), cpp_name(c.order), c.group_capacity);
  if (c.split > 0) text += fmt::format(", .split = {}, .cluster_k = {}", c.split, c.cluster_k);
  if (c.ctas_per_sm > 1) text += fmt::format(", .ctas_per_sm = {}", c.ctas_per_sm);
  return text;
}

/// Behind all other fields.
std::string epilogue_field(const EpilogueTree& tree) {
  if (tree.empty()) return "";
  std::string code, constants;
  for (u64 word : tree.code) code += fmt::format("{}{:#x}", code.empty() ? "" : ", ", word);
  for (u32 bits : tree.constant) constants += fmt::format("{}{:#x}", constants.empty() ? "" : ", ", bits);
  return fmt::format(",\n    .epilogue = {{{{{}}}, {{{}}}}}", code, constants);
}

/// The fields that most dense configs leave alone.
std::string operand_fields(const GemmConfig& c) {
  std::string text = c.batched ? ", .batched = true" : "";
  if (c.a_major == Major::mn) text += ", .a_major = ww::Major::mn";
  if (c.b_major == Major::mn) text += ", .b_major = ww::Major::mn";
  if (c.a_source != OperandSource::automatic)
    text += fmt::format(", .a_source = ww::OperandSource::{}", name_of(c.a_source));
  if (c.d_layout == OutputLayout::column) text += ", .d_layout = ww::OutputLayout::column";
  if (c.c_layout == OutputLayout::column) text += ", .c_layout = ww::OutputLayout::column";
  if (c.pointer_array) text += ", .pointer_array = true";
  return text;
}

/// Between the scheduler's fields and the epilogue.
std::string extent_fields(const GemmConfig& c) {
  std::string text;
  if (c.epilogue_n != 0) text += fmt::format(", .epilogue_n = {}", c.epilogue_n);
  if (c.fixed_n != 0) text += fmt::format(", .fixed_n = {}", c.fixed_n);
  if (c.fixed_k != 0) text += fmt::format(", .fixed_k = {}", c.fixed_k);
  return text;
}

/// The fields that most configs leave alone.
std::string schedule_fields(const GemmConfig& c) {
  std::string fields;
  if (c.schedule != Schedule::automatic) fields += fmt::format(", .schedule = ww::Schedule::{}", name_of(c.schedule));
  if (c.promotion != 0) fields += fmt::format(", .promotion = {}", c.promotion);
  return fields;
}

}  // namespace

runtime::KernelSource kernel_source(const KernelTemplate& kernel, const GemmConfig& config) {
  GemmConfig c = config;
  // why: the order of tiles is a launch parameter; one kernel serves them all. So is how many pieces meet in workspace
  c.raster = 1;
  c.band = RasterBand::along_m;
  if (c.schedule == Schedule::cooperative) c.schedule = Schedule::automatic;  // the same, under one name
  if (c.a_source == OperandSource::shared) c.a_source = OperandSource::automatic;
  if (c.mechanism == Mechanism::dense) {
    if (c.order == TileOrder::fixed || c.order == TileOrder::single) c.order = TileOrder::automatic;
    if (c.order == TileOrder::split_k) c.split = collective::sums_in_workspace(c) ? 2 * c.cluster_k : c.cluster_k;
  }
  const std::string text = to_text(c);
  const std::string name = fmt::format("{}_{:016x}", kernel.prefix, XXH3_64bits(text.data(), text.size()));
  return {name, fmt::format(R"(// {}
#define WARPWRIGHT_WGMMA_ONLY
#define WARPWRIGHT_WGMMA_{}_{}
{}#include "{}"
inline constexpr ww::GemmConfig kConfig = {{
    .arch = ww::Arch::{}, .a = ww::DType::{}, .b = ww::DType::{}, .d = ww::DType::{}, .scale = ww::Scale::{},
    .tile_m = {}, .tile_n = {}, .tile_k = {}, .cluster_m = {}, .cluster_n = {},
    .stages = {}, .math_warpgroups = {}, .raster = {}{}{}{}{}{}}};
using Kernel = {}<kConfig>;
WW_RESIDENT_KERNEL({}, Kernel::kThreads, {}, {}, params) {{ Kernel::run(params); }}
WW_MODULE()
)",
                            text, name_of(c.a), name_of(c.b),
                            collective::a_from_registers(c) ? "#define WARPWRIGHT_WGMMA_A_FROM_REGISTERS\n" : "",
                            kernel.header, name_of(c.arch), name_of(c.a), name_of(c.b), name_of(c.d), cpp_name(c.scale),
                            c.tile_m, c.tile_n, c.tile_k, c.cluster_m, c.cluster_n, c.stages, c.math_warpgroups,
                            c.raster, operand_fields(c), schedule_fields(c), order_fields(c), extent_fields(c),
                            epilogue_field(c.epilogue), kernel.type, name, max(1, c.ctas_per_sm), kernel.params)};
}

runtime::KernelSource pointer_maps_source() {
  return {"warpwright_pointer_maps", R"(// tensor maps of A, B and D for every matrix of a batch
#include "warpwright/kernel/pointer_maps.hpp"
using Kernel = ww::kernel::PointerMaps;
WW_KERNEL(warpwright_pointer_maps, Kernel::kThreads, ww::kernel::PointerMapsArguments, params) { Kernel::run(params); }
WW_MODULE()
)"};
}

runtime::KernelSource gemm_source(const GemmConfig& asked) {
  const GemmConfig config = collective::kernel_config(asked);
  if (collective::groups_k(config))
    return kernel_source(
        {"warpwright_k_grouped", "warpwright/kernel/gemm.hpp", "ww::kernel::Gemm", "ww::kernel::KGroupedParams"},
        config);
  if (config.schedule == Schedule::multistage)
    return kernel_source({"warpwright_gemm", "warpwright/kernel/multistage_gemm.hpp", "ww::kernel::MultistageGemm",
                          "ww::kernel::GemmParams"},
                         config);
  return kernel_source({"warpwright_gemm", "warpwright/kernel/gemm.hpp", "ww::kernel::Gemm", "ww::kernel::GemmParams"},
                       config);
}

}  // namespace ww::adapters
