// SPDX-License-Identifier: Apache-2.0
// The shipped GEMM is clean in every shape under every schedule, and computes the reference to the bit on the way.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "case.hpp"
#include "gemm_cases.hpp"

namespace ww::check_test {
namespace {

TEST(ShippedGemm, IsCleanAndExactUnderEverySchedule) {
  for (const auto& gemm : gemm_cases())
    for (int i = -1; i < WW_CHECK_SCHEDULES; ++i) {
      const EmuOptions options =
          i < 0 ? EmuOptions{.schedule = EmuSchedule::fifo, .threads = 1} : schedule_of(i, base_seed());
      const CheckReport report = gemm->check(options);
      const std::string replay =
          fmt::format("{}, schedule {} seed {}; replay: WARPWRIGHT_CHECK_SEED={} ./check_gemm_test", gemm->name,
                      name_of(options.schedule), options.seed, base_seed());
      EXPECT_EQ(report.verdict, Verdict::clean) << replay << "\n" << summary(report);
      if (report.verdict != Verdict::clean) break;
      ASSERT_EQ(gemm->difference(), "") << replay;
    }
}

}  // namespace
}  // namespace ww::check_test
