// SPDX-License-Identifier: Apache-2.0
// The fields of GemmConfig, listed once. Text, parser, errors, JIT key, kernel source and flags walk this table, in the
// order of the members. The type of a field decides how its value is written (src/config/value_text.hpp). A field with
// help has a flag of the program: --stages sets stages=. Adding a field: a member of GemmConfig, a line here, and the
// code that reads it.
#pragma once

#include "warpwright/config/gemm_config.hpp"

namespace ww {

struct ConfigField {
  const char* key;      // in text
  const char* member;   // in C++: "sm90.stages"
  bool always = false;  // printed even at its default
  int most = 1 << 16;   // largest value of an integer
  const char* help =
      "";              // of its flag; empty: none, or one of src/cli/commands.cpp whose words depend on the operation
  bool dense = false;  // the flag is for dense products alone; members of GemmConfig::dense are so anyway
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
  WW_FIELD("tile", tile, kAlways, kLargest, "outputs of a tile and its K, such as 128x192x128; K may be left out");
  WW_FIELD("cluster", cluster, kAlways, kLargest, "CTAs of a cluster along M and N, such as 2x1");
  WW_FIELD("raster", raster.width, kAlways, kLargest, "cluster tiles across a band of tiles");
  WW_FIELD("band", raster.band, kAlways, kLargest, "the dimension of D across a band of tiles");
  WW_FIELD("schedule", sm90.schedule, false, kLargest, "which warps load and multiply, and when");
  WW_FIELD("stages", sm90.stages, kAlways, kLargest, "depth of the operand ring");
  WW_FIELD("consumer_warpgroups", sm90.consumer_warpgroups, kAlways, kLargest, "warpgroups that multiply, 1 to 3");
  WW_FIELD("partial_accumulators", sm90.partial_accumulators, false, kLargest,
           "block scales: 1 or 2 partial accumulators; with 2, one is multiplied while the other is promoted");
  WW_FIELD("tile_scheduler", sm90.tile_scheduler);
  WW_FIELD("split", sm90.split);
  WW_FIELD("a_source", sm90.a_source, false, kLargest, "the source from which the tensor core reads A", true);
  WW_FIELD("swap_ab", sm90.swap_ab, false, kLargest,
           "rows of B on the 64-row side of the instruction, for few rows of A: --tile is then B's rows x A's", true);
  WW_FIELD("producer_registers", sm90.producer_registers, false, kLargest, "registers of a producer thread");
  WW_FIELD("occupancy", sm90.occupancy, false, kLargest, "CTAs per SM; ragged groups: 1 to 3");
  WW_FIELD("pair", sm100.pair, false, kLargest,
           "Blackwell: two CTAs along M issue one MMA, and each holds half of its B");
  WW_FIELD("accumulators", sm100.accumulators, false, kLargest, "Blackwell: accumulators in tensor memory, 1 to 4");
  WW_FIELD("grouping", grouping);
  WW_FIELD("epilogue_n", dense.epilogue_n, false, kLargest, "columns of D staged at a time");
  WW_FIELD("fixed_n", dense.fixed_n, false, kLargestExtent, "specialise the kernel for this N; 0: for any");
  WW_FIELD("fixed_k", dense.fixed_k, false, kLargestExtent, "specialise the kernel for this K; 0: for any");
  WW_FIELD("variant", row_groups.variant);
  WW_FIELD("groups", row_groups.capacity);
  WW_FIELD("k_groups", k_groups.capacity);
  WW_FIELD("k_packing", k_groups.packing);
  WW_FIELD("epilogue", epilogue);
#undef WW_FIELD
}

}  // namespace ww
