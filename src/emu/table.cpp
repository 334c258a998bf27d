// SPDX-License-Identifier: Apache-2.0
// Binds the table of operations that modules call to the mechanisms behind it, for the current thread.
#include <fmt/format.h>

#include <cstring>

#include "emu/barriers.hpp"
#include "emu/caller.hpp"
#include "emu/check/checker.hpp"
#include "emu/emulator.hpp"
#include "emu/machine.hpp"
#include "emu/memory.hpp"
#include "emu/register_budget.hpp"
#include "emu/tensor_map_update.hpp"
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

u64 clock() {
  machine().look_at_clock(self());
  return machine().steps();
}

u32 cluster_map(u32 address, u32 rank, Site site) {
  const u32 size = machine().context().launch.cluster;
  if (rank >= size) machine().fail({&self(), site}, fmt::format("mapa: rank {} in a cluster of {}", rank, size));
  return rank << arch::kSharedRankShift | (address & arch::kSharedOffsetMask);
}

void global_wait_step(const void* address, Site site) {
  Thread& thread = called_from(__builtin_return_address(0));
  global_access(thread, address, 4, arch::Access::read, {arch::MemoryOrder::acquire, arch::Scope::gpu}, site);
  const u64 value = reinterpret_cast<u64>(address);
  machine().poll(thread, Wait::polling, site, static_cast<u32>(value), static_cast<u32>(value >> 32));
}

// Loads. Each is a separate function that the kernel calls directly: its frame begins with the kernel's registers and
// ends where the kernel's stack begins.

[[gnu::noinline]] void* shared_look(Thread& thread, u32 address, u32 bytes, arch::Access access,
                                    arch::Ordering ordering, Site site) {
  __builtin_unwind_init();
  u32 word = 0;  // an atomic that leaves the value unchanged is a poll as well
  if (access == arch::Access::atomic) std::memcpy(&word, shared_place(thread, address, 4, 4, site).data(), 4);
  thread.machine->look(thread, Wait::polling_shared, address, word, thread.call, WW_SAVED_REGISTERS, site);
  return shared_access(thread, address, bytes, access, ordering, site);
}

void* shared_access_called(u32 address, u32 bytes, arch::Access access, arch::Ordering ordering, Site site) {
  Thread& thread = noted_from(__builtin_return_address(0));
  if (access == arch::Access::write) thread.loads = 0;
  else if (++thread.loads > kLooksAtOnce) [[unlikely]]
    return shared_look(thread, address, bytes, access, ordering, site);
  return shared_access(thread, address, bytes, access, ordering, site);
}

[[gnu::noinline]] void* global_look(Thread& thread, const void* address, u32 bytes, arch::Access access,
                                    arch::Ordering ordering, Site site) {
  __builtin_unwind_init();
  u32 word = 0;
  const u64 value = reinterpret_cast<u64>(address);
  if (access == arch::Access::atomic && range_of(*thread.machine, value, bytes) >= 0)
    std::memcpy(&word, address, min(bytes, 4u));
  thread.machine->look(thread, Wait::polling, value, word, thread.call, WW_SAVED_REGISTERS, site);
  return global_access(thread, address, bytes, access, ordering, site);
}

void* global_access_called(const void* address, u32 bytes, arch::Access access, arch::Ordering ordering, Site site) {
  Thread& thread = noted_from(__builtin_return_address(0));
  if (access == arch::Access::write) thread.loads = 0;
  else if (++thread.loads > kLooksAtOnce) [[unlikely]]
    return global_look(thread, address, bytes, access, ordering, site);
  return global_access(thread, address, bytes, access, ordering, site);
}

// Launches never overlap here: there is nothing to wait for, and only the checker asks whether a kernel would have
// waited.
void pdl_launch_dependents(Site) {}

[[gnu::noinline]] void plain_look(Thread& thread, const void* address, const void* from) {
  __builtin_unwind_init();
  thread.machine->look(thread, Wait::polling, reinterpret_cast<u64>(address), 0, from, WW_SAVED_REGISTERS,
                       {static_cast<const char*>(from), -1});
}

void plain_access(const void* address, u32 bytes, bool write, bool is_volatile, const void* from) {
  Thread& thread = self();
  const u64 value = reinterpret_cast<u64>(address);
  if (!thread.on_stack(value)) {
    if (write) thread.loads = 0, thread.machine->progress();
    else if (++thread.loads > kLooksAtOnce) [[unlikely]] plain_look(thread, address, from);
  }
  if (Checker* checker = thread.machine->checker())
    checker->plain_access(thread, value, bytes, write, is_volatile, from);
}

void role(const char* name, int number) {
  Thread& thread = self();
  thread.role = {name, number};
  if (Checker* checker = thread.machine->checker()) checker->has_role(thread);
}

constexpr int kSlowSteps = 3000;  // a tile of the tests takes less

void note_work(u32 k_blocks, bool is_part) {
  std::vector<CtaWork>& work = machine().counters().work;
  const u32 cta = self().cta->index;
  if (work.size() <= cta) work.resize(cta + 1);
  ++work[cta].tiles;
  work[cta].parts += is_part;
  work[cta].k_blocks += k_blocks;
  if (machine().context().options.slow_cta == static_cast<int>(cta))
    for (int i = 0; i < kSlowSteps; ++i) machine().yield(self());
}

