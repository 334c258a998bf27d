// SPDX-License-Identifier: Apache-2.0
// The watchdog's records of a kernel (arch/common/watchdog.hpp) as text.
#pragma once

#include <string>

#include "warpwright/arch/common/watchdog.hpp"

namespace ww::runtime {

/// Returns one line for each CTA and awaited condition; empty when no warp gave up.
std::string watchdog_text(const arch::WatchdogBuffer& buffer);

}  // namespace ww::runtime
