// SPDX-License-Identifier: Apache-2.0
// The layout algebra at run time. Intermediate results are checked too, so a chain of operations cannot overflow.
#include "layout/dynamic.hpp"

#include <algorithm>

#include <fmt/format.h>

namespace ww::layout {
namespace {

using i64 = std::int64_t;

tl::unexpected<Error> refuse(std::string expected, std::string actual) {
  return failure(ErrorCode::invalid, "expression", std::move(expected), std::move(actual));
}

// Computes the largest offset and the product of extents, or an error. Depth is limited, so that a hostile tree ends
// early.
Result<void> measure(const DynamicLayout& layout, int depth, int& count, i64& size, i64& last) {
  if (depth > kDeepest) return refuse(fmt::format("at most {} levels of nesting", kDeepest), "more");
  if (!layout.leaf) {
    for (const auto& mode : layout.modes) WW_CHECK(measure(mode, depth + 1, count, size, last));
    return {};
  }
  if (++count > kMostLeaves) return refuse(fmt::format("at most {} modes", kMostLeaves), "more");
  if (layout.extent < 1) return refuse("extents of at least 1", std::to_string(layout.extent));
  if (layout.stride < 0) return refuse("strides that are not negative", std::to_string(layout.stride));
  i64 reach = 0;
  if (__builtin_mul_overflow(size, layout.extent, &size) || size > kLargestSize)
    return refuse(fmt::format("a size of at most {}", kLargestSize), "more");
  if (__builtin_mul_overflow(layout.extent - 1, layout.stride, &reach) || __builtin_add_overflow(last, reach, &last) ||
      last >= kLargestSize || layout.stride > kLargestSize)
    return refuse(fmt::format("offsets below {}", kLargestSize), "more");
  return {};
}

Result<DynamicLayout> checked(DynamicLayout layout) {
  WW_CHECK(check(layout));
  return layout;
}

DynamicLayout from_leaves(std::vector<DynamicLayout> list) {
  if (list.empty()) return DynamicLayout::of(1, 0);
  return list.size() == 1 ? list.front() : DynamicLayout::of(std::move(list));
}

std::vector<DynamicLayout> merged_leaves(const DynamicLayout& layout) {
  std::vector<DynamicLayout> merged;
  for (const auto& leaf : leaves(layout)) {
    if (leaf.extent == 1) continue;
    if (!merged.empty() && merged.back().extent * merged.back().stride == leaf.stride)
      merged.back().extent *= leaf.extent;
    else merged.push_back(leaf);
  }
  return merged;
}

std::vector<DynamicLayout> by_stride(std::vector<DynamicLayout> list) {
  std::stable_sort(list.begin(), list.end(), [](const auto& x, const auto& y) { return x.stride < y.stride; });
  return list;
}

void write(const DynamicLayout& layout, bool strides, std::string& out) {
  if (layout.leaf) {
    out += std::to_string(strides ? layout.stride : layout.extent);
    return;
  }
  out += '(';
  for (std::size_t i = 0; i < layout.modes.size(); ++i) {
    if (i > 0) out += ',';
    write(layout.modes[i], strides, out);
  }
  out += ')';
}

i64 fill_compact(DynamicLayout& layout, i64 stride) {
  if (layout.leaf) {
    layout.stride = layout.extent == 1 ? 0 : stride;
    return stride * layout.extent;
  }
  for (auto& mode : layout.modes) stride = fill_compact(mode, stride);
  return stride;
}

// Returns the coalesced layout with value(i) at i < count, if there is one: the longest even run gives the first mode,
// then the starts of the runs are treated in the same way.
template <class F> Result<DynamicLayout> recover(const F& value, i64 count) {
  std::vector<DynamicLayout> modes;
  const auto no = [&] { return refuse("layouts that compose", "steps that do not divide the modes evenly"); };
  for (i64 scale = 1; scale < count;) {
    const i64 step = value(scale), rest = count / scale;
    i64 run = 2;
    while (run < rest && value(run * scale) == run * step) ++run;
    if (step < 0 || rest % run != 0) return no();
    modes.push_back(DynamicLayout::of(run, step));
    scale *= run;
  }
  const auto layout = from_leaves(std::move(modes));
  for (i64 i = 0; i < count; ++i)
    if (offset(layout, i) != value(i)) return no();
  return layout;
}

// Returns the offsets that a layout leaves free below its own end, and the step at which copies of the whole repeat.
Result<i64> gaps(const DynamicLayout& layout, std::vector<DynamicLayout>& free) {
  i64 current = 1;
  for (const auto& leaf : by_stride(merged_leaves(layout))) {
    if (leaf.stride == 0) continue;
    if (leaf.stride < current) return refuse("modes that neither overlap nor interleave", to_text(layout));
    if (leaf.stride / current > 1) free.push_back(DynamicLayout::of(leaf.stride / current, current));
    current = leaf.stride * leaf.extent;
  }
  return current;
}

}  // namespace

Result<void> check(const DynamicLayout& layout) {
  int count = 0;
  i64 size = 1, last = 0;
  return measure(layout, 0, count, size, last);
}

std::string to_text(const DynamicLayout& layout) {
  std::string text;
  write(layout, false, text);
  text += ':';
  write(layout, true, text);
  return text;
}

std::vector<DynamicLayout> leaves(const DynamicLayout& layout) {
  if (layout.leaf) return {layout};
  std::vector<DynamicLayout> all;
  for (const auto& mode : layout.modes)
    for (auto& leaf : leaves(mode)) all.push_back(std::move(leaf));
  return all;
}

i64 size(const DynamicLayout& layout) {
  i64 product = layout.extent;
  for (const auto& mode : layout.modes) product *= size(mode);
  return product;
}

i64 cosize(const DynamicLayout& layout) {
  i64 last = 0;
  for (const auto& leaf : leaves(layout)) last += (leaf.extent - 1) * leaf.stride;
  return last + 1;
}

i64 offset(const DynamicLayout& layout, i64 index) {
  if (layout.leaf) return index * layout.stride;
  i64 sum = 0;
  for (std::size_t i = 0; i < layout.modes.size(); ++i) {
    const i64 extent = size(layout.modes[i]);
    const bool last = i + 1 == layout.modes.size();
    sum += offset(layout.modes[i], last ? index : index % extent);
    index /= extent;
  }
  return sum;
}

Result<DynamicLayout> compact(DynamicLayout shape) {
  for (const auto& leaf : leaves(shape))
    if (leaf.extent < 1) return refuse("extents of at least 1", std::to_string(leaf.extent));
  WW_CHECK(check(shape));
  fill_compact(shape, 1);
  return checked(std::move(shape));
}

Result<DynamicLayout> coalesce(const DynamicLayout& layout) { return checked(from_leaves(merged_leaves(layout))); }

Result<DynamicLayout> composition(const DynamicLayout& a, const DynamicLayout& b) {
  if (!b.leaf) {
    std::vector<DynamicLayout> modes;
    for (const auto& mode : b.modes) {
      WW_TRY(auto part, composition(a, mode));
      modes.push_back(std::move(part));
    }
    return checked(DynamicLayout::of(std::move(modes)));
  }
  const auto parts = leaves(a);
  if (parts.empty()) return refuse("a left layout with modes", to_text(a));
  if (parts.size() == 1) {  // no runs to find: the answer is exact at any size
    i64 stride = 0;
    if (__builtin_mul_overflow(parts[0].stride, b.stride, &stride)) return refuse("offsets that fit", "more");
    return checked(b.extent == 1 ? DynamicLayout::of(1, 0) : DynamicLayout::of(b.extent, stride));
  }
  if (b.extent > kLargestRecovered)
    return refuse(fmt::format("modes of at most {} to compose with", kLargestRecovered), std::to_string(b.extent));
  i64 largest = 0;  // offsets beyond a's end follow its last stride, so they need a bound of their own
  if (__builtin_mul_overflow(b.extent * b.stride, parts.back().stride + 1, &largest) ||
      largest >= kLargestSize * kMostLeaves)
    return refuse("offsets that fit", "more");
  const auto flat = DynamicLayout::of(parts);
  WW_TRY(auto recovered, recover([&](i64 i) { return offset(flat, i * b.stride); }, b.extent));
  return checked(std::move(recovered));
}

Result<DynamicLayout> complement(const DynamicLayout& layout, i64 target) {
  if (target < 1 || target > kLargestSize)
    return refuse(fmt::format("a cosize from 1 to {}", kLargestSize), std::to_string(target));
  std::vector<DynamicLayout> free;
  WW_TRY(const i64 repeat, gaps(layout, free));
  free.push_back(DynamicLayout::of((target + repeat - 1) / repeat, repeat));
  return coalesce(DynamicLayout::of(std::move(free)));
}

Result<DynamicLayout> right_inverse(const DynamicLayout& layout) {
  const auto list = merged_leaves(layout);
  std::vector<DynamicLayout> inverse;
  for (i64 current = 1; true;) {
    i64 before = 1;
    auto found = list.begin();
    for (; found != list.end() && found->stride != current; ++found) before *= found->extent;
    if (found == list.end()) break;
    inverse.push_back(DynamicLayout::of(found->extent, before));
    current *= found->extent;
  }
  return coalesce(DynamicLayout::of(std::move(inverse)));
}

Result<DynamicLayout> left_inverse(const DynamicLayout& layout) {
  const auto list = merged_leaves(layout);
  const auto sorted = by_stride(list);
  const auto no = [&] { return refuse("distinct offsets whose strides divide one another", to_text(layout)); };
  std::vector<DynamicLayout> inverse;
  for (std::size_t i = 0; i < sorted.size(); ++i) {
    const auto& leaf = sorted[i];
    if (leaf.stride == 0) return no();
    if (i == 0 && leaf.stride > 1) inverse.push_back(DynamicLayout::of(leaf.stride, 0));
    const i64 next = i + 1 < sorted.size() ? sorted[i + 1].stride : leaf.stride * leaf.extent;
    if (next % leaf.stride != 0 || next / leaf.stride < leaf.extent) return no();
    i64 before = 1;
    for (auto it = list.begin(); it->stride != leaf.stride; ++it) before *= it->extent;
    inverse.push_back(DynamicLayout::of(next / leaf.stride, before));
  }
  return coalesce(DynamicLayout::of(std::move(inverse)));
}

namespace {

using Operation = Result<DynamicLayout> (*)(const DynamicLayout&, const Tiler&);

Result<DynamicLayout> each_mode(const DynamicLayout& layout, const Tiler& tiler, Operation operation) {
  if (static_cast<int>(tiler.modes.size()) > layout.rank())
    return refuse(fmt::format("a tiler of at most {} modes", layout.rank()), std::to_string(tiler.modes.size()));
  std::vector<DynamicLayout> modes;
  for (int i = 0; i < layout.rank(); ++i) {
    if (i >= static_cast<int>(tiler.modes.size())) {
      modes.push_back(layout.mode(i));
      continue;
    }
    WW_TRY(auto part, operation(layout.mode(i), tiler.modes[static_cast<std::size_t>(i)]));
    modes.push_back(std::move(part));
  }
  return checked(DynamicLayout::of(std::move(modes)));
}

// ((t0,r0),(t1,r1),x) -> ((t0,t1),(r0,r1,x)): each mode that `tiler` names is a (tile, rest) pair or, where the tiler
// has a tuple of tilers, a tuple of them.
DynamicLayout zip(const DynamicLayout& divided, const Tiler& tiler) {
  if (!tiler.by_mode) return divided;
  std::vector<DynamicLayout> tiles, rests;
  for (std::size_t i = 0; i < divided.modes.size(); ++i) {
    if (i >= tiler.modes.size()) {
      rests.push_back(divided.modes[i]);
      continue;
    }
    const DynamicLayout zipped = zip(divided.modes[i], tiler.modes[i]);
    tiles.push_back(zipped.mode(0));
    rests.push_back(zipped.mode(1));
  }
  return DynamicLayout::of({DynamicLayout::of(std::move(tiles)), DynamicLayout::of(std::move(rests))});
}

}  // namespace

Result<DynamicLayout> logical_divide(const DynamicLayout& layout, const Tiler& tiler) {
  if (tiler.by_mode) return each_mode(layout, tiler, logical_divide);
  WW_TRY(auto rest, complement(tiler.layout, size(layout)));
  return composition(layout, DynamicLayout::of({tiler.layout, std::move(rest)}));
}

Result<DynamicLayout> zipped_divide(const DynamicLayout& layout, const Tiler& tiler) {
  WW_TRY(auto divided, logical_divide(layout, tiler));
  return checked(zip(divided, tiler));
}

Result<DynamicLayout> logical_product(const DynamicLayout& block, const Tiler& tiler) {
  if (tiler.by_mode) return each_mode(block, tiler, logical_product);
  i64 target = 0;
  if (__builtin_mul_overflow(size(block), cosize(tiler.layout), &target)) return refuse("a product that fits", "more");
  WW_TRY(auto rest, complement(block, target));
  WW_TRY(auto copies, composition(rest, tiler.layout));
  return checked(DynamicLayout::of({block, std::move(copies)}));
}

Result<DynamicLayout> zipped_product(const DynamicLayout& block, const Tiler& tiler) {
  WW_TRY(auto product, logical_product(block, tiler));
  return checked(zip(product, tiler));
}

Result<DynamicLayout> paired_product(const DynamicLayout& block, const DynamicLayout& tiler, bool block_first) {
  const int rank = std::max(block.rank(), tiler.rank());
  const auto padded = [rank](const DynamicLayout& layout) {
    // A leaf becomes a tuple too, because a composed leaf may have several modes, all of which belong to one pair.
    std::vector<DynamicLayout> modes = layout.leaf ? std::vector{layout} : layout.modes;
    modes.resize(static_cast<std::size_t>(rank));
    return DynamicLayout::of(std::move(modes));
  };
  WW_TRY(auto product, logical_product(padded(block), Tiler{false, padded(tiler), {}}));
  const DynamicLayout &first = product.modes[block_first ? 0 : 1], &second = product.modes[block_first ? 1 : 0];
  std::vector<DynamicLayout> modes;
  for (int i = 0; i < rank; ++i) modes.push_back(DynamicLayout::of({first.mode(i), second.mode(i)}));
  return checked(DynamicLayout::of(std::move(modes)));
}

DynamicLayout unpack(const DynamicLayout& zipped, bool tiles_too) {
  const auto &tile = zipped.mode(0), &rest = zipped.mode(1);
  std::vector<DynamicLayout> modes;
  if (tiles_too)
    for (int i = 0; i < tile.rank(); ++i) modes.push_back(tile.mode(i));
  else modes.push_back(tile);
  for (int i = 0; i < rest.rank(); ++i) modes.push_back(rest.mode(i));
  return DynamicLayout::of(std::move(modes));
}

}  // namespace ww::layout
