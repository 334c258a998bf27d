// SPDX-License-Identifier: Apache-2.0
// Prints `warpwright gemm` flags for the rows of two covering arrays of strength two over the axes of Blackwell's dense
// configs and of their problems, one line each: every pair of values of two axes that some accepted row has. The second
// array has the types of 4, 6 and 8 bits, K-major, with scales of mx and nv and without.
//   blackwell_rows [of share]   one of `of` equal shares of the rows
// Accepted rows are searched for by drawing: a pair that kDraws rows do not have is taken for one that none has.
#include <array>
#include <cstdlib>
#include <random>
#include <set>
#include <span>
#include <vector>

#include "gemm_flags.hpp"
#include "warpwright/config/faults.hpp"
#include "warpwright/config/resolve.hpp"

namespace {

using namespace ww;
using namespace ww::testing;

enum Axis {
  kTypes,
  kOut,
  kRecipe,
  kLayout,
  kOutLayout,
  kTile,
  kCluster,
  kPair,
  kAccumulators,
  kStages,
  kOrder,
  kBatch,
  kEpilogue,
  kSwap,
  kParts,
  kExtents,
  kAxes
};
constexpr int kDraws = 4000, kCandidates = 6;

using Types = std::pair<DType, DType>;
struct Tile {
  int m, n;
};
// The first value of an axis constrains the other axes least.
constexpr Types kTypeValues[] = {{bf16, bf16}, {e4m3, e4m3}, {f16, f16}, {tf32, tf32}, {e4m3, e5m2}, {e5m2, e5m2}};
constexpr DType kOutValues[] = {bf16, f16, f32, e4m3};
constexpr Scale kRecipeValues[] = {Scale::none, Scale::tensor, Scale::row_column, Scale::block_1x128_128x128,
                                   Scale::block_1x128_1x128};
constexpr MatrixLayout kLayoutValues[] = {
    {Major::k, Major::k}, {Major::k, Major::mn}, {Major::mn, Major::k}, {Major::mn, Major::mn}};
constexpr Tile kTileValues[] = {{128, 128}, {64, 64},  {128, 64}, {128, 256},
                                {64, 24},   {128, 32}, {64, 256}, {128, 192}};

constexpr Types kNarrowTypes[] = {{e2m1, e2m1}, {e4m3, e4m3}, {e4m3, e2m1}, {e3m2, e5m2},
                                  {e2m3, e4m3}, {e2m1, e3m2}, {e5m2, e2m3}, {e2m3, e2m3}};
constexpr Scale kNarrowRecipes[] = {Scale::mx, Scale::nv, Scale::none, Scale::tensor, Scale::row_column};
constexpr Tile kNarrowTiles[] = {{128, 128}, {128, 32}, {128, 64}, {128, 96}, {128, 256}, {128, 192}, {64, 64}};

/// The values of the axes in which the arrays differ.
struct Array {
  std::span<const Types> types;
  std::span<const Scale> recipes;
  std::span<const MatrixLayout> layouts;
  std::span<const Tile> tiles;
};
constexpr Array kArrays[] = {{kTypeValues, kRecipeValues, kLayoutValues, kTileValues},
                             {kNarrowTypes, kNarrowRecipes, kLayoutValues, kNarrowTiles}};

constexpr int kClusterValues[][2] = {{1, 1}, {2, 1}, {1, 2}, {2, 2}, {4, 1}, {1, 4}, {4, 2}, {2, 4}, {4, 4}};
constexpr int kAccumulatorValues[] = {0, 1, 2, 4}, kStageValues[] = {0, 2, 4};
struct Order {
  TileScheduler scheduler;
  int split, cluster_k;
};
constexpr Order kOrderValues[] = {{TileScheduler::fixed, 0, 0},   {TileScheduler::single, 0, 0},
                                  {TileScheduler::dynamic, 0, 0}, {TileScheduler::stream_k, 0, 0},
                                  {TileScheduler::split_k, 4, 4}, {TileScheduler::split_k, 3, 1},
                                  {TileScheduler::split_k, 6, 2}, {TileScheduler::clc, 0, 0}};
constexpr const char* kEpilogueValues[] = {"",
                                           "acc*alpha+c*beta+bias",
                                           "silu(acc*alpha)",
                                           "swiglu(acc)",
                                           "swiglu_halves(acc)",
                                           "quantise(gelu(acc))",
                                           "quantise_block(acc)",
                                           "row_sum(acc+aux0,out0)",
                                           "column_amax(relu(acc),out0)"};
constexpr int kPartValues[] = {1, 2, 3};
// Extents: tails of all three, one row, a cluster of tiles and a tail, K of less than a stage.
using Row = std::array<int, kAxes>;
/// Returns how many values each axis has.
Row values_of(const Array& array) {
  return {static_cast<int>(array.types.size()),
          4,
          static_cast<int>(array.recipes.size()),
          static_cast<int>(array.layouts.size()),
          2,
          static_cast<int>(array.tiles.size()),
          9,
          2,
          4,
          3,
          8,
          3,
          9,
          2,
          3,
          4};
}

GemmConfig config_of(const Array& array, const Row& row) {
  static const auto trees = [] {
    std::vector<EpilogueTree> all(1);
    for (std::size_t i = 1; i < std::size(kEpilogueValues); ++i)
      all.push_back(parse_epilogue(kEpilogueValues[i]).value());
    return all;
  }();
  GemmConfig c{.arch = Arch::sm100};
  const auto at = [&](auto values, Axis axis) { return values[static_cast<std::size_t>(row[axis])]; };
  std::tie(c.operands.a, c.operands.b) = at(array.types, kTypes);
  c.operands.d = kOutValues[row[kOut]], c.operands.scale = at(array.recipes, kRecipe);
  c.operands.layout = at(array.layouts, kLayout), c.operands.d_layout = OutputLayout(row[kOutLayout]);
  c.operands.batched = row[kBatch] != 0, c.operands.pointer_array = row[kBatch] == 2;
  const Tile tile = at(array.tiles, kTile);
  const auto& cluster = kClusterValues[row[kCluster]];
  const Order& order = kOrderValues[row[kOrder]];
  c.tile = {tile.m, tile.n}, c.cluster = {cluster[0], cluster[1], order.cluster_k};
  c.sm90.stages = kStageValues[row[kStages]];
  c.sm90.tile_scheduler = order.scheduler, c.sm90.split = order.split;
  c.sm90.swap_ab = row[kSwap] == 1 ? SwapAb::on : SwapAb::automatic;
  c.sm100 = {row[kPair] == 1, kAccumulatorValues[row[kAccumulators]]};
  c.epilogue = trees[static_cast<std::size_t>(row[kEpilogue])];
  const int parts = kPartValues[row[kParts]], columns = config::output_columns(c);
  if (parts > 1) c.dense.epilogue_n = columns % parts == 0 ? columns / parts : -1;
  return config::resolve(c);
}

GemmProblem problem_of(const Array& array, const Row& row) {
  const GemmConfig c = config_of(array, row);
  const bool packed = is_packed(c.operands.a) || is_packed(c.operands.b);
  const int step = config::packs_nibbles(c) ? 32 : packed ? 128 : 16 / bytes_of(c.operands.a), kind = row[kExtents];
  const bool swaps = config::swaps(c), free_k = c.operands.layout.a == Major::mn && c.operands.layout.b == Major::mn;
  const int tile_m = swaps ? c.tile.n : c.tile.m, tile_n = swaps ? c.tile.m : c.tile.n;
  const bool free_m = c.operands.layout.a == Major::k && c.operands.d_layout == OutputLayout::row;
  GemmProblem p{.m = 2 * tile_m + 5, .n = 2 * tile_n + 32, .k = 5 * c.tile.k + (free_k ? 3 : step)};
  if (kind == 1) p.m = 1;
  if (kind == 2) p.m = tile_m * c.cluster.m + 5, p.n = tile_n * c.cluster.n + 48;
  if (kind == 3) p.k = free_k ? 5 : step;
  if (!free_m) p.m = round_up<std::int64_t>(p.m, 16);
  p.a = c.operands.a, p.b = c.operands.b, p.d = c.operands.d, p.scale = c.operands.scale;
  p.a_major = c.operands.layout.a, p.b_major = c.operands.layout.b, p.d_layout = c.operands.d_layout;
  p.epilogue = c.epilogue;
  if (c.operands.batched) {
    p.batch = 3, p.pointer_array = c.operands.pointer_array;
    p.batch_a = p.m * p.k, p.batch_b = p.n * p.k, p.batch_d = p.m * config::output_columns(p.epilogue, p.n);
    if (free_k)
      p.batch_a = round_up<std::int64_t>(p.batch_a, step), p.batch_b = round_up<std::int64_t>(p.batch_b, step);
  }
  return p;
}

bool accepted(const Array& array, const Row& row) {
  const GemmConfig config = config_of(array, row);
  return !config::fault_of(config) && can_implement(problem_of(array, row), {.config = config}).has_value();
}

using Pair = std::array<int, 4>;  // axis, value, later axis, value
std::vector<Pair> pairs_of(const Row& row) {
  std::vector<Pair> pairs;
  for (int a = 0; a < kAxes; ++a)
    for (int b = a + 1; b < kAxes; ++b) pairs.push_back({a, row[a], b, row[b]});
  return pairs;
}

std::vector<Row> covering_rows(const Array& array) {
  const Row values = values_of(array);
  std::mt19937_64 rng(1);
  std::set<Pair> covered;
  std::vector<Row> rows;
  const auto search = [&](const Pair& pair) {
    Row best{};
    std::size_t most = 0;
    for (int draw = 0, found = 0; draw < kDraws && found < kCandidates; ++draw) {
      Row row{};
      for (int axis = 0; axis < kAxes; ++axis)
        row[axis] = rng() % 2 == 0 ? 0 : static_cast<int>(rng() % static_cast<std::uint64_t>(values[axis]));
      row[pair[0]] = pair[1], row[pair[2]] = pair[3];
      if (!accepted(array, row)) continue;
      ++found;
      std::size_t gain = 0;
      for (const Pair& one : pairs_of(row)) gain += !covered.contains(one);
      if (gain > most) most = gain, best = row;
    }
    if (most == 0) return;
    rows.push_back(best);
    for (const Pair& one : pairs_of(best)) covered.insert(one);
  };
  for (int a = 0; a < kAxes; ++a)
    for (int b = a + 1; b < kAxes; ++b)
      for (int i = 0; i < values[a]; ++i)
        for (int j = 0; j < values[b]; ++j)
          if (!covered.contains({a, i, b, j})) search({a, i, b, j});
  return rows;
}

}  // namespace

int main(int argc, char** argv) {
  const std::size_t of = argc > 2 ? std::strtoull(argv[1], nullptr, 0) : 1;
  const std::size_t share = argc > 2 ? std::strtoull(argv[2], nullptr, 0) % of : 0;
  for (const Array& array : kArrays) {
    const std::vector<Row> rows = covering_rows(array);
    for (std::size_t i = share; i < rows.size(); i += of)
      fmt::print("{}\n", gemm_flags(config_of(array, rows[i]), problem_of(array, rows[i]),
                                    kEpilogueValues[rows[i][kEpilogue]]));
  }
}
