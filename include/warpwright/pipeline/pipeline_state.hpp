// SPDX-License-Identifier: Apache-2.0
// Where a role stands in a ring of stages: the stage's index and the parity of the phase it waits for.
// A consumer starts at parity 0 (nothing is full yet); a producer starts at parity 1, which a fresh barrier lets pass:
// every stage begins empty.
#pragma once

#include "warpwright/core/meta.hpp"

namespace ww::pipeline {

enum class Role : u32 { consumer = 0, producer = 1 };

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
};

}  // namespace ww::pipeline
