// SPDX-License-Identifier: Apache-2.0
// What a worker runs: a kernel with its launch on an emulated device whose modules are instrumented, one schedule at a
// time. Operands hold noise that depends on nothing, so that a schedule and its seed determine a run.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "check/messages.hpp"
#include "check/target.hpp"
#include "runtime/backend.hpp"

namespace ww::campaign {

class Runner {
 public:
  virtual ~Runner() = default;
  /// Runs the launches of `schedule` up to the first that is not clean. Never fails: what does not run to its end
  /// without a finding is incomplete.
  SequenceReport run(const ScheduleRun& schedule);
  /// The target with every choice made.
  virtual CheckTarget target() const = 0;
  /// SMs of the device.
  virtual int sms() const = 0;

 protected:
  /// Puts memory into the state before the first launch.
  virtual Result<void> begin(const ScheduleRun& schedule) = 0;
  /// Runs launch number `launch`, counted from 1; the report also says which of its values are wrong.
  virtual CheckReport launch(const ScheduleRun& schedule, int launch) = 0;
};

/// What memory holds at one moment.
using Image = std::vector<std::byte>;
/// An array that an image has a part of, in order.
struct Imaged {
  std::string name;
  void* data = nullptr;
  std::size_t bytes = 0;
};
Image image_of(const std::vector<Imaged>& arrays);
/// Returns the finding that `arrays` do not hold what `expected` says, the state after `what` ("launch 1"), with the
/// first byte that differs; none if they do.
std::optional<Finding> difference(const std::vector<Imaged>& arrays, const Image& expected, int launch,
                                  const std::string& what);
/// Returns `finding`, which has both parties and the bytes, as one of wrong values after `launch`; `text` says how
/// many.
Finding wrong_value(Finding finding, int launch, const std::string& text);
/// Adds to a clean report what else is wrong with the launch.
void add(CheckReport& report, std::optional<Finding> finding);

/// Builds the target of `job`: validates it, compiles its kernel and allocates its operands.
Result<std::unique_ptr<Runner>> make_runner(const SetUp& job);

struct CheckSettings {
  EmuMath math = EmuMath::exact;
  int pct_depth = 3;
  StrictRules strict_rules = default_strict_rules();
  bool verify = false;
};

Result<std::unique_ptr<Runner>> make_operation_runner(const Device& device, const CheckTarget& target,
                                                      CheckSettings settings);
Result<std::unique_ptr<Runner>> make_kernel_runner(const Device& device, const KernelCheck& check,
                                                   CheckSettings settings);

/// Fills `memory` with the same bytes every time.
void fill_noise(void* memory, std::size_t bytes);

/// The next launch of `backend` is number `launch` of `schedule`, checked, on one thread.
void choose(runtime::Backend& backend, const ScheduleRun& schedule, int launch, CheckSettings settings);
/// Returns what the device says about a launch that `done` is the result of.
CheckReport report_of(const runtime::Backend& backend, const Result<void>& done);

}  // namespace ww::campaign
