// SPDX-License-Identifier: Apache-2.0
// Counting barriers of CTAs and clusters.
#include "emu/barriers.hpp"

#include <fmt/format.h>

#include "emu/aligned.hpp"

namespace ww::emu {
namespace {

void complete_cluster_barrier(Cluster& cluster, Machine& machine) {
  if (cluster.live_threads == 0 || cluster.arrived != cluster.live_threads || cluster.remote_arrivals != 0) return;
  cluster.arrived = 0;
  ++cluster.phase;
  if (Checker* checker = machine.checker()) checker->cluster_completed(cluster);
  machine.wake_all(cluster.waiters);
}

}  // namespace

void named_barrier(Thread& thread, u32 id, u32 threads, bool wait, arch::Site site) {
  Machine& machine = *thread.machine;
  Cta& cta = *thread.cta;
  if (id >= u32{MachineTraits::kNamedBarriers})
    machine.fail({&thread, site},
                 fmt::format("named barrier {}: expected an id from 0 to {}", id, MachineTraits::kNamedBarriers - 1));
  if (threads == 0 || threads % kWarpSize != 0 || threads > cta.threads.size())
    machine.fail({&thread, site},
                 fmt::format("named barrier {}: {} threads; expected whole warps, at most the CTA's {}", id, threads,
                             cta.threads.size()));
  aligned_call(thread, wait ? "bar.sync" : "bar.arrive", site);
  NamedBarrier& barrier = cta.named[id];
  if (barrier.arrived == 0) barrier.threads = threads;
  if (barrier.threads != threads)
    machine.fail({&thread, site},
                 fmt::format("named barrier {}: this thread expects {} threads, those before it {}", id, threads,
                             barrier.threads),
                 Rule::named_barrier_count, other_of(barrier.waiters, "wait at the named barrier"));
  machine.progress();
  Checker* const checker = machine.checker();
  const u32 round = barrier.round;
  if (checker) checker->named_barrier_arrives(thread, id, barrier.arrived + 1 == threads);
  if (++barrier.arrived == threads) {
    barrier.arrived = 0;
    ++barrier.round;
    machine.wake_all(barrier.waiters);
  } else if (wait) {
    while (barrier.round == round) {
      barrier.waiters.push(thread);
      machine.park(thread, Wait::named_barrier, site, id);
    }
  }
  if (checker && wait) checker->named_barrier_passed(thread, id, round);
}

void cluster_arrive(Thread& thread, bool relaxed, arch::Site site) {
  Machine& machine = *thread.machine;
  Cluster& cluster = *thread.cta->cluster;
  aligned_call(thread, "barrier.cluster.arrive.aligned", site);
  if (thread.cluster_arrived)
    machine.fail({&thread, site}, "cluster barrier: the thread arrives again without having waited");
  thread.cluster_arrived = true;
  thread.cluster_phase = cluster.phase;
  ++cluster.arrived;
  if (Checker* checker = machine.checker()) checker->cluster_arrives(thread, relaxed, site);
  machine.progress();
  complete_cluster_barrier(cluster, machine);
}

void cluster_wait(Thread& thread, arch::Site site) {
  Machine& machine = *thread.machine;
  Cluster& cluster = *thread.cta->cluster;
  aligned_call(thread, "barrier.cluster.wait.aligned", site);
  if (!thread.cluster_arrived)
    machine.fail({&thread, site}, "cluster barrier: the thread waits without having arrived");
  while (cluster.phase == thread.cluster_phase) {
    cluster.waiters.push(thread);
    machine.park(thread, Wait::cluster_barrier, site);
  }
  thread.cluster_arrived = false;
  if (Checker* checker = machine.checker()) checker->cluster_passed(thread);
}

void remote_arrival_landed(Cluster& cluster, Machine& machine) {
  --cluster.remote_arrivals;
  complete_cluster_barrier(cluster, machine);
}

void cluster_thread_ended(Thread& thread) {
  Cluster& cluster = *thread.cta->cluster;
  if (thread.cluster_arrived && thread.cluster_phase == cluster.phase) --cluster.arrived;
  complete_cluster_barrier(cluster, *thread.machine);
}

}  // namespace ww::emu
