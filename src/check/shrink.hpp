// SPDX-License-Identifier: Apache-2.0
// The simplest run that still shows a finding: fifo before random before the searching schedules, sizes halved one
// after another for as long as the same rule meets the same lines.
#pragma once

#include "check/pool.hpp"

namespace ww::campaign {

struct Smallest {
  CheckTarget target;
  ScheduleRun schedule;
};

/// `found_by` showed the finding of `key` on the target of `job`. Returns the simplest run that was found to show it;
/// no schedule of the search starts after `seconds`. The pool is left with another job.
Smallest shrink(Pool& pool, const SetUp& job, const std::string& key, const ScheduleRun& found_by, double seconds);

}  // namespace ww::campaign
