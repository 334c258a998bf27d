// SPDX-License-Identifier: Apache-2.0
// All small flat layouts, one after another, and how one is written when a test fails.
#pragma once

#include <string>
#include <vector>

#include "layout/dynamic.hpp"
#include "warpwright/layout/flat.hpp"

namespace ww::test {

/// Calls f with every layout of rank 1 to `most_rank`, of size at most `most_size`, with strides out of `strides`.
template <class F>
void for_each_layout(int most_rank, i64 most_size, const std::vector<i64>& strides, F f, FlatLayout prefix = {}) {
  for (i64 extent = 1; extent * prefix.size() <= most_size; ++extent) {
    for (const i64 stride : strides) {
      FlatLayout layout = prefix;
      layout.append(extent, stride);
      f(layout);
      if (layout.rank < most_rank) for_each_layout(most_rank, most_size, strides, f, layout);
    }
  }
}

inline layout::DynamicLayout dynamic_of(const FlatLayout& flat) {
  std::vector<layout::DynamicLayout> modes;
  for (int i = 0; i < flat.rank; ++i) modes.push_back(layout::DynamicLayout::of(flat.shape[i], flat.stride[i]));
  return modes.size() == 1 ? modes.front() : layout::DynamicLayout::of(modes);
}

inline std::string text(const FlatLayout& flat) { return flat.valid ? layout::to_text(dynamic_of(flat)) : "none"; }
inline std::string text(const Result<layout::DynamicLayout>& layout) {
  return layout ? layout::to_text(*layout) : "none";
}

}  // namespace ww::test
