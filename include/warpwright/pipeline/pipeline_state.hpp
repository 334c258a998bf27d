// SPDX-License-Identifier: Apache-2.0
// A role's position in a ring of stages: the stage's index and the parity of the phase it waits for.
// A consumer starts at parity 0, because nothing is full yet. A producer starts at parity 1, which a fresh barrier lets
// pass, because every stage begins empty.
#pragma once

#include "warpwright/core/meta.hpp"

namespace ww::pipeline {

enum class Role : u32 { consumer = 0, producer = 1 };

/// The result of a try, for the wait that follows: a wait blocks only if its try did not succeed. A default token means
/// that nothing was tried.
struct WaitToken {
  bool done = false;
};

template <int kStages> struct PipelineState {
  static_assert(kStages >= 1);
  u32 index = 0;
  u32 parity = 0;

  WW_HOST_DEVICE constexpr explicit PipelineState(Role role) : parity(static_cast<u32>(role)) {}
  WW_HOST_DEVICE constexpr void advance() {
    if (++index == kStages) {
      index = 0;
      parity ^= 1;
    }
  }
  /// Skips `count` stages that other roles use.
  WW_HOST_DEVICE constexpr void advance(u32 count) {
    const u32 to = index + count;
    parity ^= to / kStages & 1;
    index = to % kStages;
  }
};

}  // namespace ww::pipeline
