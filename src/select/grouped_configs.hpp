// SPDX-License-Identifier: Apache-2.0
// The finite list of configs for grouped products, and the choice for one problem.
#pragma once

#include <vector>

#include "warpwright/config/gemm_config.hpp"
#include "warpwright/host/grouped.hpp"
#include "warpwright/host/k_grouped.hpp"

namespace ww::select {

/// Groups that the tables in shared memory hold: the smallest of 128, 512, 4096 for `groups`. Few values, few kernels.
int group_capacity_for(std::int64_t groups);

/// Resolved configs of every variant for at most 128 groups, in the order ragged, contiguous, masked;
/// empty when no kernel takes the types.
std::vector<GemmConfig> default_grouped_configs(DType a, DType d, Scale scale);

/// The grouped configs that ship as emulator modules: outputs in bf16 of block and tensor scaled e4m3, and of bf16.
std::vector<GemmConfig> shipped_grouped_configs();

/// The config for `problem` on `sms` SMs, from its shape alone: the sizes of the groups are on the device. Fields that
/// `requested` sets are kept; when it sets any of tile, cluster, stages or warpgroups, the rest is resolved around them
/// instead of taken from the list. Not checked: see ops::validate.
GemmConfig choose_grouped(const GroupedProblem& problem, const GemmConfig& requested, int sms);

/// The same for groups of K: `problem` is the batch of products that they are.
GemmConfig choose_k_grouped(const GemmProblem& problem, const GemmConfig& requested);

}  // namespace ww::select
