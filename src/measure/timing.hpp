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

/// Times `run`. On a GPU it runs once to warm up, then often enough that the noise of clock and launch is small.
Result<Timing> timed_runs(const Device& device, const std::function<Result<void>()>& run,
                          const std::function<std::optional<EmuStats>()>& stats);

}  // namespace ww::measure
