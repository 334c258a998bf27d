// SPDX-License-Identifier: Apache-2.0
// Campaigns of invented reports: nothing depends on the number of processes, and what dies, hangs or never starts makes
// the verdict incomplete.
#include "check/pool.hpp"

#include <gtest/gtest.h>
#include <sys/wait.h>

#include <chrono>
#include <thread>

#include "check/job_wire.hpp"

namespace ww::campaign {
namespace {

struct Case {
  std::uint64_t schedules = 0;
  int processes = 2;
  RunSettings run = {};
  std::stop_token stop = {};
};

Campaign run(const char* what, const Case& c) {
  Pool pool({.processes = c.processes, .worker = WW_FAKE_WORKER, .stop = c.stop});
  const Result<Ready> ready = pool.set_up({.target = KernelCheck{.text = "x", .entry = what}});
  EXPECT_TRUE(ready) << ready.error().message;
  if (!ready) return {};
  return pool.run({.count = c.schedules, .one_kind = true, .kind = EmuSchedule::random}, c.run);
}

TEST(CheckPool, FindingsDoNotDependOnTheProcesses) {
  for (int processes : {1, 2, 5, 60}) {
    const Campaign campaign = run("buggy", {.schedules = 40, .processes = processes});
    EXPECT_EQ(campaign.ran, 40u);
    EXPECT_EQ(campaign.why_incomplete, "");
    ASSERT_EQ(campaign.findings.size(), 2u) << processes;
    EXPECT_EQ(campaign.findings[0].first, 6u);
    EXPECT_EQ(campaign.findings[0].schedules, 12u);
    EXPECT_EQ(campaign.findings[0].finding.text, "race 6");
    EXPECT_EQ(campaign.findings[1].first, 9u);
    EXPECT_EQ(campaign.findings[1].schedules, 31u);
    EXPECT_EQ(campaign.findings[1].finding.text, "deadlock 9");
  }
}

TEST(CheckPool, APoolRunsOneJobAfterAnother) {
  Pool pool({.processes = 2, .worker = WW_FAKE_WORKER});
  for (const char* what : {"clean", "buggy", "dies", "clean"}) {
    ASSERT_TRUE(pool.set_up({.target = KernelCheck{.text = "x", .entry = what}}));
    const Campaign campaign = pool.run({.count = 12, .one_kind = true, .kind = EmuSchedule::random}, {});
    EXPECT_EQ(campaign.ran, std::string(what) == "dies" ? 11u : 12u) << what;
    EXPECT_EQ(campaign.findings.size(), std::string(what) == "buggy" ? 2u : 0u) << what;
  }
}

TEST(CheckPool, AnUnsureScheduleMakesTheCampaignIncomplete) {
  EXPECT_EQ(run("clean", {.schedules = 7}).why_incomplete, "");
  EXPECT_EQ(run("unsure", {.schedules = 7}).why_incomplete, "schedule 5 (random, seed 5): no idea");
}

TEST(CheckPool, ADeadWorkerIsIncompleteAndTheOthersGoOn) {
  for (int processes : {1, 2}) {
    const Campaign campaign = run("dies", {.schedules = 20, .processes = processes});
    EXPECT_EQ(campaign.ran, 19u) << processes;
    EXPECT_NE(campaign.why_incomplete.find("schedule 3 (random, seed 3): the process that ran it ended with signal 11"),
              std::string::npos)
        << campaign.why_incomplete;
  }
}

TEST(CheckPool, WorkersThatAlwaysDieEndTheCampaign) {
  const Campaign campaign = run("always dies", {.schedules = 1000});
  EXPECT_EQ(campaign.ran, 0u);
  EXPECT_NE(campaign.why_incomplete.find("schedule 0 (random, seed 0): the process that ran it ended with signal 9"),
            std::string::npos)
      << campaign.why_incomplete;
}

TEST(CheckPool, AWorkerThatDiesWhileItPreparesIsAnError) {
  Pool pool({.processes = 1, .worker = WW_FAKE_WORKER});
  const Result<Ready> ready = pool.set_up({.target = KernelCheck{.text = "x", .entry = "dies early"}});
  ASSERT_FALSE(ready);
  EXPECT_EQ(ready.error().code, ErrorCode::could_not_finish);
  EXPECT_NE(ready.error().message.find("signal 6"), std::string::npos) << ready.error().message;
  const Result<Ready> refused = pool.set_up({.target = KernelCheck{.text = "x", .entry = "refuses"}});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::invalid);
}

TEST(CheckPool, AHangingScheduleIsIncomplete) {
  const Campaign campaign = run("hangs", {.schedules = 6, .run = {.seconds = 0.2, .grace = 0.2}});
  EXPECT_NE(campaign.why_incomplete.find("schedule 4 (random, seed 4): it had not ended"), std::string::npos)
      << campaign.why_incomplete;
}

TEST(CheckPool, TimeThatEndsBeforeOneScheduleIsIncomplete) {
  const Campaign campaign = run("always hangs", {.schedules = 3, .processes = 1, .run = {.seconds = 0, .grace = 0.1}});
  EXPECT_EQ(campaign.ran, 0u);
  EXPECT_NE(campaign.why_incomplete, "");
  EXPECT_NE(run("clean", {.schedules = 0}).why_incomplete, "");
}

TEST(CheckPool, AShortTimeStillRunsTheFirstSchedule) {
  const Campaign campaign = run("clean", {.schedules = 1000, .processes = 1, .run = {.seconds = 0}});
  EXPECT_EQ(campaign.ran, 1u);
  EXPECT_EQ(campaign.why_incomplete, "");
}

TEST(CheckPool, AFoundKeyStartsNoFurtherSchedule) {
  const Campaign all = run("buggy", {.schedules = 100});
  const Campaign campaign =
      run("buggy", {.schedules = 100'000, .processes = 1, .run = {.until = key_of(all.findings[0].finding)}});
  EXPECT_LT(campaign.ran, 100'000u);
  ASSERT_FALSE(campaign.findings.empty());
  EXPECT_EQ(campaign.findings[0].first, 6u);
}

TEST(CheckPool, AStopEndsWhatHangsAndKeepsWhatRan) {
  std::stop_source stop;
  std::thread later([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(300));
    stop.request_stop();
  });
  const Campaign campaign = run("hangs", {.schedules = 5, .processes = 1, .stop = stop.get_token()});
  later.join();
  EXPECT_TRUE(campaign.stopped);
  EXPECT_EQ(campaign.ran, 4u);
  EXPECT_EQ(campaign.why_incomplete, "interrupted after 4 of 5 schedules");
  EXPECT_EQ(::waitpid(-1, nullptr, WNOHANG), -1) << "a worker is left";
}

TEST(CheckPool, AWorkerOfAnotherBuildIsRefused) {
  Pool pool({.processes = 1, .worker = "/bin/true"});
  EXPECT_FALSE(pool.set_up({.target = KernelCheck{.text = "x", .entry = "clean"}}));
  Pool missing({.processes = 1, .worker = "/nowhere/worker"});
  const Result<Ready> ready = missing.set_up({.target = KernelCheck{.text = "x", .entry = "clean"}});
  ASSERT_FALSE(ready);
  EXPECT_EQ(ready.error().argument, "worker");
}

TEST(CheckWire, ReportsComeBackWholeAndTruncatedOnesAreNoticed) {
  CheckReport report;
  report.verdict = Verdict::findings;
  report.findings.resize(2);
  report.findings[0].second = {3, 4, 5, "warpgroup 1", "a", 6, "b", 7, std::string("x\0y", 3)};
  report.findings[0].parties.assign(2, report.findings[0].second);
  report.findings[0].begin = ~0ull;
  report.traffic.push_back({"f", 1, "load", 2, 3, 4, 5, 6, 7, 8});
  report.operands.push_back({"a", 9, 10});
  report.stats.seconds = 0.5;
  WireWriter writer;
  writer(report);
  CheckReport back;
  WireReader reader(writer.bytes);
  reader(back);
  ASSERT_TRUE(reader.good);
  WireWriter again;
  again(back);
  EXPECT_EQ(again.bytes, writer.bytes);
  EXPECT_EQ(back.findings[0].second.operation, std::string("x\0y", 3));
  for (std::size_t size = 0; size < writer.bytes.size(); size += 7) {
    CheckReport part;
    WireReader cut(std::string_view(writer.bytes).substr(0, size));
    cut(part);
    EXPECT_FALSE(cut.good) << size;
  }
}

TEST(CheckWire, JobsComeBackWhole) {
  GroupedCheck grouped{.problem = {.groups = 3, .rows = 9, .n = 64, .k = 128, .alignment = 4},
                       .groups = {.counts = {3, 0, 5}, .gap = 1, .sizes = {1, -2}, .flags = "--rows"},
                       .options = {.sms = 7}};
  grouped.problem.epilogue = *parse_epilogue("silu(acc*alpha)");
  KernelCheck kernel{.source = "a b.hpp", .text = "text", .entry = "e"};
  kernel.launch = *parse_check_launch("threads=32,buffer=64,float=0.1,map=0:bf16:64x2:64x2:128");
  for (const CheckTarget& target :
       {CheckTarget(GemmCheck{.problem = {.m = 1, .n = 2, .k = 3, .batch = 4}}), CheckTarget(grouped),
        CheckTarget(KGroupedCheck{.problem = {.m = 5}}), CheckTarget(kernel)}) {
    campaign::SetUp job{
        .fingerprint = "f", .target = target, .math = EmuMath::off, .pct_depth = 5, .cache_dir = "/c", .verify = true};
    WireWriter writer;
    writer(job);
    campaign::SetUp back;
    WireReader reader(writer.bytes);
    reader(back);
    ASSERT_TRUE(reader.good);
    EXPECT_EQ(back.target.index(), target.index());
    WireWriter again;
    again(back);
    EXPECT_EQ(again.bytes, writer.bytes);
    if (const auto* one = std::get_if<GroupedCheck>(&back.target)) {
      EXPECT_EQ(to_text(one->problem.epilogue), "silu(acc*alpha)");
      EXPECT_EQ(one->groups.sizes, grouped.groups.sizes);
    }
    if (const auto* one = std::get_if<KernelCheck>(&back.target)) {
      EXPECT_EQ(one->launch, kernel.launch);
    }
  }
}

TEST(CheckSchedules, TakeTurnsFromFifoOn) {
  const ScheduleList all{.count = 8, .seed = 3, .traffic = true};
  EXPECT_EQ(to_text(all[0]), "fifo, seed 3");
  EXPECT_EQ(to_text(all[1]), "random, seed 4");
  EXPECT_EQ(to_text(all[3]), "adversarial, seed 6");
  EXPECT_TRUE(all[0].traffic);
  EXPECT_FALSE(all[1].traffic);
  const ScheduleList one{.count = 8, .one_kind = true, .kind = EmuSchedule::pct};
  EXPECT_EQ(to_text(one[0]), "pct, seed 0");
}

TEST(CheckSchedules, DrawLaunchesByTheSeed) {
  const ScheduleList drawn{.count = 3200, .seed = 9, .launches = 0}, fixed{.count = 8, .launches = 5};
  EXPECT_EQ(drawn[0].launches, 3);
  for (const std::uint64_t i : {1, 2, 3}) EXPECT_EQ(drawn[i].launches, 2);
  int counts[4] = {};
  for (std::uint64_t i = 1; i < drawn.count; ++i) ++counts[drawn[i].launches];
  EXPECT_EQ(counts[0], 0);
  EXPECT_NEAR(counts[2] + counts[3], 100, 30);
  EXPECT_NEAR(counts[2], counts[3], 30);
  // A shorter campaign from the same seed is the beginning of the longer one.
  const ScheduleList later{.count = 10, .seed = 12, .launches = 0};
  for (std::uint64_t i = 4; i < 10; ++i) EXPECT_EQ(later[i].launches, drawn[i + 3].launches);
  for (std::uint64_t i = 0; i < 8; ++i) EXPECT_EQ(fixed[i].launches, 5);
  const ScheduleRun run{EmuSchedule::pct, 17};
  EXPECT_EQ(seed_of_launch(run, 1), 17u);
  EXPECT_NE(seed_of_launch(run, 2), seed_of_launch(run, 3));
}

}  // namespace
}  // namespace ww::campaign
