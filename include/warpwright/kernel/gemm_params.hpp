// SPDX-License-Identifier: Apache-2.0
// Everything the GEMM kernel is told at launch, passed by value.
#pragma once

#include "warpwright/collective/gemm_arguments.hpp"
#include "warpwright/collective/grouped_arguments.hpp"
#include "warpwright/scheduler/tile.hpp"

namespace ww::kernel {

struct GemmParams {
  collective::GemmArguments gemm;
  scheduler::SchedulerParams scheduler;
};

/// The same with groups of K.
struct KGroupedParams : GemmParams {
  collective::GroupSizes groups;  // of rows of K
  i32 keep_empty = 0;             // a group without rows leaves its D alone, which is C in place
};

}  // namespace ww::kernel
