// SPDX-License-Identifier: Apache-2.0
// Combines the results of all clusters into one report: each finding once, global memory compared across clusters, the
// verdict.
#pragma once

#include <map>

#include "emu/check/checker.hpp"
#include "host/kernel_launch.hpp"

namespace ww::emu {

/// `results` are keyed by first cluster. `stopped` is the emulator's own report of what ended the run early, or empty.
void summarise(std::map<u32, CheckResult>& results, const runtime::Launch& launch, bool hooked,
               const std::string& stopped, CheckReport& report);

}  // namespace ww::emu