constexpr arch::EmuTable kTable = {
    .version = arch::kEmuTableVersion,
    .bytes = sizeof(arch::EmuTable),
    .special = special,
    .clock = clock,
    .global_timer = clock,
    .mbarrier_init = [](u32 b, u32 count, Site s) { mbarrier_init(WW_CALLER, b, count, s); },
    .mbarrier_invalidate = [](u32 b, Site s) { mbarrier_invalidate(WW_CALLER, b, s); },
    .mbarrier_arrive = [](u32 b, u32 count, arch::Ordering ordering,
                          Site s) { mbarrier_signal(WW_CALLER, b, count, 0, ordering, s); },
    .mbarrier_expect_tx = [](u32 b, u32 bytes,
                             Site s) { mbarrier_signal(WW_CALLER, b, 0, bytes, arch::kReleaseCta, s); },
    .mbarrier_arrive_expect_tx = [](u32 b, u32 bytes,
                                    Site s) { mbarrier_signal(WW_CALLER, b, 1, bytes, arch::kReleaseCta, s); },
    .mbarrier_try_wait = [](u32 b, u32 parity, arch::Ordering ordering,
                            Site s) { return mbarrier_try_wait(WW_CALLER, b, parity, ordering, s); },
    .mbarrier_wait = [](u32 b, u32 parity, arch::Ordering ordering,
                        Site s) { mbarrier_wait(WW_CALLER, b, parity, ordering, s); },
    .fence =
        [](arch::Fence kind, Site s) {  // fibers are sequentially consistent: only the checker needs fences
          if (Checker* checker = machine().checker()) checker->fence(WW_LOOKER, kind, s);
        },
    .tma_load =
        [](const void* map, int rank, u32 barrier, u32 destination, arch::TmaCoordinates at, u32 multicast, Site s) {
          tma_load(WW_CALLER, {map, rank, barrier, destination, at, multicast}, s);
        },
    .tma_store = [](const void* map, int rank, u32 source, arch::TmaCoordinates at,
                    Site s) { tma_store(WW_CALLER, map, rank, source, at, s); },
    .tma_prefetch_map = [](const void* map, Site s) { tma_prefetch_map(WW_CALLER, map, s); },
    .bulk_commit = [](Site) { bulk_commit(WW_CALLER); },
    .bulk_wait = [](int pending, bool read_only, Site s) { bulk_wait(WW_CALLER, pending, read_only, s); },
    .stmatrix = [](u32 address, const u32* registers, int count, bool transposed,
                   Site s) { stmatrix(WW_CALLER, address, registers, count, transposed, s); },
    .ldmatrix = [](u32 address, u32* registers, int count, bool transposed,
                   Site s) { ldmatrix(WW_CALLER, address, registers, count, transposed, s); },
    .cluster_map = cluster_map,
    .cluster_arrive = [](bool relaxed, Site s) { cluster_arrive(WW_CALLER, relaxed, s); },
    .cluster_wait = [](Site s) { cluster_wait(WW_CALLER, s); },
    .store_async = [](u32 address, const u32* words, u32 bytes, u32 barrier,
                      Site s) { store_async(WW_CALLER, address, words, bytes, barrier, s); },
    .set_max_registers = [](u32 count, bool increase, Site s) { set_max_registers(WW_CALLER, count, increase, s); },
    .named_barrier_sync = [](u32 id, u32 threads, Site s) { named_barrier(WW_CALLER, id, threads, true, s); },
    .named_barrier_arrive = [](u32 id, u32 threads, Site s) { named_barrier(WW_CALLER, id, threads, false, s); },
    .elect = [](Site) { return elect(WW_LOOKER); },
    .sync_warp = [](u32 mask, Site s) { sync_warp(WW_LOOKER, mask, s); },
    .shuffle = [](u32 value, u32 lane, arch::ShuffleMode mode,
                  Site s) { return shuffle(WW_LOOKER, value, lane, mode, s); },
    .vote = [](bool predicate, arch::VoteMode mode, Site s) { return vote(WW_LOOKER, predicate, mode, s); },
    .shared_access = shared_access_called,
    .global_access = global_access_called,
    .global_wait_step = global_wait_step,
    .pdl_wait =
        [](Site s) {
          if (Checker* checker = machine().checker()) checker->pdl_waited(WW_LOOKER, s);
        },
    .pdl_launch_dependents = pdl_launch_dependents,
    .plain_access = plain_access,
    .role = role,
    .note_work = note_work,
    .tensor_map_replace = [](u32 copy, arch::TensorMapField field, int dimension, u64 value,
                             Site s) { tensor_map_replace(WW_CALLER, copy, field, dimension, value, s); },
    .tensor_map_release = [](void* map, u32 copy, Site s) { tensor_map_release(WW_CALLER, map, copy, s); },
    .tensor_map_acquire = [](const void* map, Site s) { tensor_map_acquire(WW_CALLER, map, s); },
    .instructions = [](const char* set, u32 version, u32 bytes) { return find_instructions(set, version, bytes); },
};

}  // namespace

const arch::EmuTable* table() { return &kTable; }

}  // namespace ww::emu
