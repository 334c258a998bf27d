// SPDX-License-Identifier: Apache-2.0
// What a worker runs: a kernel with its launch on an emulated device whose modules are instrumented, one schedule at a
// time. Operands hold noise that depends on nothing, so that a schedule and its seed determine a run.
#pragma once

#include <memory>

#include "check/messages.hpp"
#include "check/target.hpp"
#include "runtime/backend.hpp"

namespace ww::campaign {

class Runner {
 public:
  virtual ~Runner() = default;
  /// Never fails: what does not run to its end without a finding is incomplete.
  virtual CheckReport run(const ScheduleRun& schedule) = 0;
  /// The target with every choice made.
  virtual CheckTarget target() const = 0;
};

/// Builds the target of `job`: validates it, compiles its kernel and allocates its operands.
Result<std::unique_ptr<Runner>> make_runner(const SetUp& job);

struct CheckSettings {
  EmuMath math = EmuMath::exact;
  int pct_depth = 3;
  StrictRules strict_rules = default_strict_rules();
};

Result<std::unique_ptr<Runner>> make_operation_runner(const Device& device, const CheckTarget& target,
                                                      CheckSettings settings);
Result<std::unique_ptr<Runner>> make_kernel_runner(const Device& device, const KernelCheck& check,
                                                   CheckSettings settings);

/// Fills `memory` with the same bytes every time.
void fill_noise(void* memory, std::size_t bytes);

/// The next launches of `backend` follow `schedule`, checked, on one thread.
void choose(runtime::Backend& backend, const ScheduleRun& schedule, CheckSettings settings);
/// Returns what the device says about a launch that `done` is the result of.
CheckReport report_of(const runtime::Backend& backend, const Result<void>& done);

}  // namespace ww::campaign
