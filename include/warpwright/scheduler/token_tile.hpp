// SPDX-License-Identifier: Apache-2.0
// A tile of a group of rows as the mainloop and the epilogue see it, whichever source it comes from.
#pragma once

#include "warpwright/core/numbers.hpp"

namespace ww::scheduler {

/// Tokens [row, row + rows) of the whole matrix against weight tile `tile_n` of `group`.
struct TokenTile {
  i32 group, row, rows, tile_n;
};

}  // namespace ww::scheduler
