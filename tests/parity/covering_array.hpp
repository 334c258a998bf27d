// SPDX-License-Identifier: Apache-2.0
// A covering array of strength two over the axes of dense configs: rows in which every pair of values of two axes
// occurs that any accepted config has. Deterministic: the same rows in every run.
//   enumerate accepted configs -> mark the pairs they have -> take rows greedily until every pair is in one
#pragma once

#include <algorithm>
#include <array>
#include <bitset>
#include <map>
#include <numeric>
#include <string>
#include <string_view>
#include <vector>

#include "config/config_text.hpp"
#include "warpwright/config/faults.hpp"
#include "warpwright/config/resolve.hpp"
#include "warpwright/config/shared_memory.hpp"
#include "warpwright/config/sizes.hpp"
#include "warpwright/config/swap_ab.hpp"
#include "warpwright/host/gemm.hpp"

namespace ww::testing {

inline constexpr int kAxes = 17;
enum Axis {
  kTypes,
  kOut,
  kRecipe,
  kLayout,
  kOutLayout,
  kTile,
  kCluster,
  kStages,
  kWarpgroups,
  kSchedule,
  kOrder,
  kPromotion,
  kBatch,
  kEpilogue,
  kSwap,
  kASource,
  kParts
};
/// The number of values of each axis; the first value constrains the other axes least.
inline constexpr std::array<int, kAxes> kValues = {6, 4, 4, 4, 2, 10, 7, 3, 3, 3, 7, 3, 2, 8, 2, 2, 4};
using Row = std::array<unsigned char, kAxes>;

inline constexpr const char* kTypeNames[] = {"a=e4m3,b=e4m3", "a=bf16,b=bf16", "a=f16,b=f16",
                                             "a=tf32,b=tf32", "a=e4m3,b=e5m2", "a=e5m2,b=e5m2"};
inline constexpr const char* kOutNames[] = {"d=bf16", "d=f16", "d=f32", "d=e4m3"};
inline constexpr const char* kRecipeNames[] = {"scale=none", "scale=tensor", "scale=row-column", "scale=block"};
inline constexpr const char* kLayoutNames[] = {"layout=nt", "layout=nn", "layout=tn", "layout=tt"};
inline constexpr const char* kOutLayoutNames[] = {"d_layout=row", "d_layout=column"};
inline constexpr const char* kTileNames[] = {"tile=64x64x0",   "tile=128x128x0", "tile=64x128x0",  "tile=128x64x0",
                                             "tile=192x128x0", "tile=128x192x0", "tile=128x256x0", "tile=256x128x0",
                                             "tile=64x24x0",   "tile=128x32x0"};
inline constexpr const char* kClusterNames[] = {"1x1", "2x1", "1x2", "2x2", "4x1", "1x4", "4x4"};
inline constexpr const char* kStageNames[] = {"stages=0", "stages=2", "stages=4"};
inline constexpr const char* kWarpgroupNames[] = {"consumer_warpgroups=1", "consumer_warpgroups=2",
                                                  "consumer_warpgroups=3"};
inline constexpr const char* kScheduleNames[] = {"schedule=cooperative", "schedule=pingpong", "schedule=multistage"};
inline constexpr const char* kOrderNames[] = {"tile_scheduler=static",          "tile_scheduler=single",
                                              "tile_scheduler=dynamic",         "tile_scheduler=stream-k",
                                              "tile_scheduler=split-k,split=4", "tile_scheduler=split-k,split=3",
                                              "tile_scheduler=split-k,split=6"};
inline constexpr int kClusterK[] = {0, 0, 0, 0, 4, 1, 2};  // of the orders
inline constexpr const char* kPromotionNames[] = {"partial_accumulators=0", "partial_accumulators=1",
                                                  "partial_accumulators=2"};
inline constexpr const char* kBatchNames[] = {"batched=0", "batched=1"};
inline constexpr const char* kSwapNames[] = {"swap_ab=auto", "swap_ab=on"};
inline constexpr const char* kEpilogueNames[] = {"",
                                                 "acc*alpha+c*beta+bias",
                                                 "silu(acc*alpha)",
                                                 "swiglu(acc)",
                                                 "quantise(gelu(acc))",
                                                 "quantise_block(acc)",
                                                 "row_sum(acc+aux0,out0)",
                                                 "column_amax(relu(acc),out0)"};

inline constexpr const char* kASourceNames[] = {"a_source=auto", "a_source=registers"};
// The number of parts in which a tile of D is staged, epilogue_n columns each: whole; two alternating buffers, once and
// twice; an odd number of parts, which has one buffer.
inline constexpr int kPartCounts[] = {1, 2, 4, 3};

/// Returns the epilogue_n of a tile of D in so many parts; if its columns do not divide, a value that fault_of()
/// refuses.
inline int epilogue_n_of(const GemmConfig& c, int parts) {
  const int columns = config::output_columns(c);
  return parts == 1 ? 0 : columns % parts == 0 ? columns / parts : -1;
}

/// The config of a row, resolved. Not checked.
inline GemmConfig config_of(const Row& row) {
  // Cached, because millions of rows are visited and parsing text is slow.
  static const auto parsed = [] {
    std::array<std::vector<GemmConfig>, kAxes> all;
    const auto add = [&](Axis axis, const char* text) { all[axis].push_back(parse_config(text).value()); };
    for (const char* t : kTypeNames) add(kTypes, t);
    for (const char* t : kOutNames) add(kOut, t);
    for (const char* t : kRecipeNames) add(kRecipe, t);
    for (const char* t : kLayoutNames) add(kLayout, t);
    for (const char* t : kOutLayoutNames) add(kOutLayout, t);
    for (const char* t : kTileNames) add(kTile, t);
    for (const char* t : kClusterNames) add(kCluster, ("cluster=" + std::string(t)).c_str());
    for (const char* t : kStageNames) add(kStages, t);
    for (const char* t : kWarpgroupNames) add(kWarpgroups, t);
    for (const char* t : kScheduleNames) add(kSchedule, t);
    for (const char* t : kOrderNames) add(kOrder, t);
    for (const char* t : kPromotionNames) add(kPromotion, t);
    for (const char* t : kBatchNames) add(kBatch, t);
    for (const char* t : kSwapNames) add(kSwap, t);
    for (const char* t : kASourceNames) add(kASource, t);
    for (const char* t : kEpilogueNames) {
      all[kEpilogue].emplace_back();
      if (*t) all[kEpilogue].back().epilogue = parse_epilogue(t).value();
    }
    return all;
  }();
  const auto value = [&](Axis axis) -> const GemmConfig& { return parsed[axis][row[axis]]; };
  GemmConfig c;
  c.operands.a = value(kTypes).operands.a, c.operands.b = value(kTypes).operands.b,
  c.operands.d = value(kOut).operands.d, c.operands.scale = value(kRecipe).operands.scale;
  c.operands.layout.a = value(kLayout).operands.layout.a, c.operands.layout.b = value(kLayout).operands.layout.b;
  c.operands.d_layout = value(kOutLayout).operands.d_layout, c.sm90.swap_ab = value(kSwap).sm90.swap_ab;
  c.tile.m = value(kTile).tile.m, c.tile.n = value(kTile).tile.n;
  c.cluster.m = value(kCluster).cluster.m, c.cluster.n = value(kCluster).cluster.n;
  c.sm90.stages = value(kStages).sm90.stages, c.sm90.consumer_warpgroups = value(kWarpgroups).sm90.consumer_warpgroups;
  c.sm90.schedule = value(kSchedule).sm90.schedule, c.sm90.tile_scheduler = value(kOrder).sm90.tile_scheduler,
  c.sm90.split = value(kOrder).sm90.split;
  c.cluster.k = kClusterK[row[kOrder]];
  c.sm90.a_source = value(kASource).sm90.a_source;
  c.sm90.partial_accumulators = value(kPromotion).sm90.partial_accumulators,
  c.operands.batched = value(kBatch).operands.batched, c.epilogue = value(kEpilogue).epilogue;
  c.dense.epilogue_n = epilogue_n_of(c, kPartCounts[row[kParts]]);
  return config::resolve(c);
}

/// A problem that a row's kernel is for, with odd tails, `m` and `n` a little more than two of its tiles.
inline GemmProblem problem_of(const Row& row) {
  const GemmConfig c = config_of(row);
  const int step = 16 / bytes_of(c.operands.a);
  GemmProblem p{.m = 2 * c.tile.m + 8, .n = 2 * c.tile.n + 32, .k = 5 * c.tile.k + step};
  if (config::swaps(c)) {
    const bool any = c.operands.layout.a == Major::k && c.operands.d_layout == OutputLayout::row;
    p.m = 2 * c.tile.n + (any ? 5 : 8), p.n = 2 * c.tile.m + 8;
  }
  p.a = c.operands.a, p.b = c.operands.b, p.d = c.operands.d, p.scale = c.operands.scale,
  p.a_major = c.operands.layout.a, p.b_major = c.operands.layout.b;
  p.d_layout = c.operands.d_layout;
  p.epilogue = c.epilogue;
  if (c.operands.batched) {
    p.batch = 3;
    p.batch_a = p.m * p.k, p.batch_b = p.n * p.k, p.batch_d = p.m * p.n;
  }
  return p;
}

inline bool accepted(const Row& row) {
  if (config::fault_of(config_of(row))) return false;
  return can_implement(problem_of(row), {.config = config_of(row)}).has_value();
}

/// Calls `visit(row)` for every combination of `axes`, the other values as in `row`.
template <class Visit>
void combinations(Row& row, const std::vector<Axis>& axes, const Visit& visit, std::size_t at = 0) {
  if (at == axes.size()) return visit(row);
  for (int v = 0; v < kValues[axes[at]]; ++v) {
    row[axes[at]] = static_cast<unsigned char>(v);
    combinations(row, axes, visit, at + 1);
  }
  row[axes[at]] = 0;
}

/// Returns every accepted row. covering_array_test.cpp checks three shortcuts with rows drawn from all combinations:
/// - A family (types to epilogue) that is refused under a tile in its plainest sharing is refused under every sharing.
/// - A family that is refused whole is not accepted in parts, which only need less shared memory.
/// - How a tile may be shared depends on nothing but `key`.
inline std::vector<Row> accepted_rows() {
  std::vector<Row> halves, rows;
  Row row{};
  combinations(row, {kTypes, kOut, kRecipe, kLayout, kOutLayout, kBatch, kEpilogue, kSwap}, [&](Row& family) {
    Row shape = family;
    // First, because most families are refused whatever their tile is.
    bool any = false;
    for (const int tile : {0, 1, 5, 6}) {
      shape[kTile] = static_cast<unsigned char>(tile), shape[kWarpgroups] = tile == 0 ? 0 : 1;
      any = any || accepted(shape);
    }
    shape = family;
    bool refused = false;  // whole, and not for shared memory
    if (any)
      combinations(shape, {kTile, kWarpgroups, kSchedule, kASource, kParts}, [&](Row& r) {
        if (r[kParts] != 0 && refused) return;
        const auto fault = config::fault_of(config_of(r));
        if (r[kParts] == 0) refused = fault && std::string_view(fault.field) != "stages";
        if (!fault) halves.push_back(r);
      });
  });
  std::map<std::array<int, 11>, std::vector<Row>> sharings;
  std::vector<const std::vector<Row>*> of_half;
  std::size_t count = 0;
  for (Row half : halves) {
    const GemmConfig c = config_of(half);
    const std::array<int, 11> key = {bytes_of(c.operands.a),
                                     config::promotes(c),
                                     half[kLayout],
                                     half[kSwap],
                                     half[kTile],
                                     half[kWarpgroups],
                                     half[kSchedule],
                                     config::a_from_registers(c),
                                     config::shared_plan(config::kernel_config(c)).d_tile,
                                     c.tile.n,
                                     config::reduces(c.epilogue)};
    const auto [at, fresh] = sharings.try_emplace(key);
    if (fresh)
      combinations(half, {kCluster, kOrder, kPromotion, kStages}, [&](Row& r) {
        if (!config::fault_of(config_of(r))) at->second.push_back(r);
      });
    of_half.push_back(&at->second);
    count += at->second.size();
  }
  rows.reserve(count);  // they take half a gigabyte
  for (std::size_t i = 0; i < halves.size(); ++i)
    for (const Row& sharing : *of_half[i]) {
      rows.push_back(halves[i]);
      for (const Axis axis : {kCluster, kOrder, kPromotion, kStages}) rows.back()[axis] = sharing[axis];
    }
  return rows;
}

/// Which pairs of values occur: for every value of every axis, the set of values that occur with it.
/// Sets are used, because millions of rows are visited, and a set compares a value with all others of its row at once.
class Pairs {
 public:
  void add(const Row& row) {
    const Values values = values_of(row);
    for (int axis = 0; axis < kAxes; ++axis) with_[index(axis, row[axis])] |= values;
  }
  /// Returns whether no pair of `row` is missing. It does not call missing(), because it is called many times for every
  /// row.
  bool covers(const Row& row) const {
    Values with = with_[index(0, row[0])];
    for (int axis = 1; axis < kAxes; ++axis) with &= with_[index(axis, row[axis])];
    return (values_of(row) & ~with).none();
  }
  /// How many pairs of `row` are not in.
  int missing(const Row& row) const {
    const Values values = values_of(row);
    std::size_t ends = 0;  // a pair is missing at both
    for (int axis = 0; axis < kAxes; ++axis)
      if (const Values alone = values & ~with_[index(axis, row[axis])]; alone.any()) ends += alone.count();
    return static_cast<int>(ends / 2);
  }

