// SPDX-License-Identifier: Apache-2.0
// The binary search that finds which group owns a tile, an item or a block of rows.
//   first(0) <= first(1) <= ...: where the items of each position begin; an empty one begins where the next does
#pragma once

#include "warpwright/core/meta.hpp"

namespace ww::scheduler {

/// Returns the last position in [0, count) that begins at or before `item`, which is never an empty one if items follow
/// it. count >= 1 and first(0) <= item.
template <class Index, class First> WW_DEVICE Index owner_of(Index item, Index count, const First& first) {
  Index low = 0, high = count;  // the position is in [low, high)
  while (high - low > 1) {
    const Index middle = (low + high) / 2;
    (first(middle) <= item ? low : high) = middle;
  }
  return low;
}

}  // namespace ww::scheduler
