// SPDX-License-Identifier: Apache-2.0
// The checker's basic rules, each on a kernel that breaks it and on its correct neighbour, under several schedules.
#include "check_launch.hpp"
#include "emu/check/clock.hpp"
#include "gemm_kernel.hpp"

namespace ww::emu::test {
namespace {

void missing_sync(const bool& broken) {
  const u32 base = shared_base(), i = thread_index();
  shared<u32>(base + 4 * i) = i;
  if (!broken) sync_cta();
  t().shared_access(base + 4 * ((i + 33) % 128), 4, arch::Access::read, arch::kWeak, here());
  sync_cta();
}
TEST(Check, SharedAccessesNeedABarrierBetweenThem) {
  for (u64 seed = 0; seed < 4; ++seed) {
    EXPECT_TRUE(check_launch<missing_sync>(false, {}, {}, {.seed = seed}).findings.empty());
    EXPECT_EQ(check_launch<missing_sync>(true, {}, {}, {.seed = seed}).verdict, Verdict::findings);
  }
}

void neighbours_in_a_granule(const bool&) {
  const u32 base = shared_base(), i = thread_index();
  *static_cast<u8*>(t().shared_access(base + i, 1, arch::Access::write, arch::kWeak, here())) = 1;
  t().shared_access(base + i, 1, arch::Access::read, arch::kWeak, here());
}
TEST(Check, ThreadsMayOwnNeighbouringBytes) {
  const auto report = check_launch<neighbours_in_a_granule>(true, {});
  EXPECT_TRUE(report.findings.empty()) << all_of(report);
  EXPECT_EQ(report.verdict, Verdict::incomplete) << "no plain access of this kernel was seen";
}

// All lanes write, lane 0 arrives for them, a thread of another warp waits and reads.
void elected_arrive(const bool& broken) {
  const u32 barrier = shared_base(), data = barrier + 64, i = thread_index();
  if (i == 0) t().mbarrier_init(barrier, 1, here());
  sync_cta();
  if (i < 32) {
    shared<u32>(data + 4 * i) = i;
    if (!broken) t().sync_warp(~0u, here());
    if (i == 0) t().mbarrier_arrive(barrier, 1, arch::kReleaseCta, here());
  } else if (i == 32) {
    t().mbarrier_wait(barrier, 0, arch::kAcquireCta, here());
    for (u32 lane = 0; lane < 32; ++lane)
      t().shared_access(data + 4 * lane, 4, arch::Access::read, arch::kWeak, here());
  }
}
TEST(Check, OneLaneArrivesOnlyForItselfWithoutASyncwarp) { expect_rule<elected_arrive>(Rule::data_race, {}); }

void reads_nothing(const bool& broken) {
  const u32 base = shared_base();
  if (!broken) shared<u32>(base + 4 * thread_index()) = 1;
  t().shared_access(base + 4 * thread_index(), 4, arch::Access::read, arch::kWeak, here());
}
TEST(Check, SharedMemoryIsWrittenBeforeItIsRead) { expect_rule<reads_nothing>(Rule::uninitialised_read, {}); }
TEST(Check, MemoryThatNobodyWroteIsNamedByItsLaunch) {
  const auto report = check_launch<reads_nothing>(true, {.shared_bytes = 2048});
  const Finding& finding = finding_of(report, Rule::uninitialised_read);
  EXPECT_EQ(finding.first.operation,
            "shared memory of CTA 0, offsets [0x400, 0xc00), as the launch gives it (kernel test_kernel: grid 1, "
            "cluster 1, 128 threads, 2048 bytes of dynamic shared memory)");
}

void waits_for_ever(const bool& broken) {
  const u32 barrier = shared_base();
  if (thread_index() == 0) t().mbarrier_init(barrier, 128, here());
  sync_cta();
  if (!broken || thread_index() != 7) t().mbarrier_arrive(barrier, 1, arch::kReleaseCta, here());
  t().mbarrier_wait(barrier, 0, arch::kAcquireCta, here());
}
TEST(Check, ADeadlockNamesTheBarrierAndItsHistory) {
  expect_rule<waits_for_ever>(Rule::deadlock, {});
  const auto report = check_launch<waits_for_ever>(true, {});
  ASSERT_FALSE(report.findings.empty());
  EXPECT_EQ(report.findings[0].text.find("deadlock: no thread can run"), 0u) << all_of(report);
  EXPECT_NE(report.findings[0].text.find("1 of 128 arrivals"), std::string::npos) << all_of(report);
  EXPECT_NE(report.findings[0].barrier_history.find(": 127 arrivals ("), std::string::npos) << all_of(report);
  EXPECT_NE(report.findings[0].barrier_history.find("warps 0-3)"), std::string::npos) << all_of(report);
  ASSERT_EQ(report.findings[0].barriers.size(), 1u);
  EXPECT_EQ(report.findings[0].barriers[0].events.size(), 2u) << "the initialisation, and the arrivals in one line";
  EXPECT_EQ(report.findings[0].first.operation, "arrival on the mbarrier");
  EXPECT_NE(report.findings[0].advice.find("an arrival that is missing"), std::string::npos) << all_of(report);
  ASSERT_EQ(report.findings[0].parties.size(), 128u) << "everybody waits";
  for (int i = 0; i < 128; ++i) {
    const FindingParty& party = report.findings[0].parties[static_cast<std::size_t>(i)];
    EXPECT_EQ(party.warp * 32 + party.lane, i);
    EXPECT_EQ(party.operation,
              "mbarrier at offset 0x400, waiting for parity 0: phase 0 (parity 0) is open, 1 of 128 arrivals and 0 "
              "bytes missing");
    EXPECT_GT(party.line, 0);
  }
}

void arrives_too_often(const bool& broken) {
  const u32 barrier = shared_base();
  if (thread_index() == 0) t().mbarrier_init(barrier, 2, here());
  sync_cta();
  if (thread_index() == 0) t().mbarrier_arrive(barrier, broken ? 3 : 2, arch::kReleaseCta, here());
}
TEST(Check, ArrivalsBeyondTheCountAreAnUnderflow) { expect_rule<arrives_too_often>(Rule::arrival_underflow, {}); }

// One arrival is expected: thread 0 arrives twice without waiting in between, or every warp arrives.
void arrives_again(const bool& same_thread) {
  const u32 barrier = shared_base(), i = thread_index();
  if (i == 0) t().mbarrier_init(barrier, 1, here());
  sync_cta();
  if (same_thread ? i != 0 : i % 32 != 0) return;
  // The phase stays open, because its bytes are missing.
  if (i == 0) t().mbarrier_arrive_expect_tx(barrier, 16, here());
  if (same_thread || i != 0) t().mbarrier_arrive(barrier, 1, arch::kReleaseCta, here());
}
TEST(Check, AdviceOnAnUnderflowTellsAMissingWaitFromACountTooSmall) {
  const auto missing_wait = check_launch<arrives_again>(true, {}, {}, {.schedule = EmuSchedule::fifo});
  const Finding& twice = finding_of(missing_wait, Rule::arrival_underflow);
  EXPECT_NE(twice.advice.find("arrives twice in one phase"), std::string::npos) << twice.text;
  EXPECT_EQ(twice.advice.find("initialise it with as many"), std::string::npos) << twice.text;
  const auto too_many = check_launch<arrives_again>(false, {}, {}, {.schedule = EmuSchedule::fifo});
  const Finding& more = finding_of(too_many, Rule::arrival_underflow);
  EXPECT_NE(more.advice.find("initialise it with as many arrivals"), std::string::npos) << more.text;
  for (const Finding* finding : {&twice, &more}) {
    EXPECT_EQ(finding->first.warp, 0);
    EXPECT_EQ(finding->first.lane, 0);
    EXPECT_FALSE(finding->barriers.empty()) << finding->text;
  }
}

void exits_early(const bool& broken) {
  const u32 barrier = shared_base();
  if (thread_index() == 0) {
    t().mbarrier_init(barrier, 1, here());
    t().fence(arch::Fence::mbarrier_init, here());
  }
  sync_cluster();
  if (cluster_rank() == 1 && thread_index() == 0)
    t().mbarrier_arrive(t().cluster_map(barrier, 0, here()), 1, arch::kReleaseCta, here());
  if (!broken && cluster_rank() == 0 && thread_index() == 0) t().mbarrier_wait(barrier, 0, arch::kAcquireCta, here());
}
TEST(Check, ACtaOutlivesArrivalsOfItsPeers) { expect_rule<exits_early>(Rule::exited_cta, {.grid = 2, .cluster = 2}); }

void diverges_before_cluster_barrier(const bool& broken) {
  const u32 barrier = shared_base();
  if (thread_index() == 0) t().mbarrier_init(barrier, 1, here());
  sync_cta();
  if (thread_index() == 64) t().mbarrier_arrive(barrier, 1, arch::kReleaseCta, here());
  if (thread_index() == 0) t().mbarrier_wait(barrier, 0, arch::kAcquireCta, here());
  if (!broken) t().sync_warp(~0u, here());
  sync_cluster();
}
TEST(Check, AnAlignedBarrierNeedsItsWarpTogether) {
  expect_rule<diverges_before_cluster_barrier>(Rule::divergent_call, {});
}

void cross_cta_write(u32* const& data) { t().global_access(data, 4, arch::Access::write, arch::kWeak, here()); }
void own_write(u32* const& data) {
  t().global_access(data + t().special(arch::Special::block_index) * 32 + thread_index(), 4, arch::Access::write,
                    arch::kWeak, here());
}
TEST(Check, ClustersShareNoGlobalBytesWithoutSynchronisation) {
  std::vector<u32> data(1024);
  u32* first = data.data();
  EXPECT_TRUE(
      has(check_launch<cross_cta_write>(first, {.threads = 32, .grid = 4}, {range("d", data)}), Rule::data_race));
  const auto clean = check_launch<own_write>(first, {.threads = 32, .grid = 4}, {range("d", data)});
  EXPECT_TRUE(clean.findings.empty()) << all_of(clean);
}

// The first CTA waits for the last one's word and reads what it wrote; nobody says that CTAs wait for each other.
struct Handover {
  u32 *flag, *data;
  bool released;
};
void waits_for_the_last(const Handover& p) {
  if (thread_index() != 0) return;
  const u32 block = t().special(arch::Special::block_index);
  const arch::Ordering acquire{arch::MemoryOrder::acquire, arch::Scope::gpu};
  const arch::Ordering store{p.released ? arch::MemoryOrder::release : arch::MemoryOrder::relaxed, arch::Scope::gpu};
  if (block + 1 == t().special(arch::Special::grid_size)) {
    write_global(p.data, 5u);
    *static_cast<u32*>(t().global_access(p.flag, 4, arch::Access::write, store, here())) = 1;
  } else if (block == 0) {
    while (*static_cast<u32*>(t().global_access(p.flag, 4, arch::Access::read, acquire, here())) == 0)
      t().global_wait_step(p.flag, here());
    t().global_access(p.data, 4, arch::Access::read, arch::kWeak, here());
  }
}
TEST(Check, ClustersMayWaitForEachOtherUndeclared) {
  for (const u64 seed : {0, 1, 68})  // the last runs all clusters at once
    for (const bool released : {true, false}) {
      std::vector<u32> words(2);
      const auto report =
          check_launch<waits_for_the_last>(Handover{words.data(), words.data() + 1, released},
                                           {.threads = 32, .grid = 6}, {range("words", words)}, {.seed = seed});
      EXPECT_EQ(has(report, Rule::data_race), !released) << all_of(report);
      EXPECT_EQ(report.findings.empty(), released) << all_of(report);
    }
}

void all_wait_for_the_last(u32* const& flag) {
  if (t().special(arch::Special::block_index) + 1 == t().special(arch::Special::grid_size)) write_global(flag, 1u);
  else
    while (*static_cast<u32*>(t().global_access(flag, 4, arch::Access::read, arch::kAcquireCta, here())) == 0)
      t().global_wait_step(flag, here());
}
TEST(Check, ClustersThatCouldNotStartAreCounted) {
  std::vector<u32> words(1);
  u32* flag = words.data();
  const auto report =
      check_launch<all_wait_for_the_last>(flag, {.threads = 32, .grid = 6, .sms = 4}, {range("words", words)}, {});
  const Finding& stuck = finding_of(report, Rule::livelock);
  EXPECT_EQ(stuck.text.find("livelock: threads poll"), 0u) << "the name of the rule is there once\n" << stuck.text;
  EXPECT_NE(stuck.text.find("2 of 6 clusters have not started"), std::string::npos) << stuck.text;
}

// Thread 0 releases all words, thread 32 reads them relaxed. Thread 64 then overwrites the first, so that thread 32's
// acquire of it observes that store: what orders the data is the relaxed read before it, if it is remembered.
struct Words {
  u32 *flags, *data;
  u32 count;
};
u32& strong(u32* word, arch::Access access, arch::MemoryOrder order, Site site = here()) {
  return *static_cast<u32*>(t().global_access(word, 4, access, {order, arch::Scope::gpu}, site));
}
void reads_many_words(const Words& p) {
  using arch::MemoryOrder;
  u32 *const turn = p.flags + p.count, *const done = turn + 1, *const first = p.flags;
  const auto poll = [](u32* word, MemoryOrder order, u32 value) {
    while (strong(word, arch::Access::read, order) != value) t().global_wait_step(word, here());
  };
  if (thread_index() == 0) {
    write_global(p.data, 5u);
    for (u32 i = 0; i < p.count; ++i) strong(p.flags + i, arch::Access::write, MemoryOrder::release) = 1;
  } else if (thread_index() == 32) {
    for (u32 i = 0; i < p.count; ++i) poll(p.flags + i, MemoryOrder::relaxed, 1);
    strong(turn, arch::Access::write, MemoryOrder::relaxed) = 1;
    poll(done, MemoryOrder::relaxed, 1);
    strong(first, arch::Access::read, MemoryOrder::acquire);
    t().global_access(p.data, 4, arch::Access::read, arch::kWeak, here());
  } else if (thread_index() == 64) {
    poll(turn, MemoryOrder::relaxed, 1);
    strong(first, arch::Access::write, MemoryOrder::relaxed) = 2;
    strong(done, arch::Access::write, MemoryOrder::relaxed) = 1;
  }
}
TEST(Check, AThreadRemembersWhatItSawOf64Words) {
  for (const u32 count : {1, 5, 63, 64, 65}) {
    std::vector<u32> words(count + 3);
    const auto report = check_launch<reads_many_words>(Words{words.data(), words.data() + count + 2, count},
                                                       {.threads = 96}, {range("words", words)}, {});
    // The limit that docs/memory-model.md names. Nothing is released through the other two flags.
    EXPECT_EQ(has(report, Rule::data_race), count > 64) << count << "\n" << all_of(report);
  }
}

void last_lane_waits(const bool& broken) {
  const u32 barrier = shared_base();
  if (thread_index() == 0) t().mbarrier_init(barrier, 1, here());
  sync_cta();
  if (thread_index() == 63 && broken) t().mbarrier_wait(barrier, 0, arch::kAcquireCta, here());
  t().sync_warp(~0u, here());
}
TEST(Check, ADeadlockNamesTheCauseBeforeTheLanesThatWaitForIt) {
  const auto report = check_launch<last_lane_waits>(true, {.threads = 64});
  const Finding& stuck = finding_of(report, Rule::deadlock);
  EXPECT_EQ(stuck.second.operation.find("mbarrier at offset"), 0u) << stuck.text;
  EXPECT_EQ(stuck.second.lane, 31) << stuck.text;
}

void half_a_warp_each(const bool& broken) {
  if (broken && thread_index() % 32 < 16) t().sync_warp(~0u, here());
  else sync_cta();
}
TEST(Check, ADeadlockOfHalfWarpsSaysSo) {
  const auto report = check_launch<half_a_warp_each>(true, {.threads = 64});
  const Finding& stuck = finding_of(report, Rule::deadlock);
  EXPECT_NE(stuck.text.find("its lanes wait for each other at different places, lanes 0x0000ffff at "),
            std::string::npos)
      << stuck.text;
  EXPECT_NE(stuck.advice.find("all lanes of a warp"), std::string::npos) << stuck.advice;
  EXPECT_EQ(stuck.first.warp, stuck.second.warp) << "the other half of the same warp\n" << stuck.text;
}

TEST(Check, ReportsDependNeitherOnThreadsNorOnTheRun) {
  const auto report = [](int threads, u64 seed) {
    std::vector<u32> data(1024);
    u32* first = data.data();
    return all_of(check_launch<cross_cta_write>(first, {.threads = 32, .grid = 12}, {range("d", data)},
                                                {.seed = seed, .threads = threads}));
  };
  for (const u64 seed : {0, 1, 68}) {
    EXPECT_EQ(report(1, seed), report(2, seed));
    EXPECT_EQ(report(1, seed), report(1, seed));
  }
}

TEST(Check, ClocksOfFarSlotsJoinLikeWholeVectors) {
  std::mt19937_64 random(3);
  ClockPool pool;
  constexpr u32 kSlots = 700;
  for (int round = 0; round < 300; ++round) {
    ClockRef clocks[2];
    std::vector<u32> values[2];
    for (int which = 0; which < 2; ++which) {
      values[which].assign(kSlots, 0);
      const u32 first = static_cast<u32>(random() % kSlots), reach = 1 + static_cast<u32>(random() % (kSlots - first));
      for (u64 raises = random() % 6; raises != 0; --raises) {
        const u32 slot = first + static_cast<u32>(random() % reach), epoch = 1 + static_cast<u32>(random() % 9);
        clocks[which] = pool.raise(clocks[which], slot, epoch);
        values[which][slot] = std::max(values[which][slot], epoch);
      }
    }
    const ClockRef joined = pool.join(clocks[0], clocks[1]);
    bool is_first = true;
    for (u32 slot = 0; slot < kSlots; ++slot) {
      const u32 both = std::max(values[0][slot], values[1][slot]);
      ASSERT_EQ(joined ? joined->s.at(slot) : 0, both) << "round " << round << ", slot " << slot;
      is_first = is_first && both == values[0][slot];
    }
    EXPECT_TRUE(!clocks[0] || !is_first || joined == clocks[0]) << "nothing new makes no new clock";
  }
}

// --- the pipelined GEMM ---------------------------------------------------------------------------

CheckReport check_gemm(GemmProblem& p, u32 grid, EmuOptions options = {}) {
  return check_launch<gemm_kernel>(
      p.params,
      {.threads = kGemmThreads, .grid = grid, .cluster = p.params.cluster, .shared_bytes = GemmShared::kBytes},
      {range("a", p.a, false), range("b", p.b, false), range("d", p.d)}, options);
}

struct TwiceParams {
  arch::TensorMap map;
};
void stores_rows_twice(const TwiceParams& p) {
  for (u32 word = thread_index(); word < 64; word += 32) shared<u32>(shared_base() + 4 * word) = word;
  t().fence(arch::Fence::proxy_async_shared, here());
  sync_cta();
  if (thread_index() != 0) return;
  t().tma_store(&p.map, 3, shared_base(), {}, here());
  t().bulk_commit(here());
  t().bulk_wait(0, false, here());
}
TEST(Check, WhatIsNotEmulatedIsIncompleteAndNoFinding) {
  alignas(16) static u8 data[256];
  const TensorMapSpec spec{.base = data,
                           .rank = 3,
                           .extent = {64, 2, 2},
                           .stride_bytes = {0, 64, 64},
                           .box = {64, 2, 2},
                           .swizzle = SmemSwizzle::none};
  const CheckReport report =
      check_launch<stores_rows_twice>(TwiceParams{*encode(spec)}, {.threads = 32}, {{"data", data, sizeof data, true}});
  EXPECT_EQ(report.verdict, Verdict::incomplete);
  EXPECT_TRUE(report.findings.empty()) << all_of(report);
  EXPECT_NE(report.why_incomplete.find("not emulated"), std::string::npos) << report.why_incomplete;
}

TEST(Check, ThePipelinedGemmIsSilent) {
  for (u32 cluster : {1u, 2u})
    for (u64 seed = 0; seed < 4; ++seed) {
      GemmProblem p(256, 256, 640, cluster, 7);
      const auto report = check_gemm(p, 2, {.seed = seed});
      EXPECT_TRUE(report.findings.empty()) << "cluster " << cluster << " seed " << seed << "\n" << all_of(report);
      EXPECT_GT(report.stats.wgmmas, 0u);
    }
}

TEST(Check, AnEarlyReleaseIsStageReuseUnderEverySchedule) {
  for (u64 seed = 0; seed < 4; ++seed) {
    GemmProblem p(256, 128, 1024, 1, 7);
    p.params.release_early = true;
    const auto report = check_gemm(p, 1, {.seed = seed});
    EXPECT_TRUE(has(report, Rule::stage_reuse)) << all_of(report);
    const Finding& finding = finding_of(report, Rule::stage_reuse);
    ASSERT_GE(finding.barriers.size(), 2u) << finding.text;
    EXPECT_EQ(finding.barriers[0].relation, "on which the second copy completes");
    EXPECT_EQ(finding.barriers[1].relation, "which the issuer of the copy passed last");
    bool arrived = false;  // the arrivals that came too early
    for (const std::string& event : finding.barriers[1].events)
      arrived = arrived || event.find("arrival") != std::string::npos;
    EXPECT_TRUE(arrived) << finding.text;
    EXPECT_NE(finding.second.completion.find("completes phase"), std::string::npos) << finding.text;
    EXPECT_NE(finding.first.completion.find("completes"), std::string::npos) << finding.text;
  }
}

TEST(Check, TheSameReportOnAnyNumberOfThreads) {
  std::string texts[2];
  for (int threads : {1, 2}) {
    GemmProblem p(512, 256, 1024, 1, 7);
    p.params.release_early = true;
    texts[threads - 1] = all_of(check_gemm(p, 4, {.seed = 3, .threads = threads}));
  }
  EXPECT_EQ(texts[0], texts[1]);
}

TEST(Check, TrafficCountsBanksAndMulticast) {
  GemmProblem p(256, 128, 512, 2, 7);
  const auto report = check_gemm(p, 2);
  u64 saved = 0, conflicts = 0;
  for (const LineTraffic& line : report.traffic) {
    saved += line.multicast_saved_bytes;
    if (line.operation == "st.shared") conflicts += line.wavefronts - line.ideal;
  }
  EXPECT_EQ(saved, 4u * kTileBytes) << "each of four k-blocks of B is read once for two CTAs";
  EXPECT_GT(conflicts, 0u) << "rows of 128 bytes without a swizzle fall on the same banks";
}

/// Lane i stores `bytes` at i * stride; on the hardware a pass takes one 32-bit value from each of the 32 banks.
struct Pattern {
  u32 bytes, stride, passes, ideal;
};
void store_pattern(const Pattern& p) {
  t().shared_access(shared_base() + thread_index() * p.stride, p.bytes, arch::Access::write, arch::kWeak, here());
}
TEST(Check, BankConflictsOfKnownPatterns) {
  for (const Pattern& p :
       {Pattern{4, 4, 1, 1}, Pattern{4, 8, 2, 1}, Pattern{4, 12, 1, 1}, Pattern{4, 16, 4, 1}, Pattern{4, 128, 32, 1},
        Pattern{4, 132, 1, 1}, Pattern{8, 8, 2, 2}, Pattern{8, 16, 4, 2}, Pattern{16, 16, 4, 4}, Pattern{16, 32, 8, 4},
        Pattern{16, 128, 32, 4}, Pattern{16, 144, 4, 4}}) {
    const CheckReport report = check_launch<store_pattern>(p, {.threads = 32, .shared_bytes = 8192});
    ASSERT_EQ(report.traffic.size(), 1u) << all_of(report);
    EXPECT_EQ(report.traffic[0].wavefronts, p.passes) << p.bytes << " bytes, stride " << p.stride;
    EXPECT_EQ(report.traffic[0].ideal, p.ideal) << p.bytes << " bytes, stride " << p.stride;
  }
}

u64 hbm_of(const CheckReport& report, const char* operation) {
  u64 bytes = 0;
  for (const LineTraffic& line : report.traffic)
    if (line.operation == operation) bytes += line.hbm_bytes;
  return bytes;
}

TEST(Check, HbmGivesEachByteOnceAndTakesEachOnce) {
  constexpr u64 kA = 256 * 512, kB = 128 * 512, kD = 256 * 128 * 4;
  for (u32 cluster : {1u, 2u})
    for (int threads : {1, 2}) {
      GemmProblem p(256, 128, 512, cluster, 7);
      const auto report = check_gemm(p, 2, {.seed = 5, .threads = threads});
      u64 l2 = 0;
      for (const LineTraffic& line : report.traffic) l2 += line.l2_bytes;
      EXPECT_EQ(l2, kA + kB * (2 / cluster) + kD) << "without multicast both CTAs read B from L2";
      ASSERT_EQ(report.operands.size(), 3u);
      for (const OperandTraffic& operand : report.operands) {
        EXPECT_EQ(operand.hbm_read_bytes, operand.name == "a" ? kA : operand.name == "b" ? kB : 0) << operand.name;
        EXPECT_EQ(operand.hbm_write_bytes, operand.name == "d" ? kD : 0) << operand.name;
      }
      EXPECT_EQ(hbm_of(report, "TMA load (write of shared memory)"), 0u + kA + kB);
      EXPECT_EQ(hbm_of(report, "TMA store (write of global memory)"), kD);
    }
}

// 40 bytes from offset 24 touch three sectors; the one in the middle is written first by the launch itself.
void reads_over_sectors(u32* const& data) {
  if (thread_index() != 0) return;
  t().global_access(data + 8, 4, arch::Access::write, arch::kWeak, here());
  for (u32 i = 6; i < 17; ++i) t().global_access(data + i, 4, arch::Access::read, arch::kWeak, here());
}
TEST(Check, HbmCountsSectorsAndNotWhatTheLaunchWrote) {
  std::vector<u32> data(64);
  u32* first = data.data();
  const auto report = check_launch<reads_over_sectors>(first, {.threads = 32, .grid = 1}, {range("d", data)});
  ASSERT_EQ(report.operands.size(), 1u);
  EXPECT_EQ(report.operands[0].hbm_read_bytes, 64u) << "sectors 0 and 2; sector 1 is in L2";
  EXPECT_EQ(report.operands[0].hbm_write_bytes, 32u);
  EXPECT_EQ(hbm_of(report, "ld.global"), 64u);
  EXPECT_EQ(hbm_of(report, "st.global"), 32u);
  EXPECT_TRUE(check_launch<reads_over_sectors>(first, {.threads = 32}, {range("d", data)}, {.traffic = false})
                  .operands.empty());
}

}  // namespace
}  // namespace ww::emu::test
