// SPDX-License-Identifier: Apache-2.0
// A campaign as text and as one JSON object; exit status 0 clean, 1 findings, 4 incomplete.
#pragma once

#include <string>
#include <vector>

#include "check/target.hpp"

namespace ww::campaign {

/// What a reader needs to repeat each finding, in the order of the campaign's findings.
struct Replay {
  std::string exact, smallest;
};

Outcome report_campaign(const CheckTarget& target, const std::vector<ScheduleRun>& schedules, const Campaign& campaign,
                        const std::vector<Replay>& replays, bool traffic);

}  // namespace ww::campaign
