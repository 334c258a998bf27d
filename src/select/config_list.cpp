// SPDX-License-Identifier: Apache-2.0
// Enumerates configs in a fixed order: schedules, then tiles, then clusters and schedulers.
#include "select/config_list.hpp"

#include <algorithm>
#include <array>
#include <iterator>
#include <set>
#include <type_traits>

#include "select/sm100_shapes.hpp"
#include "warpwright/config/faults.hpp"
#include "warpwright/config/fields.hpp"
#include "warpwright/config/resolve.hpp"
#include "warpwright/config/sizes.hpp"
#include "warpwright/config/swap_ab.hpp"

namespace ww::select {
namespace {

struct Extent {
  int m, n;
};
/// A tile scheduler and the cluster that it runs under.
struct Sharing {
  int cluster_m, cluster_n;
  TileScheduler order;
  int split, cluster_k;
};

constexpr int kRows[] = {256, 192, 128, 64};  // of cooperative tiles: 2 x 128, 3 x 64, 2 x 64, 1 x 64
constexpr int kColumns[] = {256, 224, 192, 160, 128, 96, 64, 32, 16};
// Widths between these serve problems that they divide into whole waves: 2112 columns are 12 times 176, 7168 are 64
// times 112.
constexpr int kBetweenRows[] = {192, 128, 64};
constexpr int kBetweenColumns[] = {240, 208, 176, 144, 112, 80};
constexpr Sharing kSharings[] = {
    {1, 1, TileScheduler::fixed, 0, 0},    {2, 1, TileScheduler::fixed, 0, 0},    {1, 2, TileScheduler::fixed, 0, 0},
    {2, 2, TileScheduler::fixed, 0, 0},    {4, 1, TileScheduler::fixed, 0, 0},    {1, 4, TileScheduler::fixed, 0, 0},
    {1, 1, TileScheduler::dynamic, 0, 0},  {2, 1, TileScheduler::dynamic, 0, 0},  {1, 1, TileScheduler::single, 0, 0},
    {1, 1, TileScheduler::stream_k, 0, 0}, {2, 1, TileScheduler::stream_k, 0, 0}, {1, 1, TileScheduler::split_k, 2, 2},
    {1, 1, TileScheduler::split_k, 4, 4},  {1, 1, TileScheduler::split_k, 8, 8},  {2, 1, TileScheduler::split_k, 2, 2},
    {2, 1, TileScheduler::split_k, 4, 4},  {1, 2, TileScheduler::split_k, 2, 2},  {1, 1, TileScheduler::split_k, 2, 1},
    {1, 1, TileScheduler::split_k, 3, 1},  {1, 1, TileScheduler::split_k, 4, 1},  {1, 1, TileScheduler::split_k, 6, 1},
    {1, 1, TileScheduler::split_k, 8, 1},  {1, 1, TileScheduler::split_k, 16, 8}, {4, 2, TileScheduler::fixed, 0, 0},
    {2, 4, TileScheduler::fixed, 0, 0}};
constexpr Extent kPingpongTiles[] = {{128, 256}, {128, 192}, {128, 128}, {64, 256}, {64, 192}, {64, 128}, {64, 64}};
constexpr Extent kMultistageTiles[] = {{128, 256}, {128, 192}, {128, 128}, {64, 128}, {64, 64}};
constexpr Extent kFewClusters[] = {{1, 1}, {2, 1}, {1, 2}};
// Extents under swap-AB: rows of B, and every multiple of 8 rows of A. So any number of rows divides into nearly equal
// tiles, such as 264 into three of 88.
constexpr int kSwappedRows[] = {256, 192, 128, 64};
constexpr int kMostSwappedColumns = 256, kSwappedStep = 8;
// Wider tiles have no stream-K or sums in clusters; those of twice the width have at most 128 rows of B.
constexpr int kSwappedWide = 64;
constexpr Sharing kSwappedSharings[] = {
    {1, 1, TileScheduler::fixed, 0, 0},    {2, 1, TileScheduler::fixed, 0, 0},   {1, 2, TileScheduler::fixed, 0, 0},
    {2, 2, TileScheduler::fixed, 0, 0},    {4, 1, TileScheduler::fixed, 0, 0},   {1, 4, TileScheduler::fixed, 0, 0},
    {4, 2, TileScheduler::fixed, 0, 0},    {2, 4, TileScheduler::fixed, 0, 0},   {1, 1, TileScheduler::split_k, 2, 1},
    {1, 1, TileScheduler::split_k, 3, 1},  {1, 1, TileScheduler::split_k, 4, 1}, {1, 1, TileScheduler::split_k, 6, 1},
    {1, 1, TileScheduler::stream_k, 0, 0}, {1, 1, TileScheduler::split_k, 2, 2}, {1, 1, TileScheduler::split_k, 4, 4},
    {1, 1, TileScheduler::split_k, 8, 8},  {2, 1, TileScheduler::split_k, 2, 2}};
// Deep splits occupy the SMs where D has few tiles and K tens of thousands of elements. Partial tiles are small then.
constexpr Extent kDeepTiles[] = {{64, 64}, {64, 32}, {64, 16}, {64, 8}};
constexpr Sharing kDeepSharings[] = {{1, 1, TileScheduler::split_k, 16, 16}, {1, 1, TileScheduler::split_k, 32, 16},
                                     {1, 1, TileScheduler::split_k, 64, 16}, {1, 1, TileScheduler::split_k, 16, 8},
                                     {1, 1, TileScheduler::split_k, 32, 8},  {1, 1, TileScheduler::split_k, 64, 8}};

std::vector<GemmConfig> make_shapes() {
  std::vector<GemmConfig> shapes;
  for (int m : kRows)
    for (int n : kColumns)
      for (const Sharing& s : kSharings)
        shapes.push_back({.tile = {m, n},
                          .cluster = {s.cluster_m, s.cluster_n, s.cluster_k},
                          .sm90 = {.schedule = Schedule::cooperative, .tile_scheduler = s.order, .split = s.split}});
  const auto add = [&](Schedule schedule, const Extent& tile) {
    for (const Extent& cluster : kFewClusters)
      shapes.push_back({.tile = {tile.m, tile.n},
                        .cluster = {cluster.m, cluster.n},
                        .sm90 = {.schedule = schedule, .tile_scheduler = TileScheduler::fixed}});
  };
  for (int m : kSwappedRows)
    for (int n = kMostSwappedColumns; n > 0; n -= kSwappedStep)
      for (const Sharing& s : kSwappedSharings) {
        const bool sums = s.order == TileScheduler::stream_k || s.cluster_k > 1;
        if ((n > kSwappedWide && sums) || (n > 2 * kSwappedWide && m > 128)) continue;
        shapes.push_back({.tile = {m, n},
                          .cluster = {s.cluster_m, s.cluster_n, s.cluster_k},
                          .sm90 = {.schedule = Schedule::cooperative,
                                   .tile_scheduler = s.order,
                                   .split = s.split,
                                   .swap_ab = SwapAb::on}});
      }
  for (int m : kBetweenRows)
    for (int n : kBetweenColumns) add(Schedule::cooperative, {m, n});
  for (const Extent& tile : kPingpongTiles) add(Schedule::pingpong, tile);
  for (const Extent& tile : kMultistageTiles) add(Schedule::multistage, tile);
  for (const Extent& tile : kDeepTiles)
    for (const Sharing& s : kDeepSharings)
      for (SwapAb swap : {SwapAb::automatic, SwapAb::on})
        shapes.push_back(
            {.tile = {tile.m, tile.n},
             .cluster = {s.cluster_m, s.cluster_n, s.cluster_k},
             .sm90 = {
                 .schedule = Schedule::cooperative, .tile_scheduler = s.order, .split = s.split, .swap_ab = swap}});
  return shapes;
}

/// All fields as numbers: what tells two configs of one family, which have one epilogue, apart.
using Key = std::array<int, 48>;
Key key_of(const GemmConfig& config) {
  Key key{};
  std::size_t used = 0;
  const auto add = [&](std::initializer_list<int> values) {
    for (int value : values) key[used++] = value;
  };
  for_each_field(config, [&](const ConfigField&, const auto& value, const auto&) {
    using Value = std::remove_cvref_t<decltype(value)>;
    if constexpr (std::is_same_v<Value, EpilogueTree>) return;
    else if constexpr (std::is_same_v<Value, Tile> || std::is_same_v<Value, Cluster>) add({value.m, value.n, value.k});
    else if constexpr (std::is_same_v<Value, MatrixLayout>) add({int(value.a), int(value.b)});
    else add({int(value)});
  });
  return key;
}

/// Returns true where ptxas 13.0 may serialise the wgmma of two accumulators: where K differs from tile to tile, and
/// with D in FP32. Such tiles serve many rows and narrow D. A config that the caller requests is compiled nevertheless.
bool may_serialise(const GemmConfig& c) {
  const bool cuts_k =
      c.sm90.tile_scheduler == TileScheduler::stream_k || c.sm90.tile_scheduler == TileScheduler::split_k;
  return config::mma_blocks_of(c) > 1 && !config::promotes(c) &&
         (cuts_k || c.operands.d == DType::f32 || c.cluster.m * c.cluster.n > 2);
}

/// Returns true where ptxas 13.0 may spill. `ptxas_report listed` of the tests, over the common families, found 80 such
/// configs with 8 to 548 bytes each. They are near the register limit and follow no simple law. This rule covers all of
/// them and 130 other configs, none of which was chosen for a measured problem.
bool may_spill(const GemmConfig& c) {
  const bool promoted = config::promotes(c), pingpong = c.sm90.schedule == Schedule::pingpong;
  const bool by_rows = c.operands.scale == Scale::row_column, both = c.operands.scale == Scale::block_1x128_1x128;
  if (config::swaps(c)) return promoted && c.tile.n > (both ? 96 : 128);
  const bool counter = c.sm90.tile_scheduler == TileScheduler::dynamic,
             stream = c.sm90.tile_scheduler == TileScheduler::stream_k;
  const int registers = (config::mma_blocks_of(c) + (promoted ? 1 : 0)) * c.tile.n / 2;
  if (promoted) {
    if (config::sums_in_cluster(c)) return registers >= 128 && (both || c.sm90.consumer_warpgroups > 1);
    if (!both) return false;
    if (c.cluster.m * c.cluster.n > 4) return true;
    const bool pairs = c.cluster.m == 2 && (counter || stream);
    return (registers >= 128 && (pairs || pingpong)) || (c.sm90.schedule == Schedule::multistage && c.tile.n == 192);
  }
  if (by_rows && config::sums_in_cluster(c)) return registers >= 128;
  if (by_rows && ((counter && c.tile.n == 256) || (stream && c.sm90.consumer_warpgroups == 3 && c.tile.n == 192)))
    return true;
  if (by_rows && c.tile.n == 240) return true;
  if (registers >= 160) return by_rows || counter || pingpong;
  const bool f32 = c.operands.d == DType::f32;
  if (c.tile.n == 224) return stream || counter || (f32 && c.sm90.tile_scheduler == TileScheduler::split_k);
  return f32 && stream && c.tile.n == 256;
}

/// Returns true for a width of kBetweenColumns with block scales. Such a tile needs two scales of B in most k-blocks,
/// and no measured one is more than 2 % faster than the best of the other widths.
bool meets_two_scales(const GemmConfig& c) {
  return config::promotes(c) && !config::swaps(c) &&
         std::find(std::begin(kBetweenColumns), std::end(kBetweenColumns), c.tile.n) != std::end(kBetweenColumns);
}

void set_if_open(int& field, int otherwise) {
  if (field == 0) field = otherwise;
}

}  // namespace

const std::vector<GemmConfig>& config_shapes(Arch arch) {
  static const std::vector<GemmConfig> hopper = make_shapes(), blackwell = sm100_shapes();
  return arch == Arch::sm100 ? blackwell : hopper;
}

bool is_for(const GemmConfig& shape, const GemmConfig& requested) {
  // A requested tile or cluster rules swap-AB out: it counts rows by columns of D unless swap_ab says otherwise.
  const bool free =
      requested.tile.m == 0 && requested.tile.n == 0 && requested.cluster.m == 0 && requested.cluster.n == 0;
  // Config text cannot tell pair=0 from an open field; a resolved config of single CTAs stays one.
  if (requested.sm100.pair ? !shape.sm100.pair : shape.sm100.pair && !free) return false;
  return !config::swaps(shape) || config::swaps(requested) || (requested.sm90.swap_ab == SwapAb::automatic && free);
}

GemmConfig complete(const GemmConfig& shape, const GemmConfig& requested) {
  GemmConfig c = requested;
  if (c.sm90.swap_ab == SwapAb::automatic) c.sm90.swap_ab = shape.sm90.swap_ab;
  if (shape.sm100.pair) c.sm100.pair = true;
  set_if_open(c.tile.m, shape.tile.m);
  set_if_open(c.tile.n, shape.tile.n);
  set_if_open(c.cluster.m, shape.cluster.m);
  set_if_open(c.cluster.n, shape.cluster.n);
  if (c.sm90.schedule == Schedule::automatic) c.sm90.schedule = shape.sm90.schedule;
  const bool splits = c.sm90.split > 1 || c.cluster.k > 1;
  if (c.sm90.tile_scheduler == TileScheduler::automatic)
    c.sm90.tile_scheduler = splits ? TileScheduler::split_k : shape.sm90.tile_scheduler;
  // An explicit split count also fixes how many of its parts are reduced within one cluster.
  if (c.sm90.tile_scheduler == TileScheduler::split_k && !splits && shape.sm90.tile_scheduler == TileScheduler::split_k)
    c.sm90.split = shape.sm90.split, set_if_open(c.cluster.k, shape.cluster.k);
  return config::resolve(c);
}

const std::vector<GemmConfig>& config_list(const GemmConfig& requested) {
  // Programs often plan the same family for one M after another, and building the list dominates the time of a choice.
  thread_local GemmConfig last{.tile = {-1}};
  thread_local std::vector<GemmConfig> list;
  if (last == requested) return list;
  last = requested;
  list.clear();
  std::set<Key> seen;
  const auto add = [&](const GemmConfig& c) {
    if (!config::fault_of(c) && seen.insert(key_of(c)).second) list.push_back(c);
  };
  for (const GemmConfig& shape : config_shapes(requested.arch))
    if (const GemmConfig c = complete(shape, requested);
        is_for(shape, requested) &&
        (config::is_sm100(c) || (!may_serialise(c) && !may_spill(c) && !meets_two_scales(c))))
      add(c);
  if (requested.tile.m != 0 || requested.tile.n != 0) add(complete({}, requested));
  return list;
}

}  // namespace ww::select
