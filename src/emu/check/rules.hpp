// SPDX-License-Identifier: Apache-2.0
// The advice of each rule of the checker to the author of a kernel that broke it.
#pragma once

#include "warpwright/host/report.hpp"

namespace ww::emu {

const char* advice_for(Rule rule);

}  // namespace ww::emu
