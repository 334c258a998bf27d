// SPDX-License-Identifier: Apache-2.0
// Times and choice of Blackwell's kernels for groups of rows, by the rates of sm100_cost.hpp.
#pragma once

#include "select/grouped_cost.hpp"

namespace ww::select {

/// Returns the modelled cost of `config`, resolved and without fault, for groups of these sizes on `sms` SMs.
Cost sm100_grouped_cost(const GroupedProblem& problem, const GroupSizes& sizes, const GemmConfig& config, int sms);

/// Returns the config of the variant of `requested` with the least modelled time, if all groups have the average number
/// of rows; `otherwise` if no kernel agrees with the request.
GemmConfig choose_sm100_grouped(const GroupedProblem& problem, const GemmConfig& requested, int sms,
                                const GemmConfig& otherwise);

}  // namespace ww::select
