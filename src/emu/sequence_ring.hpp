// SPDX-License-Identifier: Apache-2.0
// A queue indexed by an ever-growing sequence number. Collective instructions need it, because the threads of a warp or
// warpgroup do not synchronise: the fastest may be several instructions ahead of the slowest, and each finds its
// instruction by its own count.
#pragma once

#include <vector>

#include "warpwright/core/meta.hpp"

namespace ww::emu {

template <class T> class SequenceRing {
 public:
  u32 begin() const { return begin_; }
  u32 end() const { return end_; }
  /// `sequence` in [begin, end). The reference holds until the next append.
  T& operator[](u32 sequence) { return items_[sequence & last_]; }
  T& append() {
    if (end_ - begin_ > last_) grow();
    return (*this)[end_++];
  }
  void drop_first() { ++begin_; }
  void clear() { begin_ = end_ = 0; }

 private:
  void grow() {
    std::vector<T> larger(items_.size() * 2);
    for (u32 i = begin_; i != end_; ++i) larger[i & (larger.size() - 1)] = (*this)[i];
    items_ = std::move(larger);
    last_ = static_cast<u32>(items_.size() - 1);
  }

  std::vector<T> items_ = std::vector<T>(8);
  u32 last_ = 7;  // of items_, whose size is a power of two; kept, because computing it divides by the size of T
  u32 begin_ = 0, end_ = 0;
};

}  // namespace ww::emu
