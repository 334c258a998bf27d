// SPDX-License-Identifier: Apache-2.0
// Bands of the default width of a config, made narrower for short launches, and then about equally wide.
#include "select/raster.hpp"

#include <algorithm>

#include "select/machine_rates.hpp"
#include "select/swap_ab.hpp"
#include "warpwright/config/resolve.hpp"
#include "warpwright/config/sizes.hpp"

namespace ww::select {
namespace {

// A launch of at most so many tiles for each SM is short. L2 holds what it reads, and its neighbours, so many of them
// side by side, form a block that is about as long as wide. Longer launches keep the bands of a whole wave.
constexpr int kShortLaunch = 2, kNeighbours = 8;
// Extents of D that differ by less are alike: neither operand is the one that HBM is busy with.
constexpr double kAlike = 1.5;
// Groups of at most so many token tiles take so many CTAs side by side. A wider band would mix tiles of groups that
// share nothing. From as few groups as kFewGroups on; two and three groups were slower so.
constexpr int kTilesOfSmallGroup = 2, kFewGroups = 4;

/// One direction of bands: the cluster tiles across a band, and rows and columns of D of a cluster tile.
struct Direction {
  RasterBand band;
  std::int64_t across;
  int ctas, extent, other;
};

int width_of(const Direction& d, GemmConfig c, bool short_launch) {
  c.raster.band = d.band;
  int width = config::band_width(c);
  if (short_launch) width = min(width, max(1, kNeighbours / d.ctas));
  return d.across == 0 ? width : static_cast<int>(ceil_div(d.across, ceil_div(d.across, std::int64_t{width})));
}

/// Returns the rows of A and B that the tiles of neighbouring SMs read, each once.
double rows_of(const Direction& d, const GemmConfig& c, int width) {
  const double tiles = std::max(1.0, kH200.sharing_ctas / config::cluster_of(c).size());
  return std::min<double>(width, tiles) * d.extent + std::max(1.0, tiles / width) * d.other;
}

}  // namespace

Raster raster_for(const GemmProblem& given, const GemmConfig& chosen, int sms, RasterBand asked) {
  const GemmProblem p = kernel_problem(given, chosen);
  const GemmConfig c = config::kernel_config(chosen);
  const int rows = c.tile.m * c.cluster.m, columns = c.tile.n * c.cluster.n;
  const Direction m{RasterBand::along_m, ceil_div(p.m, std::int64_t{rows}), c.cluster.m, rows, columns},
      n{RasterBand::along_n, ceil_div(p.n, std::int64_t{columns}), c.cluster.n, columns, rows};
  if (p.batch != 1) {  // bands along M run across the products of a batch
    const Direction& d = asked == RasterBand::along_n ? n : m;
    GemmConfig other = c;
    other.raster.band = d.band;
    return {config::band_width(other), d.band};
  }
  const bool short_launch = m.across * n.across * c.cluster.m * c.cluster.n <= std::int64_t{kShortLaunch} * sms;
  bool along_m = true;
  if (asked != RasterBand::automatic) {
    along_m = asked == RasterBand::along_m;
  } else if (short_launch && static_cast<double>(max(p.m, p.n)) < kAlike * static_cast<double>(min(p.m, p.n))) {
    const double of_m = rows_of(m, c, width_of(m, c, true)), of_n = rows_of(n, c, width_of(n, c, true));
    along_m = of_m != of_n ? of_m < of_n : p.m <= p.n;
  } else if (short_launch || config::swaps(chosen)) {
    along_m = p.m <= p.n;
  }
  const Direction& d = along_m ? m : n;
  return {width_of(d, c, short_launch), d.band};
}

Raster raster_for(const GroupedProblem& p, const GemmConfig& config) {
  GemmConfig c = config;
  c.raster = {0, RasterBand::along_m};
  const bool small = p.groups >= kFewGroups && p.total_rows() <= p.groups * kTilesOfSmallGroup * c.tile.m;
  c.raster.width = small ? max(1, kTilesOfSmallGroup / c.cluster.m) : config::band_width(c);
  return c.raster;
}

}  // namespace ww::select
