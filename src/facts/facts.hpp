// SPDX-License-Identifier: Apache-2.0
// What the library reports, as JSON objects: campaigns, explanations, prepared kernels, statistics. The program prints
// them with --json, and the C interface returns them.
#pragma once

#include "io/json.hpp"
#include "warpwright/host/check.hpp"
#include "warpwright/host/explain.hpp"
#include "warpwright/host/prepare.hpp"

namespace ww::facts {

using io::Fields, io::List, io::Value;

/// {"ok", "verdict", "why_incomplete", "schedules", ..., "findings"}, and "traffic" if the options asked for it.
Fields fields_of(const CheckCampaign& campaign, const CheckOptions& options);

/// {"config"}, and "us", "waves", "resident_ctas", "hbm_bytes" and "terms" where there is a modelled time.
Fields fields_of(const RankedConfig& ranked);
/// [{"reason", "count", "example"}]
List list_of(const std::vector<ExcludedConfigs>& excluded);
/// {"sms", "emulated", "chosen", "because", "tuned", "tuning", "modelled_for", "measured", "swap_ab", "ranking",
/// "excluded"}
Fields fields_of(const Explanation& explanation);

/// {"config", "cases", "seconds", "ok"}, and "error" if there is one.
Fields fields_of(const PreparedKernel& kernel);

/// {"ctas", "tma_loads", "wgmmas", "l2_read_bytes": {"a"}, ...}; the work of each CTA where the kernel records it.
Fields fields_of(const EmuStats& stats);

}  // namespace ww::facts
