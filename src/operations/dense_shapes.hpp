// SPDX-License-Identifier: Apache-2.0
// How many rows the operands of a dense product have in memory, and how a batch of them is packed.
#pragma once

#include <cstdint>

#include "warpwright/core/meta.hpp"
#include "warpwright/host/gemm.hpp"

namespace ww::operations {

/// Rows of A and B as they are stored: K of them where those are MN-major.
inline std::int64_t rows_of_a(const GemmProblem& p) { return p.a_major == Major::k ? p.m : p.k; }
inline std::int64_t rows_of_b(const GemmProblem& p) { return p.b_major == Major::k ? p.n : p.k; }

/// Rows of the block scales of B, (rows, ceil(K/128)).
inline std::int64_t scale_rows_of_b(const GemmProblem& p) { return ceil_div(p.n, columns_of_scale(p.scale)); }

/// Replaces the strides of a batch by those of packed matrices, and of their packed scales. A stride of 0, which shares
/// one matrix, stays.
void pack_batch(GemmProblem& problem);

}  // namespace ww::operations
