// SPDX-License-Identifier: Apache-2.0
// Operands of a product with groups of K: generated with NaN outside every group, copied to a device, and verified
// group by group against FP64.
#pragma once

#include "cli/execution.hpp"
#include "cli/k_grouped_request.hpp"
#include "warpwright/core/meta.hpp"

namespace ww::cli {

using operations::upload;

/// Host copies; A and B as stored. D is (G * M, N). When accumulating, C is the content of D before the run.
struct KGroupedTensors {
  Matrix a, b, scale_a, scale_b, c, d;
};

/// Returns the bytes of all operands.
WideBytes bytes_of(const KGroupedProblem& problem);

Result<KGroupedTensors> make_tensors(const KGroupedCase& request, std::uint64_t seed);

/// Device copies and the pointers to them.
struct KGroupedBuffers {
  Buffer a, b, scale_a, scale_b, d, sizes, sizes2, status;
  KGroupedOperands operands;
};
Result<KGroupedBuffers> upload(const Device& device, const KGroupedCase& request, const KGroupedTensors& tensors);

/// Verifies every element of every D[g] against its bound; rows are numbered through all groups.
Result<Verdict> judge(const KGroupedCase& request, const KGroupedTensors& tensors, EmuMath math);

}  // namespace ww::cli
