// SPDX-License-Identifier: Apache-2.0
// The warp-specialised kernel of dense products and batches on Blackwell whose block scales the tensor core applies.
#pragma once

#include "warpwright/kernel/dense_problem.hpp"
#include "warpwright/mainloop/sm100/scaled_mainloop.hpp"
#include "warpwright/scheduler/cluster_launch_control.hpp"

namespace ww::kernel {

template <ConfigParameter kConfig>
struct Sm100ScaledGemm : WarpSpecialisedGemm<kConfig, DenseProblem<kConfig, mainloop::ScaledUmmaMainloop<kConfig>>> {};

}  // namespace ww::kernel
