// SPDX-License-Identifier: Apache-2.0
// Smaller versions of a target. Sizes stay what the operation allows, and no smaller than one tile, because below that
// a problem costs as much as a tile.
#include <algorithm>

#include "check/groups.hpp"
#include "check/shrink.hpp"
#include "warpwright/config/epilogue_stages.hpp"
#include "warpwright/config/swap_ab.hpp"

namespace ww::campaign {
namespace {

constexpr std::int64_t kStep = 16;  // sizes are multiples of 16 bytes of the narrowest type

std::int64_t round_up(std::int64_t value, std::int64_t step) { return (value + step - 1) / step * step; }

/// Half of `size` in steps of `step`; false when that is not smaller.
bool halve_size(std::int64_t& size, std::int64_t least, std::int64_t step) {
  if (size <= least) return false;
  const std::int64_t half = std::max(least, round_up(size / 2, step));
  if (half >= size) return false;
  size = half;
  return true;
}

/// Strides of a batch that are not 0, which shares one matrix, become those of packed matrices.
void pack_batch(GemmProblem& p) {
  const std::int64_t blocks = (p.k + 127) / 128;
  const bool block = is_block(p.scale), vector = p.scale == Scale::row_column;
  const auto pack = [](std::int64_t& stride, std::int64_t elements) {
    if (stride != 0) stride = elements;
  };
  pack(p.batch_a, (p.a_major == Major::k ? p.m : p.k) * p.lda);
  pack(p.batch_b, (p.b_major == Major::k ? p.n : p.k) * p.ldb);
  pack(p.batch_d, p.m * config::output_columns(p.epilogue, p.n));
  pack(p.batch_scale_a, block ? p.m * blocks : vector ? p.m : 1);
  pack(p.batch_scale_b, block    ? (p.n + columns_of_scale(p.scale) - 1) / columns_of_scale(p.scale) * blocks
                        : vector ? p.n
                                 : 1);
}

std::optional<CheckTarget> smaller(const GemmCheck& check, int axis) {
  GemmCheck half = check;
  GemmProblem& p = half.problem;
  const GemmConfig& c = check.options.config;
  std::int64_t& size = axis == 0 ? p.m : axis == 1 ? p.n : p.k;
  const std::int64_t least = axis == 2 ? c.tile.k : (axis == 0) != config::swaps(c) ? c.tile.m : c.tile.n;
  const bool any = axis == 0 && p.a_major == Major::k && p.d_layout == OutputLayout::row;
  if (!halve_size(size, least, any ? 1 : kStep)) return std::nullopt;
  const std::int64_t row = 16 / bytes_of(p.a);
  p.lda = round_up(p.a_major == Major::k ? p.k : p.m, row);
  p.ldb = round_up(p.b_major == Major::k ? p.k : p.n, row);
  if (p.ldd != 0) {
    const std::int64_t columns = config::output_columns(p.epilogue, p.n);
    p.ldd = round_up(p.d_layout == OutputLayout::row ? columns : p.m, 16 / bytes_of(p.d));
  }
  p.scale_a_row = p.scale_a_k = p.scale_b_n = p.scale_b_k = 0;
  pack_batch(p);
  return half;
}

std::optional<CheckTarget> smaller(const GroupedCheck& check, int axis) {
  GroupedCheck half = check;
  GroupedProblem& p = half.problem;
  const GemmConfig& c = check.options.config;
  if (axis == 2) {
    std::vector<std::int64_t>& counts = half.groups.counts;
    if (std::all_of(counts.begin(), counts.end(), [](std::int64_t count) { return count <= 1; })) return std::nullopt;
    for (std::int64_t& count : counts) count = (count + 1) / 2;  // up, because a group stays a group
    p.rows = 0;
    if (!lay_out(half)) return std::nullopt;
    return half;
  }
  if (!halve_size(axis == 0 ? p.n : p.k, axis == 0 ? c.tile.n : c.tile.k, kStep)) return std::nullopt;
  p.lda = p.ldb = round_up(p.k, 16 / bytes_of(p.a));
  p.ldd = p.stride_b_group = 0;
  if (p.scale != Scale::tensor)
    p.scale_a_row = p.scale_a_k = p.scale_a_group = p.scale_b_n = p.scale_b_k = p.scale_b_group = 0;
  return half;
}

std::optional<CheckTarget> smaller(const KGroupedCheck& check, int axis) {
  KGroupedCheck half = check;
  KGroupedProblem& p = half.problem;
  const GemmConfig& c = check.options.config;
  if (axis == 2) {
    const std::int64_t step = granularity(p);
    std::vector<std::int64_t>& counts = half.groups.counts;
    if (std::all_of(counts.begin(), counts.end(), [&](std::int64_t count) { return count <= step; }))
      return std::nullopt;
    for (std::int64_t& count : counts) count = (count / step + 1) / 2 * step;  // up, because a group stays a group
    p.k = 0;
    if (!lay_out(half)) return std::nullopt;
  } else if (!halve_size(axis == 0 ? p.m : p.n, axis == 0 ? c.tile.m : c.tile.n, kStep)) {
    return std::nullopt;
  }
  const std::int64_t row = 16 / bytes_of(p.a);
  p.lda = round_up(p.a_major == Major::mn ? p.m : p.total_k(), row);
  p.ldb = round_up(p.b_major == Major::mn ? p.n : p.total_k(), row);
  p.ldd = p.n, p.stride_d_group = p.m * p.n;
  if (is_block(p.scale)) p.scale_a_row = p.scale_a_k = p.scale_b_n = p.scale_b_k = 0;
  if (p.scale == Scale::row_column) {
    if (p.scale_a_group != 0) p.scale_a_group = p.m;
    if (p.scale_b_group != 0) p.scale_b_group = p.n;
  }
  return half;
}

std::optional<CheckTarget> smaller(const KernelCheck& check, int) {
  KernelCheck half = check;
  CheckLaunch& launch = half.launch;
  launch.grid = launch.grid / 2 / launch.cluster * launch.cluster;
  if (launch.grid == 0) return std::nullopt;
  return half;
}

}  // namespace

int axes(const CheckTarget& target) {
  if (std::holds_alternative<KernelCheck>(target)) return 1;
  if (const auto* grouped = std::get_if<GroupedCheck>(&target)) return grouped->groups.counts.empty() ? 2 : 3;
  if (const auto* grouped = std::get_if<KGroupedCheck>(&target)) return grouped->groups.counts.empty() ? 2 : 3;
  return 3;
}

std::optional<CheckTarget> halved(const CheckTarget& target, int axis) {
  return std::visit([axis](const auto& check) { return smaller(check, axis); }, target);
}

}  // namespace ww::campaign
