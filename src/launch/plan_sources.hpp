// SPDX-License-Identifier: Apache-2.0
// The kernels that a plan launches: the product's first, then the small ones that run before or beside it.
#pragma once

#include <vector>

#include "runtime/backend.hpp"
#include "warpwright/host/gemm.hpp"
#include "warpwright/host/grouped.hpp"

namespace ww::adapters {

/// Returns the kernels of a plan of `problem`, which is resolved as `config` is; none where D has no elements.
std::vector<runtime::KernelSource> plan_sources(const GemmConfig& config, const GemmProblem& problem);
std::vector<runtime::KernelSource> plan_sources(const GemmConfig& config, const GroupedProblem& problem);
/// Returns all kernels that plans with `config` may have.
std::vector<runtime::KernelSource> plan_sources(const GemmConfig& config);

/// Compiles several kernels in parallel, so that the caller then finds each one loaded. Does nothing if at most one is
/// missing. A kernel that fails here fails again when the caller asks for it, with its error.
void make_at_once(Device::Backend& backend, const std::vector<runtime::KernelSource>& sources);

}  // namespace ww::adapters
