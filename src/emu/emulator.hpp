// SPDX-License-Identifier: Apache-2.0
// The emulated device's front door: run a kernel entry over a grid, get statistics or an error that says who was stuck.
#pragma once

#include "runtime/backend.hpp"
#include "warpwright/arch/emu_table.hpp"

namespace ww::emu {

/// The operations a module is bound to; the same table for every launch.
const arch::EmuTable* table();

/// Encodes `spec` as the emulator's own 128-byte tensor map (same limits and errors as the driver's).
Result<arch::TensorMap> encode(const runtime::TensorMapSpec& spec);

/// Runs `entry` for `launch` (launch.kernel is not used here). Deterministic in (launch, options minus threads).
/// Errors: could_not_finish with a report for deadlock, bounds, alignment, protocol and register-budget findings.
Result<EmuStats> run(const arch::KernelEntry& entry, const runtime::Launch& launch, const EmuOptions& options, int sms);

/// The same under the checker, whatever options.check says. Never fails: what stops a run is a finding, what the
/// emulator cannot judge makes the verdict incomplete. The same report for the same seed on any number of OS threads.
/// `hooked`: the entry's module was compiled with its plain accesses instrumented (arch::ModuleInfo::checked); without
/// it the verdict is incomplete unless there are findings.
CheckReport check(const arch::KernelEntry& entry, const runtime::Launch& launch, const EmuOptions& options, int sms,
                  bool hooked = false);

}  // namespace ww::emu
