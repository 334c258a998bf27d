// SPDX-License-Identifier: Apache-2.0
// The warp-specialised kernels of Blackwell whose block scales the tensor core applies: of dense products, batches and
// groups of K, and of contiguous and masked groups of rows.
#pragma once

#include "warpwright/kernel/dense_problem.hpp"
#include "warpwright/kernel/row_group_problem.hpp"
#include "warpwright/mainloop/sm100/scaled_mainloop.hpp"
#include "warpwright/scheduler/cluster_launch_control.hpp"

namespace ww::kernel {

template <ConfigParameter kConfig>
struct Sm100ScaledGemm : WarpSpecialisedGemm<kConfig, DenseProblem<kConfig, mainloop::ScaledUmmaMainloop<kConfig>>> {};

template <ConfigParameter kConfig>
struct Sm100ScaledGroupedGemm
    : WarpSpecialisedGemm<kConfig, RowGroupProblem<kConfig, mainloop::ScaledUmmaMainloop<kConfig>>> {};

}  // namespace ww::kernel
