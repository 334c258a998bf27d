// SPDX-License-Identifier: Apache-2.0
// Numbered problems over A from registers: tf32 in its four layouts, the other types K-major and, of 16 bits, M-major,
// with several MMA_M blocks, clusters, both schedules with roles, batches. A problem is a function of its number.
#pragma once

#include <cstdint>

#include "random_problem.hpp"

namespace ww::testing {

inline constexpr std::uint64_t kFirstRegisterProblem = 7'000'000;

inline HostProblem register_problem(std::uint64_t i) {
  std::mt19937_64 rng(i * 0x9e3779b97f4a7c15ull + 7);
  const auto pick = [&](std::uint64_t count) { return static_cast<std::int64_t>(rng() % count); };
  constexpr std::pair<DType, DType> kTypes[] = {{tf32, tf32}, {bf16, bf16}, {tf32, tf32}, {e4m3, e4m3},
                                                {tf32, tf32}, {f16, f16},   {tf32, tf32}, {e5m2, e4m3}};
  const auto [a, b] = kTypes[i % 8];
  GemmProblem p;
  p.a = a, p.b = b, p.d = DType(1 + pick(3));
  constexpr Scale kScales[] = {Scale::none, Scale::tensor, Scale::row_column, Scale::block_1x128_128x128};
  p.scale = kScales[i / 8 % (is_fp8(a) ? 4 : 3)];
  // every layout of tf32 within eight numbers, of 16 bits within 32
  const std::uint64_t layout = a == tf32 ? i / 2 % 4 : i / 8 % 4;
  if (!is_fp8(a)) p.a_major = Major(layout % 2), p.b_major = Major(layout / 2);
  const bool a_mn = p.a_major == Major::mn, b_mn = p.b_major == Major::mn;
  const std::int64_t step = 16 / bytes_of(a);
  p.m = a_mn ? step * (1 + pick(400 / step)) : 1 + pick(400);
  p.n = 8 * (1 + pick(40));
  p.k = a_mn && b_mn ? 1 + pick(300) : step * (pick(17) == 0 ? 0 : 1 + pick(1200 / bytes_of(a) / step));
  if (pick(3) == 0) p.lda = (a_mn ? p.m : p.k) + step * (1 + pick(4));
  if (pick(3) == 0) p.ldb = (b_mn ? p.n : p.k) + step * (1 + pick(4));
  p.batch = i / 16 % 3 == 2 ? 2 + pick(2) : 1;
  if (p.batch > 1) {
    const std::int64_t lda = p.lda ? p.lda : a_mn ? p.m : p.k, ldb = p.ldb ? p.ldb : b_mn ? p.n : p.k;
    p.batch_a = round_up((a_mn ? p.k : p.m) * lda, step);
    if (pick(2) == 0) p.batch_b = round_up((b_mn ? p.k : p.n) * ldb, step);
    p.batch_d = p.m * p.n + 8 * pick(3);
  }
  constexpr const char* kConfigs[] = {"tile=128x128x0,cluster=2x1", "tile=128x64x0,cluster=1x2",
                                      "tile=64x64x0,cluster=1x1",   "tile=128x128x0,cluster=2x2",
                                      "tile=256x64x0,cluster=1x1",  "tile=64x128x0,schedule=pingpong",
                                      "tile=192x64x0,cluster=1x1"};
  return make_problem(p,
                      *parse_config(std::string(kConfigs[i / 3 % 7]) +
                                    ",a_source=" + (a == tf32 && !a_mn && i / 8 % 2 == 0 ? "auto" : "registers")),
                      i);
}

}  // namespace ww::testing
