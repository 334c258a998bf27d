// SPDX-License-Identifier: Apache-2.0
// The parameter of kernel/pack_scales.hpp, and the shape of its tasks.
#pragma once

#include "warpwright/core/meta.hpp"
#include "warpwright/core/numbers.hpp"

namespace ww::config {

inline constexpr int kPackThreads = 256;  // of a CTA, each of which has a row
inline constexpr int kPackWords = 2;      // of a row, by one thread
inline constexpr int kPackedScales = 4;   // of a word

struct PackScalesArguments {
  const float* scales;
  u32* packed;
  i64 scale_m, scale_k, batch_scales;    // floats
  i64 packed_m, packed_k, batch_packed;  // words
  i32 m, k;                              // scales of a matrix
  i32 words;                             // of a row
  u32 tiles_m, tiles_k, tasks;
  const i32* sizes;  // K of each group; null: no groups
  i32 groups, span;  // span: K of one scale
};

}  // namespace ww::config
