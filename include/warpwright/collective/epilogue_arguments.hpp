// SPDX-License-Identifier: Apache-2.0
// What an epilogue tree is told at launch: an entry for each operand that a tree can name. One plain structure for all
// trees; entries that a tree does not name are not read.
#pragma once

#include "warpwright/collective/epilogue_nodes.hpp"

namespace ww::collective {

struct EpilogueArguments {
  float scalar[kEpilogueSlots];                 // taken when scalar_pointer is null
  const float* scalar_pointer[kEpilogueSlots];  // one float each
  const void* c;                                // (M, N), rows ldc elements apart
  i64 ldc;
  const void* row_vector[kEpilogueSlots];      // (N)
  const float* column_vector[kEpilogueSlots];  // (M)
  const void* auxiliary[kEpilogueSlots];       // (M, N), rows ld_auxiliary elements apart
  i64 ld_auxiliary[kEpilogueSlots];
  void* out[kEpilogueSlots];  // store: (M, N), rows ld_out apart; reductions: (M) or (N) floats
  i64 ld_out[kEpilogueSlots];
  float* out_scales;  // quantise_block: [m * out_scales_row + block * out_scales_block]
  i64 out_scales_row, out_scales_block;
  float* amax;  // quantise: one float
  // Results of tiles on their way to the last one that needs them (epilogue_reductions.hpp).
  float *row_partials, *column_partials, *amax_partials;
  u32 *row_counters, *column_counters, *amax_counter;
};

}  // namespace ww::collective
