// SPDX-License-Identifier: Apache-2.0
// The stopwatch on a GPU: graphs, interleaved replays, bursts, host time, clock and power.
#pragma once

#include <algorithm>
#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "bench/native/contender.hpp"
#include "measure/nvml.hpp"

namespace ww::bench {

using namespace measure;

struct MeasureOptions {
  int replays = 7;
  double seconds = 6;
  bool burst = true;
  bool alone = false;  // each contender replays for a while by itself, as products at the power limit need
};

struct GpuFacts {
  std::string driver_version;  // "" when NVML is not there
  double power_limit_watts = 0;
};

constexpr int kTurns = 2;             // of each contender that runs alone
constexpr double kTurnSeconds = 0.6;  // at least, because clock and power follow a load after some 0.2 s

/// Returns the seconds for which so many contenders replay. Those that run alone may need more than `options.seconds`.
inline double seconds_of(const MeasureOptions& options, std::size_t contenders) {
  if (!options.alone) return options.seconds;
  return std::max(options.seconds, kTurns * kTurnSeconds * static_cast<double>(contenders));
}

class GpuBench {
 public:
  virtual ~GpuBench() = default;
  /// Makes the context of `device` current on this thread until it is destroyed; use it on one thread.
  static Result<std::unique_ptr<GpuBench>> open(const Device& device);

  virtual GpuFacts facts() const = 0;
  /// Fills `measured` or `error` of each contender. Samples are taken during the replays.
  virtual std::vector<GpuSample> measure(const SpotCheck& check, std::span<const BufferSet> sets,
                                         std::vector<Contender>& contenders, const MeasureOptions& options) = 0;
};

/// Returns the host microseconds of one warm call of `enqueue`; the stream is kept busy but never waited for inside the
/// clock.
Result<double> host_us_per_call(const Device& device, const Enqueue& enqueue, std::span<const BufferSet> sets,
                                ::ww::Stream stream, int calls = 1000);

}  // namespace ww::bench
