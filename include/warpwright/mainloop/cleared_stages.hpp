// SPDX-License-Identifier: Apache-2.0
// Which stages hold scales that another thread has cleared since they were loaded. The thread that loads remembers it.
// Kernels of every architecture have it among the state of their loads; those that clear nothing never read it.
#pragma once

#include "warpwright/config/config_parameter.hpp"

namespace ww::mainloop {

/// A bit for each stage: whether its scales are cleared by ordinary stores after they are loaded
/// (mainloop/sm100/scale_tail.hpp), and the parity of the barrier that then completes.
struct ClearedStages {
  u32 pending = 0, parity = 0;
};

}  // namespace ww::mainloop
