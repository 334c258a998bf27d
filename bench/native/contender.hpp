// SPDX-License-Identifier: Apache-2.0
// Whoever takes part in a case: something that can put one call on a stream, and what was measured about it.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "bench/native/case.hpp"

namespace ww::bench {

/// Puts one call that reads and writes `set` on the stream; never synchronises, so that it can be captured.
using Enqueue = std::function<Result<void>(const BufferSet& set, ::ww::Stream stream)>;

struct Measured {
  double us = 0, us_low = 0, us_high = 0;  // sustained: median, 10th and 90th percentile of the replays, per call
  int replays = 0, calls = 0;              // calls of one graph
  std::optional<double> burst_us;          // one replay after a second of idling
  std::optional<double> host_us;           // host time of one call, warm, without waiting
  double max_error = 0;                    // spot_check
};

struct Contender {
  std::string name;    // "warpwright", "cublaslt_fp8_per_tensor"
  std::string detail;  // resolved config, or library and algorithm
  bool ours = false;
  bool masked = false;  // grouped: told of the groups by masked counts
  Recipe recipe = Recipe::unscaled;
  std::vector<Enqueue> alternatives;  // the fastest is measured; usually one
  std::optional<Error> error;         // why nothing, or nothing more, was measured
  Measured measured;
};

/// How wrong the result of a contender in `set` is, in units that bench_case.hpp's spot_check has.
using SpotCheck = std::function<Result<double>(const BufferSet& set, const Contender& contender)>;

}  // namespace ww::bench
