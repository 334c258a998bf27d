// SPDX-License-Identifier: Apache-2.0
// The ring of answers of cluster launch control between the warp that asks for more work and all warps that need to
// know it (CUTLASS: PipelineCLCFetchAsync).
//   producer:  one warp of CTA 0: fetch = wait until every consumer of every CTA has read the stage, then ask
//   consumer:  wait = until the answer is in this CTA -> next = the CTA to work for, or none -> releases, at CTA 0
// The device writes the 16 bytes of an answer to every CTA, whose own barrier counts them; one consumer thread of
// each CTA announces them before it waits. The producer must be a consumer too, because it may not ask again after an
// answer without work. A CTA works for its own index first, so that the first fetch is for its second tile.
// After the last answer the consumers of all CTAs still arrive at CTA 0, which must not exit before: a kernel of
// clusters ends with a cluster barrier.
#pragma once

#include "warpwright/arch/common/cluster.hpp"
#include "warpwright/arch/common/fence.hpp"
#include "warpwright/arch/common/warp.hpp"
#include "warpwright/arch/sm100/clc.hpp"
#include "warpwright/pipeline/arrivals.hpp"
#include "warpwright/pipeline/stage_ring.hpp"

namespace ww::pipeline {

/// What a consumer learns. `first` is the index of the first CTA of a cluster, whose work the whole cluster takes over.
struct ClcWork {
  bool valid;
  arch::clc::CtaIndex first;
};

/// The consumers are kConsumerWarps of each of kCtas CTAs.
template <int kStages, int kConsumerWarps, int kCtas = 1> class ClcPipeline : StageRing<kStages> {
  using Ring = StageRing<kStages>;
  using Ring::barriers_, Ring::empty, Ring::full, Ring::state_;

 public:
  using Ring::kBytes;
  /// Bytes of shared memory for the answers, 16-byte aligned.
  static constexpr u32 kAnswersBytes = kStages * arch::clc::kAnswerBytes;

  WW_DEVICE ClcPipeline(arch::SharedAddress barriers, arch::SharedAddress answers, Role role)
      : Ring(barriers, role), answers_(answers) {}

  /// Initialises the barriers. One thread of each CTA calls it, before make_barriers_visible.
  WW_DEVICE static void initialize(arch::SharedAddress barriers) {
    Ring::initialize(barriers, 1, kConsumerWarps * kCtas);
  }

  /// Asks for more work. All lanes of one warp of CTA 0 call it, never after an answer without work.
  WW_DEVICE void producer_fetch() {
    arch::mbarrier::wait(empty(barriers_, state_.index), state_.parity);
    if (arch::warp::elect()) {
      if constexpr (kCtas == 1) arch::clc::try_cancel(answer(), full(barriers_, state_.index));
      else arch::clc::try_cancel_multicast(answer(), full(barriers_, state_.index));
    }
    arch::warp::sync();
    state_.advance();
  }

  /// Announces the next answer to this CTA's barrier. One consumer thread of each CTA calls it before it waits.
  WW_DEVICE void consumer_announce() const {
    arch::mbarrier::arrive_expect_tx(full(barriers_, state_.index), arch::clc::kAnswerBytes);
  }
  /// Waits for the next answer, reads it, and releases its stage. All lanes of a consumer warp call it.
  WW_DEVICE ClcWork consumer_next() {
    const arch::clc::Answer read = consumer_read();
    arch::warp::sync();  // one lane's arrival stands for the reads of all 32
    release_if(arch::lane_index() == 0);
    return work_of(read);
  }
  /// Does the same in one thread that reads for its warp.
  WW_DEVICE ClcWork consumer_next_alone() {
    const arch::clc::Answer read = consumer_read();
    release_if(true);
    return work_of(read);
  }

 private:
  WW_DEVICE arch::clc::Answer consumer_read() const {
    arch::mbarrier::wait(full(barriers_, state_.index), state_.parity);
    const arch::clc::Answer read = arch::clc::load(answer());
    arch::fence::proxy_async_shared();  // the next answer overwrites these bytes through the async proxy
    return read;
  }
  WW_DEVICE void release_if(bool arrives) {
    if constexpr (kCtas == 1) arch::mbarrier::arrive_if(arrives, empty(barriers_, state_.index));
    else arch::mbarrier::arrive_remote_if(arrives, empty(barriers_, state_.index), 0);
    state_.advance();
  }
  WW_DEVICE static ClcWork work_of(const arch::clc::Answer& answer) {
    ClcWork work{arch::clc::is_canceled(answer), {}};
    if (work.valid) work.first = arch::clc::first_cta(answer);
    return work;
  }
  WW_DEVICE arch::SharedAddress answer() const { return answers_ + state_.index * arch::clc::kAnswerBytes; }

  arch::SharedAddress answers_;
};

}  // namespace ww::pipeline
