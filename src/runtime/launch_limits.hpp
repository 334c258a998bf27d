// SPDX-License-Identifier: Apache-2.0
// The limits of a launch that every device checks before anything runs, on either executor.
#pragma once

#include "runtime/backend.hpp"

namespace ww::runtime {

inline constexpr int kMaxSharedBytesPerCta = 232448;  // sm_90: 227 KiB of the SM's 228; the system takes 1 KiB
inline constexpr std::uint32_t kMaxClusterCtas = 16;  // more than 8 is not portable; sm_90 and sm_100 both have it
inline constexpr std::uint32_t kMaxThreadsPerCta = 1024;

/// Returns whether check_limits() accepts a launch. Every launch asks this first, because a test is a fraction of a
/// Result.
inline bool within_limits(const Launch& launch) {
  return launch.kernel != nullptr && launch.cluster >= 1 && launch.cluster <= kMaxClusterCtas && launch.grid >= 1 &&
         launch.grid % launch.cluster == 0 && launch.threads >= 32 && launch.threads <= kMaxThreadsPerCta &&
         launch.threads % 32 == 0 && launch.shared_bytes <= static_cast<std::uint32_t>(kMaxSharedBytesPerCta) &&
         launch.params != nullptr;
}

/// Checks a launch. Errors: invalid, argument "launch.<field>".
Result<void> check_limits(const Launch& launch);

/// Checks the launch against the kernel's own parameters, where the executor knows them. 0 = unknown.
Result<void> check_params(const Launch& launch, std::size_t kernel_params_bytes, std::uint32_t kernel_threads);

}  // namespace ww::runtime
