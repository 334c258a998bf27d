// SPDX-License-Identifier: Apache-2.0
// The ring between threads that write an output buffer and the TMA stores that read it (CUTLASS: PipelineTmaStore).
//   acquire -> all write -> publish -> issuer: tma::store ..., commit
// One fixed thread issues, commits and waits, because bulk groups belong to the thread that made them. The group's
// named barrier holds the other threads.
#pragma once

#include "warpwright/arch/common/fence.hpp"
#include "warpwright/arch/common/named_barrier.hpp"
#include "warpwright/arch/common/tma.hpp"

namespace ww::pipeline {

/// Groups of kThreads threads have one buffer each; group g synchronises at named barrier kFirstBarrier + g. kBuffers -
/// 1 stores of a group may be in flight. kTogether groups that write parts of each other's buffers share a barrier;
/// each still has an issuer.
template <int kFirstBarrier, int kGroups, int kThreads, int kBuffers = 1, int kTogether = 1> class TmaStorePipeline {
  static_assert(kGroups % kTogether == 0);

 public:
  WW_DEVICE explicit TmaStorePipeline(int group) : group_(group) {}

  WW_DEVICE bool is_issuer() const { return arch::thread_index() % kThreads == 0; }

  /// Waits until an earlier store of the buffer has been read, so that it may be written. All threads call it.
  WW_DEVICE void acquire() const {
    if (is_issuer()) arch::tma::wait_read<kBuffers - 1>();
    meet();
  }
  /// Publishes the buffer to the issuer. All threads call it after writing.
  WW_DEVICE void publish() const {
    arch::fence::proxy_async_shared();
    meet();
  }
  /// Commits the issuer's stores.
  WW_DEVICE void commit() const { arch::tma::commit(); }
  /// Waits before exit, because shared memory must outlive the reads of its stores.
  WW_DEVICE void drain() const {
    if (is_issuer()) arch::tma::wait_read<0>();
  }

 private:
  // The recursion makes each id a constant of its instruction and copies only the barrier itself per group.
  template <int kGroup = 0> WW_DEVICE void meet() const {
    if constexpr (kGroup + 1 < kGroups / kTogether) {
      if (group_ / kTogether != kGroup) return meet<kGroup + 1>();
    }
    arch::named_barrier::sync<kFirstBarrier + kGroup>(kTogether * kThreads);
  }

  int group_;
};

}  // namespace ww::pipeline
