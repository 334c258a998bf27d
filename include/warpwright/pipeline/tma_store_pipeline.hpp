// SPDX-License-Identifier: Apache-2.0
// The ring between threads that write an output buffer and the TMA stores that read it (CUTLASS: PipelineTmaStore).
//   acquire -> all write -> publish -> issuer: tma::store ..., commit
// One fixed thread issues, commits and waits, because bulk groups belong to the thread that made them; the group's
// named barrier holds the others.
#pragma once

#include "warpwright/arch/fence.hpp"
#include "warpwright/arch/named_barrier.hpp"
#include "warpwright/arch/tma.hpp"

namespace ww::pipeline {

/// Groups of kThreads threads, one buffer each; group g meets at named barrier kFirstBarrier + g. kBuffers - 1 stores
/// of a group may be in flight.
template <int kFirstBarrier, int kGroups, int kThreads, int kBuffers = 1> class TmaStorePipeline {
 public:
  WW_DEVICE explicit TmaStorePipeline(int group) : group_(group) {}

  WW_DEVICE bool is_issuer() const { return arch::thread_index() % kThreads == 0; }

  /// All threads: the buffer may be written, an earlier store of it has been read.
  WW_DEVICE void acquire() const {
    if (is_issuer()) arch::tma::wait_read<kBuffers - 1>();
    meet();
  }
  /// All threads, after writing: the issuer may store what everyone wrote.
  WW_DEVICE void publish() const {
    arch::fence::proxy_async_shared();
    meet();
  }
  /// Issuer, after its stores.
  WW_DEVICE void commit() const { arch::tma::commit(); }
  /// Before exit: shared memory must outlive the reads of its stores.
  WW_DEVICE void drain() const {
    if (is_issuer()) arch::tma::wait_read<0>();
  }

 private:
  // why: ids are constants in the instruction, and only the barrier itself is worth a copy per group
  template <int kGroup = 0> WW_DEVICE void meet() const {
    if constexpr (kGroup + 1 < kGroups) {
      if (group_ != kGroup) return meet<kGroup + 1>();
    }
    arch::named_barrier::sync<kFirstBarrier + kGroup>(kThreads);
  }

  int group_;
};

}  // namespace ww::pipeline
