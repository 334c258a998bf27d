// SPDX-License-Identifier: Apache-2.0
// The warp-specialised kernel of dense products, batches and groups of K on Blackwell.
#pragma once

#include "warpwright/kernel/dense_problem.hpp"
#include "warpwright/mainloop/sm100/mainloop.hpp"
#include "warpwright/scheduler/cluster_launch_control.hpp"

namespace ww::kernel {

template <ConfigParameter kConfig>
struct Sm100Gemm : WarpSpecialisedGemm<kConfig, DenseProblem<kConfig, mainloop::UmmaMainloop<kConfig>>> {};

}  // namespace ww::kernel
