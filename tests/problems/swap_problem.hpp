// SPDX-License-Identifier: Apache-2.0
// Numbered problems under swap-AB: every recipe, type and layout, few rows of A and sometimes many, split-K, batches,
// gaps between rows. A problem is a function of its number; few kernels serve many.
#pragma once

#include <cstdint>

#include "k_cuts.hpp"

namespace ww::testing {

inline constexpr std::uint64_t kFirstSwapProblem = 5'000'000;
inline constexpr int kSwapSms = 24;  // three clusters of eight

/// A config, the types that go with it, and what else its kernel fixes.
struct SwapKernel {
  const char* config;
  DType a, b, d;
  Scale scale;
  bool batched = false;
  Major a_major = Major::k, b_major = Major::k;
  OutputLayout d_layout = OutputLayout::row;
};

inline const SwapKernel& swap_kernel(std::uint64_t i) {
  constexpr Scale k2d = Scale::block_1x128_128x128, k1d = Scale::block_1x128_1x128;
  static constexpr SwapKernel kKernels[] = {
      {"tile=128x16x128", e4m3, e4m3, bf16, k2d},
      {"tile=64x8x128,tile_scheduler=split-k,cluster=1x1x8,split=8,raster=64", e4m3, e4m3, bf16, k2d},
      {"tile=192x24x128", e4m3, e5m2, f32, k2d},  // two scales of 128 rows of B for some tiles
      {"tile=256x32x128,cluster=2x1", e4m3, e4m3, bf16, k2d, true},
      {"tile=128x40x128", e5m2, e4m3, f16, k1d},
      {"tile=128x32x128,cluster=1x2", e4m3, e4m3, bf16, Scale::tensor},
      {"tile=64x64x128,schedule=pingpong", e4m3, e4m3, f32, Scale::row_column},
      {"tile=128x16x64,tile_scheduler=stream-k,raster=64", bf16, bf16, bf16, Scale::none},
      {"tile=128x64x64", bf16, bf16, bf16, Scale::none, true, Major::mn, Major::mn},
      {"tile=64x48x64", f16, f16, f16, Scale::row_column, false, Major::k, Major::mn, OutputLayout::column},
      {"tile=128x8x32", tf32, tf32, f32, Scale::none},
      {"tile=128x24x128,schedule=multistage", e4m3, e4m3, bf16, k2d},
  };
  return kKernels[i % std::size(kKernels)];
}

inline HostProblem swap_problem(std::uint64_t i) {
  std::mt19937_64 rng(i * 0x9e3779b97f4a7c15ull + 11);
  const auto pick = [&](std::uint64_t count) { return static_cast<std::int64_t>(rng() % count); };
  const SwapKernel& kernel = swap_kernel(i);
  GemmProblem p;
  p.a = kernel.a, p.b = kernel.b, p.d = kernel.d, p.scale = kernel.scale;
  p.a_major = kernel.a_major, p.b_major = kernel.b_major, p.d_layout = kernel.d_layout;
  const bool by_column = p.d_layout == OutputLayout::column;
  const std::int64_t step = 16 / bytes_of(p.a), columns = 16 / bytes_of(p.d);
  p.m = pick(4) == 0 ? 1 + pick(200) : 1 + pick(64);
  // M-major rows, and columns of D, are whole 16 bytes
  if (p.a_major == Major::mn || by_column) p.m = round_up<std::int64_t>(p.m, 8);
  p.n = 8 * (1 + pick(60));
  p.k = step * (pick(17) == 0 ? 0 : 1 + pick(60));
  if (p.a_major == Major::k && pick(3) == 0) p.lda = p.k + step * (1 + pick(4));
  if (p.b_major == Major::k && pick(3) == 0) p.ldb = p.k + step * (1 + pick(4));
  p.ldd = (by_column ? p.m : p.n) + columns * pick(3);
  const std::int64_t blocks = ceil_div(p.k, 128), rows = ceil_div(p.n, columns_of_scale(p.scale));
  if (is_block(p.scale) && pick(2) == 0) p.scale_a_row = 1, p.scale_a_k = p.m + pick(5);
  if (is_block(p.scale) && pick(2) == 0) p.scale_b_n = 1, p.scale_b_k = rows + pick(5);
  if (kernel.batched) {
    p.batch = 2 + pick(2);
    p.batch_a = (p.a_major == Major::k ? p.m : p.k) * (p.lda != 0 ? p.lda : p.a_major == Major::k ? p.k : p.m);
    if (pick(2) == 0)
      p.batch_b = (p.b_major == Major::k ? p.n : p.k) * (p.ldb != 0 ? p.ldb : p.b_major == Major::k ? p.k : p.n);
    p.batch_d = p.m * p.ldd + columns * pick(3);
    if (is_block(p.scale)) p.batch_scale_a = (p.m + 5) * (blocks + 1), p.batch_scale_b = (rows + 5) * (blocks + 1);
  }
  GemmConfig config = *parse_config(kernel.config);
  config.sm90.swap_ab = SwapAb::on;
  return make_problem(p, config, i);
}

}  // namespace ww::testing
