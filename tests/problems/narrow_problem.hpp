// SPDX-License-Identifier: Apache-2.0
// Numbered problems for Blackwell's kernels of operands of 4, 6 and 8 bits in any mix, with scales of mx and nv and
// without, those of 8 bits in any layout: the tiles, clusters, pairs, accumulators and schedulers of
// blackwell_problem.hpp. Sixteen numbers in a row share a kernel.
#pragma once

#include <cstdint>

#include "blackwell_problem.hpp"

namespace ww::testing {

inline constexpr std::uint64_t kFirstNarrowProblem = 9'000'000;

/// Returns the config of the kernel that problem `i` runs.
inline GemmConfig narrow_config(std::uint64_t i) {
  std::mt19937_64 rng(i / kProblemsOfKernel * 0x9e3779b97f4a7c15ull + 19);
  const auto pick = [&](std::uint64_t count) { return rng() % count; };
  constexpr DType kTypes[] = {e2m1, e3m2, e2m3, e4m3, e5m2};
  constexpr Scale kScales[] = {Scale::mx, Scale::nv, Scale::mx, Scale::none, Scale::tensor, Scale::row_column};
  for (;;) {
    GemmConfig c = drawn_blackwell_config(rng);
    c.operands.scale = kScales[pick(6)];
    const bool nibbles = c.operands.scale == Scale::nv || pick(4) == 0;
    c.operands.a = nibbles ? e2m1 : kTypes[pick(5)], c.operands.b = nibbles ? e2m1 : kTypes[pick(5)];
    const auto major = [&](DType type) { return !is_packed(type) && pick(3) == 0 ? Major::mn : Major::k; };
    c.operands.layout = {major(c.operands.a), major(c.operands.b)};
    const bool b_mn = c.operands.layout.b == Major::mn;
    if (is_microscaled(c.operands.scale)) c.tile = {128, b_mn ? 128 << pick(2) : 32 * (1 + static_cast<int>(pick(8)))};
    if (!is_packed(c.operands.a) && !is_packed(c.operands.b) && !is_microscaled(c.operands.scale)) continue;
    if (!config::fault_of(config::resolve(c))) return c;
  }
}

inline HostProblem narrow_problem(std::uint64_t i) {
  const GemmConfig c = narrow_config(i);
  std::mt19937_64 rng(i * 0x9e3779b97f4a7c15ull + 23);
  const auto pick = [&](std::uint64_t count) { return static_cast<std::int64_t>(rng() % count); };
  GemmProblem p = problem_of(c);
  const bool by_column = p.d_layout == OutputLayout::column;
  const std::int64_t step = step_of_rows(p), k_step = step_of_k(p), columns = 16 / bytes_of(p.d);
  p.m = pick(8) == 0 ? 1 : 1 + pick(pick(3) == 0 ? 520 : 200);
  const bool a_mn = p.a_major == Major::mn, b_mn = p.b_major == Major::mn;
  if (by_column) p.m = round_up(p.m, columns);
  if (a_mn) p.m = round_up<std::int64_t>(p.m, 16);
  p.n = 8 * (1 + pick(60));
  p.k = pick(13) == 0 ? 0 : k_step * (1 + pick(1 + 1000 / k_step));
  p.lda = round_up(a_mn ? p.m : p.k, step) + (pick(3) == 0 ? step * (1 + pick(4)) : 0);
  p.ldb = round_up(b_mn ? p.n : p.k, step) + (pick(3) == 0 ? step * (1 + pick(4)) : 0);
  p.ldd = (by_column ? p.m : p.n) + (pick(3) == 0 ? columns * (1 + pick(4)) : 0);
  if (c.operands.batched) {
    p.batch = 2 + pick(2);
    p.batch_a = (a_mn ? p.k : p.m) * p.lda + step * pick(2);
    if (pick(2) == 0) p.batch_b = (b_mn ? p.k : p.n) * p.ldb;
    p.batch_d = (by_column ? p.n : p.m) * p.ldd + columns * pick(3);
    if (p.scale != Scale::none && p.k > 0 && pick(2) == 0) {
      const std::int64_t block = 512 * ceil_div(p.k, 4 * std::int64_t{scale_vector(p.scale)});  // scales of 128 rows
      p.batch_scale_a = is_microscaled(p.scale) ? block * (ceil_div<std::int64_t>(p.m, 128) + pick(2)) : 521;
      p.batch_scale_b = is_microscaled(p.scale) ? block * (ceil_div<std::int64_t>(p.n, 128) + pick(2)) : 521;
    }
  }
  return make_problem(p, c, i);
}

}  // namespace ww::testing
