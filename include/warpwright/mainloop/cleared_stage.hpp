// SPDX-License-Identifier: Apache-2.0
// What the thread that loads remembers of scales that another thread has cleared since. Kernels of every architecture
// have it among the state of their loads; those that clear nothing never read it.
#pragma once

#include "warpwright/config/config_parameter.hpp"

namespace ww::mainloop {

/// The stage whose scales are cleared by ordinary stores after they are loaded (mainloop/sm100/scale_tail.hpp); none at
/// first.
struct ClearedStage {
  u32 stage = ~0u, parity = 0;
};

}  // namespace ww::mainloop
