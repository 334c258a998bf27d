// SPDX-License-Identifier: Apache-2.0
// Turns a problem of groups and its options into the config that runs, as gemm_choice.hpp does for dense products:
// validates, chooses, and validates the result. Compiles nothing.
#pragma once

#include <cstdint>

#include "launch/k_groups.hpp"
#include "ops/gemm_choice.hpp"
#include "select/grouped_ranking.hpp"
#include "warpwright/host/grouped.hpp"
#include "warpwright/host/k_grouped.hpp"

namespace ww::ops {

struct GroupedDecision {
  GroupedProblem problem;  // with explicit strides
  GemmConfig config;       // resolved
  Tuned tuned = {};        // what the device's tuning file says
};
Result<GroupedDecision> decide(const GroupedProblem& problem, const GemmOptions& options, const LaunchTarget& target);

/// Returns the request for which the cost model ranks configs: `options` on a device with `sms` SMs.
select::GroupedRequest grouped_request(const GemmOptions& options, int sms);

struct KGroupedDecision {
  GemmProblem batch;  // the dense products that the groups are, with explicit strides
  GemmConfig config;  // resolved
  adapters::KGroups groups;
  Tuned tuned = {};  // what the device's tuning file says
};
Result<KGroupedDecision> decide(const KGroupedProblem& problem, const GemmOptions& options,
                                const LaunchTarget& target = {});

/// Returns the configs that explain() lists for groups of K: those of a few tiles and clusters that agree with the
/// options. No model ranks them, and some may have no kernel (check_k_grouped).
std::vector<GemmConfig> k_grouped_configs(const GemmProblem& batch, KPacking packing, const GemmOptions& options);

/// Refuses a config whose kernel computes no groups of K, or fewer than `groups` of them.
Result<void> check_k_grouped(const GemmConfig& config, std::int64_t groups);

}  // namespace ww::ops
