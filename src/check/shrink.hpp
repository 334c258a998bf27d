// SPDX-License-Identifier: Apache-2.0
// The simplest run that still shows a finding: fifo before random before the searching schedules, sizes halved one
// after another for as long as the same rule meets the same lines.
#pragma once

#include <string>

#include "check/target.hpp"

namespace ww::campaign {

/// Target and schedule as one command line.
std::string replay_command(const CheckTarget& target, const ScheduleRun& schedule);

/// `found_by` showed the finding of `key` on `target`. The command that shows it most simply; no schedule of the search
/// starts after `seconds`.
std::string shrink(CheckTarget& target, const std::string& key, const ScheduleRun& found_by, int processes,
                   double seconds);

}  // namespace ww::campaign
