// SPDX-License-Identifier: Apache-2.0
// Checks what a grouped GEMM must satisfy before anything runs, argument by argument. The sizes of the groups are on
// the device and never read here; the kernels cut them to the rows that exist.
#pragma once

#include <cstdint>

#include "warpwright/host/grouped.hpp"
#include "warpwright/host/k_grouped.hpp"

namespace ww::ops {

/// Checks the number of groups, for groups of rows and of K.
Result<void> check_group_count(std::int64_t groups);
Result<void> check_encoding(GroupEncoding encoding, std::int64_t alignment);

/// Returns the elements of K at whose multiples groups begin and end: 1 if both operands are MN-major, else 128, or
/// 256 where both are e2m1 with scales, of which a tile has 256.
std::int64_t k_granularity(const KGroupedProblem& problem);

/// Fills strides of 0, sets the strides that the recipe does not read to 0, then checks extents, types, strides and the
/// encoding. Errors: invalid if the call contradicts itself; unsupported if the product is legal but no kernel here
/// computes it.
Result<GroupedProblem> validate(const GroupedProblem& problem);
Result<KGroupedProblem> validate(const KGroupedProblem& problem);

/// Checks a resolved config against a validated problem. The error, unsupported, names the config's field, what it
/// accepts and the whole config.
Result<void> validate(const GemmConfig& resolved, const GroupedProblem& problem);

}  // namespace ww::ops
