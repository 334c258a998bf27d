// SPDX-License-Identifier: Apache-2.0
// The state of a thread block, of its warps, and of the cluster it belongs to. Plain state; machine.hpp says who owns
// it.
#pragma once

#include <memory>
#include <new>
#include <vector>

#include "emu/engine.hpp"
#include "emu/mbarrier.hpp"
#include "emu/sequence_ring.hpp"
#include "emu/tensor_map_update.hpp"
#include "emu/thread.hpp"
#include "warpwright/core/machine.hpp"

namespace ww::emu {

/// Shared memory starts here, behind what belongs to the system; a zero offset is always a mistake.
inline constexpr u32 kSharedBase = u32{MachineTraits{}.shared_bytes_of_system};
inline constexpr u32 kWarpSize = u32{MachineTraits::kWarpThreads};
inline constexpr u32 kWarpgroupSize = u32{MachineTraits::kWarpgroupThreads};

struct NamedBarrier {
  u32 threads = 0;  // expected in this round
  u32 arrived = 0;
  u32 round = 0;
  WaitList waiters;
};

/// A synchronisation of lanes.
struct WarpMeeting {
  u32 mask = 0, arrived = 0, round = 0;
  u32 kind = 0;  // all lanes must come for the same operation
  WaitList waiters;
};

/// A stmatrix that some lanes have not reached yet.
struct MatrixStore {
  u32 address[kWarpSize];
  u32 registers[kWarpSize][4];
  int count = 0;
  bool transposed = false;
  u32 lanes = 0;
  Origin origin;  // of the lane that came first
};

/// An .aligned instruction that some lanes have not reached yet.
struct AlignedCall {
  const char* instruction = nullptr;
  arch::Site site{};           // of the first lane
  const void* from = nullptr;  // its return address
  u32 thread = 0;              // its index in the CTA
  u32 lanes = 0;               // that have executed it
};

struct Warp {
  WarpMeeting meeting;  // of all lanes: shuffle, vote, ldmatrix
  // Two halves, because a fast lane may reach the next exchange before a slow one has read the results of this one.
  u32 values[2][kWarpSize] = {};
  u32 matrices[2][kWarpSize][4] = {};
  std::vector<WarpMeeting> syncs;  // by mask
  SequenceRing<MatrixStore> matrix_stores;
  SequenceRing<AlignedCall> aligned;
};

/// setmaxnreg: the per-thread counts of the launch are pooled per CTA.
struct RegisterPool {
  struct Change {
    u32 count;
    bool increase;
    Origin origin;  // of the thread that came first
  };
  u32 free = 0;
  std::vector<std::vector<Change>> changes;  // of each warpgroup, in program order
  WaitList waiters;
};

struct Cluster;

struct AlignedDelete {
  void operator()(u8* p) const { ::operator delete[](p, std::align_val_t{MachineTraits::kSwizzleAlignment}); }
};

struct Cta {
  Machine* machine = nullptr;
  Cluster* cluster = nullptr;
  u32 rank = 0;                                 // in the cluster
  u32 index = 0;                                // in the grid
  u32 check_index = 0;                          // the checker's name for it
  std::unique_ptr<u8[], AlignedDelete> shared;  // indexed by offset; [0, kSharedBase) is out of bounds
  u32 shared_end = 0;
  u32 live_threads = 0;
  u32 unread_stores = 0;  // bulk stores that have not read shared memory yet
  RegisterPool registers;
  NamedBarrier named[MachineTraits::kNamedBarriers];
  std::vector<MBarrier> barriers;
  std::vector<CachedMap> maps;
  std::vector<Warp> warps;
  std::vector<std::unique_ptr<Engine>> warpgroups;  // engines of the whole warpgroups; none if the machine has none
  std::unique_ptr<Engine> engine;                   // of the CTA; null if the machine has none
  std::vector<Thread> threads;

  bool exited() const { return live_threads == 0; }
};

/// A cluster's requests for the work of others: cluster launch control.
struct LaunchRequests {
  u32 made = 0;
  u32 most = ~0u;  // that get work; drawn with the first
  bool declined = false;
  bool declined_seen = false;  // a thread has decoded an answer that gives no work
};

struct Cluster {
  u32 slot = 0;  // which stacks it uses
  u32 check_index = 0;
  std::vector<std::unique_ptr<Cta>> ctas;
  u32 live_threads = 0;
  u32 operations = 0;          // in flight
  u32 arrived = 0, phase = 0;  // of the cluster barrier
  u32 remote_arrivals = 0;  // in flight: arriving at the cluster barrier releases them, so the barrier waits for them
  WaitList waiters;
  LaunchRequests requests;
};

}  // namespace ww::emu
