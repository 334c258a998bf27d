// SPDX-License-Identifier: Apache-2.0
// What a dense GEMM must satisfy before anything runs, argument by argument.
#pragma once

#include "warpwright/host/gemm.hpp"

namespace ww::ops {

/// Fills strides of 0, then checks extents, types, strides and sums of products. invalid: the call contradicts itself;
/// unsupported: a legal product that no kernel here computes.
Result<GemmProblem> validate(const GemmProblem& problem);

/// unsupported, with the config's field, what it takes and the whole config.
Result<void> validate(const GemmConfig& resolved);

}  // namespace ww::ops
