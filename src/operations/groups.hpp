// SPDX-License-Identifier: Apache-2.0
// The groups of a product as a caller describes them, as the arrays that a device reads, and as flags of the program.
#pragma once

#include <cstdint>

#include "operations/operation.hpp"

namespace ww::operations {

/// Lays out the counts, if there are any, and sets the problem's groups, rows and alignment; otherwise checks that the
/// arrays have as many items as the encoding needs. Errors name members of `check`.
Result<Groups> lay_out(GroupedCheck& check);
Result<Groups> lay_out(KGroupedCheck& check);

/// Rows of K at whose multiples groups begin and end.
std::int64_t granularity_of(const KGroupedProblem& problem);
/// The Kmax of masked groups of these many rows each: whole blocks of K, and at least one.
std::int64_t masked_k(const KGroupedProblem& problem, const std::vector<std::int64_t>& counts);

/// Fills what no group covers with NaN, which all bits set are in every type. Groups lie along the rows of `matrix` if
/// `major` is mn, along its columns otherwise, `granularity` of K in each. With `packed`, each column has as many
/// consecutive elements as the matrix has rows.
void spoil_outside(Matrix& matrix, Major major, bool packed, const GroupMeaning& meaning, std::int64_t granularity);

/// Returns other sizes for the same arrays: the counts shuffled, made smaller, or moved into fewer groups, multiples of
/// `step` and of the same rows in all. They are `groups`' own for one seed in four and if no others fit.
GroupLayout redrawn(const Groups& groups, std::int64_t step, std::uint64_t seed);

/// Halves every count, rounded up to a multiple of `step`; false when none is above it.
bool halve_counts(std::vector<std::int64_t>& counts, std::int64_t step);

/// The flags that lay the groups out again: `counts` and `size` are the program's flags of the counts and of `rows`,
/// which are M of rows and K of K.
std::string group_flags(const CheckGroups& groups, GroupEncoding encoding, const char* counts, const char* size,
                        std::int64_t rows);

}  // namespace ww::operations
