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

std::string texts_of(const CheckReport& report) {
  std::string text;
  for (const Finding& finding : report.findings) text += finding.text;
  return text;
}

/// Returns whether the text holds a number that only an address is as long as.
bool holds_address(const std::string& text) {
  for (std::size_t at = text.find("0x"); at != std::string::npos; at = text.find("0x", at + 2))
    if (text.find_first_not_of("0123456789abcdef", at + 2) - at - 2 > 8) return true;
  return false;
}

TEST(Mutants, FindingsHaveTwoPartiesAndNothingThatChangesFromRunToRun) {
  for (const Mutant& mutant : mutants()) {
    std::string texts[2];
    for (std::string& text : texts) {
      const CheckReport report =
          Prepared(case_named(mutant.of), mutant.edit).check({.schedule = EmuSchedule::fifo, .threads = 1});
      text = texts_of(report);
      EXPECT_FALSE(holds_address(text)) << mutant.name << "\n" << text;
      for (const Finding& finding : report.findings) {
        EXPECT_FALSE(finding.first.operation.empty() || finding.second.operation.empty()) << finding.text;
        EXPECT_FALSE(finding.advice.empty()) << finding.text;
      }
    }
    EXPECT_EQ(texts[0], texts[1]) << mutant.name;
  }
}

struct Advised {
  const char* mutant;
  Rule rule;
  const char* words;  // of the advice
};
constexpr Advised kAdvised[] = {
    {"producer arrives twice (ConSan test_barrier_underflow)", Rule::arrival_underflow, "arrives twice in one phase"},
    {"no empty wait", Rule::arrival_underflow, "on which the other side frees the stage"},
    {"release before the read", Rule::stage_reuse, "after its last read"},
    {"release of the stage that is still read", Rule::stage_reuse, "wgmma wait"},
    {"expect_tx too large", Rule::transaction_count, "announce only bytes that copies deliver"},
    {"barrier initialised again in use", Rule::phase_misuse, "initialise a barrier once"},
    {"no named barrier before the read", Rule::data_race, "put a CTA barrier"},
    {"32 lanes store, an elected one arrives (cudnn-frontend 426)", Rule::data_race, "after warp::sync()"},
    {"live barrier's memory written", Rule::data_race, "mbarrier::invalidate"},
    {"no full-barrier wait (CUTracer 106, ConSan test_async_tma_kernel)", Rule::data_race,
     "on which the copy completes"},
    {"operand rewritten before the wait (ConSan test_warpgroup_mma)", Rule::data_race, "in every warp that issued it"},
    {"stored words read after wait_read", Rule::data_race, "not only for its reads"},
    {"DSMEM write without cluster barrier", Rule::data_race, "cluster::sync()"},
    {"no proxy fence before wgmma", Rule::proxy_fence, "fence::proxy_async_shared() in every thread that wrote"},
    {"DSMEM handed over at CTA scope (cutlass 3324)", Rule::scope, "at cluster scope"},
    {"flag fenced at CTA scope", Rule::scope, "at GPU scope"},
    {"buffer rewritten without wait_read", Rule::unfinished_store, "tma::wait_read in the thread that issued"},
    {"named barrier counts a warp that left", Rule::deadlock, "as many threads come to the named barrier"},
    {"producer starts at parity 0", Rule::deadlock, "a wait for a parity whose phase has passed"},
    {"st.shared past the end", Rule::out_of_bounds, "bytes of shared memory of the launch"},
    {"st.global past the end", Rule::out_of_bounds, "operand's size"},
    {"write to a read-only operand", Rule::out_of_bounds, "read-only"},
    {"wait leaves the group in flight", Rule::accumulator_in_flight, "leaves pending"},
    {"setmaxnreg differs in a warpgroup (TIRx-kernels 53)", Rule::divergent_call, "the same number of registers"},
};

/// The advice of the rule's finding in the mutant, in any of a few schedules.
TEST(Mutants, AdviceFitsTheCase) {
  for (const Advised& advised : kAdvised) {
    const auto is_it = [&](const Mutant& mutant) { return std::string_view(mutant.name) == advised.mutant; };
    const auto mutant = std::find_if(mutants().begin(), mutants().end(), is_it);
    ASSERT_NE(mutant, mutants().end()) << advised.mutant;
    std::string given;
    bool fits = false;
    for (int i = -1; i < 6 && !fits; ++i) {
      const EmuOptions options =
          i < 0 ? EmuOptions{.schedule = EmuSchedule::fifo, .threads = 1} : schedule_of(i, base_seed());
      for (const Finding& finding : Prepared(case_named(mutant->of), mutant->edit).check(options).findings) {
        given += fmt::format("  {}: {}\n", rule_name(finding.rule), finding.advice);
        fits = fits || (finding.rule == advised.rule && finding.advice.find(advised.words) != std::string::npos);
      }
    }
    EXPECT_TRUE(fits) << advised.mutant << ": expected \"" << advised.words << "\", got\n" << given;
  }
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
