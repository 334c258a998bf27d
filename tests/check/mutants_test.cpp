// SPDX-License-Identifier: Apache-2.0
// Every mutant is caught by its rule, at its line: under any schedule where clocks decide, else within 50.
// WARPWRIGHT_CHECK_ONLY=<part of a name> runs some and prints their reports.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>

#include "case.hpp"

namespace ww::check_test {
namespace {

constexpr int kSchedules = 50;  // where order decides
constexpr int kEverySeed = 6;   // where clocks decide: fifo and so many others, each must find it

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

/// The finding that the mutant is about; null when the report has none.
const Finding* its_finding(const Mutant& mutant, const CheckReport& report) {
  for (const Finding& finding : report.findings) {
    const bool its_rule = std::find(mutant.rules.begin(), mutant.rules.end(), finding.rule) != mutant.rules.end();
    if (its_rule && names_mark(finding, mutant.marks) && !finding.text.empty()) return &finding;
  }
  return nullptr;
}

std::string words_of(int schedule, const EmuOptions& options) {
  if (schedule < 0) return "fifo";
  return fmt::format("{} seed {} (try {})", name_of(options.schedule), options.seed, schedule + 1);
}

/// The first schedule that finds it; where every run must, the first of kEverySeed that does not is told in `last`.
Caught hunt(const Mutant& mutant) {
  Prepared prepared(case_named(mutant.of), mutant.edit);
  const bool every = mutant.needs == Needs::every_run;
  Caught caught;
  for (int i = -1; i < (every ? kEverySeed : kSchedules); ++i) {
    const EmuOptions options =
        i < 0 ? EmuOptions{.schedule = EmuSchedule::fifo, .threads = 1} : schedule_of(i, base_seed());
    const CheckReport report = prepared.check(options);
    const Finding* finding = its_finding(mutant, report);
    caught.last = words_of(i, options) + ": " + summary(report);
    if (!finding && every) {
      caught.schedule = -2;
      return caught;
    }
    if (!finding || caught.schedule > -2) continue;
    caught.schedule = i;
    caught.rule = finding->rule;
    caught.by = every ? "any" : words_of(i, options);
    if (!every) return caught;
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
  std::string table = fmt::format("{:<68} {:<24} schedule needed\n", "mutant", "rule");
  int count = 0;
  for (const Mutant& mutant : mutants()) {
    if (only && std::string_view(mutant.name).find(only) == std::string_view::npos) continue;
    ++count;
    const Caught caught = hunt(mutant);
    const bool found = caught.schedule >= -1;
    const char* excuse = reason_not_caught(mutant.name);
    table += fmt::format("{:<68} {:<24} {}\n", mutant.name, found ? rule_name(caught.rule) : "-",
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

/// Public bugs that the corpus holds, as its mutants name them. Left out is what Hopper cannot have: cutlass 3316
/// is about tensor memory, cutlass 2626 a report about a Blackwell kernel without a cause.
TEST(Mutants, PublicBugsAreNamed) {
  for (const char* bug : {"humming 56", "cutlass 3324", "cudnn-frontend 426", "cudnn-frontend 1126", "cuda-oxide 1066",
                          "DeepGEMM 365", "TIRx-kernels 53", "CUTracer 106", "ConSan test_async_tma_kernel",
                          "ConSan test_barrier_underflow", "ConSan test_warpgroup_mma", "DeepEP 642"})
    EXPECT_TRUE(std::any_of(mutants().begin(), mutants().end(), [&](const Mutant& m) {
      return std::string_view(m.name).find(bug) != std::string_view::npos;
    })) << bug;
}

TEST(Mutants, PlainAccessesAreHooked) { EXPECT_TRUE(is_hooked()); }

TEST(Mutants, EveryMarkIsInAKernel) {
  for (const Mutant& mutant : mutants())
    for (const std::string& mark : mutant.marks) EXPECT_TRUE(mark_exists(mark)) << mutant.name << ": @" << mark;
}

}  // namespace
}  // namespace ww::check_test
