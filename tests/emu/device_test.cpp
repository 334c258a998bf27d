// SPDX-License-Identifier: Apache-2.0
// CTA and cluster level: named barriers, cluster barrier, distributed shared memory, register budget, memory checks,
// launches whose CTAs wait for each other.
#include "harness.hpp"

#include <cstdlib>
#include <fstream>

#include "emu/stack_pool.hpp"

namespace ww::emu::test {
namespace {

struct Params {
  u32* out;
  u32 which;
};

void named_barriers(const Params& p) {
  const u32 warp = thread_index() / 32;
  for (u32 i = 0; i < 6; ++i) {
    if (warp < 2) {
      if (thread_index() == 40) shared<u32>(shared_base()) = i;
      t().named_barrier_arrive(3, 128, here());
      t().named_barrier_sync(4, 128, here());
    } else {
      t().named_barrier_sync(3, 128, here());
      if (shared<u32>(shared_base()) != i) write_global(p.out, 1u);
      t().named_barrier_sync(4, 128, here());
    }
  }
}
void mismatch(const Params&) { t().named_barrier_sync(3, thread_index() < 32 ? 128 : 64, here()); }
void too_few(const Params&) {
  if (thread_index() < 96) t().named_barrier_sync(5, 128, here());
}
void no_such_barrier(const Params&) { t().named_barrier_sync(16, 128, here()); }

TEST(EmuDevice, NamedBarriersCountAndCompare) {
  for (u64 seed = 0; seed < 8; ++seed) {
    std::vector<u32> out(4);
    EXPECT_RUNS((launch<named_barriers>(Params{out.data(), 0}, {}, {range("out", out)}, {.seed = seed})));
    EXPECT_EQ(out[0], 0u);
  }
  EXPECT_REPORTS((launch<mismatch>(Params{}, {})), "named barrier 3: this thread expects");
  EXPECT_REPORTS((launch<too_few>(Params{}, {})), "warps 0-2 (96 threads)");
  EXPECT_REPORTS((launch<too_few>(Params{}, {})), "named barrier 5: 96 of 128 threads have arrived");
  EXPECT_REPORTS((launch<no_such_barrier>(Params{}, {})), "expected an id from 0 to 15");
}

void distributed(const Params& p) {
  const u32 peer = (cluster_rank() + 1) % 4;
  shared<u32>(t().cluster_map(shared_base() + 4 * thread_index(), peer, here())) =
      cluster_rank() * 1000 + thread_index();
  if (p.which == 1) return;
  sync_cluster();
  write_global(p.out + cluster_rank() * 32 + thread_index(), shared<u32>(shared_base() + 4 * thread_index()));
}
void peer_exits(const Params& p) {
  if (cluster_rank() == 0) return;
  for (u32 i = 0; i < 200; ++i) t().sync_warp(~0u, here());
  shared<u32>(t().cluster_map(shared_base(), 0, here())) = p.which;
}
void arrive_twice(const Params&) {
  t().cluster_arrive(false, here());
  t().cluster_arrive(false, here());
}
void early_exit(const Params&) {
  if (thread_index() < 7) return;
  sync_cluster();
}

TEST(EmuDevice, ClusterBarrierAndDistributedSharedMemory) {
  const Shape shape{.threads = 32, .grid = 8, .cluster = 4};
  for (u64 seed = 0; seed < 8; ++seed) {
    std::vector<u32> out(128);
    EXPECT_RUNS((launch<distributed>(Params{out.data(), 0}, shape, {range("out", out)}, {.seed = seed})));
    for (u32 i = 0; i < 128; ++i) EXPECT_EQ(out[i], (i / 32 + 3) % 4 * 1000 + i % 32);
  }
  EXPECT_REPORTS((launch<peer_exits>(Params{}, shape, {}, {.schedule = EmuSchedule::fifo})), "which has exited");
  EXPECT_REPORTS((launch<arrive_twice>(Params{}, shape)), "arrives again without having waited");
  EXPECT_RUNS((launch<early_exit>(Params{}, shape)));
}

void registers(const Params& p) {
  const bool producer = thread_index() < 128;
  const u32 math = p.which == 0 ? 232 : 240, load = p.which == 0 ? 40 : p.which == 1 ? 32 : 24;
  if (p.which == 3) return t().set_max_registers(36, false, here());
  if (p.which == 4) return t().set_max_registers(thread_index() == 99 ? 48 : 40, false, here());
  if (p.which == 5) return t().set_max_registers(160, true, here());
  t().set_max_registers(producer ? load : math, !producer, here());
}

TEST(EmuDevice, RegistersMustComeFromTheLaunchAllocation) {
  const Shape shape{.threads = 384};
  for (u64 seed = 0; seed < 4; ++seed) {
    EXPECT_RUNS((launch<registers>(Params{nullptr, 0}, shape, {}, {.seed = seed})));
    EXPECT_RUNS((launch<registers>(Params{nullptr, 2}, shape, {}, {.seed = seed})));
    EXPECT_REPORTS((launch<registers>(Params{nullptr, 1}, shape, {}, {.seed = seed})), "deadlock");
    EXPECT_REPORTS((launch<registers>(Params{nullptr, 1}, shape, {}, {.seed = seed})),
                   "setmaxnreg to 240: register pool, 72 more for each thread");
  }
  EXPECT_REPORTS((launch<registers>(Params{nullptr, 3}, shape)), "multiple of 8 from 24 to 256");
  EXPECT_REPORTS((launch<registers>(Params{nullptr, 4}, shape)), "diverges in its warpgroup");
  EXPECT_REPORTS((launch<registers>(Params{nullptr, 5}, shape)), "setmaxnreg.inc to 160, but the thread holds 168");
}

void memory_misuse(const Params& p) {
  if (thread_index() != 3) return;
  switch (p.which) {
    case 0: shared<u32>(shared_base() + 4096) = 0; break;
    case 1: shared<u32>(shared_base() - 4) = 0; break;
    case 2: shared<u64>(shared_base() + 4) = 0; break;
    case 3: write_global(p.out + 4, 0u); break;
    case 4: write_global(reinterpret_cast<u32*>(reinterpret_cast<u8*>(p.out) + 1), 0u); break;
    case 5: write_global(p.out + 8, 0u); break;
    case 6: shared<u32>(t().cluster_map(shared_base(), 1, here())) = 0; break;
    default: break;
  }
}

TEST(EmuDevice, MemoryIsCheckedForBoundsAlignmentAndPermission) {
  std::vector<u32> out(16);
  const std::vector<MemoryRange> memory = {{"out", out.data(), 16, true}, {"in", out.data() + 8, 16, false}};
  const char* parts[] = {"shared memory out of bounds: 4 bytes at offset 0x1400; the CTA has [0x400, 0x1400)",
                         "out of bounds: 4 bytes at offset 0x3fc",
                         "misaligned shared access",
                         "4 bytes at 16 bytes past the start of operand out, which has 16",
                         "misaligned global access",
                         "write to read-only operand in",
                         "rank 1 in a cluster of 1"};
  for (u32 which = 0; which < std::size(parts); ++which) {
    EXPECT_REPORTS((launch<memory_misuse>(Params{out.data(), which}, {}, memory)), parts[which]);
    EXPECT_REPORTS((launch<memory_misuse>(Params{out.data(), which}, {}, memory)),
                   "CTA 0, warpgroup 0, warp 0, lane 3; kernel test_kernel, seed 0, schedule random");
  }
  EXPECT_RUNS((launch<memory_misuse>(Params{out.data(), 99}, {}, memory)));
}

void read_uninitialised(const Params& p) { write_global(p.out, shared<u32>(shared_base() + 64)); }

TEST(EmuDevice, SharedMemoryStartsAsNaN) {
  std::vector<u32> out(4);
  EXPECT_RUNS((launch<read_uninitialised>(Params{out.data(), 0}, {.threads = 32}, {range("out", out)})));
  EXPECT_EQ(out[0], ~0u);
}

/// CTA i waits for the flag of CTA i + 1.
void chain(const Params& p) {
  const u32 block = t().special(arch::Special::block_index), last = t().special(arch::Special::grid_size) - 1;
  if (thread_index() != 0) return;
  if (block != last)
    while (p.out[block + 1] == 0) t().global_wait_step(p.out + block + 1, here());
  write_global(p.out + block, block == last ? 1u : p.out[block + 1] + 1);
}

TEST(EmuDevice, CtasThatWaitForEachOtherNeedCrossCta) {
  for (u64 seed = 0; seed < 4; ++seed) {
    std::vector<u32> out(12);
    EXPECT_RUNS((launch<chain>(Params{out.data(), 0}, {.threads = 32, .grid = 12, .cross_cta = true, .sms = 12},
                               {range("out", out)}, {.seed = seed})));
    for (u32 i = 0; i < 12; ++i) EXPECT_EQ(out[i], 12 - i);
  }
  std::vector<u32> out(12);
  EXPECT_REPORTS((launch<chain>(Params{out.data(), 0}, {.threads = 32, .grid = 12, .cross_cta = true, .sms = 4},
                                {range("out", out)})),
                 "8 of 12 clusters have not started, because the device's SMs hold 4 at a time; --sms");
  EXPECT_REPORTS(
      (launch<chain>(Params{out.data(), 0}, {.threads = 32, .grid = 12}, {range("out", out)}, {.threads = 1})),
      "global memory");
}

void count_blocks(const Params& p) {
  if (thread_index() == 0)
    write_global(p.out + t().special(arch::Special::block_index), t().special(arch::Special::block_index) + 1);
  sync_cta();
}

TEST(EmuDevice, MoreCtasThanSmsRunInTurn) {
  for (bool cross_cta : {false, true}) {
    std::vector<u32> out(40);
    const auto stats = launch<count_blocks>(Params{out.data(), 0},
                                            {.threads = 64, .grid = 40, .cluster = 2, .cross_cta = cross_cta, .sms = 6},
                                            {range("out", out)});
    EXPECT_RUNS(stats);
    for (u32 i = 0; i < 40; ++i) EXPECT_EQ(out[i], i + 1);
    EXPECT_EQ(stats->ctas, 40u);
    EXPECT_EQ(stats->fibers, 40u * 64);
  }
}

TEST(EmuDevice, WrongLaunchesAreRefusedWithTheArgument) {
  const auto argument = [](Shape shape) {
    const auto result = launch<count_blocks>(Params{}, shape);
    return result ? std::string("none") : result.error().argument;
  };
  EXPECT_EQ(argument({.threads = 48}), "threads");
  EXPECT_EQ(argument({.grid = 3, .cluster = 2}), "grid");
  EXPECT_EQ(argument({.grid = 0}), "grid");
  EXPECT_EQ(argument({.grid = 32, .cluster = 32}), "cluster");
  EXPECT_EQ(argument({.shared_bytes = 232449}), "shared_bytes");
  EXPECT_EQ(argument({.grid = 4, .cluster = 4, .sms = 2}), "sms");
}

/// Every worker of a launch has a pool, as many as the host has threads. Linux allows a process 65530 mappings, unless
/// somebody raised the limit, and each protected page below a stack takes two.
TEST(EmuDevice, StacksOfManyWorkersTakeFewMappings) {
  constexpr std::size_t kStacksOfWorker = 48 * 384;  // threads of as many CTAs
  std::vector<std::unique_ptr<StackPool>> pools;
  for (int worker = 0; worker < 8; ++worker) {
    pools.push_back(std::make_unique<StackPool>());
    ASSERT_NO_THROW((void)pools.back()->at(kStacksOfWorker - 1)) << worker;
  }
  std::size_t mappings = 0, protected_pages = 0;
  std::ifstream maps("/proc/self/maps");
  for (std::string line; std::getline(maps, line); ++mappings)
    protected_pages += line.find("---p") != std::string::npos;
  EXPECT_LT(mappings, 40'000u);
  EXPECT_GE(protected_pages, 64u * pools.size());  // the first stacks of every worker
}

void throws(const Params&) { throw 1; }

TEST(EmuDevice, AKernelThatThrowsIsAReport) { EXPECT_REPORTS((launch<throws>(Params{}, {})), "threw an exception"); }

}  // namespace
}  // namespace ww::emu::test
