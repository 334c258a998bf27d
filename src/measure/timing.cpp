// SPDX-License-Identifier: Apache-2.0
// The steady clock, and how often a run is repeated on a GPU.
#include "measure/timing.hpp"

#include <algorithm>
#include <chrono>

namespace ww::measure {

double now_seconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

Result<Timing> timed_runs(const Device& device, const std::function<Result<void>()>& run,
                          const std::function<std::optional<EmuStats>()>& stats) {
  const auto once = [&](int times) -> Result<double> {
    const double start = now_seconds();
    for (int i = 0; i < times; ++i) WW_CHECK(run());
    WW_CHECK(device.synchronize());
    return now_seconds() - start;
  };
  Timing timing;
  WW_TRY(timing.seconds, once(1));
  timing.stats = stats();
  if (timing.stats) timing.seconds = timing.stats->seconds;
  if (device.info().emulated) return timing;
  WW_TRY(const double second, once(1));
  timing.runs = static_cast<int>(std::clamp(0.05 / std::max(second, 1e-6), 1.0, 1000.0));
  WW_TRY(const double total, once(timing.runs));
  timing.seconds = total / timing.runs;
  return timing;
}

}  // namespace ww::measure
