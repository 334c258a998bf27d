// SPDX-License-Identifier: Apache-2.0
// Arrival counts against a brute-force model: every lane of every consumer warp of every CTA arrives where the
// pipeline's release sends it, and every CTA's producer multicasts to its mask. Clusters: every power of two shape up
// to 16 CTAs, along K as well.
#include "warpwright/pipeline/arrivals.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "warpwright/pipeline/pipeline_state.hpp"

namespace ww::pipeline {
namespace {

std::vector<ClusterShape> all_shapes() {
  std::vector<ClusterShape> shapes;
  for (int m = 1; m <= 16; m *= 2)
    for (int n = 1; m * n <= 16; n *= 2)
      for (int k = 1; m * n * k <= 16; k *= 2) shapes.push_back({m, n, k});
  return shapes;
}

std::string show(ClusterShape s) {
  return "cluster " + std::to_string(s.m) + "x" + std::to_string(s.n) + "x" + std::to_string(s.k);
}

TEST(Arrivals, EveryEmptyBarrierHearsExactlyItsCount) {
  for (const ClusterShape shape : all_shapes()) {
    for (int warps : {4, 8}) {
      std::vector<int> heard(shape.size(), 0);
      for (int cta = 0; cta < shape.size(); ++cta)
        for (int warp = 0; warp < warps; ++warp)
          for (int lane = 0; lane < 32; ++lane)
            if (lane < shape.size() && shares_operand(shape, cta, lane)) ++heard[lane];
      for (int cta = 0; cta < shape.size(); ++cta)
        EXPECT_EQ(heard[cta], empty_arrivals(shape, warps)) << show(shape) << " CTA " << cta << " warps " << warps;
    }
  }
}

TEST(Arrivals, AProducerHearsFromEveryCtaItWritesTo) {
  for (const ClusterShape shape : all_shapes()) {
    for (int cta = 0; cta < shape.size(); ++cta) {
      const ClusterCoord self = coord_of(shape, cta);
      const u32 written = mask_of_column(shape, self.x, self.z) | mask_of_row(shape, self.y, self.z);
      for (int other = 0; other < shape.size(); ++other)
        EXPECT_EQ((written >> other & 1) != 0, shares_operand(shape, other, cta))
            << show(shape) << " " << cta << "->" << other;
    }
  }
}

// Every CTA must receive each row of its operand tiles exactly once, whoever loads the slice.
TEST(Arrivals, MulticastSlicesCoverEveryTileOnce) {
  for (const ClusterShape shape : all_shapes()) {
    std::vector<std::vector<int>> a(shape.size(), std::vector<int>(shape.n, 0));  // [CTA][slice of A]
    std::vector<std::vector<int>> b(shape.size(), std::vector<int>(shape.m, 0));
    for (int cta = 0; cta < shape.size(); ++cta) {
      const ClusterCoord self = coord_of(shape, cta);
      for (int to = 0; to < shape.size(); ++to) {
        if (mask_of_column(shape, self.x, self.z) >> to & 1) ++a[to][self.y];
        if (mask_of_row(shape, self.y, self.z) >> to & 1) ++b[to][self.x];
      }
    }
    for (int cta = 0; cta < shape.size(); ++cta) {
      for (int times : a[cta]) EXPECT_EQ(times, 1) << show(shape) << " A of CTA " << cta;
      for (int times : b[cta]) EXPECT_EQ(times, 1) << show(shape) << " B of CTA " << cta;
    }
  }
}

TEST(Arrivals, OnlyOnePlaneWorksOnTheSameK) {
  constexpr ClusterShape shape{2, 2, 4};
  EXPECT_EQ(mask_of_column(shape, 1, 2), 0x0A00);
  EXPECT_EQ(mask_of_row(shape, 1, 3), 0xC000);
  EXPECT_EQ(coord_of(shape, 13).x, 1);
  EXPECT_EQ(coord_of(shape, 13).y, 0);
  EXPECT_EQ(coord_of(shape, 13).z, 3);
}

TEST(Arrivals, FourByFourMasksAreThosePublished) {
  constexpr ClusterShape shape{4, 4};
  EXPECT_EQ(mask_of_column(shape, 0), 0x1111);
  EXPECT_EQ(mask_of_column(shape, 1), 0x2222);
  EXPECT_EQ(mask_of_row(shape, 0), 0x000F);
  EXPECT_EQ(mask_of_row(shape, 2), 0x0F00);
  EXPECT_EQ(mask_of_column(shape, 1) | mask_of_row(shape, 2), 0x2F22);
  EXPECT_EQ(empty_arrivals(shape, 1), 7);
}

TEST(PipelineState, PhaseFlipsOncePerTurnOfTheRing) {
  PipelineState<3> consumer(Role::consumer), producer(Role::producer);
  for (u32 step = 0; step < 20; ++step) {
    EXPECT_EQ(consumer.index, step % 3);
    EXPECT_EQ(consumer.parity, step / 3 % 2);
    EXPECT_EQ(producer.parity, 1 - step / 3 % 2) << "a fresh barrier lets parity 1 pass, so producers start there";
    consumer.advance();
    producer.advance();
  }
}

}  // namespace
}  // namespace ww::pipeline
