// SPDX-License-Identifier: Apache-2.0
// Numbered problems over the block recipes: B scaled by 1x128, and tiles of N that meet two or three of B's 128x128
// scales. Scales lie M- or K-major, with gaps or without. A problem is a function of its number; few kernels serve
// many.
#pragma once

#include <cstdint>

#include "random_problem.hpp"

namespace ww::testing {

inline constexpr std::uint64_t kFirstRecipeProblem = 2'000'000;

/// A config and the types that go with it.
struct RecipeKernel {
  Scale scale;
  const char* config;
  DType a, b, d;
};

inline RecipeKernel recipe_kernel(std::uint64_t i) {
  constexpr Scale k2d = Scale::block_1x128_128x128, k1d = Scale::block_1x128_1x128;
  constexpr RecipeKernel kKernels[] = {
      {k2d, "tile=192x96x128", e4m3, e4m3, bf16},
      {k1d, "tile=128x128x128,cluster=2x1", e4m3, e4m3, bf16},
      {k2d, "tile=128x160x128,cluster=2x1", e4m3, e4m3, f16},
      {k1d, "tile=64x72x128,cluster=1x2", e5m2, e4m3, f32},
      {k2d, "tile=128x192x128", e4m3, e4m3, bf16},
      {k1d, "tile=192x128x128", e4m3, e4m3, bf16},
      {k2d, "tile=128x176x128,stages=2", e4m3, e5m2, f32},  // three scales for some tiles
      {k1d, "tile=128x64x128,schedule=multistage", e4m3, e4m3, f16},
      {k2d, "tile=64x96x128,schedule=pingpong", e4m3, e4m3, bf16},
      {k1d, "tile=64x64x128,schedule=pingpong", e4m3, e4m3, f32},
      {k2d, "tile=128x96x128,schedule=multistage", e4m3, e4m3, bf16},
      {k1d, "tile=256x32x128", e4m3, e4m3, bf16},
  };
  return kKernels[i % std::size(kKernels)];
}

inline HostProblem recipe_problem(std::uint64_t i) {
  std::mt19937_64 rng(i * 0x9e3779b97f4a7c15ull + 5);
  const auto pick = [&](std::uint64_t count) { return static_cast<std::int64_t>(rng() % count); };
  const RecipeKernel kernel = recipe_kernel(i);
  GemmProblem p;
  p.a = kernel.a, p.b = kernel.b, p.d = kernel.d, p.scale = kernel.scale;
  p.m = 1 + pick(420);
  p.n = 8 * (1 + pick(80));
  p.k = 16 * (pick(17) == 0 ? 0 : 1 + pick(60));
  const std::int64_t blocks = ceil_div(p.k, 128), columns = ceil_div(p.n, columns_of_scale(p.scale));
  if (pick(2) == 0) p.scale_a_row = 1, p.scale_a_k = p.m + pick(5);
  if (pick(2) == 0) p.scale_b_n = 1, p.scale_b_k = columns + pick(5);
  else if (pick(2) == 0) p.scale_b_n = blocks + pick(3), p.scale_b_k = 1;
  return make_problem(p, *parse_config(kernel.config), i);
}

}  // namespace ww::testing
