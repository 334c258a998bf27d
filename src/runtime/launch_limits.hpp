// SPDX-License-Identifier: Apache-2.0
// What every device refuses about a launch before anything runs, whichever executor carries it out.
#pragma once

#include "runtime/backend.hpp"

namespace ww::runtime {

inline constexpr int kMaxSharedBytesPerCta = 232448;  // sm_90: 227 KiB of the SM's 228, 1 KiB is the system's
inline constexpr std::uint32_t kMaxClusterCtas = 16;  // more than 8 is not portable; sm_90 and sm_100 both have it
inline constexpr std::uint32_t kMaxThreadsPerCta = 1024;

/// Errors: invalid, argument "launch.<field>".
Result<void> check_limits(const Launch& launch);

/// The kernel's own view of the launch, where the executor knows it. 0 = not known.
Result<void> check_params(const Launch& launch, std::size_t kernel_params_bytes, std::uint32_t kernel_threads);

}  // namespace ww::runtime
