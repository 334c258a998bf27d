// SPDX-License-Identifier: Apache-2.0
// The ring between threads that write an output buffer and the TMA stores that read it (CUTLASS: PipelineTmaStore).
//   acquire -> all write -> publish -> issuer: tma::store ..., commit
// One fixed thread issues, commits and waits, because bulk groups belong to the thread that made them; the group's named
// barrier holds the others.
#pragma once

#include "warpwright/arch/fence.hpp"
#include "warpwright/arch/named_barrier.hpp"
#include "warpwright/arch/tma.hpp"

namespace ww::pipeline {

/// kBarrierId: a named barrier of the kThreads threads that share the buffer. kBuffers - 1 stores may be in flight.
template <int kBarrierId, int kThreads, int kBuffers = 1> struct TmaStorePipeline {
  WW_DEVICE static bool is_issuer() { return arch::thread_index() % kThreads == 0; }

  /// All threads: the buffer may be written, an earlier store of it has been read.
  WW_DEVICE static void acquire() {
    if (is_issuer()) arch::tma::wait_read<kBuffers - 1>();
    arch::named_barrier::sync<kBarrierId>(kThreads);
  }
  /// All threads, after writing: the issuer may store what everyone wrote.
  WW_DEVICE static void publish() {
    arch::fence::proxy_async_shared();
    arch::named_barrier::sync<kBarrierId>(kThreads);
  }
  /// Issuer, after its stores.
  WW_DEVICE static void commit() { arch::tma::commit(); }
  /// Issuer, before exit: shared memory must outlive the reads of its stores.
  WW_DEVICE static void drain() {
    if (is_issuer()) arch::tma::wait_read<0>();
  }
};

}  // namespace ww::pipeline
