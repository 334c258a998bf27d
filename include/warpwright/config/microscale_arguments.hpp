// SPDX-License-Identifier: Apache-2.0
// The parameter of kernel/microscale.hpp, and the shape of its tasks.
#pragma once

#include "warpwright/config/enumerations.hpp"
#include "warpwright/core/scale_chunks.hpp"

namespace ww::config {

inline constexpr int kMicroscaleThreads = 128;

/// Types of a cast and the recipe of its scales: template argument of the kernel.
struct MicroscaleKind {
  DType x = DType::bf16, q = DType::e4m3;
  Scale scale = Scale::mx;
  bool operator==(const MicroscaleKind&) const = default;
};

struct MicroscaleArguments {
  const char* x;
  char* q;
  char* scales;
  const float* tensor_scale;           // or null
  i64 row_x, row_q;                    // bytes from row to row
  i64 batch_x, batch_q, batch_scales;  // bytes from matrix to matrix
  i32 m, k;
  i32 row_scales;          // scales of a row
  i32 chunked;             // 0: row-major
  i32 chunks_m, chunks_k;  // of 128 rows x 4 scales, of one matrix
  u32 tasks;               // chunks of all matrices
  i32 wide_x, wide_q;      // rows of x are 16-byte aligned; those of q are words
};

}  // namespace ww::config
