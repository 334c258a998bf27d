// SPDX-License-Identifier: Apache-2.0
// Random grouped problems and their exact answer: every encoding, variant, recipe and type, groups of every kind.
// The reference of a group is the dense reference of its rows (random_problem.hpp); rows outside keep a pattern, or are
// zero on request. Rows of A outside every group hold NaN, which must not reach a row of D of any group.
#pragma once

#include <cstdint>

#include "k_cuts.hpp"
#include "random_problem.hpp"
#include "warpwright/config/group_encoding.hpp"
#include "warpwright/config/resolve.hpp"
#include "warpwright/epilogue/functions.hpp"
#include "warpwright/host/grouped.hpp"

namespace ww::testing {

struct HostGrouped {
  GroupedProblem problem;  // strides filled in
  GemmConfig config;       // as requested
  Pdl pdl = Pdl::automatic;
  std::uint64_t number = 0;
  std::vector<std::int32_t> sizes, sizes2;                    // as the encoding wants them
  std::vector<std::pair<std::int64_t, std::int64_t>> ranges;  // {start, count} of every group
  std::vector<std::uint8_t> a, b;
  std::vector<float> scale_a, scale_b;
  std::vector<std::uint8_t> chunks_a = {}, chunks_b = {};  // mx, nv: scales as kernels read them
  std::optional<float> global_scale = {};                  // nv

  /// The rows of B of one group as stored, N or K of them, and what each has.
  std::int64_t rows_of_b() const { return problem.b_major == Major::k ? problem.n : problem.k; }
  std::int64_t columns_of_b() const { return problem.b_major == Major::k ? problem.k : problem.n; }
  std::int64_t columns_of_d() const { return config::output_columns(problem.epilogue, problem.n); }

