// SPDX-License-Identifier: Apache-2.0
// The collective operations of a warp's 32 lanes: elect, __syncwarp, shuffle, vote, and moving 8x8 matrices
// (warp_matrix.cpp).
// Lanes are fibers without lock-step. Those that exchange values synchronise; elect and stmatrix do not need to.
#pragma once

#include "emu/cta.hpp"

namespace ww::emu {

/// Returns true in one lane of the warp: any lane, the same at every call (PTX ISA, elect.sync: deterministic for a
/// member mask).
bool elect(Thread& thread);
void sync_warp(Thread& thread, u32 mask, arch::Site site);
u32 shuffle(Thread& thread, u32 value, u32 lane_or_delta, arch::ShuffleMode mode, arch::Site site);
u32 vote(Thread& thread, bool predicate, arch::VoteMode mode, arch::Site site);
void stmatrix(Thread& thread, u32 address, const u32* registers, int count, bool transposed, arch::Site site);
void ldmatrix(Thread& thread, u32 address, u32* registers, int count, bool transposed, arch::Site site);

}  // namespace ww::emu
