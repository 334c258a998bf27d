// SPDX-License-Identifier: Apache-2.0
// The emulated device's entry points: run a kernel over a grid, and return statistics or an error that names the
// threads that were stuck.
#pragma once

#include "emu/machine_model.hpp"
#include "host/kernel_launch.hpp"
#include "warpwright/arch/common/emu_table.hpp"
#include "warpwright/host/report.hpp"

namespace ww::emu {

/// Returns the operations to which a module is bound; the same table for every machine and launch.
const arch::EmuTable* table();

/// Encodes `spec` as the emulator's own 128-byte tensor map, with the limits and errors of the driver.
Result<arch::TensorMap> encode(const runtime::TensorMapSpec& spec);

/// Runs `entry` on a machine of `model` for `launch` (launch.kernel is not used here). The result depends only on
/// (model, launch, options without threads).
/// Errors: could_not_finish with a report for deadlock, bounds, alignment, protocol and register-budget findings.
Result<EmuStats> run(const MachineModel& model, const arch::KernelEntry& entry, const runtime::Launch& launch,
                     const EmuOptions& options, int sms);

/// Runs the same under the checker, whatever options.check says. It never fails: an event that stops a run is a
/// finding, and an operation that the emulator cannot judge makes the verdict incomplete. The report for a seed is the
/// same on any number of OS threads. `hooked`: the entry's module was compiled with its plain accesses instrumented
/// (arch::ModuleInfo::checked); otherwise the verdict is incomplete unless there are findings.
CheckReport check(const MachineModel& model, const arch::KernelEntry& entry, const runtime::Launch& launch,
                  const EmuOptions& options, int sms, bool hooked = false);

}  // namespace ww::emu
