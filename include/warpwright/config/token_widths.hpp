// SPDX-License-Identifier: Apache-2.0
// The widths that a tile of tokens may have, and the orientation of wgmma for each.
//   swapped: weights are the M side (64 rows an instruction), tokens the N side: any multiple of 8 tokens, no waste
//   normal:  tokens are the M side: multiples of 64; scales cost 2 loads a thread and k-block instead of width / 4
// Wide swapped tiles would read more scales and more shared memory than the normal tile of the next width.
#pragma once

#include "warpwright/core/meta.hpp"

namespace ww::config {

struct TokenWidth {
  int width;
  bool swapped;
};

// Steps of 8 up to 64, of 16 up to 128. These are functions, because device code cannot index a constant array at run
// time.
inline constexpr int kTokenWidthCount = 12;
WW_HOST_DEVICE constexpr int token_width(int width_class) {
  return width_class < 8 ? 8 * (width_class + 1) : 64 + 16 * (width_class - 7);
}
WW_HOST_DEVICE constexpr TokenWidth token_shape(int width_class) {
  return {token_width(width_class), token_width(width_class) % 64 != 0};
}

/// Returns the narrowest class that holds `rows` tokens, 1 <= rows <= 128.
WW_HOST_DEVICE constexpr int token_class(int rows) {
  return rows <= 64 ? ceil_div(rows, 8) - 1 : 7 + ceil_div(rows - 64, 16);
}
/// Returns the number of classes that fit token tiles of `capacity` rows.
WW_HOST_DEVICE constexpr int token_classes(int capacity) { return token_class(capacity) + 1; }

}  // namespace ww::config
