// SPDX-License-Identifier: Apache-2.0
// Bands of the default width of a config, made narrower for short launches, and then equally wide.
#include "select/raster.hpp"

#include "select/swap_ab.hpp"
#include "warpwright/config/resolve.hpp"
#include "warpwright/config/sizes.hpp"

namespace ww::select {
namespace {

// A launch of at most so many tiles for each SM is short. L2 holds what it reads, and its neighbours, so many of them
// side by side, form a block that is about as long as wide. Longer launches keep the bands of a whole wave.
constexpr int kShortLaunch = 2, kNeighbours = 8;
// Groups of at most so many token tiles take so many CTAs side by side. A wider band would mix tiles of groups that
// share nothing. From as few groups as kFewGroups on; two and three groups were slower so.
constexpr int kTilesOfSmallGroup = 2, kFewGroups = 4;

int even_width(std::int64_t across, int width) {
  return static_cast<int>(ceil_div(across, ceil_div(across, std::int64_t{width})));
}

}  // namespace

Raster raster_for(const GemmProblem& given, const GemmConfig& chosen, int sms) {
  const GemmProblem p = kernel_problem(given, chosen);
  GemmConfig c = config::kernel_config(chosen);
  const std::int64_t tiles_m = ceil_div(p.m, std::int64_t{c.tile.m} * c.cluster.m),
                     tiles_n = ceil_div(p.n, std::int64_t{c.tile.n} * c.cluster.n);
  const bool short_launch = tiles_m * tiles_n * p.batch * c.cluster.m * c.cluster.n <= std::int64_t{kShortLaunch} * sms;
  const bool along_m = short_launch || config::swaps(chosen) ? p.m <= p.n : true;
  c.raster = {0, along_m ? RasterBand::along_m : RasterBand::along_n};
  c.raster.width = config::band_width(c);
  const std::int64_t across = along_m ? tiles_m : tiles_n;
  if (short_launch) c.raster.width = min(c.raster.width, max(1, kNeighbours / (along_m ? c.cluster.m : c.cluster.n)));
  if (across > 0) c.raster.width = even_width(across, c.raster.width);
  return c.raster;
}

Raster raster_for(const GroupedProblem& p, const GemmConfig& config) {
  GemmConfig c = config;
  c.raster = {0, RasterBand::along_m};
  const bool small = p.groups >= kFewGroups && p.total_rows() <= p.groups * kTilesOfSmallGroup * c.tile.m;
  c.raster.width = small ? max(1, kTilesOfSmallGroup / c.cluster.m) : config::band_width(c);
  return c.raster;
}

}  // namespace ww::select
