// SPDX-License-Identifier: Apache-2.0
// The limits of a launch, which every device checks before anything runs, on either executor.
#pragma once

#include <cstdint>

#include "runtime/backend.hpp"
#include "warpwright/core/machine.hpp"

namespace ww::runtime {

/// The extents that a launch may have at most.
struct LaunchLimits {
  std::uint32_t shared_bytes = 0, cluster = 0, threads = 0;  // of a CTA; CTAs; of a CTA
};
constexpr LaunchLimits launch_limits(Arch arch) {
  const MachineTraits traits = machine_of(arch);
  return {static_cast<std::uint32_t>(traits.shared_bytes()), static_cast<std::uint32_t>(traits.largest_cluster),
          std::uint32_t{MachineTraits::kCtaThreads}};
}

/// Returns whether check_limits() accepts a launch. Every launch asks this first, because a test is a fraction of a
/// Result.
inline bool within_limits(const Launch& launch, Arch arch) {
  constexpr std::uint32_t kWarp = MachineTraits::kWarpThreads;
  const LaunchLimits most = launch_limits(arch);
  return launch.kernel != nullptr && launch.cluster >= 1 && launch.cluster <= most.cluster && launch.grid >= 1 &&
         launch.grid % launch.cluster == 0 && launch.threads >= kWarp && launch.threads <= most.threads &&
         launch.threads % kWarp == 0 && launch.shared_bytes <= most.shared_bytes && launch.params != nullptr;
}

/// Checks a launch on a device of this architecture. Errors: invalid, argument "launch.<field>".
Result<void> check_limits(const Launch& launch, Arch arch);

/// Checks the launch against the kernel's own parameters, where the executor knows them. 0 = unknown.
Result<void> check_params(const Launch& launch, std::size_t kernel_params_bytes, std::uint32_t kernel_threads);

}  // namespace ww::runtime
