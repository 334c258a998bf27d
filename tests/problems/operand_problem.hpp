// SPDX-License-Identifier: Apache-2.0
// Numbered problems over the operands a dense GEMM takes besides two K-major ones of one type: mixed FP8, e5m2, tf32,
// MN-major 16-bit types, batches with matrices of their own or shared. A problem is a function of its number.
#pragma once

#include <cstdint>

#include "random_problem.hpp"

namespace ww::testing {

inline constexpr std::uint64_t kFirstOperandProblem = 1'000'000;

inline HostProblem operand_problem(std::uint64_t i) {
  std::mt19937_64 rng(i * 0x9e3779b97f4a7c15ull + 3);
  const auto pick = [&](std::uint64_t count) { return static_cast<std::int64_t>(rng() % count); };
  constexpr std::pair<DType, DType> kTypes[] = {{e5m2, e5m2}, {e4m3, e5m2}, {e5m2, e4m3}, {tf32, tf32},
                                                {bf16, bf16}, {f16, f16},   {bf16, bf16}, {f16, f16}};
  const auto [a, b] = kTypes[i % 8];
  GemmProblem p;
  p.a = a, p.b = b, p.d = DType(1 + pick(3));
  const bool fp8 = is_fp8(a), any_major = bytes_of(a) == 2;
  constexpr Scale kScales[] = {Scale::none, Scale::tensor, Scale::row_column, Scale::block_1x128_128x128};
  p.scale = kScales[pick(fp8 ? 4 : 3)];
  if (any_major) p.a_major = i / 8 % 3 != 1 ? Major::mn : Major::k, p.b_major = i / 8 % 3 != 0 ? Major::mn : Major::k;
  const bool a_mn = p.a_major == Major::mn, b_mn = p.b_major == Major::mn;
  const std::int64_t step = 16 / bytes_of(a);
  p.m = a_mn ? step * (1 + pick(40)) : 1 + pick(320);
  p.n = 8 * (1 + pick(40));
  p.k = a_mn && b_mn ? 1 + pick(300) : step * (pick(17) == 0 ? 0 : 1 + pick(60));
  if (pick(3) == 0) p.lda = (a_mn ? p.m : p.k) + step * (1 + pick(4));
  if (pick(3) == 0) p.ldb = (b_mn ? p.n : p.k) + step * (1 + pick(4));
  p.batch = i / 24 % 2 == 0 ? 1 : 2 + pick(3);
  if (p.batch > 1) {
    const std::int64_t lda = p.lda ? p.lda : a_mn ? p.m : p.k, ldb = p.ldb ? p.ldb : b_mn ? p.n : p.k;
    const std::int64_t blocks = ceil_div(p.k, 128);
    if (pick(3) != 0) p.batch_a = round_up((a_mn ? p.k : p.m) * lda, step) + step * pick(3);
    if (pick(3) != 0) p.batch_b = round_up((b_mn ? p.k : p.n) * ldb, step) + step * pick(3);
    p.batch_d = p.m * p.n + 8 * pick(3);
    const bool block = p.scale == Scale::block_1x128_128x128, vectors = p.scale == Scale::row_column;
    if (p.scale != Scale::none && pick(3) != 0) p.batch_scale_a = block ? p.m * blocks : vectors ? p.m : 1;
    if (p.scale != Scale::none && pick(3) != 0)
      p.batch_scale_b = block ? ceil_div(p.n, 128) * blocks : vectors ? p.n : 1;
  }
  constexpr const char* kConfigs[] = {"tile=128x128x0,cluster=2x1", "tile=128x64x0,cluster=1x2",
                                      "tile=64x64x0,cluster=1x1", "tile=128x128x0,cluster=1x1"};
  return make_problem(p, *parse_config(kConfigs[i / 8 % 4]), i);
}

}  // namespace ww::testing
