// SPDX-License-Identifier: Apache-2.0
// The heap of a schedule by priority: the largest key first, then the oldest. Nodes have four children, in one or two
// cache lines, which halves the levels of a binary heap, and the comparisons have no unpredictable branches.
#pragma once

#include <vector>

#include "warpwright/core/meta.hpp"

namespace ww::emu {

struct Ranked {
  u64 order;  // the older is the larger; the low bits are the place of the item, which is too large to move
  u64 key;    // the larger goes first

  static constexpr u32 kPlaceBits = 24;
  u32 place() const { return static_cast<u32>(order & ((1u << kPlaceBits) - 1)); }
  /// Returns both values as one number, because branches on them would be unpredictable.
  bool before(const Ranked& other) const { return number() > other.number(); }
  unsigned __int128 number() const { return static_cast<unsigned __int128>(key) << 64 | order; }
};

class PriorityHeap {
 public:
  bool empty() const { return items_.empty(); }
  const Ranked& front() const { return items_.front(); }
  void clear() {
    items_.clear();
    pushed_ = 0;
  }
  void push(u64 key, u32 place) { insert({~pushed_++ << Ranked::kPlaceBits | place, key}); }
  /// Pushes a popped item again with another key.
  void push_again(Ranked item) { insert(item); }
  Ranked pop() {
    const Ranked first = items_.front(), last = items_.back();
    items_.pop_back();
    if (items_.empty()) return first;
    // The hole moves all the way down, because the last item belongs near the bottom.
    std::size_t hole = 0, child = 1;
    const Ranked* const items = items_.data();
    const std::size_t count = items_.size();
    for (; child + 4 <= count; child = 4 * hole + 1) {
      const std::size_t left = child + items[child + 1].before(items[child]);
      const std::size_t right = child + 2 + items[child + 3].before(items[child + 2]);
      const std::size_t best = left + (right - left) * items[right].before(items[left]);
      items_[hole] = items[best];
      hole = best;
    }
    if (child < count) {
      std::size_t best = child;
      while (++child < count)
        if (items[child].before(items[best])) best = child;
      items_[hole] = items[best];
      hole = best;
    }
    rise(hole, last);
    return first;
  }

 private:
  void insert(Ranked item) {
    items_.push_back(item);
    rise(items_.size() - 1, item);
  }
  void rise(std::size_t hole, Ranked item) {
    for (std::size_t parent; hole != 0 && item.before(items_[parent = (hole - 1) / 4]); hole = parent)
      items_[hole] = items_[parent];
    items_[hole] = item;
  }

  std::vector<Ranked> items_;
  u64 pushed_ = 0;
};

}  // namespace ww::emu
