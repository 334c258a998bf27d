// SPDX-License-Identifier: Apache-2.0
// From a problem and its options to the config that runs: validated, chosen, validated again. Nothing is compiled.
#pragma once

#include "select/ranking.hpp"
#include "warpwright/host/gemm.hpp"

namespace ww::ops {

/// What a choice knows of its device.
struct LaunchTarget {
  int sms = 132;
  bool emulated = false;
};

struct Decision {
  GemmProblem problem;  // with explicit strides
  GemmConfig config;    // resolved
};

Result<Decision> decide(const GemmProblem& problem, const GemmOptions& options, const LaunchTarget& place);

/// All that was to choose from, for the same arguments.
struct Alternatives {
  Decision decision;
  select::Ranking ranking;
};
Result<Alternatives> alternatives(const GemmProblem& problem, const GemmOptions& options, const LaunchTarget& place);

}  // namespace ww::ops
