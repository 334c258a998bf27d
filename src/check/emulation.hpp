// SPDX-License-Identifier: Apache-2.0
// What the targets of `warpwright check` share: noise for operands, one schedule for one launch, and how settings are
// spelled in a command line.
#pragma once

#include <memory>
#include <string>
#include <utility>

#include "check/target.hpp"
#include "runtime/backend.hpp"

namespace ww::campaign {

/// `text` as one word of a shell's command line.
std::string shell_word(const std::string& text);
const char* math_text(const CheckSettings& settings);
/// " --math off --pct-depth 5": what differs from the defaults.
std::string settings_text(const CheckSettings& settings);

/// The same bytes every time.
void fill_noise(void* memory, std::size_t bytes);

/// The next launches of `backend` follow `schedule`, checked, on one thread.
void choose(runtime::Backend& backend, const ScheduleRun& schedule, const CheckSettings& settings);

/// What the device says about a launch that `done` is the result of.
CheckReport report_of(const runtime::Backend& backend, const Result<void>& done);

template <class Target, class... Arguments> Result<std::unique_ptr<CheckTarget>> make_target(Arguments&&... arguments) {
  auto target = std::make_unique<Target>(std::forward<Arguments>(arguments)...);
  WW_CHECK(target->prepare());
  return target;
}

}  // namespace ww::campaign
