// SPDX-License-Identifier: Apache-2.0
// Launch arguments of an epilogue tree, with an entry for each operand that a tree can name. One plain structure serves
// all trees; entries that a tree does not name are not read.
#pragma once

#include "warpwright/config/epilogue_nodes.hpp"

namespace ww::config {

/// Strides in bytes from the operands of one matrix of a batch to those of the next; 0: all share one.
struct EpilogueSteps {
  i64 scalar[kEpilogueSlots], row_vector[kEpilogueSlots], column_vector[kEpilogueSlots], auxiliary[kEpilogueSlots];
  i64 out[kEpilogueSlots];
  i64 c, out_scales, amax;
  i64 row_partials, column_partials, amax_partials, row_counters, column_counters, amax_counter;
};

struct EpilogueArguments {
  float scalar[kEpilogueSlots];                 // used if scalar_pointer is null
  const float* scalar_pointer[kEpilogueSlots];  // one float each
  const void* c;                                // (M, N), rows ldc elements apart; c_layout column: columns
  i64 ldc;
  const void* row_vector[kEpilogueSlots];     // (N)
  const void* column_vector[kEpilogueSlots];  // (M)
  const void* auxiliary[kEpilogueSlots];      // (M, N), rows ld_auxiliary elements apart
  i64 ld_auxiliary[kEpilogueSlots];
  void* out[kEpilogueSlots];  // store: (M, N), rows ld_out apart; reductions: (M) or (N) floats
  i64 ld_out[kEpilogueSlots];
  float* out_scales;  // quantise_block: [m * out_scales_row + block * out_scales_block]
  i64 out_scales_row, out_scales_block;
  float* amax;  // quantise: one float
  // Partial results of tiles, which the last tile of a row or column combines (epilogue/reductions.hpp).
  float *row_partials, *column_partials, *amax_partials;
  u32 *row_counters, *column_counters, *amax_counter;
  EpilogueSteps steps;  // batched
};

/// Returns the arguments for matrix `batch`.
WW_DEVICE EpilogueArguments of_matrix(EpilogueArguments arguments, int batch) {
  const auto step = [batch](const void* pointer, i64 bytes) {
    return static_cast<char*>(const_cast<void*>(pointer)) + batch * bytes;
  };
  const EpilogueSteps& steps = arguments.steps;
  WW_UNROLL
  for (int i = 0; i < kEpilogueSlots; ++i) {
    arguments.scalar_pointer[i] = reinterpret_cast<const float*>(step(arguments.scalar_pointer[i], steps.scalar[i]));
    arguments.row_vector[i] = step(arguments.row_vector[i], steps.row_vector[i]);
    arguments.column_vector[i] = step(arguments.column_vector[i], steps.column_vector[i]);
    arguments.auxiliary[i] = step(arguments.auxiliary[i], steps.auxiliary[i]);
    arguments.out[i] = step(arguments.out[i], steps.out[i]);
  }
  arguments.c = step(arguments.c, steps.c);
  arguments.out_scales = reinterpret_cast<float*>(step(arguments.out_scales, steps.out_scales));
  arguments.amax = reinterpret_cast<float*>(step(arguments.amax, steps.amax));
  arguments.row_partials = reinterpret_cast<float*>(step(arguments.row_partials, steps.row_partials));
  arguments.column_partials = reinterpret_cast<float*>(step(arguments.column_partials, steps.column_partials));
  arguments.amax_partials = reinterpret_cast<float*>(step(arguments.amax_partials, steps.amax_partials));
  arguments.row_counters = reinterpret_cast<u32*>(step(arguments.row_counters, steps.row_counters));
  arguments.column_counters = reinterpret_cast<u32*>(step(arguments.column_counters, steps.column_counters));
  arguments.amax_counter = reinterpret_cast<u32*>(step(arguments.amax_counter, steps.amax_counter));
  return arguments;
}

}  // namespace ww::config
