// SPDX-License-Identifier: Apache-2.0
// Quantisations and transposes with explicit strides, once nothing speaks against them.
#pragma once

#include "warpwright/host/quantize.hpp"

namespace ww::ops {

/// Returns `problem` with explicit strides, or the reason why no kernel runs it.
Result<QuantizeProblem> validate(const QuantizeProblem& problem, const QuantizeOptions& options = {});

/// Does the same; the result describes the transpose as a quantisation whose x is FP8.
Result<QuantizeProblem> validate(const TransposeProblem& problem, const QuantizeOptions& options = {});
TransposeProblem as_transpose(const QuantizeProblem& p);

}  // namespace ww::ops
