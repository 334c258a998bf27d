// SPDX-License-Identifier: Apache-2.0
// Legal kernels, however tricky, compute what they must and are clean under every schedule; a false positive is a
// defect of the same weight as a missed bug. WW_CHECK_SCHEDULES schedules a kernel.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "case.hpp"

namespace ww::check_test {
namespace {

std::string replay(const Case& c, const EmuOptions& options) {
  return fmt::format("{}, schedule {} seed {}; replay: WARPWRIGHT_CHECK_SEED={} ./check_legal_test", c.name,
                     name_of(options.schedule), options.seed, base_seed());
}

EmuOptions fifo() { return {.schedule = EmuSchedule::fifo, .threads = 1}; }

TEST(Legal, ComputesTheRightWordsUnderEverySchedule) {
  for (const Case& c : legal_cases()) {
    Prepared prepared(c, Edit::none);
    for (int i = -1; i < 12; ++i) {
      const EmuOptions options = i < 0 ? fifo() : schedule_of(i, base_seed());
      const auto stats = prepared.run(options);
      if (!stats) {
        ADD_FAILURE() << replay(c, options) << "\n" << stats.error().message;
      } else {
        EXPECT_EQ(prepared.difference(), "") << replay(c, options);
      }
    }
  }
}

TEST(Legal, EveryKernelIsCleanUnderEverySchedule) {
  int schedules = 0;
  for (const Case& c : legal_cases()) {
    Prepared prepared(c, Edit::none);
    for (int i = -1; i < WW_CHECK_SCHEDULES; ++i, ++schedules) {
      const EmuOptions options = i < 0 ? fifo() : schedule_of(i, base_seed());
      const CheckReport report = prepared.check(options);
      if (report.verdict != Verdict::clean) {
        ADD_FAILURE() << replay(c, options) << "\n" << summary(report);
        break;
      }
      EXPECT_EQ(prepared.difference(), "") << replay(c, options);
    }
  }
  fmt::print("{} legal kernels, {} schedules\n", legal_cases().size(), schedules);
}

}  // namespace
}  // namespace ww::check_test
