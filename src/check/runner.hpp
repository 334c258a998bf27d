// SPDX-License-Identifier: Apache-2.0
// What a worker runs: a kernel with its launch on an emulated device whose modules are instrumented, one schedule at a
// time. Operands hold noise that depends on nothing, so that a schedule and its seed determine a run.
#pragma once

#include <initializer_list>
#include <memory>
#include <utility>

#include "check/messages.hpp"
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
};

Result<std::unique_ptr<Runner>> make_runner(const Device& device, const GemmCheck& check, CheckSettings settings);
Result<std::unique_ptr<Runner>> make_runner(const Device& device, const GroupedCheck& check, CheckSettings settings);
Result<std::unique_ptr<Runner>> make_runner(const Device& device, const KGroupedCheck& check, CheckSettings settings);
Result<std::unique_ptr<Runner>> make_runner(const Device& device, const KernelCheck& check, CheckSettings settings);

/// Fills `memory` with the same bytes every time.
void fill_noise(void* memory, std::size_t bytes);
Result<Buffer> noise(const Device& device, std::int64_t bytes);
Result<Buffer> copied(const Device& device, const std::vector<std::int32_t>& values);

/// An extent and the stride of its steps.
struct Extent {
  std::int64_t size = 0, stride = 0;
};
/// Elements from the first to the last of an array, which is empty when one of its extents is.
std::int64_t span_of(std::initializer_list<Extent> extents);

/// The next launches of `backend` follow `schedule`, checked, on one thread.
void choose(runtime::Backend& backend, const ScheduleRun& schedule, CheckSettings settings);
/// Returns what the device says about a launch that `done` is the result of.
CheckReport report_of(const runtime::Backend& backend, const Result<void>& done);

template <class T, class... Arguments> Result<std::unique_ptr<Runner>> prepared(Arguments&&... arguments) {
  auto runner = std::make_unique<T>(std::forward<Arguments>(arguments)...);
  WW_CHECK(runner->prepare());
  return runner;
}

}  // namespace ww::campaign
