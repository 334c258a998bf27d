// SPDX-License-Identifier: Apache-2.0
// The fields of GemmConfig, listed once. Text, parser, errors, JIT key, kernel source and the help of flags walk this
// table, in the order of the members. The type of a field decides how its value is written (src/config/value_text.hpp).
// Adding a field: a member of GemmConfig, a line here, and the code that reads it.
#pragma once

#include "warpwright/config/gemm_config.hpp"

namespace ww {

struct ConfigField {
  const char* key;        // in text
  const char* member;     // in C++: "sm90.stages"
  bool always = false;    // printed even at its default
  int most = 1 << 16;     // largest value of an integer
  const char* help = "";  // of the flag that sets it
};

/// Calls visit(ConfigField, member of `config`, its default) for every field.
template <class Config, class Visit> WW_HOST_DEVICE constexpr void for_each_field(Config& config, Visit&& visit) {
  constexpr GemmConfig kDefaults{};
  constexpr bool kAlways = true;
  constexpr int kLargest = 1 << 16, kLargestExtent = 1 << 30;
#define WW_FIELD(key, member, ...) visit(ConfigField{key, #member, __VA_ARGS__}, config.member, kDefaults.member)
  WW_FIELD("arch", arch, kAlways);
  WW_FIELD("a", operands.a, kAlways);
  WW_FIELD("b", operands.b, kAlways);
  WW_FIELD("d", operands.d, kAlways);
  WW_FIELD("scale", operands.scale, kAlways);
  WW_FIELD("layout", operands.layout);
  WW_FIELD("d_layout", operands.d_layout);
  WW_FIELD("c_layout", operands.c_layout);
  WW_FIELD("batched", operands.batched);
  WW_FIELD("pointers", operands.pointer_array);
  WW_FIELD("tile", tile, kAlways, kLargest, "CTA tile; the last follows from the type");
  WW_FIELD("cluster", cluster, kAlways, kLargest, "CTAs of a cluster along M and N");
  WW_FIELD("raster", raster.width, kAlways);
  WW_FIELD("band", raster.band, kAlways);
  WW_FIELD("schedule", sm90.schedule, false, kLargest, "which warps load and multiply, and when");
  WW_FIELD("stages", sm90.stages, kAlways, kLargest, "depth of the operand ring");
  WW_FIELD("consumer_warpgroups", sm90.consumer_warpgroups, kAlways);
  WW_FIELD("partial_accumulators", sm90.partial_accumulators, false, kLargest,
           "block scales: accumulators that take turns, so that one is multiplied while another is promoted");
  WW_FIELD("tile_scheduler", sm90.tile_scheduler, false, kLargest, "how tiles are handed out");
  WW_FIELD("split", sm90.split, false, kLargest, "split-k: K splits of each tile");
  WW_FIELD("a_source", sm90.a_source, false, kLargest, "where the tensor core takes A from");
  WW_FIELD("swap_ab", sm90.swap_ab, false, kLargest,
           "rows of B on the 64-row side of the instruction, for few rows of A: --tile is then B's rows x A's");
  WW_FIELD("producer_registers", sm90.producer_registers);
  WW_FIELD("occupancy", sm90.occupancy);
  WW_FIELD("grouping", grouping);
  WW_FIELD("epilogue_n", dense.epilogue_n);
  WW_FIELD("fixed_n", dense.fixed_n, false, kLargestExtent, "for this N alone");
  WW_FIELD("fixed_k", dense.fixed_k, false, kLargestExtent, "for this K alone");
  WW_FIELD("variant", row_groups.variant, false, kLargest, "which kernel");
  WW_FIELD("groups", row_groups.capacity);
  WW_FIELD("k_groups", k_groups.capacity);
  WW_FIELD("epilogue", epilogue);
#undef WW_FIELD
}

}  // namespace ww
