// SPDX-License-Identifier: Apache-2.0
// The order of tiles for one problem, where the caller leaves it open. CTAs of consecutive tiles run on neighbouring
// SMs. Where these read the same rows of an operand at the same time, L2 delivers them once.
#pragma once

#include "warpwright/host/gemm.hpp"
#include "warpwright/host/grouped.hpp"

namespace ww::select {

/// Returns the bands in which `config` takes the tiles of `problem`. In short launches and under swap-AB the smaller
/// extent of D runs fastest, so that neighbours share rows of the larger operand, which HBM delivers; if both extents
/// are alike, the direction in which neighbours read fewer rows. The last band is nearly as wide as the others: in a
/// narrow one neighbours would share hardly any rows, and its CTAs would end last. `band` is kept if the caller gives
/// one.
Raster raster_for(const GemmProblem& problem, const GemmConfig& config, int sms,
                  RasterBand band = RasterBand::automatic);

/// Returns the same for groups of rows. `config` is of variant contiguous or masked.
Raster raster_for(const GroupedProblem& problem, const GemmConfig& config);

}  // namespace ww::select
