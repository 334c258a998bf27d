// SPDX-License-Identifier: Apache-2.0
// The finite list of configs for groups of rows, variant by variant. A family is the part of a problem that its kernel
// depends on: types, recipe, layout, epilogue, and the capacity of its tables.
#pragma once

#include <cstdint>
#include <vector>

#include "warpwright/config/gemm_config.hpp"
#include "warpwright/host/grouped.hpp"

namespace ww::select {

/// Returns the entries before a family fills them in: variant, tile, cluster, scheduler, split, consumer warpgroups and
/// occupancy; every other field is open.
const std::vector<GemmConfig>& grouped_shapes();

/// Returns whether `config` agrees with everything that `requested` sets of what a shape sets.
bool agrees(const GemmConfig& config, const GemmConfig& requested);

/// Returns `requested` with the fields set that the problem decides: types, recipe, layout, epilogue, capacity.
GemmConfig of_problem(const GroupedProblem& problem, const GemmConfig& requested);

/// Returns whether D's neighbouring columns meet in the epilogue. Only accumulators with tokens on the M side have them
/// in one thread.
bool combines_columns(const EpilogueTree& tree);

/// Returns whether a plan may take this variant without being asked for it. Variant descriptors needs a second launch
/// and serves on request only.
bool is_open_to_choice(GroupedVariant variant, GroupEncoding encoding, const EpilogueTree& epilogue);

/// Returns the resolved configs for the family of `requested` and columns of B `n`, each once, for which a kernel
/// exists: of the requested variant, otherwise of every variant that is open to choice. `requested` comes from
/// of_problem().
std::vector<GemmConfig> grouped_list(const GemmConfig& requested, GroupEncoding encoding, std::int64_t n);

/// Returns the counterpart: what the list lacks because no kernel exists, each with the reason in fault_of_grouped().
std::vector<GemmConfig> faulty_grouped(const GemmConfig& requested, GroupEncoding encoding, std::int64_t n);

}  // namespace ww::select
