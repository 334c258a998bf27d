// SPDX-License-Identifier: Apache-2.0
// The text of findings: what went wrong, where in the kernel's source, in which thread, and how to reproduce it. For a
// deadlock, it lists the waiting threads and what they wait for, grouped by CTA and source line, lanes of one warp that
// wait for each other, and clusters that could not start.
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
/// `waiting` is what waiting_report() returns.
std::string deadlock_report(const LaunchContext& context, const std::string& waiting);
/// Returns the waiting threads alone, one line a group, then parted_warps_report() and `not_started` clusters.
std::string waiting_report(const LaunchContext& context, const std::vector<std::unique_ptr<Cluster>>& clusters,
                           u32 not_started);
/// Returns a line for each warp whose lanes wait for each other at different places, at most eight; often empty.
std::string parted_warps_report(const std::vector<std::unique_ptr<Cluster>>& clusters);

}  // namespace ww::emu
