// SPDX-License-Identifier: Apache-2.0
// The measured choice of a tuning file in the place of the model's. A measured config serves a call only if the call
// could get it without the file: it must be a candidate for the same problem and options.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "tuning/table.hpp"
#include "warpwright/host/grouped.hpp"
#include "warpwright/host/k_grouped.hpp"

namespace ww::ops {

/// Returns what a tuning file knows the problem by. Options that restrict the choice (fields of the config, batch
/// invariance, a limit of SMs) are part of it, because the fastest of fewer configs says nothing about all of them, nor
/// the reverse. The problems are validated; `batch` is what groups of K are planned as.
tuning::Problem tuning_problem(const GemmProblem& problem, const GemmOptions& options);
tuning::Problem tuning_problem(const GroupedProblem& problem, const GemmOptions& options);
tuning::Problem tuning_problem(const GemmProblem& batch, const KGroupedProblem& problem, const GemmOptions& options);

struct Tuned {
  std::optional<GemmConfig> config;
  std::string note;  // what the file says, or why it is not followed; empty if it says nothing
};

/// Returns the choice of `table`, which may be null, among the configs that `candidates` makes. That function is only
/// called if the file has an entry.
Tuned tuned_choice(const tuning::Table* table, const tuning::Problem& problem,
                   const std::function<std::vector<GemmConfig>()>& candidates);

}  // namespace ww::ops
