// SPDX-License-Identifier: Apache-2.0
// The launch parameters of the GEMM kernel, passed by value.
#pragma once

#include "warpwright/config/gemm_arguments.hpp"
#include "warpwright/config/grouped_arguments.hpp"
#include "warpwright/scheduler/tile.hpp"

namespace ww::kernel {

struct GemmParams {
  config::GemmArguments gemm;
  scheduler::SchedulerParams scheduler;
};

/// The same with block scales that the tensor core applies.
struct ScaledGemmParams : GemmParams {
  config::ScaleMaps scales;
};

/// The same with groups of K.
struct KGroupedParams : GemmParams {
  config::GroupSizes groups;  // of rows of K
  i32 keep_empty = 0;         // a group without rows leaves its D unchanged, which is C in place
};

/// The same with block scales that the tensor core applies. Those of a group are a matrix of their own, whose first
/// chunk follows from the group's first row of K.
struct ScaledKGroupedParams : KGroupedParams {
  config::ScaleMaps scales;
};

/// Groups of rows with block scales that the tensor core applies; scale_a is one factor of all products, or null.
struct ScaledGroupedParams : config::GroupedArguments {
  config::ScaleMaps scales;
};

}  // namespace ww::kernel
