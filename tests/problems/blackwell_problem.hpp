// SPDX-License-Identifier: Apache-2.0
// Numbered problems for Blackwell's kernels: every type, major, recipe, output, tile, cluster, pair, number of
// accumulators and scheduler, drawn at random. A problem is a function of its number. Sixteen numbers in a row share a
// kernel, because compiling is most of the time.
#pragma once

#include <cstdint>

#include "k_cuts.hpp"
#include "warpwright/config/faults.hpp"
#include "warpwright/config/resolve.hpp"

namespace ww::testing {

inline constexpr std::uint64_t kFirstBlackwellProblem = 8'000'000;
inline constexpr int kBlackwellSms = 48;  // three clusters of sixteen
inline constexpr std::uint64_t kProblemsOfKernel = 16;

/// Returns a config that is drawn without regard to faults.
inline GemmConfig drawn_blackwell_config(std::mt19937_64& rng) {
  const auto pick = [&](std::uint64_t count) { return static_cast<int>(rng() % count); };
  constexpr std::pair<DType, DType> kTypes[] = {{e4m3, e4m3}, {bf16, bf16}, {f16, f16}, {tf32, tf32}, {e4m3, e5m2}};
  constexpr Scale kScales[] = {Scale::none, Scale::tensor, Scale::row_column, Scale::block_1x128_128x128,
                               Scale::block_1x128_1x128};
  constexpr int kClusters[][2] = {{1, 1}, {2, 1}, {1, 2}, {2, 2}, {4, 1}, {1, 4}, {4, 2}, {2, 4}, {4, 4}};
  constexpr TileScheduler kOrders[] = {TileScheduler::fixed,    TileScheduler::single,  TileScheduler::dynamic,
                                       TileScheduler::stream_k, TileScheduler::split_k, TileScheduler::clc};
  GemmConfig c{.arch = Arch::sm100};
  std::tie(c.operands.a, c.operands.b) = kTypes[pick(5)];
  c.operands.d = DType(1 + pick(3));
  c.operands.scale = kScales[pick(is_fp8(c.operands.a) ? 5 : 3)];
  c.operands.layout = {Major(pick(2)), Major(pick(2))};
  if (pick(4) == 0) c.operands.d_layout = OutputLayout::column;
  c.tile = {pick(3) == 0 ? 64 : 128, pick(2) == 0 ? 64 << pick(3) : 8 * (1 + pick(32))};
  const auto& cluster = kClusters[pick(9)];
  c.cluster = {cluster[0], cluster[1]};
  c.raster.width = 64;  // one band holds all rows, as cut_of() assumes
  c.sm100 = {c.cluster.m % 2 == 0 && pick(3) != 0, pick(5)};
  c.sm90.stages = pick(3) == 0 ? 2 + pick(2) : 0;
  c.sm90.tile_scheduler = kOrders[pick(6)];
  if (c.sm90.tile_scheduler == TileScheduler::split_k) {
    constexpr int kSplits[][2] = {{3, 1}, {2, 2}, {4, 2}, {4, 4}, {8, 8}};
    const auto& split = kSplits[pick(5)];
    c.sm90.split = split[0], c.cluster.k = split[1];
  }
  if (pick(5) == 0) c.sm90.swap_ab = SwapAb::on;
  c.operands.batched = pick(4) == 0 && c.sm90.tile_scheduler != TileScheduler::stream_k;  // cut_of() knows one matrix
  return c;
}

/// Returns the config of the kernel that problem `i` runs.
inline GemmConfig blackwell_config(std::uint64_t i) {
  std::mt19937_64 rng(i / kProblemsOfKernel * 0x9e3779b97f4a7c15ull + 13);
  for (;;) {
    const GemmConfig c = drawn_blackwell_config(rng);
    if (!config::fault_of(config::resolve(c))) return c;
  }
}

/// Returns the types, recipe and layouts that a config is for, without extents.
inline GemmProblem problem_of(const GemmConfig& c) {
  GemmProblem p;
  p.a = c.operands.a, p.b = c.operands.b, p.d = c.operands.d, p.scale = c.operands.scale;
  p.a_major = c.operands.layout.a, p.b_major = c.operands.layout.b, p.d_layout = c.operands.d_layout;
  return p;
}

inline HostProblem blackwell_problem(std::uint64_t i) {
  const GemmConfig c = blackwell_config(i);
  std::mt19937_64 rng(i * 0x9e3779b97f4a7c15ull + 17);
  const auto pick = [&](std::uint64_t count) { return static_cast<std::int64_t>(rng() % count); };
  GemmProblem p = problem_of(c);
  const bool a_mn = p.a_major == Major::mn, b_mn = p.b_major == Major::mn,
             by_column = p.d_layout == OutputLayout::column;
  const std::int64_t step = 16 / bytes_of(p.a), columns = 16 / bytes_of(p.d);
  p.m = pick(8) == 0 ? 1 : 1 + pick(pick(3) == 0 ? 520 : 200);
  if (a_mn || by_column) p.m = round_up(p.m, max(a_mn ? step : 1, by_column ? columns : 1));
  p.n = round_up<std::int64_t>(8 * (1 + pick(60)), b_mn ? max<std::int64_t>(8, step) : 8);
  p.k = a_mn && b_mn ? 1 + pick(60 * step) : step * (1 + pick(60));
  if (pick(13) == 0) p.k = 0;
  p.lda = (a_mn ? p.m : p.k) + (pick(3) == 0 ? step * (1 + pick(4)) : 0);
  p.ldb = (b_mn ? p.n : p.k) + (pick(3) == 0 ? step * (1 + pick(4)) : 0);
  p.ldd = (by_column ? p.m : p.n) + (pick(3) == 0 ? columns * (1 + pick(4)) : 0);
  if (c.operands.batched) {
    p.batch = 2 + pick(2);
    p.batch_a = (a_mn ? p.k : p.m) * p.lda + step * pick(2);
    if (pick(2) == 0) p.batch_b = (b_mn ? p.k : p.n) * p.ldb;
    p.batch_d = (by_column ? p.n : p.m) * p.ldd + columns * pick(3);
    if (p.scale != Scale::none && pick(2) == 0) p.batch_scale_a = 521 * 64, p.batch_scale_b = 521 * 64;
  }
  if (is_block(p.scale) && pick(2) == 0) p.scale_a_row = 1, p.scale_a_k = p.m + pick(5);
  if (is_block(p.scale) && pick(2) == 0) p.scale_b_n = 1, p.scale_b_k = p.n + pick(5);
  return make_problem(p, c, i);
}

}  // namespace ww::testing
