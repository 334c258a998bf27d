// SPDX-License-Identifier: Apache-2.0
// mbarrier: phases as one thread sees them, a hand-over between threads, arrivals from the other CTAs of a cluster.
#pragma once

#include "params.hpp"
#include "warpwright/arch/common/cluster.hpp"
#include "warpwright/arch/common/fence.hpp"
#include "warpwright/arch/common/mbarrier_scope.hpp"
#include "warpwright/arch/common/warp.hpp"

namespace ww::arch_test {

/// Returns whether the phase of that parity has completed; a single try may fail spuriously.
WW_DEVICE bool completes(arch::MBarrier b, u32 parity) {
  for (int attempt = 0; attempt < 1000; ++attempt)
    if (arch::mbarrier::try_wait(b, parity)) return true;
  return false;
}

/// out[0]: the result of each try, one bit after the other; out[1]: the number of tries.
WW_KERNEL(arch_mbarrier_phases, 32, Params, p) {
  if (arch::thread_index() != 0) return;
  const arch::MBarrier b{arch::dynamic_shared()};
  u32 seen = 0, looks = 0;
  const auto note = [&](bool done) {
    seen |= static_cast<u32>(done) << looks++;
    return done;
  };
  // Each arrival depends on the preceding try, because a GPU suspends a try_wait while its thread continues, and could
  // then observe an arrival that only follows in program order.
  arch::mbarrier::init(b, 2);
  const bool fresh = note(arch::mbarrier::try_wait(b, 0));
  note(completes(b, 1));  // on a fresh barrier the preceding phase counts as completed
  arch::mbarrier::arrive_if(!fresh, b);
  arch::mbarrier::arrive_if(!note(arch::mbarrier::try_wait(b, 0)), b);
  note(completes(b, 0));
  if (!note(arch::mbarrier::try_wait(b, 1))) arch::mbarrier::arrive(b, 2);
  note(completes(b, 1));
  if (!note(arch::mbarrier::try_wait(b, 0))) arch::mbarrier::wait(b, 1);
  arch::mbarrier::invalidate(b);
  arch::mbarrier::init(b, 1);
  arch::mbarrier::arrive_if(!note(arch::mbarrier::try_wait(b, 0)), b);
  note(completes(b, 0));
  arch::global::store(p.out, seen);
  arch::global::store(p.out + 1, looks);
}

/// arg[0] rounds: every thread writes a word, all arrive, every thread reads another's, all arrive, and again.
WW_KERNEL(arch_mbarrier_handover, 128, Params, p) {
  const arch::SharedAddress words = arch::dynamic_shared();
  const arch::MBarrier written{words + 512}, read{words + 520};
  const u32 t = arch::thread_index();
  if (t == 0) {
    arch::mbarrier::init(written, 128);
    arch::mbarrier::init(read, 128);
  }
  arch::named_barrier::sync_cta();
  u32 sum = 0;
  for (u32 round = 0; round < static_cast<u32>(p.arg[0]); ++round) {
    arch::shared::store(words + 4 * t, arch::global::load(p.in + t) + round);
    arch::mbarrier::arrive(written);
    arch::mbarrier::wait(written, round & 1);
    sum = sum * 3 + arch::shared::load(words + 4 * ((t + 37 * (round + 1)) % 128));
    arch::mbarrier::arrive(read);
    arch::mbarrier::wait(read, round & 1);
  }
  arch::global::store(p.out + t, sum);
}

/// arg[0] rounds: each CTA arrives once at every CTA of its cluster, itself included. out: rounds that completed.
WW_KERNEL(arch_mbarrier_remote, 64, Params, p) {
  const arch::MBarrier b{arch::dynamic_shared()};
  const u32 t = arch::thread_index();
  if (t == 0) arch::mbarrier::init(b, arch::cluster_size());
  arch::fence::mbarrier_init();
  arch::cluster::sync();
  u32 rounds = 0;
  for (; rounds < static_cast<u32>(p.arg[0]); ++rounds) {
    if (rounds % 2 == 0 && t < arch::cluster_size()) arch::mbarrier::arrive_remote(b, t);
    if (rounds % 2 == 1) arch::mbarrier::arrive_remote_release_if(t < arch::cluster_size(), b, t);
    arch::mbarrier::wait(b, rounds & 1);
    arch::warp::sync();
    arch::cluster::sync();  // a second arrival must not reach a barrier whose first round is not over
  }
  arch::global::store(p.out + arch::block_index() * 64 + t, rounds);
}

/// arg[0] rounds, as arch_mbarrier_remote, through the forms of cluster scope and the relaxed ones. A barrier of this
/// CTA alone counts relaxed and released arrivals. out: rounds that completed.
WW_KERNEL(arch_mbarrier_scopes, 64, Params, p) {
  const arch::MBarrier b{arch::dynamic_shared()}, own{arch::dynamic_shared() + 8};
  const u32 t = arch::thread_index();
  if (t == 0) {
    arch::mbarrier::init(b, arch::cluster_size());
    arch::mbarrier::init(own, 64);
  }
  arch::fence::mbarrier_init();
  arch::cluster::sync();
  u32 rounds = 0;
  for (; rounds < static_cast<u32>(p.arg[0]); ++rounds) {
    if (t < arch::cluster_size()) {
      if (rounds % 2 == 0) arch::mbarrier::arrive_remote_release(b, t);
      else arch::mbarrier::arrive_remote_relaxed(b, t);
    }
    arch::mbarrier::wait_cluster(b, rounds & 1);
    if (t % 2 == 0) arch::mbarrier::arrive_relaxed(own);
    else arch::mbarrier::arrive_release_cluster(own);
    while (!arch::mbarrier::try_wait_relaxed(own, rounds & 1)) {
    }
    arch::warp::sync();
    arch::cluster::sync();  // a second arrival must not reach a barrier whose first round is not over
  }
  arch::global::store(p.out + arch::block_index() * 64 + t, rounds);
}

}  // namespace ww::arch_test