 private:
  static constexpr int kAll = std::accumulate(kValues.begin(), kValues.end(), 0);
  using Values = std::bitset<kAll>;
  static std::size_t index(int axis, int value) {
    static constexpr auto kFirst = [] {
      std::array<int, kAxes> first{};
      std::exclusive_scan(kValues.begin(), kValues.end(), first.begin(), 0);
      return first;
    }();
    return static_cast<std::size_t>(kFirst[axis] + value);
  }
  static Values values_of(const Row& row) {
    Values values;
    for (int axis = 0; axis < kAxes; ++axis) values |= kOne[index(axis, row[axis])];
    return values;
  }
  static inline const std::array<Values, kAll> kOne = [] {  // sets of one value
    std::array<Values, kAll> one;
    for (std::size_t value = 0; value < one.size(); ++value) one[value].set(value);
    return one;
  }();
  std::array<Values, kAll> with_ = kOne;  // no pair with itself is missing
};

/// The array: greedy over `rows`, from the first that has a pair still missing, each time the best of a few thousand
/// from there to the end.
inline std::vector<Row> covering_array(const std::vector<Row>& rows) {
  constexpr std::size_t kLooked = 8000, kStride = 7919;  // prime: neighbours in the enumeration are alike
  std::vector<Row> array;
  Pairs covered;
  for (std::size_t start = 0; start < rows.size(); ++start) {
    while (!covered.covers(rows[start])) {
      const Row* best = &rows[start];
      int most = 0;
      for (std::size_t i = 0; i < kLooked; ++i) {
        const Row& row = rows[start + i * kStride % (rows.size() - start)];
        if (const int gain = covered.missing(row); gain > most) most = gain, best = &row;
      }
      covered.add(*best);
      array.push_back(*best);
    }
  }
  return array;
}

}  // namespace ww::testing
