// SPDX-License-Identifier: Apache-2.0
// The stopwatch of an operation that runs once or a few times.
#pragma once

#include <functional>
#include <optional>

#include "warpwright/host/device.hpp"

namespace ww::measure {

double now_seconds();

struct Timing {
  double seconds = 0;  // of one run
  int runs = 1;        // that is the mean of so many
  std::optional<EmuStats> stats;
};

/// On a GPU: one run to warm up, then enough of them that the clock's and the launch's noise is small.
Result<Timing> timed_runs(const Device& device, const std::function<Result<void>()>& run,
                          const std::function<std::optional<EmuStats>()>& stats);

}  // namespace ww::measure
