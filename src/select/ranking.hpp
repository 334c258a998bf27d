// SPDX-License-Identifier: Apache-2.0
// The choice for one dense problem: the list of its family without what the call rules out, sorted by modelled time.
#pragma once

#include <string>
#include <vector>

#include "select/cost_model.hpp"
#include "warpwright/host/gemm.hpp"

namespace ww::select {

/// The options of a call besides the problem.
struct Request {
  GemmConfig config = {};  // fields of 0 are free; types, recipe, layout and epilogue come from the problem
  int sms = kH200.sms;     // that the launch may use
  bool emulated = false;
  bool batch_invariant = false;
  std::size_t workspace_limit = ~std::size_t{0};
  Pdl pdl = Pdl::automatic;
};

/// Configs that are excluded for one reason.
struct Exclusion {
  std::string reason;  // "tile (n): expected a multiple of 8 up to 256"
  std::vector<GemmConfig> configs;
};

/// Adds `config` to the entry of `list` with this reason.
void exclude(std::vector<Exclusion>& list, const std::string& reason, const GemmConfig& config);

struct Ranking {
  std::vector<Candidate> candidates;  // fastest first, but for prefer_common(); ties in the order of the list
  std::vector<Exclusion> exclusions;  // in the order of the list
};

/// `problem` is validated, with explicit strides.
Ranking rank(const GemmProblem& problem, const Request& request);

/// Returns the resolved config. On an emulated device it is one whose module is shipped (default_configs.hpp), so that
/// no compiler is needed; modelled times mean nothing there. The result is not checked: if no candidate is left, it has
/// the fault of the request.
GemmConfig choose(const GemmProblem& problem, const Request& request);

/// Returns whether every row of D is summed over K in one order, whatever M, the tile and the number of CTAs are.
bool is_batch_invariant(const GemmConfig& config);

/// Returns `requested` with the fields set that the problem decides.
GemmConfig of_problem(const GemmProblem& problem, const GemmConfig& requested);

}  // namespace ww::select
