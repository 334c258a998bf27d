// SPDX-License-Identifier: Apache-2.0
// The results of all clusters as one report: findings once each, global memory compared across clusters, the verdict.
#pragma once

#include <map>

#include "emu/check/checker.hpp"
#include "runtime/backend.hpp"

namespace ww::emu {

/// `results` by first cluster; `stopped` is the emulator's own report of what ended the run early, or empty.
void summarise(std::map<u32, CheckResult>& results, const runtime::Launch& launch, bool hooked,
               const std::string& stopped, CheckReport& report);

}  // namespace ww::emu
