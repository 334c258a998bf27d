// SPDX-License-Identifier: Apache-2.0
// Tensor maps that earlier runs of one plan have encoded. Everything in such a map but its base follows from the plan,
// so the operand and its address are the whole key, and a cached map equals what would be encoded. The cache exists
// because the driver takes a good part of a microsecond to encode a map, and a warm call has three or more. It never
// waits: a thread that finds another one in the table encodes its maps. A plan begins with room for eight maps, because
// a program may keep thousands of plans that each run with one set of pointers. When they are full it allocates, once,
// a table of 128 maps, 18 KiB, four for each value of a hash, one of which is evicted.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <new>

#include "warpwright/arch/common/tensor_map.hpp"
#include "warpwright/host/result.hpp"

namespace ww::adapters {

class MapCache {
  static constexpr unsigned kSetBits = 5, kWays = 4;
  struct Set {
    std::uint64_t key[kWays] = {};  // address + operand; 0: none
    arch::TensorMap map[kWays];
  };
  using Table = std::array<Set, std::size_t{1} << kSetBits>;

 public:
  /// The table for the maps of one run.
  class Run {
   public:
    explicit Run(MapCache& cache) : cache_(cache), mine_(!cache.used_.exchange(true, std::memory_order_acquire)) {}
    ~Run() {
      if (mine_) cache_.used_.store(false, std::memory_order_release);
    }
    Run(const Run&) = delete;
    Run& operator=(const Run&) = delete;

    /// Stores the map of operand `which`, 0 to 15, at `base`, a multiple of 16 that is not null, in `to`; `encode()`
    /// makes it if it is not in the table.
    template <class Encode>
    Result<void> get(unsigned which, const void* base, arch::TensorMap& to, const Encode& encode) {
      if (!mine_) return made(to, encode);
      const std::uint64_t key = reinterpret_cast<std::uintptr_t>(base) | which;
      for (Set& set : cache_.first_)
        for (unsigned way = 0; way < kWays; ++way) {
          if (set.key[way] == key) return to = set.map[way], Result<void>();
          if (set.key[way] == 0) return kept(set, way, key, to, encode);
        }
      if (!cache_.sets_) cache_.sets_.reset(new (std::nothrow) Table);
      if (!cache_.sets_) return made(to, encode);
      Set& set = (*cache_.sets_)[set_of(key)];
      for (unsigned way = 0; way < kWays; ++way)
        if (set.key[way] == key) return to = set.map[way], Result<void>();
      // Not the oldest: with one map too many, used in rotation, the oldest is the next that is needed.
      return kept(set, cache_.turn_++ % kWays, key, to, encode);
    }

   private:
    template <class Encode> [[gnu::noinline]] static Result<void> made(arch::TensorMap& to, const Encode& encode) {
      WW_TRY(to, encode());
      return {};
    }
    template <class Encode>
    [[gnu::noinline]] static Result<void> kept(Set& set, unsigned way, std::uint64_t key, arch::TensorMap& to,
                                               const Encode& encode) {
      WW_TRY(to, encode());
      set.key[way] = key, set.map[way] = to;
      return {};
    }

    MapCache& cache_;
    const bool mine_;
  };

 private:
  /// Two products, because addresses are multiples of large powers of two, and often evenly spaced.
  static std::size_t set_of(std::uint64_t key) {
    constexpr std::uint64_t kOdd = 0x9e3779b97f4a7c15;
    key *= kOdd;
    key = (key ^ key >> 32) * kOdd;
    return static_cast<std::size_t>(key >> (64 - kSetBits));
  }

  std::atomic<bool> used_ = false;  // by a run
  unsigned turn_ = 0;
  std::array<Set, 2> first_;
  std::unique_ptr<Table> sets_;  // null until `first_` is full
};

}  // namespace ww::adapters
