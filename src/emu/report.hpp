// SPDX-License-Identifier: Apache-2.0
// The text of findings: what went wrong, where in the kernel's source, in which thread, and how to reproduce it. For a
// deadlock, it lists the waiting threads and what they wait for, grouped by CTA and source line.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "emu/cta.hpp"

namespace ww::emu {

struct LaunchContext;

/// Returns "producer", "consumer 1", or "warpgroup 2" for threads that the kernel has not named.
std::string words_of(const RoleName& role, u32 warpgroup);
/// Returns what a thread that is not runnable waits for, and what is missing.
std::string waits_on(const Thread& thread);
std::string failure_report(const LaunchContext& context, Origin origin, const std::string& what);
std::string deadlock_report(const LaunchContext& context, const std::vector<std::unique_ptr<Cluster>>& clusters);
/// Returns the waiting threads alone, one line a group.
std::string waiting_report(const std::vector<std::unique_ptr<Cluster>>& clusters);

}  // namespace ww::emu
