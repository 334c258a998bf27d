// SPDX-License-Identifier: Apache-2.0
// The warp-specialised kernel of groups of rows on Hopper, for whole tiles of rows: variants contiguous and masked.
#pragma once

#include "warpwright/kernel/row_group_problem.hpp"
#include "warpwright/mainloop/sm90/mainloop.hpp"

namespace ww::kernel {

template <ConfigParameter kConfig>
struct GroupedGemm : WarpSpecialisedGemm<kConfig, RowGroupProblem<kConfig, mainloop::Mainloop<kConfig>>> {};

}  // namespace ww::kernel
