// SPDX-License-Identifier: Apache-2.0
// A chunked array. Elements never move, because hundreds of threads keep pointers to theirs. Used chunks are kept for
// the next run, with neighbours next to each other.
#pragma once

#include <memory>
#include <vector>

#include "warpwright/core/meta.hpp"

namespace ww::emu {

template <class T> class Slots {
 public:
  T& operator[](u32 number) { return chunks_[number / kChunk][number % kChunk]; }
  const T& operator[](u32 number) const { return chunks_[number / kChunk][number % kChunk]; }
  void resize(u32 count) {
    while (chunks_.size() * kChunk < count) chunks_.push_back(std::make_unique<T[]>(kChunk));
    size_ = max(size_, count);
  }
  /// Resets all elements to their initial state.
  void clear() {
    for (u32 i = 0; i < size_; ++i) (*this)[i] = T{};
    size_ = 0;
  }

 private:
  static constexpr u32 kChunk = 128;
  std::vector<std::unique_ptr<T[]>> chunks_;
  u32 size_ = 0;
};

}  // namespace ww::emu
