// SPDX-License-Identifier: Apache-2.0
// Campaigns of invented reports: nothing depends on the number of processes, and what dies, hangs or never starts makes
// the verdict incomplete.
#include "check/pool.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <csignal>

#include "check/wire.hpp"

namespace ww::campaign {
namespace {

std::vector<ScheduleRun> schedules(std::size_t count) {
  std::vector<ScheduleRun> runs;
  for (std::size_t i = 0; i < count; ++i) runs.push_back({EmuSchedule::random, i});
  return runs;
}

Finding finding(Rule rule, int first_line, int second_line, std::string text) {
  Finding f;
  f.rule = rule;
  f.first.file = f.second.file = "kernel.hpp";
  f.first.line = first_line;
  f.second.line = second_line;
  f.text = std::move(text);
  return f;
}

CheckReport clean(const ScheduleRun&) {
  CheckReport report;
  report.verdict = ww::Verdict::clean;
  return report;
}

/// Every third schedule from the sixth on has a race, each from the ninth on a deadlock.
CheckReport buggy(const ScheduleRun& run) {
  CheckReport report = clean(run);
  const bool swapped = run.seed % 2 == 0;
  if (run.seed >= 6 && run.seed % 3 == 0)
    report.findings.push_back(
        finding(Rule::data_race, swapped ? 20 : 10, swapped ? 10 : 20, "race " + std::to_string(run.seed)));
  if (!report.findings.empty())
    report.findings.push_back(finding(Rule::data_race, 10, 20, "race, the other way round"));
  if (run.seed >= 9) report.findings.push_back(finding(Rule::deadlock, 30, 0, "deadlock " + std::to_string(run.seed)));
  if (!report.findings.empty()) report.verdict = ww::Verdict::findings;
  return report;
}

TEST(CheckPool, FindingsDoNotDependOnTheProcesses) {
  for (int processes : {1, 2, 5, 200}) {
    const Campaign campaign = run_schedules(schedules(40), buggy, {.processes = processes});
    EXPECT_EQ(campaign.ran, 40u);
    EXPECT_EQ(campaign.verdict(), ww::Verdict::findings);
    ASSERT_EQ(campaign.findings.size(), 2u) << processes;
    EXPECT_EQ(campaign.findings[0].first, 6u);
    EXPECT_EQ(campaign.findings[0].schedules, 12u);
    EXPECT_EQ(campaign.findings[0].finding.text, "race 6");
    EXPECT_EQ(campaign.findings[1].first, 9u);
    EXPECT_EQ(campaign.findings[1].schedules, 31u);
    EXPECT_EQ(campaign.findings[1].finding.text, "deadlock 9");
  }
}

TEST(CheckPool, CleanOnlyWhenEveryScheduleIs) {
  EXPECT_EQ(run_schedules(schedules(7), clean, {}).verdict(), ww::Verdict::clean);
  const Campaign campaign = run_schedules(schedules(7),
                                          [](const ScheduleRun& run) {
                                            CheckReport report = clean(run);
                                            if (run.seed == 5)
                                              report.verdict = ww::Verdict::incomplete,
                                              report.why_incomplete = "no idea";
                                            return report;
                                          },
                                          {});
  EXPECT_EQ(campaign.verdict(), ww::Verdict::incomplete);
  EXPECT_EQ(campaign.why_incomplete, "schedule 5 (random, seed 5): no idea");
}

TEST(CheckPool, ADeadProcessIsIncompleteAndTheOthersGoOn) {
  const Campaign campaign = run_schedules(schedules(20),
                                          [](const ScheduleRun& run) {
                                            if (run.seed == 3) ::raise(SIGKILL);
                                            return clean(run);
                                          },
                                          {.processes = 2});
  EXPECT_EQ(campaign.verdict(), ww::Verdict::incomplete);
  EXPECT_EQ(campaign.ran, 19u);
  EXPECT_NE(campaign.why_incomplete.find("schedule 3 (random, seed 3): the process that ran it ended with signal 9"),
            std::string::npos)
      << campaign.why_incomplete;
}

TEST(CheckPool, AHangingScheduleIsIncomplete) {
  const Campaign campaign = run_schedules(schedules(6),
                                          [](const ScheduleRun& run) {
                                            if (run.seed == 4)
                                              for (;;) ::pause();
                                            return clean(run);
                                          },
                                          {.processes = 2, .seconds = 0.2, .grace = 0.2});
  EXPECT_EQ(campaign.verdict(), ww::Verdict::incomplete);
  EXPECT_NE(campaign.why_incomplete.find("schedule 4 (random, seed 4): it had not ended"), std::string::npos)
      << campaign.why_incomplete;
}

TEST(CheckPool, TimeThatEndsBeforeOneScheduleIsIncomplete) {
  const Campaign campaign = run_schedules(schedules(3),
                                          [](const ScheduleRun&) -> CheckReport {
                                            for (;;) ::pause();
                                          },
                                          {.processes = 1, .seconds = 0, .grace = 0.1});
  EXPECT_EQ(campaign.ran, 0u);
  EXPECT_EQ(campaign.verdict(), ww::Verdict::incomplete);
  EXPECT_EQ(run_schedules({}, clean, {}).verdict(), ww::Verdict::incomplete);
}

TEST(CheckPool, AShortTimeStillRunsTheFirstSchedule) {
  const Campaign campaign = run_schedules(schedules(1000), clean, {.processes = 1, .seconds = 0});
  EXPECT_EQ(campaign.ran, 1u);
  EXPECT_EQ(campaign.verdict(), ww::Verdict::clean);
}

TEST(CheckWire, ReportsComeBackWholeAndTruncatedOnesAreNoticed) {
  CheckReport report = buggy({EmuSchedule::pct, 12});
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

}  // namespace
}  // namespace ww::campaign
