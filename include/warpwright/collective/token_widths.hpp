// SPDX-License-Identifier: Apache-2.0
// Which widths a tile of tokens may have, and which orientation of wgmma each is multiplied in.
//   swapped: weights are the M side (64 rows an instruction), tokens the N side: any multiple of 8 tokens, no waste
//   normal:  tokens are the M side: multiples of 64; scales cost 2 loads a thread and k-block instead of width / 4
// Wide swapped tiles would read more scales and more shared memory than the normal tile above them.
#pragma once

#include "warpwright/core/meta.hpp"

namespace ww::collective {

struct TokenWidth {
  int width;
  bool swapped;
};

inline constexpr TokenWidth kTokenWidths[] = {{8, true},  {16, true}, {24, true},  {32, true},
                                              {40, true}, {48, true}, {56, true},  {64, false},
                                              {80, true}, {96, true}, {112, true}, {128, false}};
inline constexpr int kTokenWidthCount = sizeof(kTokenWidths) / sizeof(kTokenWidths[0]);

/// The narrowest class that holds `rows` tokens, 1 <= rows <= the widest width.
WW_HOST_DEVICE constexpr int token_class(int rows) {
  int c = 0;
  while (kTokenWidths[c].width < rows) ++c;
  return c;
}
/// Classes that fit token tiles of `capacity` rows.
WW_HOST_DEVICE constexpr int token_classes(int capacity) {
  int count = 0;
  while (count < kTokenWidthCount && kTokenWidths[count].width <= capacity) ++count;
  return count;
}

}  // namespace ww::collective
