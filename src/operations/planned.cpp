// SPDX-License-Identifier: Apache-2.0
// Extents of operands, and sizes that a search for a smaller problem halves.
#include "operations/planned.hpp"

namespace ww::operations {

std::int64_t span_of(std::initializer_list<Extent> extents) {
  std::int64_t elements = 1;
  for (const Extent& extent : extents) {
    if (extent.size <= 0) return 0;
    elements += (extent.size - 1) * extent.stride;
  }
  return elements;
}

bool halve_size(std::int64_t& size, std::int64_t least, std::int64_t step) {
  if (size <= least) return false;
  const std::int64_t half = std::max(least, round_up(size / 2, step));
  if (half >= size) return false;
  size = half;
  return true;
}

}  // namespace ww::operations
