// SPDX-License-Identifier: Apache-2.0
// Turns a problem and its options into the config that runs: validates, chooses, and validates the result. Compiles
// nothing.
#pragma once

#include "ops/tuned_choice.hpp"
#include "runtime/backend.hpp"
#include "select/ranking.hpp"
#include "warpwright/host/gemm.hpp"

namespace ww::ops {

/// The properties of a device on which the choice depends.
struct LaunchTarget {
  int sms = select::kH200.sms;
  bool emulated = false;
  Arch arch = kDefaultArch;
  const tuning::Table* tuning = nullptr;  // of the device, which outlives the call
};

inline LaunchTarget target_of(const Device& device) {
  const DeviceInfo& info = device.info();
  return {info.sms, info.emulated, info.arch, device.backend().tuning()};
}
/// Returns the device that is assumed where a question precedes the choice of one: an H200, or a B200 where the arch of
/// the config is sm100.
inline LaunchTarget typical_target(const GemmOptions& options) {
  return {select::rates_of(options.config.arch).sms, false, options.config.arch};
}

struct Decision {
  GemmProblem problem;  // with explicit strides
  GemmConfig config;    // resolved
  Tuned tuned = {};     // what the device's tuning file says
};

Result<Decision> decide(const GemmProblem& problem, const GemmOptions& options, const LaunchTarget& target);

/// The ranked candidates for the same arguments.
struct Alternatives {
  Decision decision;
  select::Ranking ranking;
};
Result<Alternatives> alternatives(const GemmProblem& problem, const GemmOptions& options, const LaunchTarget& target);

}  // namespace ww::ops
