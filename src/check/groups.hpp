// SPDX-License-Identifier: Apache-2.0
// The groups of a target as the arrays that a device reads, and what the problem learns from them.
#pragma once

#include "warpwright/host/check.hpp"

namespace ww::campaign {

/// Makes sizes and sizes2 of the counts, when there are any, and sets the problem's groups, rows and alignment.
Result<void> lay_out(GroupedCheck& check);
Result<void> lay_out(KGroupedCheck& check);

/// Rows of K at which groups begin and end.
inline std::int64_t granularity(const KGroupedProblem& p) {
  return p.a_major == Major::mn && p.b_major == Major::mn ? 1 : 128;
}

}  // namespace ww::campaign
