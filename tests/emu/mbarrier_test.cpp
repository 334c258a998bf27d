// SPDX-License-Identifier: Apache-2.0
// The mbarrier's rules, one kernel each.
#include "harness.hpp"

namespace ww::emu::test {
namespace {

struct Params {
  u32* out;
  u32 which;
};

/// One thread per CTA calls `body(barrier)`.
template <class Body> void with_barrier(u32 count, Body body) {
  const u32 barrier = shared_base();
  if (thread_index() == 0) t().mbarrier_init(barrier, count, here());
  sync_cluster();
  body(barrier);
}

void fresh_barrier(const Params& p) {
  with_barrier(1, [&](u32 barrier) {
    if (thread_index() != 0) return;
    t().mbarrier_wait(barrier, 1, arch::kAcquireCta, here());
    write_global<u32>(p.out, 1);
    if (p.which == 0) t().mbarrier_wait(barrier, 0, arch::kAcquireCta, here());
    write_global<u32>(p.out, 2);
  });
}

TEST(EmuMbarrier, AFreshBarrierPassesParityOneAndBlocksParityZero) {
  std::vector<u32> out(4);
  EXPECT_REPORTS((launch<fresh_barrier>(Params{out.data(), 0}, {}, {range("out", out)})),
                 "waiting for parity 0: phase 0 (parity 0) is open");
  EXPECT_EQ(out[0], 1u);
  EXPECT_RUNS((launch<fresh_barrier>(Params{out.data(), 1}, {}, {range("out", out)})));
  EXPECT_EQ(out[0], 2u);
}

void phases(const Params& p) {
  with_barrier(128, [&](u32 barrier) {
    for (u32 phase = 0; phase < 20; ++phase) {
      if (thread_index() == 5) write_global<u32>(p.out, phase);
      t().mbarrier_arrive(barrier, 1, arch::kReleaseCta, here());
      t().mbarrier_wait(barrier, phase & 1, arch::kAcquireCta, here());
      if (*p.out != phase) write_global<u32>(p.out + 1, 1);
      sync_cta();
    }
  });
}

TEST(EmuMbarrier, EveryThreadSeesWhatWasWrittenBeforeThePhaseCompleted) {
  for (u64 seed = 0; seed < 20; ++seed) {
    std::vector<u32> out(4);
    EXPECT_RUNS((launch<phases>(Params{out.data(), 0}, {}, {range("out", out)}, {.seed = seed})));
    EXPECT_EQ(out[0], 19u);
    EXPECT_EQ(out[1], 0u) << "replay with seed " << seed;
  }
}

struct TmaParams {
  arch::TensorMap map;
  u32* out;
  u32 expect;
};

/// CTA 1 multicasts into CTA 0, which announces the bytes only after CTA 1 has signalled that they were issued.
void bytes_before_expect(const TmaParams& p) {
  const u32 barrier = shared_base(), told = shared_base() + 8, box = shared_base() + 128;
  if (thread_index() == 0) {
    t().mbarrier_init(barrier, 1, here());
    t().mbarrier_init(told, 1, here());
  }
  sync_cluster();
  if (thread_index() == 0 && cluster_rank() == 1) {
    t().tma_load(&p.map, 1, barrier, box, {{0}}, 0b01, here());
    t().mbarrier_arrive(t().cluster_map(told, 0, here()), 1, arch::kReleaseCta, here());
  }
  if (thread_index() == 0 && cluster_rank() == 0) {
    t().mbarrier_wait(told, 0, arch::kAcquireCta, here());
    t().mbarrier_arrive_expect_tx(barrier, p.expect, here());
    t().mbarrier_wait(barrier, 0, arch::kAcquireCta, here());
    write_global(p.out, shared<u32>(box + 60));
  }
  sync_cluster();
}

TEST(EmuMbarrier, PeerBytesMayLandBeforeMyExpectTx) {
  for (u64 seed = 0; seed < 16; ++seed) {
    auto data = random_bytes<u32>(16, 1);
    std::vector<u32> out(4);
    const TensorMapSpec spec{
        .base = data.data(), .element = f32, .rank = 1, .extent = {16}, .box = {16}, .swizzle = SmemSwizzle::none};
    const Shape shape{.threads = 32, .grid = 2, .cluster = 2};
    const std::vector<MemoryRange> memory = {range("in", data, false), range("out", out)};
    EXPECT_RUNS((launch<bytes_before_expect>(TmaParams{*encode(spec), out.data(), 64}, shape, memory, {.seed = seed})));
    EXPECT_EQ(out[0], data[15]) << "replay with seed " << seed;
    EXPECT_REPORTS(
        (launch<bytes_before_expect>(TmaParams{*encode(spec), out.data(), 128}, shape, memory, {.seed = seed})),
        "0 of 1 arrivals and 64 bytes missing");
    EXPECT_REPORTS(
        (launch<bytes_before_expect>(TmaParams{*encode(spec), out.data(), 48}, shape, memory, {.seed = seed})), "");
  }
}

enum Misuse {
  kNone,
  kUnderflow,
  kUninitialised,
  kTwice,
  kOverwritten,
  kInvalidated,
  kRange,
  kCount,
  kParity,
  kRemoteWait,
  kMisaligned
};

void misuse(const Params& p) {
  with_barrier(1, [&](u32 barrier) {
    if (thread_index() != 0 || cluster_rank() != 0) return;
    switch (p.which) {
      case kUnderflow: t().mbarrier_arrive(barrier, 2, arch::kReleaseCta, here()); break;
      case kUninitialised: t().mbarrier_arrive(barrier + 8, 1, arch::kReleaseCta, here()); break;
      case kTwice: t().mbarrier_init(barrier, 1, here()); break;
      case kOverwritten:
        shared<u32>(barrier) = 0;
        t().mbarrier_arrive(barrier, 1, arch::kReleaseCta, here());
        break;
      case kInvalidated:
        t().mbarrier_invalidate(barrier, here());
        t().mbarrier_init(barrier, 1, here());
        t().mbarrier_invalidate(barrier, here());
        t().mbarrier_arrive(barrier, 1, arch::kReleaseCta, here());
        break;
      case kRange: t().mbarrier_expect_tx(barrier, 1 << 20, here()); break;
      case kCount: t().mbarrier_init(barrier + 8, 0, here()); break;
      case kParity: t().mbarrier_wait(barrier, 2, arch::kAcquireCta, here()); break;
      case kRemoteWait: t().mbarrier_wait(t().cluster_map(barrier, 1, here()), 1, arch::kAcquireCta, here()); break;
      case kMisaligned: t().mbarrier_init(barrier + 12, 1, here()); break;
      default: break;
    }
  });
}

TEST(EmuMbarrier, MisuseIsReportedWithItsLine) {
  const std::pair<Misuse, const char*> cases[] = {
      {kUnderflow, "arrival underflow, 2 more arrive where 1 of 1 are pending"},
      {kUninitialised, "is not initialised"},
      {kTwice, "is initialised again"},
      {kOverwritten, "its memory was overwritten"},
      {kInvalidated, "is not initialised"},
      {kRange, "transaction count 1048576 is out of range"},
      {kCount, "count 0"},
      {kParity, "parity 2"},
      {kRemoteWait, "own shared memory, got cluster rank 1"},
      {kMisaligned, "misaligned"},
  };
  const Shape shape{.threads = 32, .grid = 2, .cluster = 2};
  for (const auto& [which, part] : cases) {
    EXPECT_REPORTS((launch<misuse>(Params{nullptr, which}, shape)), part);
    EXPECT_REPORTS((launch<misuse>(Params{nullptr, which}, shape)), "mbarrier_test.cpp:");
  }
  EXPECT_RUNS((launch<misuse>(Params{nullptr, kNone}, shape)));
}

void poll_loop(const Params& p) {
  with_barrier(1, [&](u32 barrier) {
    if (thread_index() == 32) t().mbarrier_arrive(barrier, p.which, arch::kReleaseCta, here());
    u32 failures = 0;
    while (!t().mbarrier_try_wait(barrier, 0, arch::kAcquireCta, here())) ++failures;
    if (thread_index() == 0) write_global(p.out, failures + 1);
  });
}

TEST(EmuMbarrier, TryWaitMayFailButPollingEnds) {
  u32 most = 0;
  for (u64 seed = 0; seed < 20; ++seed) {
    std::vector<u32> out(4);
    EXPECT_RUNS((launch<poll_loop>(Params{out.data(), 1}, {}, {range("out", out)}, {.seed = seed})));
    ASSERT_NE(out[0], 0u);
    most = std::max(most, out[0] - 1);
  }
  EXPECT_GT(most, 0u) << "some try should fail";
}

void poll_forever(const Params&) {
  with_barrier(1, [&](u32 barrier) {
    while (!t().mbarrier_try_wait(barrier, 0, arch::kAcquireCta, here())) {
    }
  });
}

TEST(EmuMbarrier, PollingForEverIsALivelock) {
  for (const auto schedule : {EmuSchedule::fifo, EmuSchedule::random})
    EXPECT_REPORTS((launch<poll_forever>(Params{}, {}, {}, {.schedule = schedule})), "livelock");
}

}  // namespace
}  // namespace ww::emu::test
