// SPDX-License-Identifier: Apache-2.0
// Numbered products of groups of rows and of K on Blackwell, with scales of mx and nv: every type of 4, 6 and 8 bits,
// tile, cluster, pair, number of accumulators, encoding and variant; groups of rows also with SwiGLU of halves, and
// with any end of K. Ten numbers in a row share a kernel, because compiling is most of the time. Their references are
// those of random_grouped.hpp and random_k_grouped.hpp. Scales in no group, and those that pad a group to 128 rows, are
// NaN: reads of another group's scales show.
#pragma once

#include <cstdint>

#include "random_k_grouped.hpp"
#include "warpwright/config/faults.hpp"

namespace ww::testing {

inline constexpr std::uint64_t kFirstScaledGrouped = 5'950'000;  // groups of rows; grouped_parity has others after it
inline constexpr std::uint64_t kFirstScaledKGrouped = 3'000'000;
inline constexpr std::uint64_t kScaledOfKernel = 10;

/// Draws the major of B. An N-major one takes 128 columns for each CTA that shares it.
inline void draw_major_of_b(std::mt19937_64& rng, GemmConfig& c) {
  if (is_packed(c.operands.b) || rng() % 4 == 0) return;
  c.operands.layout.b = Major::mn;
  c.tile.n = rng() % 4 == 0 ? 128 : 256;
}

/// Returns types, recipe, tile and cluster for groups, drawn without regard to faults.
inline GemmConfig drawn_scaled_config(std::mt19937_64& rng) {
  const auto pick = [&](std::uint64_t count) { return static_cast<int>(rng() % count); };
  constexpr DType kTypes[] = {e2m1, e3m2, e2m3, e4m3, e5m2};
  GemmConfig c{.arch = Arch::sm100};
  c.operands.scale = pick(3) == 0 ? Scale::nv : Scale::mx;
  const bool nibbles = c.operands.scale == Scale::nv || pick(4) == 0;
  c.operands.a = nibbles ? e2m1 : kTypes[pick(5)], c.operands.b = nibbles ? e2m1 : kTypes[pick(5)];
  c.operands.d = DType(1 + pick(3));
  c.tile = {128, 32 * (1 + pick(8))};
  c.raster.width = 1 + pick(4);
  c.sm90.stages = pick(3) == 0 ? 2 + pick(2) : 0;
  c.sm100.accumulators = pick(3);
  return c;
}

/// Returns the operands of a config, without extents.
inline GemmProblem operands_of(const GemmConfig& c) {
  return {.a = c.operands.a, .b = c.operands.b, .scale = c.operands.scale};
}

/// Removes from a config what the problem says instead.
inline GemmConfig without_operands(GemmConfig c) {
  c.operands = {}, c.epilogue = {};
  return c;
}

// --- groups of rows -----------------------------------------------------------------------------------------------

/// Returns a config for groups of rows with its operands. `change` alters what is drawn before it is judged.
template <class Change>
GemmConfig scaled_grouped_config(std::mt19937_64 rng, GroupEncoding encoding, const Change& change) {
  for (;;) {
    GemmConfig c = drawn_scaled_config(rng);
    change(rng, c);
    c.cluster = {1 + static_cast<int>(rng() % 2), 1};
    c.sm100.pair = c.cluster.m == 2 && rng() % 3 != 0;
    c.row_groups.variant = encoding == GroupEncoding::masked ? GroupedVariant::masked : GroupedVariant::contiguous;
    GemmConfig resolved = c;
    resolved.grouping = Grouping::row_groups, resolved.row_groups.capacity = 128;
    if (config::fault_of_grouped(config::resolve_grouped(resolved))) continue;
    if (rng() % 3 != 0) return c;
    resolved.sm90.tile_scheduler = TileScheduler::clc;
    if (!config::fault_of_grouped(config::resolve_grouped(resolved))) c.sm90.tile_scheduler = TileScheduler::clc;
    return c;
  }
}

/// Draws operands and scales of a laid-out problem and sets their strides: groups' scales and matrices of B may lie
/// apart. The rows of the operands are multiples of `step` elements.
inline void fill_scaled_groups(HostGrouped& h, std::mt19937_64& rng, std::int64_t step) {
  GroupedProblem& p = h.problem;
  const auto pick = [&](std::uint64_t count) { return static_cast<std::int64_t>(rng() % count); };
  p.lda = round_up(p.k, step) + (pick(3) == 0 ? step * (1 + pick(3)) : 0);
  p.ldb = round_up(h.columns_of_b(), step) + (pick(3) == 0 ? step * (1 + pick(3)) : 0);
  p.stride_b_group = h.rows_of_b() * p.ldb + (pick(3) == 0 ? step : 0);
  std::vector<std::uint8_t> all;
  fill_matrix(all, rng, p.a, p.total_rows(), p.k, p.lda);
  h.a.assign(all.size(), 0xff);  // NaN outside the groups; types of 4 and 6 bits have none
  for (const auto& [start, count] : h.ranges)
    std::copy_n(all.begin() + bytes_in(p.a, start * p.lda), bytes_in(p.a, count * p.lda),
                h.a.begin() + bytes_in(p.a, start * p.lda));
  fill_matrix(h.b, rng, p.b, h.rows_of_b(), h.columns_of_b(), p.ldb, p.groups, p.stride_b_group);
  const std::int64_t block = chunk_bytes(p.scale, 1, p.k), rows = p.total_rows();
  if (p.k > 0) {
    if (p.encoding == GroupEncoding::masked) p.scale_a_group = chunk_bytes(p.scale, p.rows, p.k) + block * pick(2);
    p.scale_b_group = chunk_bytes(p.scale, p.n, p.k) + block * pick(2);
  }
  // As many blocks of 128 rows as groups of any sizes may need.
  const std::int64_t blocks = (rows + std::min(p.groups, rows) * 127) / 128;
  h.chunks_a.assign(
      static_cast<std::size_t>(p.encoding == GroupEncoding::masked ? p.groups * p.scale_a_group : blocks * block),
      0xff);
  h.chunks_b.assign(static_cast<std::size_t>(p.groups * p.scale_b_group), 0xff);
  for (std::int64_t g = 0; g < p.groups; ++g) {
    draw_scales(h.chunks_a, rng, p.scale, first_chunk_of_a(h, g), h.ranges[static_cast<std::size_t>(g)].second, p.k);
    draw_scales(h.chunks_b, rng, p.scale, g * p.scale_b_group, p.n, p.k);
  }
  if (p.scale == Scale::nv && pick(2) == 0) h.global_scale = 0.3f;
}

/// Returns problem `i` for the kernel of a config with its operands; N is a multiple of `unit`.
inline HostGrouped scaled_grouped(std::uint64_t i, const GemmConfig& c, GroupEncoding encoding, std::int64_t unit) {
  std::mt19937_64 rng(i * 0x9e3779b97f4a7c15ull + 89);
  const auto pick = [&](std::uint64_t count) { return static_cast<std::int64_t>(rng() % count); };
  HostGrouped h;
  h.number = i;
  GroupedProblem& p = h.problem;
  p.encoding = encoding;
  h.config = without_operands(c);
  p.a = c.operands.a, p.b = c.operands.b, p.d = c.operands.d, p.scale = c.operands.scale;
  p.b_major = c.operands.layout.b;
  if (config::pairs_halves(c)) p.epilogue = c.epilogue;
  if (p.encoding == GroupEncoding::offsets && pick(3) == 0) p.alignment = 1 << pick(8);
  constexpr std::int64_t kGroups[5] = {1, 2, 3, 8, 17};
  p.groups = kGroups[pick(5)];
  p.n = unit * (1 + pick(400 / static_cast<std::uint64_t>(unit)));
  const std::int64_t step = step_of_k(operands_of(c));
  p.k = pick(13) == 0 ? 0 : step * (1 + pick(1 + 900 / static_cast<std::uint64_t>(step)));
  p.zero_outside = pick(4) == 0;
  encode_groups(h, rng, random_counts(rng, p.groups, rng() % 6));
  p.ldd = h.columns_of_d() + (pick(3) == 0 ? std::min<std::int64_t>(unit, 32) * (1 + pick(4)) : 0);
  fill_scaled_groups(h, rng, step_of_rows(operands_of(c)));
  return h;
}

/// Returns the encoding of problem `i`: half of the kernels are for masked groups, and the others meet all encodings
/// that say where groups begin.
inline GroupEncoding scaled_encoding(std::uint64_t i) {
  return i / kScaledOfKernel % 2 == 1 ? GroupEncoding::masked : GroupEncoding(i % 4);
}

/// Returns problem `i`, from kFirstScaledGrouped on.
inline HostGrouped scaled_grouped(std::uint64_t i) {
  const std::mt19937_64 rng(i / kScaledOfKernel * 0x9e3779b97f4a7c15ull + 83);
  const auto with_halves_and_majors = [](std::mt19937_64& draws, GemmConfig& c) {
    c.epilogue = draws() % 3 == 0 ? evt::swiglu_halves(evt::acc) : EpilogueTree();
    draw_major_of_b(draws, c);
  };
  const GemmConfig c = scaled_grouped_config(rng, scaled_encoding(i), with_halves_and_majors);
  return scaled_grouped(i, c, scaled_encoding(i), config::pairs_halves(c) ? config::unit_of_halves(c) : 8);
}

// --- groups of K --------------------------------------------------------------------------------------------------

/// Returns the config of problem `i` with its operands.
inline GemmConfig scaled_k_grouped_config(std::uint64_t i) {
  std::mt19937_64 rng(i / kScaledOfKernel * 0x9e3779b97f4a7c15ull + 97);
  const auto pick = [&](std::uint64_t count) { return static_cast<int>(rng() % count); };
  constexpr int kClusters[][2] = {{1, 1}, {2, 1}, {1, 2}, {2, 2}, {4, 1}, {4, 2}, {4, 4}};
  for (;;) {
    GemmConfig c = drawn_scaled_config(rng);
    if (!is_packed(c.operands.a) && pick(4) != 0) c.operands.layout.a = Major::mn;
    draw_major_of_b(rng, c);
    const auto& cluster = kClusters[pick(7)];
    c.cluster = {cluster[0], c.operands.layout.a == Major::mn ? 1 : cluster[1]};
    if (c.operands.layout.b == Major::mn) c.cluster.m = min(c.cluster.m, c.tile.n / 128);
    c.sm100.pair = c.cluster.m % 2 == 0 && pick(3) != 0;
    c.sm90.tile_scheduler = pick(2) == 0 ? TileScheduler::longest_k : TileScheduler::fixed;
    GemmConfig resolved = c;
    resolved.grouping = Grouping::k_groups, resolved.k_groups.capacity = 128, resolved.operands.batched = true;
    if (config::fault_of_k_grouped(config::resolve_k_grouped(resolved))) continue;
    if (rng() % 3 != 0) return c;
    resolved.sm90.tile_scheduler = TileScheduler::clc;
    if (!config::fault_of_k_grouped(config::resolve_k_grouped(resolved))) c.sm90.tile_scheduler = TileScheduler::clc;
    return c;
  }
}

/// Returns problem `i`, from kFirstScaledKGrouped on.
inline HostKGrouped scaled_k_grouped(std::uint64_t i) {
  std::mt19937_64 rng(i * 0x9e3779b97f4a7c15ull + 101);
  const auto pick = [&](std::uint64_t count) { return static_cast<std::int64_t>(rng() % count); };
  const GemmConfig c = scaled_k_grouped_config(i);
  HostKGrouped h;
  h.number = i;
  h.config = without_operands(c);
  KGroupedProblem& p = h.problem;
  p.a = c.operands.a, p.b = c.operands.b, p.d = c.operands.d, p.scale = c.operands.scale;
  p.a_major = c.operands.layout.a, p.b_major = c.operands.layout.b;
  p.accumulate = i / kScaledOfKernel % 2 == 1;  // the kernel's epilogue
  p.encoding = GroupEncoding(pick(5));
  p.m = 1 + pick(300), p.n = 8 * (1 + pick(40));
  constexpr std::int64_t kGroups[5] = {1, 2, 3, 5, 8};
  std::vector<std::int64_t> counts = random_counts(rng, kGroups[pick(5)], rng() % 6);
  const std::int64_t granule = p.a == e2m1 && p.b == e2m1 ? 256 : 128;  // a stage's K, at which groups begin
  for (auto& count : counts) count %= granule == 256 ? 3 : 5;
  if (p.encoding == GroupEncoding::offsets && pick(3) == 0) p.alignment = 1 << pick(2);
  encode_k_groups(h, rng, counts, granule);
  const std::int64_t step = step_of_rows(operands_of(c));
  p.lda = round_up(p.a_major == Major::mn ? p.m : p.total_k(), step) + (pick(3) == 0 ? step * (1 + pick(3)) : 0);
  p.ldb = round_up(p.b_major == Major::mn ? p.n : p.total_k(), step) + (pick(3) == 0 ? step * (1 + pick(3)) : 0);
  p.ldd = p.n + (pick(3) == 0 ? 8 * (1 + pick(4)) : 0);
  p.stride_d_group = p.m * p.ldd + (pick(3) == 0 ? 8 * pick(9) : 0);
  h.in_place = pick(3) != 0;
  fill_k_grouped(h, rng);
  h.chunks_a.assign(static_cast<std::size_t>(chunk_bytes(p.scale, p.m, p.total_k())), 0xff);
  h.chunks_b.assign(static_cast<std::size_t>(chunk_bytes(p.scale, p.n, p.total_k())), 0xff);
  for (const auto& [first, count] : h.ranges) {
    draw_scales(h.chunks_a, rng, p.scale, chunk_bytes(p.scale, p.m, first), p.m, count);
    draw_scales(h.chunks_b, rng, p.scale, chunk_bytes(p.scale, p.n, first), p.n, count);
  }
  if (p.scale == Scale::nv && pick(2) == 0) h.global_scale = 0.3f;
  return h;
}

}  // namespace ww::testing
