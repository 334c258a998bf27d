// SPDX-License-Identifier: Apache-2.0
// What a grouped GEMM must satisfy before anything runs, argument by argument. The sizes of the groups are on the
// device and never seen here: the kernels cut them to the rows there are.
#pragma once

#include "warpwright/host/grouped.hpp"

namespace ww::ops {

/// How many groups there may be, and how they are told; of groups of rows and of K.
Result<void> check_group_count(std::int64_t groups);
Result<void> check_encoding(GroupEncoding encoding, std::int64_t alignment);

/// Fills strides of 0 (and sets those that the recipe does not read to 0), then checks extents, types, strides, the
/// encoding. invalid: the call contradicts itself; unsupported: a legal product that no kernel here computes.
Result<GroupedProblem> validate(const GroupedProblem& problem);

/// unsupported, with the config's field, what it takes and the whole config. `problem` has been validated.
Result<void> validate(const GemmConfig& resolved, const GroupedProblem& problem);

}  // namespace ww::ops
