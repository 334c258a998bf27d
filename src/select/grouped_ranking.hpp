// SPDX-License-Identifier: Apache-2.0
// The configs of one grouped problem, sorted by modelled time; the first is what `auto` takes (common_shapes.hpp).
#pragma once

#include "select/grouped_cost.hpp"
#include "select/ranking.hpp"

namespace ww::select {

/// The options of a call beside the grouped problem.
struct GroupedRequest {
  GemmConfig config = {};  // fields of 0 are free
  int sms = kH200.sms;     // that the launch may use
  bool batch_invariant = false;
  GroupSizes sizes = {};  // of the groups; empty: assumed_sizes()
};

/// `problem` is validated. Candidates agree with the request and can compute the problem; a request with a shape of its
/// own has none but that of `grouped_list()`.
Ranking rank(const GroupedProblem& problem, const GroupedRequest& request);

/// Returns the first config of rank(). A request with a shape of its own, one for variant descriptors and
/// one for an arch whose groups have no list get what choose_grouped() makes of them.
GemmConfig best_grouped(const GroupedProblem& problem, const GroupedRequest& request);

}  // namespace ww::select
