// SPDX-License-Identifier: Apache-2.0
// The arrival counts of every barrier, derived from the roles and the cluster's shape.
// A cluster is m x n x k CTAs, rank = x + m (y + n z). Only CTAs of one plane z work on the same K. Within a plane,
// CTAs of one column x share A's rows, and CTAs of one row y share B's rows. So a CTA may overwrite its stage by
// multicast only when all m + n - 1 CTAs that share with it have released theirs.
// tests/pipeline/arrivals_test.cpp counts the arrivals of every power-of-two cluster up to 16 CTAs one by one.
#pragma once

#include "warpwright/core/meta.hpp"

namespace ww::pipeline {

struct ClusterShape {
  int m = 1, n = 1, k = 1;
  bool operator==(const ClusterShape&) const = default;
  WW_HOST_DEVICE constexpr int size() const { return m * n * k; }
  WW_HOST_DEVICE constexpr int plane() const { return m * n; }
};

struct ClusterCoord {
  int x = 0, y = 0, z = 0;
};

WW_HOST_DEVICE constexpr ClusterCoord coord_of(ClusterShape shape, int rank) {
  return {rank % shape.m, rank / shape.m % shape.n, rank / shape.plane()};
}

/// Returns the CTAs of column x of plane z, which read the same rows of A. Bit = cluster rank.
WW_HOST_DEVICE constexpr u16 mask_of_column(ClusterShape shape, int x, int z = 0) {
  u32 mask = 0;
  for (int y = 0; y < shape.n; ++y) mask |= 1u << (x + y * shape.m + z * shape.plane());
  return static_cast<u16>(mask);
}

/// Returns the CTAs of row y of plane z, which read the same rows of B.
WW_HOST_DEVICE constexpr u16 mask_of_row(ClusterShape shape, int y, int z = 0) {
  return static_cast<u16>(((1u << shape.m) - 1) << (y * shape.m + z * shape.plane()));
}

/// Returns the CTAs of a row that are at the same place as `at` of their groups of `ctas`, which hold the same part of
/// B's rows.
WW_HOST_DEVICE constexpr u16 mask_of_places(ClusterShape shape, int ctas, ClusterCoord at) {
  u32 place = 0;  // in row 0
  for (int x = at.x % ctas; x < shape.m; x += ctas) place |= 1u << x;
  return static_cast<u16>(place << (at.y * shape.m + at.z * shape.plane()));
}

/// Returns whether multicasts of `other` write a stage of `rank`, or the reverse: both share an operand slice.
WW_HOST_DEVICE constexpr bool shares_operand(ClusterShape shape, int rank, int other) {
  const ClusterCoord a = coord_of(shape, rank), b = coord_of(shape, other);
  return a.z == b.z && (a.x == b.x || a.y == b.y);
}

/// Returns the arrivals on full[stage]: one of the TMA producer, its own arrive.expect_tx (copies count bytes, not
/// arrivals), and one of each warp that writes to the stage by ordinary stores.
WW_HOST_DEVICE constexpr int full_arrivals(int storing_warps) { return 1 + storing_warps; }

/// Returns the arrivals on empty[stage]: one of every consumer warp of every CTA that shares an operand with this one.
WW_HOST_DEVICE constexpr int empty_arrivals(ClusterShape shape, int consumer_warps) {
  return (shape.m + shape.n - 1) * consumer_warps;
}

}  // namespace ww::pipeline
