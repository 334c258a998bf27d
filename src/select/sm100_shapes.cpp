// SPDX-License-Identifier: Apache-2.0
// Enumerates Blackwell's shapes in a fixed order: pairs first, wide tiles before narrow ones, static order before
// others. Shapes of equal modelled time are chosen in this order.
#include "select/sm100_shapes.hpp"

namespace ww::select {
namespace {

/// A tile scheduler and the cluster that it runs under.
struct Sharing {
  Cluster cluster;
  TileScheduler order = TileScheduler::fixed;
  int split = 0;
};

constexpr int kColumns[] = {256, 224, 192, 160, 128, 96, 64, 32, 16};  // pairs issue MMAs of 32, 64, ... columns
constexpr Sharing kPairs[] = {{{2, 1}},
                              {{4, 1}},
                              {{2, 2}},
                              {{4, 2}},
                              {{4, 4}},
                              {{2, 1}, TileScheduler::dynamic},
                              {{2, 1}, TileScheduler::clc},
                              {{2, 1}, TileScheduler::single},
                              {{2, 1}, TileScheduler::stream_k},
                              {{2, 1, 2}, TileScheduler::split_k, 2},
                              {{2, 1, 4}, TileScheduler::split_k, 4},
                              {{2, 1, 1}, TileScheduler::split_k, 2},
                              {{2, 1, 1}, TileScheduler::split_k, 4},
                              {{2, 1, 1}, TileScheduler::split_k, 8}};
constexpr Sharing kSingles[] = {{{1, 1}},
                                {{2, 1}},
                                {{1, 2}},
                                {{4, 1}},
                                {{2, 2}},
                                {{4, 2}},
                                {{4, 4}},
                                {{1, 1}, TileScheduler::dynamic},
                                {{1, 1}, TileScheduler::clc},
                                {{1, 1}, TileScheduler::single},
                                {{1, 1}, TileScheduler::stream_k},
                                {{2, 1}, TileScheduler::stream_k},
                                {{1, 1, 2}, TileScheduler::split_k, 2},
                                {{1, 1, 4}, TileScheduler::split_k, 4},
                                {{1, 1, 8}, TileScheduler::split_k, 8},
                                {{1, 1, 1}, TileScheduler::split_k, 2},
                                {{1, 1, 1}, TileScheduler::split_k, 4},
                                {{1, 1, 1}, TileScheduler::split_k, 8}};
// Under swap-AB: rows of B, and rows of A, of which such problems have few.
constexpr int kSwappedColumns[] = {128, 64, 48, 32, 24, 16, 8};
constexpr Sharing kSwappedSharings[] = {{{1, 1}},
                                        {{2, 1}},
                                        {{1, 1}, TileScheduler::stream_k},
                                        {{1, 1, 2}, TileScheduler::split_k, 2},
                                        {{1, 1, 4}, TileScheduler::split_k, 4},
                                        {{1, 1, 8}, TileScheduler::split_k, 8},
                                        {{1, 1, 1}, TileScheduler::split_k, 2},
                                        {{1, 1, 1}, TileScheduler::split_k, 4}};

GemmConfig shape_of(int m, int n, const Sharing& s, bool pair, SwapAb swap) {
  return {.arch = Arch::sm100,
          .tile = {m, n},
          .cluster = s.cluster,
          .sm90 = {.schedule = Schedule::cooperative, .tile_scheduler = s.order, .split = s.split, .swap_ab = swap},
          .sm100 = {.pair = pair}};
}

}  // namespace

std::vector<GemmConfig> sm100_shapes() {
  std::vector<GemmConfig> shapes;
  const auto add = [&](int m, int n, const auto& sharings, bool pair, SwapAb swap) {
    for (const Sharing& s : sharings) shapes.push_back(shape_of(m, n, s, pair, swap));
  };
  for (int n : kColumns)
    if (n % 32 == 0) add(128, n, kPairs, true, SwapAb::automatic);
  for (int m : {128, 64})
    for (int n : kColumns) add(m, n, kSingles, false, SwapAb::automatic);
  for (int n : kSwappedColumns) {
    if (n % 32 == 0) add(128, n, kPairs, true, SwapAb::on);
    for (int m : {128, 64}) add(m, n, kSwappedSharings, false, SwapAb::on);
  }
  return shapes;
}

}  // namespace ww::select
