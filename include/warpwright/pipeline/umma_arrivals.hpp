// SPDX-License-Identifier: Apache-2.0
// Masks and arrival counts of pipelines whose consumers are MMAs of one CTA or of a pair, derived from the cluster's
// shape. A pair is the CTAs of ranks r and r ^ 1, so that a cluster of pairs has an even m; its even rank, the leader,
// issues the MMAs of both.
// - A: every CTA loads rows of its own, which the CTAs of its column share.
// - B: a pair's CTAs hold one half of the columns each, so that CTAs share rows of B if they are in one row and at the
//   same place of their pairs.
// - An MMA reads the shared memory of both CTAs of its pair, so that its commit releases a stage to every CTA that
//   loads rows of it. A stage of a CTA is free when the MMAs of all pairs that read its loads are complete:
//   m / (CTAs of an MMA) + n - 1 arrivals.
// tests/pipeline/umma_arrivals_test.cpp counts both for every cluster of up to 16 CTAs one by one.
#pragma once

#include "warpwright/arch/sm100/formats.hpp"
#include "warpwright/pipeline/arrivals.hpp"

namespace ww::pipeline {

using arch::CtaGroup;

/// Returns whether the cluster divides into groups of this size along M.
WW_HOST_DEVICE constexpr bool holds_groups(ClusterShape shape, CtaGroup group) {
  return shape.m % arch::ctas_of(group) == 0;
}

/// Returns the rank of the CTA that issues the MMAs for `rank`.
WW_HOST_DEVICE constexpr int leader_of(CtaGroup group, int rank) { return rank - rank % arch::ctas_of(group); }
/// Returns the CTAs whose MMAs are one with those of `rank`: itself, or its pair.
WW_HOST_DEVICE constexpr u16 mask_of_group(CtaGroup group, int rank) {
  return static_cast<u16>(((1u << arch::ctas_of(group)) - 1) << leader_of(group, rank));
}

/// Returns the CTAs that get what `rank` loads of A.
WW_HOST_DEVICE constexpr u16 mask_of_a(ClusterShape shape, int rank) {
  const ClusterCoord at = coord_of(shape, rank);
  return mask_of_column(shape, at.x, at.z);
}
/// Returns the CTAs that get what `rank` loads of B.
WW_HOST_DEVICE constexpr u16 mask_of_b(ClusterShape shape, CtaGroup group, int rank) {
  return mask_of_places(shape, arch::ctas_of(group), coord_of(shape, rank));
}

/// Returns the CTAs that an MMA of `rank`, the leader, releases a stage to: all that load what it reads.
WW_HOST_DEVICE constexpr u16 mask_of_release(ClusterShape shape, CtaGroup group, int rank) {
  u32 mask = 0;
  for (int cta = leader_of(group, rank); cta < leader_of(group, rank) + arch::ctas_of(group); ++cta)
    mask |= u32{mask_of_a(shape, cta)} | mask_of_b(shape, group, cta);
  return static_cast<u16>(mask);
}
/// Returns the arrivals on empty[stage] of each CTA: one of every MMA that releases to it.
WW_HOST_DEVICE constexpr int umma_empty_arrivals(ClusterShape shape, CtaGroup group) {
  return shape.m / arch::ctas_of(group) + shape.n - 1;
}
/// Returns the arrivals on full[stage] of the leader: its own arrive.expect_tx, and one of each storing warp of its
/// CTAs.
WW_HOST_DEVICE constexpr int umma_full_arrivals(CtaGroup group, int storing_warps) {
  return full_arrivals(storing_warps * arch::ctas_of(group));
}
/// Returns the bytes that full[stage] of the leader expects when each CTA gets `bytes`.
WW_HOST_DEVICE constexpr u32 umma_full_bytes(CtaGroup group, u32 bytes) {
  return bytes * static_cast<u32>(arch::ctas_of(group));
}
/// Returns the arrivals on empty[stage] of an accumulator, at the leader: one of each epilogue warp of its CTAs.
WW_HOST_DEVICE constexpr int accumulator_empty_arrivals(CtaGroup group, int epilogue_warps) {
  return epilogue_warps * arch::ctas_of(group);
}

}  // namespace ww::pipeline
