// SPDX-License-Identifier: Apache-2.0
// Turns the flags of a GEMM into a problem: parses numbers, opens files and checks their headers, applies defaults and
// refuses contradictions. Allocates nothing and touches no device.
#pragma once

#include "cli/epilogue_request.hpp"
#include "cli/request.hpp"
#include "warpwright/core/meta.hpp"

namespace ww::cli {

struct GemmRequest : Request, EpilogueRequest {
  GemmProblem problem;  // row strides of A and B are K rounded up to 16 bytes
};

/// Returns the rows of A and B as stored, which is K for an MN-major operand.
inline std::int64_t rows_of_a(const GemmProblem& p) { return p.a_major == Major::k ? p.m : p.k; }
inline std::int64_t rows_of_b(const GemmProblem& p) { return p.b_major == Major::k ? p.n : p.k; }

/// Returns the rows of B's block scales, which are (rows, ceil(K/128)).
inline std::int64_t scale_rows_of_b(const GemmProblem& p) { return ceil_div(p.n, columns_of_scale(p.scale)); }

/// Replaces nonzero batch strides by those of packed matrices, and of their packed scales.
void pack_batch(GemmProblem& problem);

Result<GemmRequest> make_request(const Flags& flags);

}  // namespace ww::cli
