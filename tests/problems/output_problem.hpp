// SPDX-License-Identifier: Apache-2.0
// Numbered problems whose D has contiguous columns: every output type, schedule and cluster, batches, gaps between the
// stored columns. A problem is a function of its number; few kernels serve many.
#pragma once

#include <cstdint>

#include "random_problem.hpp"

namespace ww::testing {

inline constexpr std::uint64_t kFirstOutputProblem = 3'000'000;

inline HostProblem output_problem(std::uint64_t i) {
  struct Kernel {
    const char* config;
    DType ab, d;
    Scale scale;
    bool batched;
  };
  constexpr Kernel kKernels[] = {
      {"tile=128x128x64,cluster=2x1", bf16, bf16, Scale::none, false},
      {"tile=128x72x128", e4m3, f32, Scale::tensor, true},
      {"tile=128x128x128,cluster=1x2", e4m3, bf16, Scale::block_1x128_128x128, true},
      {"tile=64x56x64,schedule=pingpong", f16, f16, Scale::row_column, false},
      {"tile=192x96x128", e4m3, f16, Scale::block_1x128_128x128, false},
      {"tile=64x256x64,stages=2", bf16, bf16, Scale::none, true},
      {"tile=128x64x32,schedule=multistage", tf32, f32, Scale::none, false},
      {"tile=256x32x128", e4m3, f32, Scale::block_1x128_1x128, false},
  };
  std::mt19937_64 rng(i * 0x9e3779b97f4a7c15ull + 9);
  const auto pick = [&](std::uint64_t count) { return static_cast<std::int64_t>(rng() % count); };
  const Kernel kernel = kKernels[i % std::size(kKernels)];
  GemmProblem p;
  p.a = p.b = kernel.ab, p.d = kernel.d, p.scale = kernel.scale, p.d_layout = OutputLayout::column;
  const std::int64_t step = 16 / bytes_of(p.a), columns = 16 / bytes_of(p.d);
  p.m = columns * (1 + pick(50));
  p.n = 8 * (1 + pick(60));
  p.k = step * (pick(17) == 0 ? 0 : 1 + pick(40));
  p.ldd = p.m + columns * pick(3);
  if (kernel.batched) {
    p.batch = 2 + pick(2);
    p.batch_a = p.m * p.k;
    if (pick(2) == 0) p.batch_b = p.n * p.k;
    p.batch_d = p.n * p.ldd + columns * pick(3);
  }
  return make_problem(p, *parse_config(kernel.config), i);
}

}  // namespace ww::testing
