// SPDX-License-Identifier: Apache-2.0
// The layout algebra on values. A layout without nesting is a list of modes extent:stride; compose, complement and the
// inverses are ordinary loops over such lists. algebra.hpp runs them at compile time and turns the result into a type.
//   coalesce   the same function with the fewest modes            compose       r(i) = a(i * stride), i < extent
//   complement the offsets, in order, that `a` steps over         right_inverse a(r(i)) = i    left_inverse l(a(i)) = i
// If no such layout exists, the result has `valid == false`. Strides are not negative.
#pragma once

#include "warpwright/core/meta.hpp"

namespace ww {

struct FlatLayout {
  static constexpr int kMaxRank = 16;
  int rank = 0;
  bool valid = true;
  i64 shape[kMaxRank] = {};
  i64 stride[kMaxRank] = {};

  WW_HOST_DEVICE constexpr void append(i64 extent, i64 step) {
    if (rank == kMaxRank) {
      valid = false;
      return;
    }
    shape[rank] = extent;
    stride[rank++] = step;
  }
  WW_HOST_DEVICE constexpr i64 size() const {
    i64 product = 1;
    for (int i = 0; i < rank; ++i) product *= shape[i];
    return product;
  }
  /// Returns the offset of an integer coordinate; the last mode is not wrapped.
  WW_HOST_DEVICE constexpr i64 operator()(i64 index) const {
    i64 offset = 0;
    for (int i = 0; i < rank; ++i) {
      offset += (i + 1 < rank ? index % shape[i] : index) * stride[i];
      index /= shape[i];
    }
    return offset;
  }
  WW_HOST_DEVICE constexpr i64 cosize() const { return (*this)(size() - 1) + 1; }
};

WW_HOST_DEVICE constexpr FlatLayout invalid_layout() {
  FlatLayout none;
  none.valid = false;
  return none;
}

/// Merges modes that continue each other and drops extents of 1. With `keep_last` the function also stays the same
/// beyond the layout's size, where only the last mode advances.
WW_HOST_DEVICE constexpr FlatLayout coalesce(const FlatLayout& a, bool keep_last = false) {
  FlatLayout r;
  r.valid = a.valid;
  for (int i = 0; i < a.rank; ++i) {
    const bool last = i + 1 == a.rank;
    if (a.shape[i] == 1 && !(keep_last && last)) continue;
    if (r.rank > 0 && r.shape[r.rank - 1] * r.stride[r.rank - 1] == a.stride[i]) r.shape[r.rank - 1] *= a.shape[i];
    else r.append(a.shape[i], a.stride[i]);
  }
  if (r.rank == 0) r.append(1, 0);
  return r;
}

/// Composes a with extent:step. The result is valid if the steps land evenly in the modes of `a`: each mode is stepped
/// over whole, or divides into steps, or holds all remaining steps.
WW_HOST_DEVICE constexpr FlatLayout compose(const FlatLayout& layout, i64 extent, i64 step) {
  const FlatLayout a = coalesce(layout, true);
  FlatLayout r;
  r.valid = a.valid;
  if (step == 0) {
    r.append(extent, 0);
    return r;
  }
  for (int i = 0; i + 1 < a.rank && extent > 1; ++i) {
    if (step % a.shape[i] == 0) {
      step /= a.shape[i];
      continue;
    }
    const i64 fits = ceil_div(a.shape[i], step);
    if (extent > fits && (a.shape[i] % step != 0 || extent % fits != 0)) return invalid_layout();
    const i64 taken = min(fits, extent);
    r.append(taken, step * a.stride[i]);
    extent /= taken;
    step = 1;
  }
  if (extent > 1) r.append(extent, step * a.stride[a.rank - 1]);
  if (r.rank == 0) r.append(1, 0);
  return r;
}

/// Returns the modes with extent above 1, smallest stride first.
WW_HOST_DEVICE constexpr FlatLayout sorted_modes(const FlatLayout& layout) {
  FlatLayout a = coalesce(layout);
  if (a.rank == 1 && a.shape[0] == 1) a.rank = 0;
  for (int i = 1; i < a.rank; ++i) {
    for (int j = i; j > 0 && a.stride[j] < a.stride[j - 1]; --j) {
      const i64 shape = a.shape[j], stride = a.stride[j];
      a.shape[j] = a.shape[j - 1], a.stride[j] = a.stride[j - 1];
      a.shape[j - 1] = shape, a.stride[j - 1] = stride;
    }
  }
  return a;
}

/// Returns the offsets that `a` leaves free below its own end. A last mode of extent 0 holds the stride at which whole
/// copies of `a` repeat: a = 4:2 gives (2,0):(1,8). `complement` sets that mode's extent.
WW_HOST_DEVICE constexpr FlatLayout complement_gaps(const FlatLayout& layout) {
  const FlatLayout a = sorted_modes(layout);
  FlatLayout r;
  r.valid = a.valid;
  i64 current = 1;
  for (int i = 0; i < a.rank; ++i) {
    if (a.stride[i] == 0) continue;                      // a broadcast mode reaches no further offsets
    if (a.stride[i] < current) return invalid_layout();  // modes that overlap or interleave have no ordered complement
    if (a.stride[i] / current > 1) r.append(a.stride[i] / current, current);
    current = a.shape[i] * a.stride[i];
  }
  r.append(0, current);
  return r;
}

/// Returns the ordered layout that, together with `a`, reaches every offset below `target`, each once if a's strides
/// divide.
WW_HOST_DEVICE constexpr FlatLayout complement(const FlatLayout& a, i64 target) {
  FlatLayout r = complement_gaps(a);
  if (!r.valid) return r;
  r.shape[r.rank - 1] = ceil_div(target, r.stride[r.rank - 1]);
  return coalesce(r);
}

/// Returns the longest r with a(r(i)) = i.
WW_HOST_DEVICE constexpr FlatLayout right_inverse(const FlatLayout& layout) {
  const FlatLayout a = coalesce(layout);
  FlatLayout r;
  r.valid = a.valid;
  for (i64 current = 1; true;) {
    i64 prefix = 1;
    int i = 0;
    for (; i < a.rank && !(a.stride[i] == current && a.shape[i] > 1); ++i) prefix *= a.shape[i];
    if (i == a.rank) break;
    r.append(a.shape[i], prefix);
    current *= a.shape[i];
  }
  return coalesce(r);
}

/// Returns an l with l(a(i)) = i, for `a` whose sorted strides divide one another and leave room for each mode.
WW_HOST_DEVICE constexpr FlatLayout left_inverse(const FlatLayout& layout) {
  const FlatLayout a = coalesce(layout), sorted = sorted_modes(layout);
  FlatLayout r;
  r.valid = a.valid;
  if (sorted.rank == 0) return coalesce(r);
  if (sorted.stride[0] > 1) r.append(sorted.stride[0], 0);  // offsets below the first step belong to element 0
  for (int i = 0; i < sorted.rank; ++i) {
    const i64 stride = sorted.stride[i];
    const i64 room = i + 1 < sorted.rank && stride > 0 ? sorted.stride[i + 1] / stride : sorted.shape[i];
    if (stride == 0 || room < sorted.shape[i]) return invalid_layout();
    if (i + 1 < sorted.rank && sorted.stride[i + 1] % stride != 0) return invalid_layout();
    i64 prefix = 1;
    for (int j = 0; a.stride[j] != stride; ++j) prefix *= a.shape[j];
    r.append(room, prefix);
  }
  return coalesce(r);
}

}  // namespace ww
