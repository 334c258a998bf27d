// SPDX-License-Identifier: Apache-2.0
// Casts to FP8 with scales of blocks, element by element, bit for bit what the kernels write (host/quantize.hpp). It
// shares no code with them.
#pragma once

#include "warpwright/host/quantize.hpp"

namespace ww::ref {

/// Writes the outputs of a run to host memory; all pointers of `operands` are in host memory. `problem` is one that
/// QuantizePlan::problem() returned. What a run leaves alone is left alone.
void quantize(const QuantizeProblem& problem, const QuantizeOperands& operands);
void transpose(const TransposeProblem& problem, const TransposeOperands& operands);

}  // namespace ww::ref
