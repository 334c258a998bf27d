// SPDX-License-Identifier: Apache-2.0
// Where a role stands in a ring of stages: the stage's index and the parity of the phase it waits for.
// A consumer starts at parity 0 (nothing is full yet); a producer starts at parity 1, which a fresh barrier lets pass:
// every stage begins empty.
#pragma once

#include "warpwright/core/meta.hpp"

namespace ww::pipeline {

enum class Role : u32 { consumer = 0, producer = 1 };

/// The answer of a try, for the wait that follows: a wait blocks only when its try did not succeed. A fresh one has not
/// tried.
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
  /// Past `count` stages at once: others use those.
  WW_HOST_DEVICE constexpr void advance(u32 count) {
    const u32 to = index + count;
    parity ^= to / kStages & 1;
    index = to % kStages;
  }
};

}  // namespace ww::pipeline
