// SPDX-License-Identifier: Apache-2.0
// The sixteen named barriers of a CTA (bar.sync, bar.arrive) and the barrier of the cluster (barrier.cluster).
// Named barriers count threads and check that all name the same number. The cluster barrier waits for all threads that
// have not exited.
#pragma once

#include "emu/cta.hpp"

namespace ww::emu {

/// Arrives at a named barrier and, unless `wait` is false (bar.arrive), waits for it.
void named_barrier(Thread& thread, u32 id, u32 threads, bool wait, arch::Site site);
void cluster_arrive(Thread& thread, bool relaxed, arch::Site site);
void cluster_wait(Thread& thread, arch::Site site);
/// Notes that a remote arrival at an mbarrier has landed.
void remote_arrival_landed(Cluster& cluster, Machine& machine);
/// Notes that a thread has exited and no longer holds up the cluster barrier.
void cluster_thread_ended(Thread& thread);

}  // namespace ww::emu
