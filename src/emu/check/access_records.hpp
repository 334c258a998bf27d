// SPDX-License-Identifier: Apache-2.0
// The records of accesses, by number. Those of a cluster's shared memory are forgotten at its end, so that a launch
// whose clusters run one after another uses few lines of the caches; those of global memory stay until its end.
#pragma once

#include <algorithm>
#include <vector>

#include "emu/check/shadow.hpp"

namespace ww::emu {

/// Returns whether accesses of this kind are to global memory, where they are compared with those of later clusters.
constexpr bool outlives_cluster(Access kind) {
  switch (kind) {
    case Access::load_global:
    case Access::store_global:
    case Access::atomic_global:
    case Access::tma_load_source:
    case Access::tma_store:
    case Access::tensor_map_release:
    case Access::tensor_map_use: return true;
    default: return false;
  }
}

class AccessRecords {
 public:
  /// Records that are forgotten together.
  struct Part {
    u32 next = 0, end = 0;  // of the last block
    std::vector<u32> blocks;
  };

  const AccessRecord& operator[](u32 number) const { return all_[number]; }
  AccessRecord& operator[](u32 number) { return all_[number]; }
  /// Returns the number of the new record, which has the initial values.
  u32 add(Part& part) {
    if (part.next == part.end) [[unlikely]]
      start_block(part);
    all_[part.next] = AccessRecord();
    return part.next++;
  }
  void forget(Part& part) {
    idle_.insert(idle_.end(), part.blocks.begin(), part.blocks.end());
    part = {};
  }
  /// Forgets all. Their parts must be new ones afterwards.
  void clear() {
    idle_.clear();
    used_ = 0;
  }

 private:
  static constexpr u32 kBlock = 128;
  void start_block(Part& part) {
    u32 block = used_;
    if (idle_.empty()) {
      ++used_;
      if (all_.size() < u64{used_} * kBlock) all_.resize(u64{used_} * kBlock);
    } else {
      block = idle_.back();
      idle_.pop_back();
    }
    part.blocks.push_back(block);
    part.next = block * kBlock;
    part.end = part.next + kBlock;
  }

  std::vector<AccessRecord> all_;
  std::vector<u32> idle_;  // blocks
  u32 used_ = 0;           // blocks, the idle ones among them
};

}  // namespace ww::emu
