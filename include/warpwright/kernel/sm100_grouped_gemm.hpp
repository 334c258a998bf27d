// SPDX-License-Identifier: Apache-2.0
// The warp-specialised kernel of groups of rows on Blackwell: variants contiguous and masked.
#pragma once

#include "warpwright/kernel/row_group_problem.hpp"
#include "warpwright/mainloop/sm100/mainloop.hpp"
#include "warpwright/scheduler/cluster_launch_control.hpp"

namespace ww::kernel {

template <ConfigParameter kConfig>
struct Sm100GroupedGemm : WarpSpecialisedGemm<kConfig, RowGroupProblem<kConfig, mainloop::UmmaMainloop<kConfig>>> {};

}  // namespace ww::kernel