  std::string replay() const {
    std::string counts;
    for (std::size_t g = 0; g < ranges.size() && g < 12; ++g) counts += fmt::format(" {}", ranges[g].second);
    return fmt::format(
        "grouped problem {}: G={} rows={} n={} k={} lda={} ldb={} ldd={} {} a={} b={} d={} scale={} {}{} counts{}{} "
        "config {}",
        number, problem.groups, problem.rows, problem.n, problem.k, problem.lda, problem.ldb, problem.ldd,
        problem.b_major == Major::k ? "nt" : "nn", name_of(problem.a), name_of(problem.b), name_of(problem.d),
        name_of(problem.scale), name_of(problem.encoding),
        problem.epilogue.empty() ? "" : " epilogue " + to_text(problem.epilogue), counts,
        ranges.size() > 12 ? " ..." : "", to_text(config));
  }
};

inline constexpr std::uint8_t kUntouched = 0xa5;

/// The types of grouped kernels. Their order stays, because problems are numbered by it, and hashes of them are kept.
struct GroupedTypes {
  DType a;
  Scale scale;
  DType d;
};
inline constexpr GroupedTypes kGroupedTypes[11] = {{e4m3, Scale::block_1x128_128x128, bf16},
                                                   {e4m3, Scale::row_column, bf16},
                                                   {bf16, Scale::none, bf16},
                                                   {e4m3, Scale::tensor, f16},
                                                   {e4m3, Scale::block_1x128_128x128, f32},
                                                   {f16, Scale::none, f16},
                                                   {bf16, Scale::tensor, f32},
                                                   {e4m3, Scale::none, bf16},
                                                   {f16, Scale::row_column, f32},
                                                   {e4m3, Scale::row_column, f32},
                                                   {bf16, Scale::none, f32}};

inline void set_types(HostGrouped& h, const GroupedTypes& types) {
  h.problem.a = h.problem.b = types.a, h.problem.scale = types.scale, h.problem.d = types.d;
}

/// Returns how many rows each of `groups` groups has; `kind` selects the distribution.
inline std::vector<std::int64_t> random_counts(std::mt19937_64& rng, std::int64_t groups, std::uint64_t kind) {
  std::vector<std::int64_t> counts(static_cast<std::size_t>(groups), 0);
  const auto pick = [&](std::uint64_t most) { return static_cast<std::int64_t>(rng() % (most + 1)); };
  if (kind == 0) counts[rng() % counts.size()] = 1 + pick(400);  // one-hot
  for (auto& count : counts) {
    if (kind == 1) count = 1;
    if (kind == 2) count = pick(2) == 0 ? 0 : pick(40);
    if (kind == 3) count = pick(160);
    if (kind == 4) count = pick(5) == 0 ? 100 + pick(300) : pick(12);
  }
  return counts;  // kind 5: all empty
}

/// Writes the encoding's arrays from the rows of the groups.
inline void write_sizes(HostGrouped& h) {
  const GroupedProblem& p = h.problem;
  const auto push = [](std::vector<std::int32_t>& to, std::int64_t value) {
    to.push_back(static_cast<std::int32_t>(value));
  };
  h.sizes.clear(), h.sizes2.clear();
  if (p.encoding == GroupEncoding::indptr) push(h.sizes, h.ranges.empty() ? 0 : h.ranges[0].first);
  if (p.encoding == GroupEncoding::row_ids) h.sizes.assign(static_cast<std::size_t>(p.rows), -1);
  for (std::size_t g = 0; g < h.ranges.size(); ++g) {
    const auto [start, count] = h.ranges[g];
    switch (p.encoding) {
      case GroupEncoding::offsets:
      case GroupEncoding::indptr: push(h.sizes, start + count); break;
      case GroupEncoding::starts_counts: push(h.sizes, start), push(h.sizes2, count); break;
      case GroupEncoding::masked: push(h.sizes, count); break;
      case GroupEncoding::row_ids: std::fill_n(h.sizes.begin() + start, count, static_cast<std::int32_t>(g)); break;
    }
  }
}

/// Lays the groups out in rows and writes the encoding's arrays.
inline void encode_groups(HostGrouped& h, std::mt19937_64& rng, const std::vector<std::int64_t>& counts) {
  GroupedProblem& p = h.problem;
  std::int64_t row = 0;
  const bool gaps = p.encoding == GroupEncoding::starts_counts || p.encoding == GroupEncoding::row_ids;
  if (p.encoding == GroupEncoding::masked) {
    p.rows = *std::max_element(counts.begin(), counts.end()) + static_cast<std::int64_t>(rng() % 5);
  }
  if (p.encoding == GroupEncoding::indptr) row = static_cast<std::int64_t>(rng() % 7);
  std::vector<std::size_t> order(counts.size());
  for (std::size_t g = 0; g < order.size(); ++g) order[g] = g;
  if (p.encoding == GroupEncoding::row_ids)  // ids say which group a row is of: groups may come in any order
    for (std::size_t g = order.size(); g > 1; --g) std::swap(order[g - 1], order[rng() % g]);
  h.ranges.resize(counts.size());
  for (std::size_t g : order) {
    if (p.encoding == GroupEncoding::masked) row = static_cast<std::int64_t>(g) * p.rows;
    if (gaps && rng() % 3 == 0) row += static_cast<std::int64_t>(rng() % 9);
    if (p.encoding == GroupEncoding::offsets) row = round_up(row, p.alignment);
    h.ranges[g] = {row, counts[g]};
    row += counts[g];
  }
  if (p.encoding != GroupEncoding::masked) p.rows = row + static_cast<std::int64_t>(rng() % 4);
  write_sizes(h);
}

/// Draws operands and scales of a laid-out problem, with NaN outside groups, and sets the strides of scales.
inline void fill_grouped(HostGrouped& h, std::mt19937_64& rng) {
  GroupedProblem& p = h.problem;
  const auto pick = [&](std::uint64_t count) { return static_cast<std::int64_t>(rng() % count); };
  const std::int64_t rows = p.total_rows();
  std::vector<std::uint8_t> all;
  fill_matrix(all, rng, p.a, rows, p.k, p.lda);
  h.a.assign(all.size(), 0xff);  // NaN outside the groups
  const std::int64_t row_bytes = p.lda * bytes_of(p.a);
  for (const auto& [start, count] : h.ranges)
    std::copy_n(all.begin() + start * row_bytes, count * row_bytes, h.a.begin() + start * row_bytes);
  h.b.assign(static_cast<std::size_t>(p.groups * p.stride_b_group) * bytes_of(p.b), 0xff);
  for (std::int64_t g = 0; g < p.groups; ++g) {
    std::vector<std::uint8_t> one;
    fill_matrix(one, rng, p.b, h.rows_of_b(), h.columns_of_b(), p.ldb);
    std::copy(one.begin(), one.end(), h.b.begin() + g * p.stride_b_group * bytes_of(p.b));
  }
  const auto scales = [&](std::int64_t count) {
    std::vector<float> values(static_cast<std::size_t>(count));
    for (float& v : values) v = 0.25f + static_cast<float>(rng() % 4096) / 1024.0f;
    return values;
  };
  const std::int64_t blocks = ceil_div(p.k, 128), blocks_n = ceil_div(p.n, 128);
  if (p.scale == Scale::tensor) {
    p.scale_b_group = pick(2);  // one scale, or one for each group
    h.scale_a = scales(1), h.scale_b = scales(p.scale_b_group == 0 ? 1 : p.groups);
  } else if (p.scale == Scale::row_column) {
    p.scale_a_row = 1, p.scale_b_n = 1, p.scale_b_group = p.n;
    h.scale_a = scales(rows), h.scale_b = scales(p.groups * p.n);
  } else if (p.scale == Scale::block_1x128_128x128) {
    const bool k_major = pick(2) == 0;
    p.scale_a_row = k_major ? max<std::int64_t>(blocks, 1) : 1, p.scale_a_k = k_major ? 1 : max<std::int64_t>(rows, 1);
    p.scale_b_n = max<std::int64_t>(blocks, 1), p.scale_b_k = 1, p.scale_b_group = blocks_n * blocks;
    h.scale_a = scales(rows * blocks), h.scale_b = scales(p.groups * blocks_n * blocks);
  }
}

/// Common problems share two configs for each recipe, others roam over widths, weight tiles and orders.
inline GemmConfig descriptors_config(std::uint64_t i, bool common) {
  const bool wide = i / 30 % 6 == 5, vertical = common ? wide : i / 2 % 2 == 0;
  return {.tile = {common ? (wide ? 64 : 16) : 8 * (1 + static_cast<int>(i / 2 % 8)),
                   !common && i / 2 % 3 == 0 ? 256 : 128},
          .sm90 = {.tile_scheduler = vertical ? TileScheduler::vertical : TileScheduler::horizontal},
          .row_groups = {.variant = GroupedVariant::descriptors}};
}

inline constexpr std::uint64_t kFirstSplitGrouped = 5'000'000;

/// Returns a config that splits K across a cluster: every number of splits, rounds of every kind, one consumer
/// warpgroup and two.
inline GemmConfig split_config(std::uint64_t i) {
  struct Split {
    int tile_m, tile_n, splits;
  };
  constexpr Split kSplits[] = {{64, 128, 2}, {64, 256, 4}, {128, 256, 8}, {64, 64, 4}, {128, 128, 2}};
  const Split& s = kSplits[i % 5];
  return {.tile = {s.tile_m, s.tile_n},
          .sm90 = {.tile_scheduler = TileScheduler::split_k, .split = s.splits},
          .row_groups = {.variant = GroupedVariant::ragged}};
}

inline constexpr std::uint64_t kFirstOccupancyGrouped = 5'500'000;

/// Returns a config of narrow tiles at an occupancy of one or several CTAs per SM, also for groups of more rows than
/// the tiles.
inline GemmConfig occupancy_config(std::uint64_t i) {
  const TileScheduler order = i % 4 == 1 ? TileScheduler::dynamic : TileScheduler::fixed;
  if (i % 5 == 4)
    return {.tile = {32, 256},
            .sm90 = {.consumer_warpgroups = 2, .tile_scheduler = order},
            .row_groups = {.variant = GroupedVariant::ragged}};
  const bool wide = i % 3 == 0;
  return {.tile = {.n = wide ? 128 : 64},
          .sm90 = {.tile_scheduler = order, .occupancy = wide || i % 2 == 0 ? 2 : 3},
          .row_groups = {.variant = GroupedVariant::ragged}};
}

inline constexpr std::uint64_t kFirstWideGrouped = 5'600'000;

/// Returns a config with block scales whose tiles pass from one scale of B to the next: at 64, 32, 16 or 8 columns.
inline GemmConfig wide_config(std::uint64_t i, bool masked) {
  struct Wide {
    int rows, columns, cluster;
  };
  constexpr Wide kWide[] = {{128, 192, 2}, {128, 192, 1}, {192, 96, 1}, {64, 176, 2}, {256, 104, 1}};
  const Wide& wide = kWide[i % 5];
  return {.tile = {wide.rows, wide.columns},
          .cluster = {wide.cluster},
          .row_groups = {.variant = masked ? GroupedVariant::masked : GroupedVariant::contiguous}};
}

inline constexpr std::uint64_t kFirstNMajorGrouped = 5'800'000;

/// The types of an N-major B.
inline constexpr GroupedTypes kNMajorTypes[5] = {{bf16, Scale::none, bf16},
                                                 {f16, Scale::row_column, f16},
                                                 {bf16, Scale::none, f32},
                                                 {f16, Scale::none, f16},
                                                 {bf16, Scale::tensor, bf16}};

/// Returns a config for an N-major B: every variant, with and without a cluster, split K and narrow tiles.
inline GemmConfig n_major_config(std::uint64_t i, bool masked) {
  const int cluster_m = i / 6 % 2 == 0 ? 2 : 1;
  switch (i % 6) {
    case 0:
    case 1:
      return {.tile = {128, i % 6 == 0 ? 128 : 64 * cluster_m},
              .cluster = {cluster_m},
              .row_groups = {.variant = masked ? GroupedVariant::masked : GroupedVariant::contiguous}};
    case 2: return {.tile = {128, 256}, .row_groups = {.variant = GroupedVariant::ragged}};
    case 3: return descriptors_config(i / 6 * 30, true);
    case 4: return split_config(i / 6);
    default: return occupancy_config(i / 6);
  }
}

inline constexpr std::uint64_t kFirstBlackwellGrouped = 5'900'000;

/// Returns a config for Blackwell: rows of tokens in tiles of 64 or 128, with and without a cluster, which may be a
/// pair, in either order. Ten numbers in a row share it.
inline GemmConfig blackwell_grouped_config(std::uint64_t i, const HostGrouped& h) {
  std::mt19937_64 rng(i / 10 * 0x9e3779b97f4a7c15ull + 79);
  const auto pick = [&](std::uint64_t count) { return static_cast<int>(rng() % count); };
  const bool n_major = h.problem.b_major == Major::mn, block = h.problem.scale == Scale::block_1x128_128x128;
  const int m = pick(3) == 0 ? 64 : 128, cluster_m = 1 + pick(2);
  const int drawn = n_major ? 64 << pick(2) : block ? 32 << pick(3) : 16 * (1 + pick(16));
  const int n = h.problem.groups > 1024 ? min(drawn, 128) : drawn;  // beside large tables a wider D leaves no ring
  const int raster = 1 + pick(4), stages = pick(3) == 0 ? 2 : 0, accumulators = pick(3);
  const bool pair = m == 128 && cluster_m == 2 && pick(3) != 0;
  const auto order = pick(3) == 0 ? TileScheduler::clc : TileScheduler::fixed;
  return {.arch = Arch::sm100,
          .tile = {m, n_major ? max(n, 64 * cluster_m)
                      : pair  ? round_up(n, 32)
                              : n},
          .cluster = {cluster_m},
          .raster = {raster},
          .sm90 = {.stages = stages, .tile_scheduler = order},
          .sm100 = {pair, accumulators},
          .row_groups = {.variant = h.problem.encoding == GroupEncoding::masked ? GroupedVariant::masked
                                                                                : GroupedVariant::contiguous}};
}

/// Returns problem number `i`: with split K from kFirstSplitGrouped on, at higher occupancy from kFirstOccupancyGrouped
/// on, with several scales of B in a tile from kFirstWideGrouped on, with an N-major B from kFirstNMajorGrouped on, for
/// Blackwell from kFirstBlackwellGrouped on.
inline HostGrouped numbered_grouped(std::uint64_t i) {
  std::mt19937_64 rng(i * 0x9e3779b97f4a7c15ull + 77);
  const auto pick = [&](std::uint64_t count) { return static_cast<std::int64_t>(rng() % count); };
  HostGrouped h;
  h.number = i;
  GroupedProblem& p = h.problem;
  // Two kinds, because kernels take seconds to compile: even numbers share nine of them, odd ones vary freely.
  const bool common = i % 2 == 0;
  set_types(h, kGroupedTypes[common ? i / 2 % 3 : 3 + i / 2 % 6]);
  const bool blackwell = i >= kFirstBlackwellGrouped, n_major = !blackwell && i >= kFirstNMajorGrouped;
  const bool wide = !blackwell && !n_major && i >= kFirstWideGrouped;
  if (n_major) set_types(h, kNMajorTypes[i / 6 % 5]), p.b_major = Major::mn;
  if (wide) set_types(h, kGroupedTypes[i / 5 % 6 == 5 ? 4 : 0]);
  p.encoding = GroupEncoding(i / 6 % 5);
  if (blackwell) {
    set_types(h, kGroupedTypes[i / 10 % 11]);
    p.encoding = GroupEncoding(i / 10 % 5);
    if (i / 10 % 3 == 0 && bytes_of(p.b) == 2) p.b_major = Major::mn;
  }
  if (p.encoding == GroupEncoding::offsets && pick(3) == 0) p.alignment = 1 << pick(8);
  const std::int64_t step = 16 / bytes_of(p.a), counts_of_groups[6] = {1, 2, 3, 8, 17, 60};
  p.groups = pick(40) == 0 ? 4096 : counts_of_groups[pick(6)];
  p.n = 8 * (1 + pick(50));
  p.k = step * (pick(17) == 0 ? 0 : 1 + pick(50));
  std::uint64_t kind = rng() % 6;
  if (p.groups > 100) p.n = 8 * (1 + pick(3)), p.k = step * (1 + pick(3)), kind = 1 + rng() % 2;
  p.zero_outside = pick(4) == 0;
  std::vector<std::int64_t> counts = random_counts(rng, p.groups, kind);
  if (p.groups > 100)
    for (auto& count : counts) count %= 4;
  encode_groups(h, rng, counts);
  p.lda = p.k + (pick(3) == 0 ? step * (1 + pick(4)) : 0);
  p.ldb = h.columns_of_b() + (pick(3) == 0 ? step * (1 + pick(4)) : 0);
  p.ldd = p.n + (pick(3) == 0 ? 8 * (1 + pick(4)) : 0);
  p.stride_b_group = h.rows_of_b() * p.ldb + (pick(3) == 0 ? step : 0);

  const bool masked = p.encoding == GroupEncoding::masked;
  const GroupedVariant variants[3] = {GroupedVariant::ragged, GroupedVariant::ragged,
                                      masked ? GroupedVariant::masked : GroupedVariant::contiguous};
  h.config.row_groups.variant = variants[i / 30 % 3];
  if (h.config.row_groups.variant == GroupedVariant::ragged) {
    h.config.tile.m = i / 30 % 3 == 0 ? 64 : 128;
    h.config.tile.n = h.config.tile.m == 64 ? 128 : 256;
    h.config.sm90.tile_scheduler = !common && pick(3) == 0 ? TileScheduler::fixed : TileScheduler::dynamic;
  } else {
    h.config.tile.m = h.config.tile.n = 128;
    if (p.scale == Scale::block_1x128_128x128 && p.d != f32 && i / 180 % 2 == 1) h.config.tile.m = 192;
    h.config.cluster.m = !common && pick(3) == 0 ? 1 : 2;
    h.config.raster.width = 1 + static_cast<int>(pick(4));
  }
  // After those, and from the number alone, so that everything else of a problem, and its D, stays unchanged.
  if (i / 30 % 6 == 1 || i / 30 % 6 == 5) h.config = descriptors_config(i, common);
  // Not eight splits or three CTAs with large tables, because tables, slots and a ring do not fit together.
  if (n_major) h.config = n_major_config(p.groups > 1024 ? 0 : i, masked);
  else if (blackwell) h.config = blackwell_grouped_config(i, h);
  else if (wide) h.config = wide_config(p.groups > 1024 ? 2 : i, masked);
  else if (i >= kFirstOccupancyGrouped) h.config = occupancy_config(p.groups > 1024 ? 2 : i);
  else if (i >= kFirstSplitGrouped) h.config = split_config(p.groups > 1024 ? 0 : i);
  fill_grouped(h, rng);
  return h;
}

/// Returns the byte at which the scales of A of group `g` begin, in chunks: groups are padded to 128 rows and follow
/// one another, masked ones at a stride.
inline std::int64_t first_chunk_of_a(const HostGrouped& h, std::int64_t g) {
  const GroupedProblem& p = h.problem;
  if (p.encoding == GroupEncoding::masked) return g * p.scale_a_group;
  std::int64_t bytes = 0;
  for (std::int64_t i = 0; i < g; ++i) bytes += chunk_bytes(p.scale, h.ranges[static_cast<std::size_t>(i)].second, p.k);
  return bytes;
}

/// Returns group `g` as a dense problem of its own with copies of its operands and scales; its D is packed.
inline HostProblem problem_of_group(const HostGrouped& h, std::int64_t g) {
  const GroupedProblem& p = h.problem;
  const auto [start, count] = h.ranges[static_cast<std::size_t>(g)];
  const std::int64_t blocks = ceil_div(p.k, 128);
  HostProblem one{{.m = count,
                   .n = p.n,
                   .k = p.k,
                   .a = p.a,
                   .b = p.b,
                   .d = p.d,
                   .scale = p.scale,
                   .lda = p.lda,
                   .ldb = p.ldb,
                   .ldd = p.n},
                  {.arch = h.config.arch},
                  h.number,
                  {},
                  {},
                  {},
                  {}};
  const std::int64_t row_a = bytes_in(p.a, p.lda), group_b = bytes_in(p.b, p.stride_b_group);
  one.a.assign(h.a.begin() + start * row_a, h.a.begin() + (start + count) * row_a);
  one.b.assign(h.b.begin() + g * group_b, h.b.begin() + g * group_b + bytes_in(p.b, h.rows_of_b() * p.ldb));
  one.problem.b_major = p.b_major;
  if (p.scale == Scale::tensor) {
    one.scale_a = {h.scale_a[static_cast<std::size_t>(g * p.scale_a_group)]};
    one.scale_b = {h.scale_b[static_cast<std::size_t>(g * p.scale_b_group)]};
  } else if (p.scale == Scale::row_column) {
    one.scale_a.assign(h.scale_a.begin() + start, h.scale_a.begin() + start + count);
    one.scale_b.assign(h.scale_b.begin() + g * p.n, h.scale_b.begin() + (g + 1) * p.n);
  } else if (p.scale == Scale::block_1x128_128x128) {
    for (std::int64_t r = 0; r < count; ++r)
      for (std::int64_t kb = 0; kb < blocks; ++kb)
        one.scale_a.push_back(h.scale_a[static_cast<std::size_t>((start + r) * p.scale_a_row + kb * p.scale_a_k)]);
    one.scale_b.assign(h.scale_b.begin() + g * p.scale_b_group, h.scale_b.begin() + (g + 1) * p.scale_b_group);
  } else if (is_microscaled(p.scale)) {
    const auto part = [](const std::vector<std::uint8_t>& all, std::int64_t first, std::int64_t bytes) {
      return std::vector<std::uint8_t>(all.begin() + first, all.begin() + first + bytes);
    };
    one.chunks_a = part(h.chunks_a, first_chunk_of_a(h, g), chunk_bytes(p.scale, count, p.k));
    one.chunks_b = part(h.chunks_b, g * p.scale_b_group, chunk_bytes(p.scale, p.n, p.k));
    one.global_scale = h.global_scale;
  }
  return one;
}

/// Returns how the K of every tile is split and summed.
inline KCut cut_of(const HostGrouped& h) {
  if (h.config.sm90.tile_scheduler != TileScheduler::split_k || h.problem.k == 0) return {};
  GemmConfig config = h.config;
  config.operands.a = h.problem.a;
  config = config::resolve_grouped(config);
  return split_cut(config, ceil_div(h.problem.k, config.tile.k));
}

/// Returns (M, N / 2) outputs of type `d`: SwiGLU of the halves of packed rows of `n` FP32 values.
inline std::vector<std::uint8_t> swiglu_of_halves(const std::vector<std::uint8_t>& rows, std::int64_t n, DType d) {
  const auto value = [&](std::size_t at) {
    float x = 0;
    std::memcpy(&x, &rows[4 * at], 4);
    return x;
  };
  const std::size_t half = static_cast<std::size_t>(n) / 2, size = static_cast<std::size_t>(bytes_of(d));
  std::vector<std::uint8_t> made(rows.size() / 8 * size);
  for (std::size_t i = 0; i < rows.size() / 8; ++i) {
    const std::size_t gate = i / half * 2 * half + i % half;
    const float y = epilogue::functions::silu(value(gate)) * value(gate + half);
    const std::uint32_t bits = d == f32 ? arch::bits_of(y) : d == bf16 ? arch::to_bf16(y) : arch::to_f16(y);
    std::memcpy(&made[i * size], &bits, size);
  }
  return made;
}

/// Returns all of D as the launch should leave it, padding between rows included. The epilogue is none or SwiGLU of
/// halves.
inline std::vector<std::uint8_t> reference(const HostGrouped& h) {
  const GroupedProblem& p = h.problem;
  const int size = bytes_of(p.d);
  const std::int64_t columns = h.columns_of_d();
  std::vector<std::uint8_t> d(static_cast<std::size_t>(p.total_rows() * p.ldd) * size, kUntouched);
  if (p.zero_outside)
    for (std::int64_t r = 0; r < p.total_rows(); ++r) std::fill_n(d.begin() + r * p.ldd * size, columns * size, 0);
  for (std::int64_t g = 0; g < p.groups; ++g) {
    const auto [start, count] = h.ranges[static_cast<std::size_t>(g)];
    if (count == 0) continue;
    HostProblem one = problem_of_group(h, g);
    if (!p.epilogue.empty()) one.problem.d = f32;
    std::vector<std::uint8_t> rows = reference(one, emu::MmaMath::exact, cut_of(h));
    if (!p.epilogue.empty()) rows = swiglu_of_halves(rows, p.n, p.d);
    for (std::int64_t r = 0; r < count; ++r)
      std::copy_n(rows.begin() + r * columns * size, columns * size, d.begin() + (start + r) * p.ldd * size);
  }
  return d;
}

/// Runs the problem by `made`, which was planned for one of its shape, `times` times in its own memory with one
/// workspace; returns all of D. A status other than 0 fails.
inline Result<std::vector<std::uint8_t>> run_plan(const Device& device, const GroupedPlan& made, const HostGrouped& h,
                                                  std::vector<TileWidth>* widths = nullptr, int times = 1) {
  const GroupedProblem& p = h.problem;
  const auto upload = [&](const void* data, std::size_t bytes) -> Result<Buffer> {
    WW_TRY(Buffer buffer, device.allocate(std::max<std::size_t>(bytes, 256)));
    WW_CHECK(device.upload(buffer.data(), data, bytes));
    return buffer;
  };
  std::vector<std::uint8_t> d(static_cast<std::size_t>(p.total_rows() * p.ldd) * bytes_of(p.d), kUntouched);
  const std::vector<std::uint8_t> zeros(std::max<std::size_t>(made.workspace_bytes(), 256), 0);
  WW_TRY(const Buffer a, upload(h.a.data(), h.a.size()));
  WW_TRY(const Buffer b, upload(h.b.data(), h.b.size()));
  const auto upload_all = [&](std::span<const std::byte> bytes) { return upload(bytes.data(), bytes.size()); };
  WW_TRY(const Buffer sa, upload_all(bytes_of_scales(h.scale_a, h.chunks_a)));
  WW_TRY(const Buffer sb, upload_all(bytes_of_scales(h.scale_b, h.chunks_b)));
  WW_TRY(const Buffer global, upload(h.global_scale ? &*h.global_scale : nullptr, h.global_scale ? 4 : 0));
  WW_TRY(const Buffer sizes, upload(h.sizes.data(), h.sizes.size() * 4));
  WW_TRY(const Buffer sizes2, upload(h.sizes2.data(), h.sizes2.size() * 4));
  WW_TRY(const Buffer status, upload(zeros.data(), 4));
  WW_TRY(const Buffer workspace, upload(zeros.data(), zeros.size()));
  WW_TRY(const Buffer out, upload(d.data(), d.size()));
  for (int i = 0; i < times; ++i) {
    // D of the preceding run would hide tiles that this one skips.
    WW_CHECK(device.upload(out.data(), d.data(), d.size()));
    WW_CHECK(made.run({.a = a.data(),
                       .b = b.data(),
                       .d = out.data(),
                       .scale_a = sa.data(),
                       .scale_b = sb.data(),
                       .global_scale = h.global_scale ? static_cast<const float*>(global.data()) : nullptr,
                       .sizes = static_cast<const std::int32_t*>(sizes.data()),
                       .sizes2 = static_cast<const std::int32_t*>(sizes2.data()),
                       .status = static_cast<std::uint32_t*>(status.data()),
                       .workspace = workspace.data(),
                       .workspace_bytes = zeros.size()}));
    WW_CHECK(device.synchronize());
  }
  std::uint32_t complaint = 0;
  WW_CHECK(device.download(&complaint, status.data(), 4));
  if (complaint != 0) return failure(ErrorCode::wrong_result, "status", "0", fmt::format("{}", complaint));
  if (widths) {
    WW_TRY(*widths, made.widths(workspace.data()));
  }
  WW_CHECK(device.download(d.data(), out.data(), d.size()));
  return d;
}

/// The same by a plan of its own.
inline Result<std::vector<std::uint8_t>> run_on(const Device& device, const HostGrouped& h,
                                                std::vector<TileWidth>* widths = nullptr, int times = 1) {
  WW_TRY(const GroupedPlan made, plan_grouped(device, h.problem, {.config = h.config, .pdl = h.pdl}));
  return run_plan(device, made, h, widths, times);
}

/// "" when equal, else the first wrong byte as (row, column) of D, and how many bytes differ.
inline std::string difference(const HostGrouped& h, const std::vector<std::uint8_t>& got,
                              const std::vector<std::uint8_t>& want) {
  if (got.size() != want.size()) return "sizes differ";
  std::size_t count = 0, first = 0;
  for (std::size_t i = 0; i < got.size(); ++i)
    if (got[i] != want[i] && count++ == 0) first = i;
  if (count == 0) return "";
  const auto element = first / bytes_of(h.problem.d), ldd = static_cast<std::size_t>(h.problem.ldd);
  return fmt::format("{} bytes differ, first at ({}, {}): got {:#04x}, expected {:#04x}; {}", count, element / ldd,
                     element % ldd, got[first], want[first], h.replay());
}

}  // namespace ww::testing
