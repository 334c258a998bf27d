// SPDX-License-Identifier: Apache-2.0
// What each rule of the checker suggests to whoever broke it.
#pragma once

#include "warpwright/host/device.hpp"

namespace ww::emu {

const char* advice_for(Rule rule);

}  // namespace ww::emu
