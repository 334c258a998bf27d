// SPDX-License-Identifier: Apache-2.0
// Checks what a dense GEMM must satisfy before anything runs, argument by argument.
#pragma once

#include "warpwright/host/gemm.hpp"

namespace ww::ops {

/// Fills strides of 0, then checks extents, types, strides and batches. Errors: invalid if the call contradicts itself;
/// unsupported if the product is legal but no kernel here computes it.
Result<GemmProblem> validate(const GemmProblem& problem);

/// Checks a resolved config. The error, unsupported, names the config's field, what it accepts and the whole config.
Result<void> validate(const GemmConfig& resolved);

}  // namespace ww::ops
