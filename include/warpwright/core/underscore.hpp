// SPDX-License-Identifier: Apache-2.0
// The Underscore of coordinates: "all of this mode". layout(_, 3) is the layout of column 3.
// It has its own file, because kernels slice tiles in this notation and need nothing else of the layout algebra.
#pragma once

#include "warpwright/core/meta.hpp"

namespace ww {

struct Underscore {};
WW_CONSTANT Underscore _{};

}  // namespace ww
