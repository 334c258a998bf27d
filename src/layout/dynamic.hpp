// SPDX-License-Identifier: Apache-2.0
// Layouts read from text: a tree whose leaves are extent:stride, known only at run time, with checked arithmetic.
// It is a second, independent implementation of the algebra in include/warpwright/layout/, with which the tests compare
// it: composition here evaluates the composed function and recovers a layout from its values.
// Every function refuses inputs for which it has no exact result; none trusts its input.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "warpwright/host/result.hpp"

namespace ww::layout {

struct DynamicLayout {
  bool leaf = true;
  std::int64_t extent = 1;
  std::int64_t stride = 0;
  std::vector<DynamicLayout> modes;  // when not a leaf

  static DynamicLayout of(std::int64_t extent, std::int64_t stride) { return {true, extent, stride, {}}; }
  static DynamicLayout of(std::vector<DynamicLayout> modes) { return {false, 1, 0, std::move(modes)}; }
  int rank() const { return leaf ? 1 : static_cast<int>(modes.size()); }
  const DynamicLayout& mode(int i) const { return leaf ? *this : modes[static_cast<std::size_t>(i)]; }
};

inline constexpr std::int64_t kLargestSize = std::int64_t{1} << 40;  // of a layout, and of every offset
inline constexpr std::int64_t kLargestRecovered = std::int64_t{1}
                                                  << 20;  // values that one composed leaf is recovered from
inline constexpr int kMostLeaves = 64;
inline constexpr int kDeepest = 32;

/// Sizes, offsets, number of leaves and depth are within the limits above, extents positive, strides not negative.
Result<void> check(const DynamicLayout& layout);

std::string to_text(const DynamicLayout& layout);  // "(4,(2,2)):(2,(1,8))"
std::int64_t size(const DynamicLayout& layout);    // of a checked layout
std::int64_t cosize(const DynamicLayout& layout);  // of a checked layout
/// The offset of an integer coordinate; the last mode is not wrapped.
std::int64_t offset(const DynamicLayout& layout, std::int64_t index);
std::vector<DynamicLayout> leaves(const DynamicLayout& layout);
/// Dense strides, leftmost mode fastest, for the extents of `shape`.
Result<DynamicLayout> compact(DynamicLayout shape);

Result<DynamicLayout> coalesce(const DynamicLayout& layout);
Result<DynamicLayout> composition(const DynamicLayout& a, const DynamicLayout& b);
Result<DynamicLayout> complement(const DynamicLayout& layout, std::int64_t target);
Result<DynamicLayout> right_inverse(const DynamicLayout& layout);
Result<DynamicLayout> left_inverse(const DynamicLayout& layout);

/// A tiler: one layout for the whole, or one tiler for each leading mode.
struct Tiler {
  bool by_mode = false;
  DynamicLayout layout;
  std::vector<Tiler> modes;
};
Result<DynamicLayout> logical_divide(const DynamicLayout& layout, const Tiler& tiler);
Result<DynamicLayout> zipped_divide(const DynamicLayout& layout, const Tiler& tiler);
Result<DynamicLayout> logical_product(const DynamicLayout& block, const Tiler& tiler);
Result<DynamicLayout> zipped_product(const DynamicLayout& block, const Tiler& tiler);
/// block_first: blocked_product, else raked_product.
Result<DynamicLayout> paired_product(const DynamicLayout& block, const DynamicLayout& tiler, bool block_first);
/// ((t...),(r...)) -> ((t...),r...), and with `tiles_too` -> (t...,r...).
DynamicLayout unpack(const DynamicLayout& zipped, bool tiles_too);

}  // namespace ww::layout
