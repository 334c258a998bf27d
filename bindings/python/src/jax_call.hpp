// SPDX-License-Identifier: Apache-2.0
// One call of an operation from XLA: its buffers by role and its attributes. An XLA call frame and a tuple of Python
// (which asks for the workspace while a function is traced) are read into the same struct, so that both describe the
// same problem.
#pragma once

#include <cstdint>
#include <string>

#include "warpwright/warpwright.h"

namespace wwpy {

/// What a buffer is to the operation. warpwright/jax.py has the same list in the same order.
enum class JaxRole : std::int64_t {
  a,
  b,
  scale_a,
  scale_b,
  sizes,
  sizes2,
  c,
  row0,
  row1,
  row2,
  row3,
  col0,
  col1,
  col2,
  col3,
  aux0,
  aux1,
  aux2,
  aux3,
  global_scale,
  workspace,
  d,
  count
};
inline constexpr int kJaxRoles = static_cast<int>(JaxRole::count);

struct JaxBuffer {
  void* data = nullptr;
  ww_dtype type = 0;  // 0: no element type of an operand
  int rank = 0;       // 0: not given
  std::int64_t extent[4] = {};
  bool given() const { return rank > 0; }
};

/// The integers of the attribute `numbers`, in this order.
enum class JaxNumber : int {
  operation,  // ww_operation
  scale,
  a_major,
  b_major,
  encoding,
  alignment,
  zero_outside,  // of grouped products
  scalars_given,
  batch_invariant,
  workspace_limit,
  a_type,  // ww_dtype of packed elements in a buffer of bytes; 0: the buffer's own
  b_type,
  scale_type,
  count
};
inline constexpr int kJaxNumbers = static_cast<int>(JaxNumber::count);

struct JaxCall {
  JaxBuffer buffer[kJaxRoles];
  std::int64_t number[kJaxNumbers] = {};
  float scalar[WW_EPILOGUE_SLOTS] = {};
  std::string epilogue, config, expected_sizes;

  const JaxBuffer& operator[](JaxRole role) const { return buffer[static_cast<int>(role)]; }
  std::int64_t operator[](JaxNumber index) const { return number[static_cast<int>(index)]; }
};

/// Returns whether only Blackwell has the product: packed operands, or scales of mx or nv.
bool needs_blackwell(const JaxCall& call);

/// The structs of the C interface for one call. `problem` points to texts of the call, `operands` to `epilogue`.
struct JaxRequest {
  ww_options options;
  ww_gemm_problem gemm;
  ww_grouped_problem grouped;
  ww_gemm_operands gemm_operands;
  ww_grouped_operands grouped_operands;
  ww_epilogue_operands epilogue;
};

/// Fills `request` from the call. Returns an empty text, or what is wrong with the buffers.
std::string describe(const JaxCall& call, JaxRequest& request);

}  // namespace wwpy
