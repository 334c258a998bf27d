// SPDX-License-Identifier: Apache-2.0
// Many schedules of one kernel on every core: processes take schedules from a shared counter and hand back reports.
// why processes: a kernel that writes through a wild pointer ends its own process and is reported, not the program.
// The result depends on the list of schedules that ran, never on the number of processes or on who ran what.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "warpwright/host/report.hpp"

namespace ww::campaign {

struct ScheduleRun {
  EmuSchedule kind = EmuSchedule::fifo;
  std::uint64_t seed = 0;
  bool traffic = true;  // counted; the pool asks the first schedule only
};
/// "pct, seed 17".
std::string to_text(const ScheduleRun& run);

/// A finding with the first schedule of the list that shows it, and how many do.
struct Found {
  Finding finding;
  std::size_t first = 0, position = 0, schedules = 0;
};

struct Campaign {
  std::vector<Found> findings;  // by first schedule, then as its report has them
  std::size_t ran = 0;          // schedules that ended
  std::string why_incomplete;  // of the first schedule without a verdict, or of the campaign; empty: nothing is missing
  CheckReport example;         // of the first schedule of the list, when it ran: statistics and traffic
  double seconds = 0;

  ww::Verdict verdict() const {
    return !findings.empty()                     ? ww::Verdict::findings
           : ran == 0 || !why_incomplete.empty() ? ww::Verdict::incomplete
                                                 : ww::Verdict::clean;
  }
};

/// What makes two findings the same: the rule and the pair of lines.
std::string key_of(const Finding& finding);

struct PoolOptions {
  int processes = 0;                     // 0: one per core
  double seconds = 60;                   // no schedule starts later; those that run get a little longer
  double grace = 5;                      // for schedules that run when time is up
  std::string until = {};                // key of a finding: once it is seen no further schedule starts
  std::atomic<int>* permille = nullptr;  // of progress
};

/// Calls `run` for each of `schedules` in child processes.
Campaign run_schedules(const std::vector<ScheduleRun>& schedules,
                       const std::function<CheckReport(const ScheduleRun&)>& run, const PoolOptions& options);

}  // namespace ww::campaign
