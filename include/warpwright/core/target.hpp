// SPDX-License-Identifier: Apache-2.0
// The architectures that kernels are written for. A tag of configs and devices; it holds no limits or rates.
#pragma once

#include "warpwright/core/numbers.hpp"

namespace ww {

enum class Arch : u8 { sm90 };
WW_HOST_DEVICE constexpr const char* name_of(Arch) { return "sm90"; }

}  // namespace ww
