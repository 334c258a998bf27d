// SPDX-License-Identifier: Apache-2.0
// The choice for one dense problem: the list of its family, without what the call rules out, by modelled time.
#pragma once

#include <string>
#include <vector>

#include "select/cost_model.hpp"
#include "warpwright/host/gemm.hpp"

namespace ww::select {

/// What a call asks for beside the problem.
struct Request {
  GemmConfig config = {};  // fields of 0 are free; types, recipe, layout and epilogue come from the problem
  int sms = 132;           // that the launch may use
  bool emulated = false;
  bool batch_invariant = false;
  std::size_t workspace_limit = ~std::size_t{0};
};

struct Candidate {
  GemmConfig config;
  Cost cost;
};

/// Configs that are not candidates, for one reason.
struct Exclusion {
  std::string reason;  // "tile (n): expected a multiple of 8 up to 256"
  std::vector<GemmConfig> configs;
};

struct Ranking {
  std::vector<Candidate> candidates;  // fastest first; equals in the order of the list
  std::vector<Exclusion> exclusions;  // in the order of the list
};

/// `problem` is validated, with explicit strides.
Ranking rank(const GemmProblem& problem, const Request& request);

/// The config to run, resolved. Emulated devices take it from the short list whose modules ship (default_configs.hpp),
/// because there a kernel costs seconds and its modelled time means nothing. Not checked: when no candidate is left,
/// what comes back has the fault of the request.
GemmConfig choose(const GemmProblem& problem, const Request& request);

/// Every row of D is summed over K in one order, whatever M, the tile and the number of CTAs are.
bool is_batch_invariant(const GemmConfig& config);

/// The fields of `requested` that the problem decides, set.
GemmConfig of_problem(const GemmProblem& problem, const GemmConfig& requested);

}  // namespace ww::select
