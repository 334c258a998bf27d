// SPDX-License-Identifier: Apache-2.0
// Makes the report of a checked launch from what its checker found.
#pragma once

#include "emu/check/checker.hpp"
#include "host/kernel_launch.hpp"

namespace ww::emu {

/// `stopped` is the emulator's own report of what ended the run early, or empty.
void summarise(CheckResult& result, const runtime::Launch& launch, bool hooked, const std::string& stopped,
               CheckReport& report);

}  // namespace ww::emu
