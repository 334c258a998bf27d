// SPDX-License-Identifier: Apache-2.0
// What `warpwright check` runs: a kernel with its launch, on an emulated device whose modules are the checked flavour.
// A target runs one schedule at a time, says how to run itself again, and makes smaller versions of itself.
#pragma once

#include <memory>
#include <string>

#include "check/launch.hpp"
#include "check/pool.hpp"
#include "cli/grouped_request.hpp"
#include "cli/k_grouped_request.hpp"
#include "cli/report.hpp"
#include "warpwright/host/gemm.hpp"

namespace ww::campaign {

using namespace cli;

/// What all schedules of a campaign have in common.
struct CheckSettings {
  EmuMath math = EmuMath::exact;
  int pct_depth = 3;
};

class CheckTarget {
 public:
  virtual ~CheckTarget() = default;

  /// Never fails: what does not run to its end without a finding is incomplete.
  virtual CheckReport run(const ScheduleRun& schedule) = 0;
  /// The command line of this target, without schedule and seed.
  virtual std::string command() const = 0;
  virtual std::string title() const = 0;
  virtual Fields fields() const = 0;
  /// Sizes that may be halved are numbered from 0; null when that one is as small as it may be.
  virtual int axes() const = 0;
  virtual Result<std::unique_ptr<CheckTarget>> halved(int axis) const = 0;
};

/// An emulated device that checks.
Result<Device> open_checking_device(const std::string& name);

/// The library's GEMM. `problem` has row strides or zeros; types and scale of `options.config` are those of `problem`.
Result<std::unique_ptr<CheckTarget>> make_gemm_target(const Device& device, const GemmProblem& problem,
                                                      const GemmOptions& options, const CheckSettings& settings);

/// The library's grouped GEMM, with the groups' arrays of the request.
Result<std::unique_ptr<CheckTarget>> make_grouped_target(const Device& device, const GroupedRequest& request,
                                                         const CheckSettings& settings);

/// The library's product with groups of K, with the groups' arrays of the request.
Result<std::unique_ptr<CheckTarget>> make_k_grouped_target(const Device& device, const KGroupedRequest& request,
                                                           const CheckSettings& settings);

/// Kernel `entry` of the header `path`.
Result<std::unique_ptr<CheckTarget>> make_source_target(const Device& device, const std::string& path,
                                                        const std::string& entry, const LaunchText& launch,
                                                        const CheckSettings& settings);

}  // namespace ww::campaign
