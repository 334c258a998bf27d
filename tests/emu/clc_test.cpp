// SPDX-License-Identifier: Apache-2.0
// Cluster launch control: every cluster of a grid runs once, whatever is handed out and declined; the order of the ids,
// the moments of the declines, and the misuses.
#include <set>

#include "check_launch.hpp"
#include "emu/caller.hpp"
#include "emu/sm100/clc.hpp"
#include "emu/sm100/model.hpp"

namespace ww::emu::test {
namespace {

constexpr u32 kAnswer = 0, kFull = 16, kEmpty = 24, kShared = 32;

enum class Mistake {
  none,
  no_fence,
  expect_on_first_cta,
  ask_again,
  ask_by_another_cta,
  read_early,
  use_declined,
  leave
};

struct Params {
  u32* executor;  // of each CTA of the grid: the CTA that did its work, plus 1
  u32* times;     // that it was done
  Mistake mistake;
};

void ask(const Params& p, u32 ctas, u32 phase) {
  t().mbarrier_wait(shared_base() + kEmpty, phase ^ 1, arch::kAcquireCta, here());
  for (u32 rank = 0; rank < (p.mistake == Mistake::expect_on_first_cta ? 1 : ctas); ++rank)
    t().mbarrier_arrive_expect_tx(t().cluster_map(shared_base() + kFull, rank, here()), 16, here());
  sm100::try_cancel(WW_CALLER, shared_base() + kAnswer, shared_base() + kFull, true, here());
}

/// Every CTA works on its own tile and then on those that answers give to its cluster.
void persistent(const Params& p) {
  const u32 ctas = t().special(arch::Special::cluster_size), rank = cluster_rank();
  if (thread_index() == 0) {
    t().mbarrier_init(shared_base() + kFull, 1, here());
    t().mbarrier_init(shared_base() + kEmpty, 32 * ctas, here());
    t().fence(arch::Fence::mbarrier_init, here());
  }
  sync_cluster();
  const u32 own = t().special(arch::Special::block_index);
  for (u32 tile = own / ctas, phase = 0;; phase ^= 1) {
    if (thread_index() == 0) {
      write_global(p.executor + tile * ctas + rank, own + 1);
      u32& times = *static_cast<u32*>(
          t().global_access(p.times + tile * ctas + rank, 4, arch::Access::read, arch::kWeak, here()));
      write_global(&times, times + 1);
    }
    const bool asks = rank == (p.mistake == Mistake::ask_by_another_cta ? 1 : 0);
    if (asks && thread_index() == 0) ask(p, ctas, phase);
    if (p.mistake == Mistake::leave && rank == 1) return;
    u32 words[4];
    if (p.mistake != Mistake::read_early) t().mbarrier_wait(shared_base() + kFull, phase, arch::kAcquireCta, here());
    std::memcpy(words, t().shared_access(shared_base() + kAnswer, 16, arch::Access::read, arch::kWeak, here()), 16);
    const bool more = sm100::is_canceled(WW_CALLER, words, here());
    if (p.mistake != Mistake::no_fence) t().fence(arch::Fence::proxy_async_shared, here());
    t().mbarrier_arrive(t().cluster_map(shared_base() + kEmpty, 0, here()), 1,
                        {arch::MemoryOrder::release, arch::Scope::cluster}, here());
    u32 first[3] = {};
    if (more || p.mistake == Mistake::use_declined) sm100::first_cta(WW_CALLER, words, first, here());
    if (!more && p.mistake == Mistake::ask_again && rank == 0 && thread_index() == 0) ask(p, ctas, phase ^ 1);
    if (!more) break;
    tile = first[0] / ctas;
  }
  t().sync_warp(~0u, here());
  sync_cluster();
}

constexpr u32 kClusters = 12;

struct GridRun {
  std::vector<u32> executor, times;
  Result<EmuStats> result;
};
GridRun run_grid(u32 ctas, const EmuOptions& options, Mistake mistake = Mistake::none) {
  GridRun run{std::vector<u32>(kClusters * ctas), std::vector<u32>(kClusters * ctas), EmuStats{}};
  const Params p{run.executor.data(), run.times.data(), mistake};
  const arch::KernelEntry entry{"test_kernel", [](const void* q) { persistent(*static_cast<const Params*>(q)); },
                                sizeof p, 32, nullptr};
  const std::vector<MemoryRange> memory{range("executor", run.executor), range("times", run.times)};
  runtime::Launch launch;
  launch.grid = kClusters * ctas;
  launch.cluster = ctas;
  launch.threads = 32;
  launch.shared_bytes = kShared;
  launch.params = &p;
  launch.params_bytes = sizeof p;
  launch.memory = memory;
  run.result = emu::run(sm100::kModel, entry, launch, options, 16);
  return run;
}

TEST(EmuClc, EveryClusterRunsOnceAndTheThreadsOfTheHostDoNotMatter) {
  for (const u32 ctas : {1u, 2u, 4u, 16u}) {
    std::set<u64> started;
    for (u64 seed = 0; seed < 12; ++seed) {
      const GridRun run = run_grid(ctas, {.seed = seed, .threads = 1});
      EXPECT_RUNS(run.result);
      for (u32 i = 0; i < kClusters * ctas; ++i) {
        ASSERT_EQ(run.times[i], 1u) << "CTA " << i << " of clusters of " << ctas << ", seed " << seed;
        ASSERT_EQ((run.executor[i] - 1) % ctas, i % ctas) << "each CTA takes its own place in the cluster";
      }
      started.insert(run.result->ctas / ctas);
      EXPECT_EQ(run.executor, run_grid(ctas, {.seed = seed, .threads = 3}).executor);
    }
    EXPECT_GT(started.size(), 2u) << "declines come at different moments";
    EXPECT_LT(*started.begin(), kClusters / 2) << "some cluster takes much of the work";
  }
}

TEST(EmuClc, IdsComeInAnOrderThatTheSeedChooses) {
  std::set<std::vector<u32>> orders;
  bool all_to_one = false;
  for (u64 seed = 0; seed < 40; ++seed) {
    const GridRun run = run_grid(1, {.seed = seed, .threads = 1});
    orders.insert(run.executor);
    all_to_one =
        all_to_one || (run.executor[1] == 1 && run.executor[2] == 1 && run.executor[3] == 1 && run.executor[4] == 1);
  }
  EXPECT_GT(orders.size(), 10u);
  EXPECT_TRUE(all_to_one);
}

TEST(EmuClc, MisuseIsReported) {
  const auto messages_of = [](Mistake mistake) {
    std::string all;
    for (u64 seed = 0; seed < 8; ++seed) all += message(run_grid(2, {.seed = seed}, mistake).result) + "\n";
    return all;
  };
  const auto expect = [&](Mistake mistake, const std::string& part) {
    const std::string all = messages_of(mistake);
    EXPECT_NE(all.find(part), std::string::npos) << all;
  };
  expect(Mistake::ask_again, "after an answer that gave no work");
  expect(Mistake::ask_by_another_cta, "expected its first CTA");
  expect(Mistake::read_early, "no answer of try_cancel");
  expect(Mistake::use_declined, "of an answer that gives no work");
  expect(Mistake::expect_on_first_cta, "deadlock");
  expect(Mistake::leave, "has exited");
}

CheckReport check_grid(u32 ctas, Mistake mistake, u64 seed, StrictRules strict) {
  std::vector<u32> executor(kClusters * ctas), times(kClusters * ctas);
  const Shape shape{.threads = 32, .grid = kClusters * ctas, .cluster = ctas, .shared_bytes = kShared};
  return check_launch<persistent>(Params{executor.data(), times.data(), mistake}, shape,
                                  {range("executor", executor), range("times", times)},
                                  {.seed = seed, .strict_rules = strict}, sm100::kModel);
}

TEST(EmuClc, AnAnswerIsReadBeforeItsBytesAreUsedAgain) {
  for (const u32 ctas : {1u, 2u, 4u})
    for (u64 seed = 0; seed < 200; ++seed) {
      const CheckReport clean = check_grid(ctas, Mistake::none, seed, default_strict_rules());
      EXPECT_TRUE(clean.findings.empty()) << "seed " << seed << all_of(clean);
    }
  u32 found = 0;
  for (u64 seed = 0; seed < 12; ++seed) {  // also without the rule for other copies; PTX names this fence
    const CheckReport report = check_grid(2, Mistake::no_fence, seed, 0);
    found += has(report, Rule::proxy_fence);
    for (const Finding& finding : report.findings)
      EXPECT_EQ(finding.text.find("strict rule"), std::string::npos) << finding.text;
  }
  EXPECT_GT(found, 6u);  // not where the first request is declined
}

}  // namespace
}  // namespace ww::emu::test
