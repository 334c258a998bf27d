// SPDX-License-Identifier: Apache-2.0
// A campaign as text and as one JSON object; exit status 0 clean, 1 findings, 4 incomplete.
#pragma once

#include "cli/report.hpp"
#include "warpwright/host/check.hpp"

namespace ww::cli {

Outcome report_campaign(const CheckCampaign& campaign, const CheckOptions& options);

/// What cannot be run cannot be judged: `error` as a report without schedules.
Outcome report_incomplete(const Error& error);

}  // namespace ww::cli
