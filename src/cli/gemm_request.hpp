// SPDX-License-Identifier: Apache-2.0
// The flags of a GEMM as a problem: numbers parsed, files opened and their headers checked, defaults decided,
// contradictions refused. Nothing is allocated and no device is touched.
#pragma once

#include "cli/epilogue_request.hpp"
#include "cli/request.hpp"
#include "warpwright/core/meta.hpp"

namespace ww::cli {

struct GemmRequest : Request, EpilogueRequest {
  GemmProblem problem;  // row strides of A and B are K rounded up to 16 bytes
};

/// Rows of A and B as they are stored: K of them where those are MN-major.
inline std::int64_t rows_of_a(const GemmProblem& p) { return p.a_major == Major::k ? p.m : p.k; }
inline std::int64_t rows_of_b(const GemmProblem& p) { return p.b_major == Major::k ? p.n : p.k; }

/// Rows of the block scales of B, (rows, ceil(K/128)).
inline std::int64_t scale_rows_of_b(const GemmProblem& p) { return ceil_div(p.n, columns_of_scale(p.scale)); }

/// Batch strides that are not 0 become those of matrices, and of their packed scales, one behind the other.
void pack_batch(GemmProblem& problem);

Result<GemmRequest> make_request(const Flags& flags);

}  // namespace ww::cli
