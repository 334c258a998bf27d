// SPDX-License-Identifier: Apache-2.0
// The warp-specialised kernel of dense products, batches and groups of K on Hopper.
#pragma once

#include "warpwright/kernel/dense_problem.hpp"
#include "warpwright/mainloop/sm90/mainloop.hpp"

namespace ww::kernel {

template <ConfigParameter kConfig>
struct Gemm : WarpSpecialisedGemm<kConfig, DenseProblem<kConfig, mainloop::Mainloop<kConfig>>> {};

}  // namespace ww::kernel
