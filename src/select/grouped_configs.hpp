// SPDX-License-Identifier: Apache-2.0
// The finite list of configs for grouped products, and the choice for one problem.
#pragma once

#include <cstdint>
#include <vector>

#include "warpwright/config/gemm_config.hpp"
#include "warpwright/host/grouped.hpp"
#include "warpwright/host/k_grouped.hpp"

namespace ww::select {

/// Returns the capacity of the tables in shared memory: the smallest of 128, 512, 4096 that holds `groups`. Few values
/// keep the number of kernels small.
int group_capacity_for(std::int64_t groups);

/// Returns the resolved configs of every variant for at most 128 groups, in the order ragged, contiguous, masked. Empty
/// if no kernel supports the types.
std::vector<GemmConfig> default_grouped_configs(DType a, DType d, Scale scale);

/// Returns the grouped configs that ship as emulator modules: bf16 outputs of block- and tensor-scaled e4m3, and of
/// bf16.
std::vector<GemmConfig> shipped_grouped_configs();

/// Returns the config for `problem` on `sms` SMs, from its shape alone, because the sizes of the groups are on the
/// device. All fields that `requested` sets are kept. If it sets tile, cluster, stages or warpgroups, the rest is
/// resolved around them instead of taken from the list. The result is not checked: see ops::validate.
GemmConfig choose_grouped(const GroupedProblem& problem, const GemmConfig& requested, int sms);

/// The counterpart for groups of K. `problem` is the batch of products that they form.
GemmConfig choose_k_grouped(const GemmProblem& problem, const GemmConfig& requested);

}  // namespace ww::select
