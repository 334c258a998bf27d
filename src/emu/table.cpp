// SPDX-License-Identifier: Apache-2.0
// Binds the table of operations that modules call to the mechanisms behind it, for the thread that runs now.
#include <fmt/format.h>

#include "emu/barriers.hpp"
#include "emu/check/checker.hpp"
#include "emu/emulator.hpp"
#include "emu/machine.hpp"
#include "emu/memory.hpp"
#include "emu/register_budget.hpp"
#include "emu/tma_engine.hpp"
#include "emu/warp_ops.hpp"

namespace ww::emu {
namespace {

using arch::Site;

Thread& self() { return *current_thread; }
Machine& machine() { return *self().machine; }

u32 special(arch::Special which) {
  const Thread& thread = self();
  const runtime::Launch& launch = thread.machine->context().launch;
  switch (which) {
    case arch::Special::thread_index: return thread.index;
    case arch::Special::block_size: return launch.threads;
    case arch::Special::block_index: return thread.cta->index;
    case arch::Special::grid_size: return launch.grid;
    case arch::Special::cluster_rank: return thread.cta->rank;
    case arch::Special::cluster_size: return launch.cluster;
    case arch::Special::dynamic_shared: return thread.cta->rank << arch::kSharedRankShift | kSharedBase;
  }
  return 0;
}

u64 clock() { return machine().steps(); }

WarpgroupEngine& warpgroup(Site site) {
  if (!self().warpgroup) machine().fail({&self(), site}, "wgmma by a warp that belongs to no whole warpgroup");
  return *self().warpgroup;
}

u32 cluster_map(u32 address, u32 rank, Site site) {
  const u32 size = machine().context().launch.cluster;
  if (rank >= size) machine().fail({&self(), site}, fmt::format("mapa: rank {} in a cluster of {}", rank, size));
  return rank << arch::kSharedRankShift | (address & arch::kSharedOffsetMask);
}

void global_wait_step(const void* address, Site site) {
  global_access(self(), address, 4, arch::Access::atomic, arch::MemoryOrder::acquire, arch::Scope::gpu, site);
  machine().poll(self(), Wait::polling, site);
}

// Launches here never overlap: there is nothing to wait for, and without the attribute the instructions do nothing.
void pdl_nothing(Site) {}

constexpr arch::EmuTable kTable = {
    .version = arch::kEmuTableVersion,
    .bytes = sizeof(arch::EmuTable),
    .special = special,
    .clock = clock,
    .global_timer = clock,
    .mbarrier_init = [](u32 b, u32 count, Site s) { mbarrier_init(self(), b, count, s); },
    .mbarrier_invalidate = [](u32 b, Site s) { mbarrier_invalidate(self(), b, s); },
    .mbarrier_arrive = [](u32 b, u32 count, Site s) { mbarrier_signal(self(), b, count, 0, s); },
    .mbarrier_expect_tx = [](u32 b, u32 bytes, Site s) { mbarrier_signal(self(), b, 0, bytes, s); },
    .mbarrier_arrive_expect_tx = [](u32 b, u32 bytes, Site s) { mbarrier_signal(self(), b, 1, bytes, s); },
    .mbarrier_try_wait = [](u32 b, u32 parity, Site s) { return mbarrier_try_wait(self(), b, parity, s); },
    .mbarrier_wait = [](u32 b, u32 parity, Site s) { mbarrier_wait(self(), b, parity, s); },
    .fence =
        [](arch::Fence kind, Site s) {  // fibers are sequentially consistent: only a checker cares
          if (Checker* checker = machine().checker()) checker->fence(self(), kind, s);
        },
    .tma_load =
        [](const void* map, int rank, u32 barrier, u32 destination, arch::TmaCoordinates at, u32 multicast, Site s) {
          tma_load(self(), {map, rank, barrier, destination, at, multicast}, s);
        },
    .tma_store = [](const void* map, int rank, u32 source, arch::TmaCoordinates at,
                    Site s) { tma_store(self(), map, rank, source, at, s); },
    .tma_prefetch_map = [](const void* map, Site s) { tma_prefetch_map(self(), map, s); },
    .bulk_commit = [](Site) { bulk_commit(self()); },
    .bulk_wait = [](int pending, bool read_only, Site s) { bulk_wait(self(), pending, read_only, s); },
    .wgmma = [](const arch::WgmmaCall& call, float* registers,
                Site s) { warpgroup(s).deposit(self(), call, registers, s); },
    .wgmma_commit = [](Site s) { warpgroup(s).commit(self()); },
    .wgmma_wait = [](int pending, float* const* accumulators, int count,
                     Site s) { warpgroup(s).wait(self(), pending, accumulators, count, s); },
    .stmatrix = [](u32 address, const u32* registers, int count, bool transposed,
                   Site s) { stmatrix(self(), address, registers, count, transposed, s); },
    .ldmatrix = [](u32 address, u32* registers, int count, bool transposed,
                   Site s) { ldmatrix(self(), address, registers, count, transposed, s); },
    .cluster_map = cluster_map,
    .cluster_arrive = [](bool relaxed, Site s) { cluster_arrive(self(), relaxed, s); },
    .cluster_wait = [](Site s) { cluster_wait(self(), s); },
    .set_max_registers = [](u32 count, bool increase, Site s) { set_max_registers(self(), count, increase, s); },
    .named_barrier_sync = [](u32 id, u32 threads, Site s) { named_barrier(self(), id, threads, true, s); },
    .named_barrier_arrive = [](u32 id, u32 threads, Site s) { named_barrier(self(), id, threads, false, s); },
    .elect = [](Site) { return elect(self()); },
    .sync_warp = [](u32 mask, Site s) { sync_warp(self(), mask, s); },
    .shuffle = [](u32 value, u32 lane, arch::ShuffleMode mode,
                  Site s) { return shuffle(self(), value, lane, mode, s); },
    .vote = [](bool predicate, arch::VoteMode mode, Site s) { return vote(self(), predicate, mode, s); },
    .shared_access = [](u32 address, u32 bytes, arch::Access access,
                        Site s) { return shared_access(self(), address, bytes, access, s); },
    .global_access = [](const void* address, u32 bytes, arch::Access access, arch::MemoryOrder order, arch::Scope scope,
                        Site s) { return global_access(self(), address, bytes, access, order, scope, s); },
    .global_wait_step = global_wait_step,
    .pdl_wait = pdl_nothing,
    .pdl_launch_dependents = pdl_nothing,
};

}  // namespace

const arch::EmuTable* table() { return &kTable; }

}  // namespace ww::emu
