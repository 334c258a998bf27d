// SPDX-License-Identifier: Apache-2.0
// Casts to formats of mx and nv, element by element, bit for bit what the kernels write (host/microscale.hpp). It
// shares no code with them.
#pragma once

#include "warpwright/host/microscale.hpp"

namespace ww::ref {

/// Writes the outputs of a run to host memory; all pointers of `operands` are in host memory. `problem` is one that
/// MicroscalePlan::problem() returned.
void microscale(const MicroscaleProblem& problem, const MicroscaleOperands& operands);

}  // namespace ww::ref
