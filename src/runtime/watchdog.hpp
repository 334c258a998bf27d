// SPDX-License-Identifier: Apache-2.0
// What the watchdog of a kernel left behind (arch/watchdog.hpp), in words.
#pragma once

#include <string>

#include "warpwright/arch/watchdog.hpp"

namespace ww::runtime {

/// One line for each CTA and thing waited for; empty when nobody gave up.
std::string watchdog_text(const arch::WatchdogBuffer& buffer);

}  // namespace ww::runtime
