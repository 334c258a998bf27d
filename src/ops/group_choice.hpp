// SPDX-License-Identifier: Apache-2.0
// From a problem of groups and its options to the config that runs, as gemm_choice.hpp has it for dense products:
// validated, chosen, validated again. Nothing is compiled.
#pragma once

#include "launch/k_groups.hpp"
#include "ops/gemm_choice.hpp"
#include "select/grouped_ranking.hpp"
#include "warpwright/host/grouped.hpp"
#include "warpwright/host/k_grouped.hpp"

namespace ww::ops {

struct GroupedDecision {
  GroupedProblem problem;  // with explicit strides
  GemmConfig config;       // resolved
};
Result<GroupedDecision> decide(const GroupedProblem& problem, const GemmOptions& options, const LaunchTarget& target);

/// Returns the request for which the cost model ranks configs: `options` on a device with `sms` SMs.
select::GroupedRequest grouped_request(const GemmOptions& options, int sms);

struct KGroupedDecision {
  GemmProblem batch;  // the dense products that the groups are, with explicit strides
  GemmConfig config;  // resolved
  adapters::KGroups groups;
};
Result<KGroupedDecision> decide(const KGroupedProblem& problem, const GemmOptions& options);

/// Refuses a config whose kernel computes no groups of K, or fewer than `groups` of them.
Result<void> check_k_grouped(const GemmConfig& config, std::int64_t groups);

}  // namespace ww::ops
