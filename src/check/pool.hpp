// SPDX-License-Identifier: Apache-2.0
// Many schedules of one kernel on every core: worker processes take schedules from a shared counter and hand back
// reports. The result depends on the list of schedules that ran, never on the number of processes or on who ran what.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "check/process.hpp"

namespace ww::campaign {

/// A finding with the first schedule of the list that shows it, and how many do.
struct Found {
  Finding finding;
  std::size_t first = 0, position = 0, schedules = 0;
  int launch = 1;  // of the first schedule
};

/// What became of a list of schedules.
struct Campaign {
  std::vector<Found> findings;  // by first schedule, then as its report has them
  std::size_t ran = 0;          // schedules that ended
  std::size_t launches = 0;     // of those schedules
  std::string why_incomplete;  // of the first schedule without a verdict, or of the campaign; empty: nothing is missing
  bool stopped = false;
  CheckReport example;  // of the first schedule of the list, when it ran: statistics and traffic
  double seconds = 0;
};

/// What makes two findings the same: the rule and the pair of lines.
std::string key_of(const Finding& finding);

struct PoolSettings {
  int processes = 0;                      // 0: one per core
  std::filesystem::path worker = {};      // empty: find_worker()
  std::stop_token stop = {};              // ends what runs
  std::function<void(double)> tick = {};  // about ten times a second, with the fraction that is done
};

struct RunSettings {
  double seconds = 60;     // no schedule starts later; those that run get a little longer
  double grace = 5;        // for schedules that run when time is up
  std::string until = {};  // key of a finding: once it is seen no further schedule starts
};

class Pool {
 public:
  explicit Pool(PoolSettings settings);
  ~Pool();

  /// Has one worker build `job`. Returns the target with every choice made, and the device's SMs; the error of the
  /// worker, or could_not_finish when none can be started, when it ended, or when a stop was requested.
  Result<Ready> set_up(const SetUp& job);
  /// Runs `schedules` of the job that was set up last.
  Campaign run(const ScheduleList& schedules, const RunSettings& settings);

 private:
  class Round;
  struct Slot {
    std::optional<WorkerProcess> process;
    bool set_up = false;  // it has been sent the job
  };

  Result<void> start(std::size_t number);
  bool give_job(std::size_t number);
  /// Tells how much is done, unless it has just been told.
  void tick(double fraction);
  bool stop_requested() const { return settings_.stop.stop_requested(); }

  PoolSettings settings_;
  std::filesystem::path program_;
  Page page_;
  std::vector<Slot> slots_;
  std::string job_;
  double ticked_ = 0;
};

}  // namespace ww::campaign
