// SPDX-License-Identifier: Apache-2.0
// The tensor memory accelerator: boxes of a global tensor to shared memory and back.
//   load:  issue -> (any moment) box written, bytes counted on the destination's mbarrier; each destination of a
//     multicast by itself
//   store: issue -> (any moment) shared memory read -> (any later moment) global memory written; waits are per thread
//     and group
// Narrow elements of padded maps are spread to units of 16 bytes on their way to shared memory.
// Outside the tensor a load gives zeros, which are counted like any bytes, and a store writes nothing.
#pragma once

#include "emu/operation.hpp"

namespace ww::emu {

struct TmaLoadRequest {
  const void* map;
  int rank;
  u32 barrier, destination;  // shared addresses
  arch::TmaCoordinates at;
  u32 multicast;  // 0, or a mask of cluster ranks (arch::kMulticast)
  // .cta_group::2: the barrier may be the other CTA's of the pair. In each pair that a multicast reaches, the bytes of
  // both CTAs count at the barrier of the one whose parity of rank `barrier` names.
  bool pair = false;
};

/// Returns the mask of cluster ranks of a multicast form (arch::kMulticast), 0 of a form without; refuses a mask of no
/// CTA or of CTAs outside the cluster. `name`: of the instruction.
u32 multicast_mask(Thread& thread, u32 multicast, const char* name, arch::Site site);

void tma_load(Thread& thread, const TmaLoadRequest& request, arch::Site site);
void tma_store(Thread& thread, const void* map, int rank, u32 source, const arch::TmaCoordinates& at, arch::Site site);
void tma_prefetch_map(Thread& thread, const void* map, arch::Site site);
void bulk_commit(Thread& thread);
void bulk_wait(Thread& thread, int pending, bool read_only, arch::Site site);

// Moments of an operation; called by the machine.
void land_load(Operation& operation);
void read_store(Operation& operation);  // returns the same operation to the schedule as a write
void write_store(Operation& operation);

}  // namespace ww::emu
