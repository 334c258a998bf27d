// SPDX-License-Identifier: Apache-2.0
// Every mutant is caught by its rule, at its line: in one fifo run where clocks decide, else within 50 schedules.
// WARPWRIGHT_CHECK_ONLY=<part of a name> runs some and prints their reports.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>

#include "case.hpp"

namespace ww::check_test {
namespace {

constexpr int kSchedules = 50;

struct NotCaughtYet {
  const char* mutant;
  const char* reason;
};
// Mutants that the checker misses, each with the reason; the test prints them, and fails when one of them is caught.
const std::vector<NotCaughtYet> kNotCaughtYet = {};

const char* reason_not_caught(std::string_view name) {
  for (const NotCaughtYet& miss : kNotCaughtYet)
    if (name == miss.mutant) return miss.reason;
  return nullptr;
}

struct Caught {
  int schedule = -2;  // -1 fifo, else the number of the schedule; -2: not caught
  Rule rule{};
  std::string by, last;  // the schedule in words; the last report
};

Caught hunt(const Mutant& mutant) {
  Prepared prepared(case_named(mutant.of), mutant.edit);
  Caught caught;
  const int schedules = mutant.needs == Needs::one_run ? 0 : kSchedules;
  for (int i = -1; i < schedules; ++i) {
    EmuOptions options = i < 0 ? EmuOptions{.seed = base_seed(), .schedule = EmuSchedule::fifo, .threads = 1}
                               : schedule_of(i, base_seed());
    const CheckReport report = prepared.check(options);
    caught.last = summary(report);
    for (const Finding& finding : report.findings) {
      const bool its_rule = std::find(mutant.rules.begin(), mutant.rules.end(), finding.rule) != mutant.rules.end();
      if (!its_rule || !names_mark(finding, mutant.marks) || finding.text.empty()) continue;
      caught.schedule = i;
      caught.rule = finding.rule;
      caught.by = i < 0 ? "fifo" : fmt::format("{} seed {} (try {})", name_of(options.schedule), options.seed, i + 1);
      return caught;
    }
  }
  return caught;
}

std::string rule_names(const std::vector<Rule>& rules) {
  std::string names;
  for (Rule rule : rules) names += (names.empty() ? "" : " or ") + std::string(rule_name(rule));
  return names;
}

TEST(Mutants, EachIsCaughtByItsRuleAtItsLine) {
  const char* only = std::getenv("WARPWRIGHT_CHECK_ONLY");
  std::string table = fmt::format("{:<62} {:<24} schedule needed\n", "mutant", "rule");
  int count = 0;
  for (const Mutant& mutant : mutants()) {
    if (only && std::string_view(mutant.name).find(only) == std::string_view::npos) continue;
    ++count;
    const Caught caught = hunt(mutant);
    const bool found = caught.schedule >= -1;
    const char* excuse = reason_not_caught(mutant.name);
    table += fmt::format("{:<62} {:<24} {}\n", mutant.name, found ? rule_name(caught.rule) : "-",
                         found    ? caught.by
                         : excuse ? std::string("not caught yet: ") + excuse
                                  : "NOT CAUGHT");
    if (only) fmt::print("{}: {}\n", mutant.name, caught.last);
    EXPECT_TRUE(found || excuse) << mutant.name << ": expected " << rule_names(mutant.rules) << ", the last report is "
                                 << caught.last << "\n  replay: WARPWRIGHT_CHECK_SEED=" << base_seed()
                                 << " WARPWRIGHT_CHECK_ONLY='" << mutant.name << "' ./check_mutants_test";
    EXPECT_FALSE(found && excuse) << mutant.name << " is caught now: take it out of kNotCaughtYet";
  }
  fmt::print("{}", table);
  EXPECT_TRUE(only || count >= 30);
}

TEST(Mutants, PlainAccessesAreHooked) { EXPECT_TRUE(is_hooked()); }

TEST(Mutants, EveryMarkIsInAKernel) {
  for (const Mutant& mutant : mutants())
    for (const std::string& mark : mutant.marks) EXPECT_TRUE(mark_exists(mark)) << mutant.name << ": @" << mark;
}

}  // namespace
}  // namespace ww::check_test
