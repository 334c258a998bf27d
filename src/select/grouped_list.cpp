// SPDX-License-Identifier: Apache-2.0
// Enumerates configs for groups of rows in a fixed order: ragged, contiguous, masked, descriptors; in each, wide tiles
// first.
#include "select/grouped_list.hpp"

#include <algorithm>
#include <iterator>

#include "select/grouped_configs.hpp"
#include "warpwright/config/epilogue_stages.hpp"
#include "warpwright/config/faults.hpp"
#include "warpwright/config/resolve.hpp"
#include "warpwright/config/sizes.hpp"

namespace ww::select {
namespace {

/// A tile of `tokens` x `weights`.
struct RaggedShape {
  int tokens, weights, warpgroups;
  TileScheduler order = TileScheduler::dynamic;
  int split = 0, occupancy = 1;
};
constexpr RaggedShape kRagged[] = {
    {128, 256, 2},
    {64, 256, 2},
    {32, 256, 2},
    {128, 128, 2},
    {64, 128, 2},
    {32, 128, 2},
    {64, 128, 1},
    {32, 128, 1},
    {128, 64, 1},
    {64, 64, 1},
    {32, 64, 1},
    // Several CTAs on each SM. Static order, because all tiles of a short launch run at once.
    {32, 64, 1, TileScheduler::fixed, 0, 2},
    {32, 64, 1, TileScheduler::fixed, 0, 3},
    {32, 64, 1, TileScheduler::dynamic, 0, 3},
    {32, 128, 1, TileScheduler::fixed, 0, 2},
    {32, 128, 1, TileScheduler::dynamic, 0, 2},
    // K split between the CTAs of a cluster.
    {64, 128, 2, TileScheduler::split_k, 2},
    {64, 128, 2, TileScheduler::split_k, 4},
    {64, 256, 2, TileScheduler::split_k, 4},
    {32, 128, 2, TileScheduler::split_k, 8}};

/// A tile of `rows` tokens x `columns` weights; `pair`: two token tiles of a group share their weights. `families`: who
/// lists it. Narrow widths and those between powers of two serve few groups, whose tiles would be some more than SMs or
/// far fewer; nobody has measured them on Blackwell.
enum class Families { all, hopper, hopper_unscaled };
struct RasterShape {
  int rows, columns;
  bool pair;
  Families families = Families::all;
};
constexpr RasterShape kRaster[] = {{128, 256, false},
                                   {128, 256, true},
                                   {192, 192, false},
                                   {128, 192, false},
                                   {128, 192, true},
                                   {256, 128, false},
                                   {256, 128, true},
                                   {192, 128, false},
                                   {192, 128, true},
                                   {128, 128, false},
                                   {128, 128, true},
                                   {64, 256, false},
                                   {64, 128, false},
                                   {64, 128, true},
                                   {128, 64, false},
                                   {64, 64, false},
                                   {128, 224, false, Families::hopper_unscaled},
                                   {128, 208, false, Families::hopper_unscaled},
                                   {64, 192, false, Families::hopper},
                                   {128, 160, false, Families::hopper},
                                   {64, 160, false, Families::hopper},
                                   {128, 144, false, Families::hopper_unscaled},
                                   {64, 144, false, Families::hopper_unscaled},
                                   {128, 112, false, Families::hopper_unscaled},
                                   {64, 112, false, Families::hopper_unscaled},
                                   {128, 96, false, Families::hopper},
                                   {64, 96, false, Families::hopper},
                                   {64, 32, false, Families::hopper}};
constexpr int kDescriptorTokens[] = {8, 16, 24, 32, 48, 64};

std::vector<GemmConfig> make_shapes() {
  std::vector<GemmConfig> shapes;
  for (const RaggedShape& s : kRagged)
    shapes.push_back({.tile = {s.tokens, s.weights},
                      .cluster = {1, 1, s.split},
                      .sm90 = {.consumer_warpgroups = s.warpgroups,
                               .tile_scheduler = s.order,
                               .split = s.split,
                               .occupancy = s.occupancy},
                      .row_groups = {.variant = GroupedVariant::ragged}});
  for (GroupedVariant variant : {GroupedVariant::contiguous, GroupedVariant::masked})
    for (const RasterShape& s : kRaster)
      shapes.push_back({.tile = {s.rows, s.columns},
                        .cluster = {s.pair ? 2 : 1, 1},
                        .sm90 = {.tile_scheduler = TileScheduler::fixed, .occupancy = 1},
                        .row_groups = {.variant = variant}});
  for (int tokens : kDescriptorTokens)
    for (TileScheduler order : {TileScheduler::vertical, TileScheduler::horizontal})
      shapes.push_back({.tile = {tokens, 128},
                        .cluster = {1, 1},
                        .sm90 = {.tile_scheduler = order, .occupancy = 1},
                        .row_groups = {.variant = GroupedVariant::descriptors}});
  return shapes;
}

/// Returns whether the family of `requested` lists `shape`.
bool is_for_family(const GemmConfig& shape, const GemmConfig& requested) {
  const GroupedVariant variant = shape.row_groups.variant;
  if (variant != GroupedVariant::contiguous && variant != GroupedVariant::masked) return true;
  const auto at = std::find_if(std::begin(kRaster), std::end(kRaster), [&](const RasterShape& s) {
    return s.rows == shape.tile.m && s.columns == shape.tile.n && s.pair == (shape.cluster.m == 2);
  });
  if (at == std::end(kRaster) || at->families == Families::all) return true;
  return requested.arch == Arch::sm90 && (at->families == Families::hopper || !config::promotes(requested));
}

template <class T> bool agree(const T& value, const T& requested) { return requested == T{} || value == requested; }

/// Returns the request by which shapes are listed: launch control gives out the tiles of the static order.
GemmConfig listed_request(GemmConfig requested) {
  if (config::uses_launch_control(requested)) requested.sm90.tile_scheduler = TileScheduler::fixed;
  return requested;
}

/// Returns `shape` with everything that `requested` sets, resolved. Both agree, as listed_request() has it.
GemmConfig complete_grouped(const GemmConfig& shape, const GemmConfig& requested, std::int64_t n) {
  GemmConfig c = requested;
  c.row_groups.variant = shape.row_groups.variant;
  c.tile.m = shape.tile.m, c.tile.n = shape.tile.n;
  c.cluster.m = shape.cluster.m, c.cluster.n = shape.cluster.n, c.cluster.k = shape.cluster.k;
  if (!config::uses_launch_control(requested)) c.sm90.tile_scheduler = shape.sm90.tile_scheduler;
  c.sm90.split = shape.sm90.split;
  c.sm90.occupancy = shape.sm90.occupancy;
  if (c.sm90.consumer_warpgroups == 0) c.sm90.consumer_warpgroups = shape.sm90.consumer_warpgroups;
  if (config::pairs_halves(c)) c.tile.n = config::tile_of_halves(c, n, c.tile.n);
  return config::resolve_grouped(c);
}

/// Calls `use` with every config of the family, in the order of the list.
template <class Use>
void for_each_config(const GemmConfig& requested, GroupEncoding encoding, std::int64_t n, const Use& use) {
  const bool open = requested.row_groups.variant == GroupedVariant::automatic;
  const GemmConfig listed = listed_request(requested);
  GemmConfig paired = requested;
  paired.sm100.pair = true;
  for (const GemmConfig& shape : grouped_shapes()) {
    if (!is_for_family(shape, requested) || !agrees(shape, listed) ||
        (open && !is_open_to_choice(shape.row_groups.variant, encoding, requested.epilogue)))
      continue;
    use(complete_grouped(shape, requested, n));
    if (requested.arch == Arch::sm100 && shape.cluster.m == 2) use(complete_grouped(shape, paired, n));
  }
}

}  // namespace

bool combines_columns(const EpilogueTree& tree) {
  const config::EpilogueStages stages = config::stages_of(tree);
  return stages.swiglu != EpilogueOp::none || stages.quantise != EpilogueOp::none;
}

const std::vector<GemmConfig>& grouped_shapes() {
  static const std::vector<GemmConfig> shapes = make_shapes();
  return shapes;
}

bool agrees(const GemmConfig& config, const GemmConfig& requested) {
  return agree(config.row_groups.variant, requested.row_groups.variant) && agree(config.tile.m, requested.tile.m) &&
         agree(config.tile.n, requested.tile.n) && agree(config.cluster.m, requested.cluster.m) &&
         agree(config.cluster.n, requested.cluster.n) && agree(config.cluster.k, requested.cluster.k) &&
         agree(config.sm90.tile_scheduler, requested.sm90.tile_scheduler) &&
         agree(config.sm90.split, requested.sm90.split) && agree(config.sm90.occupancy, requested.sm90.occupancy) &&
         (config.sm90.consumer_warpgroups == 0 ||
          agree(config.sm90.consumer_warpgroups, requested.sm90.consumer_warpgroups));
}

GemmConfig of_problem(const GroupedProblem& p, const GemmConfig& requested) {
  GemmConfig c = requested;
  c.operands.a = p.a, c.operands.b = p.b, c.operands.d = p.d, c.operands.scale = p.scale;
  if (p.b_major == Major::mn) c.operands.layout.b = Major::mn;
  c.epilogue = p.epilogue;
  if (c.row_groups.capacity == 0) c.row_groups.capacity = group_capacity_for(p.groups);
  return c;
}

bool is_open_to_choice(GroupedVariant variant, GroupEncoding encoding, const EpilogueTree& epilogue) {
  const bool masked = encoding == GroupEncoding::masked;
  if (variant == GroupedVariant::ragged) return !combines_columns(epilogue);
  return variant == (masked ? GroupedVariant::masked : GroupedVariant::contiguous);
}

std::vector<GemmConfig> grouped_list(const GemmConfig& requested, GroupEncoding encoding, std::int64_t n) {
  // Programs plan the same family for one number of rows after another.
  thread_local GemmConfig last{.tile = {-1}};
  thread_local GroupEncoding last_encoding = GroupEncoding::offsets;
  thread_local std::int64_t last_n = 0;
  thread_local std::vector<GemmConfig> list;
  const std::int64_t width = config::pairs_halves(requested) ? n : 0;  // what else of N does the list depend on
  if (last == requested && last_encoding == encoding && last_n == width) return list;
  last = requested, last_encoding = encoding, last_n = width;
  list.clear();
  for_each_config(requested, encoding, n, [&](const GemmConfig& c) {
    if (!config::fault_of_grouped(c) && std::find(list.begin(), list.end(), c) == list.end()) list.push_back(c);
  });
  return list;
}

std::vector<GemmConfig> faulty_grouped(const GemmConfig& requested, GroupEncoding encoding, std::int64_t n) {
  std::vector<GemmConfig> faulty;
  for_each_config(requested, encoding, n, [&](const GemmConfig& c) {
    if (config::fault_of_grouped(c)) faulty.push_back(c);
  });
  return faulty;
}

}  // namespace ww::select
