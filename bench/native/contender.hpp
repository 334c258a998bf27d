// SPDX-License-Identifier: Apache-2.0
// A contender of a case: it can enqueue one call on a stream, and holds its measurements.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "bench/native/data.hpp"

namespace ww::bench {

/// Enqueues one call that reads and writes `set`; never synchronises, so that it can be captured.
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
  std::shared_ptr<const Operation> operation;  // whose elements are checked; a peer's is one that computes the same
  Recipe recipe = Recipe::problem;
  std::vector<Enqueue> alternatives;  // the fastest is measured; usually one
  std::optional<Error> error;         // why nothing, or nothing more, was measured
  Measured measured;
};

/// Returns the error of a contender's result in `set`, in the units of data.hpp's spot_check.
using SpotCheck = std::function<Result<double>(const BufferSet& set, const Contender& contender)>;

}  // namespace ww::bench
