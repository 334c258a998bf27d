// SPDX-License-Identifier: Apache-2.0
// Turns the flags of a GEMM into a problem: parses numbers, opens files and checks their headers, applies defaults and
// refuses contradictions. Allocates nothing and touches no device.
#pragma once

#include "cli/epilogue_request.hpp"
#include "cli/request.hpp"

namespace ww::cli {

struct GemmRequest : Request, EpilogueRequest {
  GemmProblem problem;  // row strides of A and B are K rounded up to 16 bytes
};

Result<GemmRequest> make_request(const Flags& flags);

}  // namespace ww::cli
