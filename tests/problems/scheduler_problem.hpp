// SPDX-License-Identifier: Apache-2.0
// Numbered problems over the tile schedulers and clusters of a dense GEMM. A problem, and the number of CTAs that it
// runs on (stream-K's sums depend on it), are functions of its number.
#pragma once

#include <cstdint>

#include "k_cuts.hpp"

namespace ww::testing {

inline constexpr std::uint64_t kFirstSchedulerProblem = 4'000'000;
inline constexpr int kSchedulerSms = 48;  // the widest cluster three times

/// CTAs that problem `i` runs on: whole clusters of every size.
inline int scheduler_sms(std::uint64_t i) { return i % 2 == 0 ? kSchedulerSms : 32; }

inline HostProblem scheduler_problem(std::uint64_t i) {
  std::mt19937_64 rng(i * 0x9e3779b97f4a7c15ull + 5);
  const auto pick = [&](std::uint64_t count) { return static_cast<std::int64_t>(rng() % count); };
  constexpr const char* kOrders[] = {"single", "static", "dynamic", "stream-k", "split-k"};
  constexpr const char* kClusters[] = {"1x1", "2x1", "1x2", "2x2", "4x1", "1x4", "4x2", "4x4"};
  constexpr const char* kSplits[] = {"cluster=1x1x1,split=3", "cluster=1x1x2,split=2", "cluster=2x1x2,split=4",
                                     "cluster=1x1x4,split=4", "cluster=1x2x2,split=6", "cluster=1x1x8,split=8"};
  const std::string order = kOrders[i % 5];
  GemmProblem p;
  p.a = p.b = i / 5 % 4 == 3 ? bf16 : e4m3;
  constexpr Scale kScales[] = {Scale::block_1x128_128x128, Scale::tensor, Scale::none, Scale::row_column};
  p.scale = p.a == e4m3 ? kScales[i / 5 % 4] : Scale::none;
  p.d = DType(1 + pick(3));
  const std::int64_t step = 16 / bytes_of(p.a);
  p.m = 1 + pick(500);
  p.n = 8 * (1 + pick(60));
  p.k = step * (pick(13) == 0 ? 0 : 1 + pick(150));
  const std::string text =
      fmt::format("tile={}x{}x0,{},tile_scheduler={},raster=64", pick(3) == 0 ? 128 : 64, 64,
                  order == "split-k" ? kSplits[pick(6)] : fmt::format("cluster={}", kClusters[pick(8)]), order);
  return make_problem(p, *parse_config(text), i);
}

}  // namespace ww::testing
