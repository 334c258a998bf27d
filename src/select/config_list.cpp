// SPDX-License-Identifier: Apache-2.0
// Enumeration in a fixed order: schedules, then tiles, then clusters and schedulers.
#include "select/config_list.hpp"

#include <algorithm>
#include <array>
#include <iterator>
#include <set>

#include "warpwright/collective/builder.hpp"

namespace ww::select {
namespace {

struct Extent {
  int m, n;
};
/// Who works on what: a scheduler under one cluster.
struct Sharing {
  int cluster_m, cluster_n;
  TileOrder order;
  int split, cluster_k;
};

constexpr int kRows[] = {256, 192, 128, 64};  // of cooperative tiles: 2 x 128, 3 x 64, 2 x 64, 1 x 64
constexpr int kColumns[] = {256, 224, 192, 160, 128, 96, 64, 32, 16};
// Between these, for problems that they divide into whole waves: 2112 columns are 12 times 176, 7168 are 64 times 112.
constexpr int kBetweenRows[] = {192, 128, 64};
constexpr int kBetweenColumns[] = {240, 208, 176, 144, 112, 80};
constexpr Sharing kSharings[] = {
    {1, 1, TileOrder::fixed, 0, 0},    {2, 1, TileOrder::fixed, 0, 0},    {1, 2, TileOrder::fixed, 0, 0},
    {2, 2, TileOrder::fixed, 0, 0},    {4, 1, TileOrder::fixed, 0, 0},    {1, 4, TileOrder::fixed, 0, 0},
    {1, 1, TileOrder::dynamic, 0, 0},  {2, 1, TileOrder::dynamic, 0, 0},  {1, 1, TileOrder::single, 0, 0},
    {1, 1, TileOrder::stream_k, 0, 0}, {2, 1, TileOrder::stream_k, 0, 0}, {1, 1, TileOrder::split_k, 2, 2},
    {1, 1, TileOrder::split_k, 4, 4},  {1, 1, TileOrder::split_k, 8, 8},  {2, 1, TileOrder::split_k, 2, 2},
    {2, 1, TileOrder::split_k, 4, 4},  {1, 2, TileOrder::split_k, 2, 2},  {1, 1, TileOrder::split_k, 2, 1},
    {1, 1, TileOrder::split_k, 3, 1},  {1, 1, TileOrder::split_k, 4, 1},  {1, 1, TileOrder::split_k, 6, 1},
    {1, 1, TileOrder::split_k, 8, 1},  {1, 1, TileOrder::split_k, 16, 8}};
constexpr Extent kPingpongTiles[] = {{128, 256}, {128, 192}, {128, 128}, {64, 256}, {64, 192}, {64, 128}, {64, 64}};
constexpr Extent kMultistageTiles[] = {{128, 256}, {128, 192}, {128, 128}, {64, 128}, {64, 64}};
constexpr Extent kFewClusters[] = {{1, 1}, {2, 1}, {1, 2}};
// Under swap-AB: rows of B, and of A. Few rows of A are all that it is for.
constexpr int kSwappedRows[] = {256, 128, 64};
constexpr int kSwappedColumns[] = {64, 48, 32, 24, 16, 8};
constexpr Sharing kSwappedSharings[] = {
    {1, 1, TileOrder::fixed, 0, 0},   {2, 1, TileOrder::fixed, 0, 0},   {1, 1, TileOrder::stream_k, 0, 0},
    {1, 1, TileOrder::split_k, 2, 2}, {1, 1, TileOrder::split_k, 4, 4}, {1, 1, TileOrder::split_k, 8, 8},
    {2, 1, TileOrder::split_k, 2, 2}, {1, 1, TileOrder::split_k, 2, 1}, {1, 1, TileOrder::split_k, 4, 1}};

std::vector<GemmConfig> make_shapes() {
  std::vector<GemmConfig> shapes;
  for (int m : kRows)
    for (int n : kColumns)
      for (const Sharing& s : kSharings)
        shapes.push_back({.tile_m = m,
                          .tile_n = n,
                          .cluster_m = s.cluster_m,
                          .cluster_n = s.cluster_n,
                          .schedule = Schedule::cooperative,
                          .order = s.order,
                          .split = s.split,
                          .cluster_k = s.cluster_k});
  const auto add = [&](Schedule schedule, const Extent& tile) {
    for (const Extent& cluster : kFewClusters)
      shapes.push_back({.tile_m = tile.m,
                        .tile_n = tile.n,
                        .cluster_m = cluster.m,
                        .cluster_n = cluster.n,
                        .schedule = schedule,
                        .order = TileOrder::fixed});
  };
  for (int m : kSwappedRows)
    for (int n : kSwappedColumns)
      for (const Sharing& s : kSwappedSharings)
        shapes.push_back({.tile_m = m,
                          .tile_n = n,
                          .cluster_m = s.cluster_m,
                          .cluster_n = s.cluster_n,
                          .swap_ab = SwapAb::on,
                          .schedule = Schedule::cooperative,
                          .order = s.order,
                          .split = s.split,
                          .cluster_k = s.cluster_k});
  for (int m : kBetweenRows)
    for (int n : kBetweenColumns) add(Schedule::cooperative, {m, n});
  for (const Extent& tile : kPingpongTiles) add(Schedule::pingpong, tile);
  for (const Extent& tile : kMultistageTiles) add(Schedule::multistage, tile);
  return shapes;
}

/// Everything that tells two configs of one family apart.
std::array<int, 16> key_of(const GemmConfig& c) {
  return {c.tile_m, c.tile_n,          c.tile_k,        c.cluster_m, c.cluster_n, c.cluster_k,
          c.stages, c.math_warpgroups, int(c.schedule), c.raster,    c.promotion, int(c.order),
          c.split,  int(c.band),       int(c.swap_ab),  c.epilogue_n};
}

/// ptxas 13.0 serialises the wgmma of two accumulators where K differs from tile to tile, and with D in FP32. Such
/// tiles are for many rows and narrow D; one that is asked for is compiled all the same.
bool may_serialise(const GemmConfig& c) {
  const bool cuts_k = c.order == TileOrder::stream_k || c.order == TileOrder::split_k;
  return collective::units_of(c) > 1 && !collective::promotes(c) &&
         (cuts_k || c.d == DType::f32 || c.cluster_m * c.cluster_n > 2);
}

/// Where ptxas 13.0 spills: `ptxas_report listed` of the tests, over the common families, found 80 such configs, 8 to
/// 548 bytes each. They are near the limit of registers and follow no law; this rule has them all, and 130 others with
/// them, none of which was chosen for a measured problem.
bool may_spill(const GemmConfig& c) {
  if (collective::swaps(c)) return false;
  const bool promoted = collective::promotes(c), pingpong = c.schedule == Schedule::pingpong;
  const bool by_rows = c.scale == Scale::row_column, both = c.scale == Scale::block_1x128_1x128;
  const bool counter = c.order == TileOrder::dynamic, stream = c.order == TileOrder::stream_k;
  const int registers = (collective::units_of(c) + (promoted ? 1 : 0)) * c.tile_n / 2;
  if (promoted) {
    if (collective::sums_in_cluster(c)) return registers >= 128 && (both || c.math_warpgroups > 1);
    if (!both) return false;
    const bool pairs = c.cluster_m == 2 && (counter || stream);
    return (registers >= 128 && (pairs || pingpong)) || (c.schedule == Schedule::multistage && c.tile_n == 192);
  }
  if (by_rows && collective::sums_in_cluster(c)) return registers >= 128;
  if (by_rows && ((counter && c.tile_n == 256) || (stream && c.math_warpgroups == 3 && c.tile_n == 192))) return true;
  if (by_rows && c.tile_n == 240) return true;
  if (registers >= 160) return by_rows || counter || pingpong;
  const bool words = c.d == DType::f32;
  if (c.tile_n == 224) return stream || counter || (words && c.order == TileOrder::split_k);
  return words && stream && c.tile_n == 256;
}

/// A width of kBetweenColumns with block scales: such a tile meets two scales of B in most k-blocks, and none that was
/// measured is more than 2 % faster than the best of other widths.
bool meets_two_scales(const GemmConfig& c) {
  return collective::promotes(c) && !collective::swaps(c) &&
         std::find(std::begin(kBetweenColumns), std::end(kBetweenColumns), c.tile_n) != std::end(kBetweenColumns);
}

void take(int& field, int otherwise) {
  if (field == 0) field = otherwise;
}

}  // namespace

const std::vector<GemmConfig>& config_shapes() {
  static const std::vector<GemmConfig> shapes = make_shapes();
  return shapes;
}

bool is_for(const GemmConfig& shape, const GemmConfig& requested) {
  // why not with a tile or cluster that is asked for: it is one of rows by columns of D unless swap_ab says otherwise
  const bool free =
      requested.tile_m == 0 && requested.tile_n == 0 && requested.cluster_m == 0 && requested.cluster_n == 0;
  return !collective::swaps(shape) || collective::swaps(requested) || (requested.swap_ab == SwapAb::automatic && free);
}

GemmConfig complete(const GemmConfig& shape, const GemmConfig& requested) {
  GemmConfig c = requested;
  if (c.swap_ab == SwapAb::automatic) c.swap_ab = shape.swap_ab;
  if (c.swap_ab == SwapAb::off) c.swap_ab = SwapAb::automatic;  // the same in a resolved config
  take(c.tile_m, shape.tile_m);
  take(c.tile_n, shape.tile_n);
  take(c.cluster_m, shape.cluster_m);
  take(c.cluster_n, shape.cluster_n);
  if (c.schedule == Schedule::automatic) c.schedule = shape.schedule;
  const bool splits = c.split > 1 || c.cluster_k > 1;
  if (c.order == TileOrder::automatic) c.order = splits ? TileOrder::split_k : shape.order;
  // why: a number of pieces that is asked for decides itself how many of them meet in a cluster
  if (c.order == TileOrder::split_k && !splits && shape.order == TileOrder::split_k)
    c.split = shape.split, take(c.cluster_k, shape.cluster_k);
  if (c.schedule == Schedule::cooperative) c.schedule = Schedule::automatic;  // the same, and what texts leave out
  if (c.order == TileOrder::fixed && requested.order == TileOrder::automatic) c.order = TileOrder::automatic;
  return collective::resolve(c);
}

std::vector<GemmConfig> config_list(const GemmConfig& requested) {
  // why: a program plans the same family for one M after the other, and building the list is most of a choice
  thread_local GemmConfig last{.tile_m = -1};
  thread_local std::vector<GemmConfig> list;
  if (last == requested) return list;
  last = requested;
  list.clear();
  std::set<std::array<int, 16>> seen;
  const auto add = [&](const GemmConfig& c) {
    if (!collective::fault_of(c) && seen.insert(key_of(c)).second) list.push_back(c);
  };
  for (const GemmConfig& shape : config_shapes())
    if (const GemmConfig c = complete(shape, requested);
        is_for(shape, requested) && !may_serialise(c) && !may_spill(c) && !meets_two_scales(c))
      add(c);
  if (requested.tile_m != 0 || requested.tile_n != 0) add(complete({}, requested));
  return list;
}

}  // namespace ww::select
