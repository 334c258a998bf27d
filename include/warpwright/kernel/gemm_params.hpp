// SPDX-License-Identifier: Apache-2.0
// Everything the GEMM kernel is told at launch, passed by value.
#pragma once

#include "warpwright/collective/gemm_arguments.hpp"
#include "warpwright/scheduler/tile.hpp"

namespace ww::kernel {

struct GemmParams {
  collective::GemmArguments gemm;
  scheduler::SchedulerParams scheduler;
};

}  // namespace ww::kernel
