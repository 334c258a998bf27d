// SPDX-License-Identifier: Apache-2.0
// Plans of a device by problem and options: 16,384 entries, found without a lock. A key is a 128-bit hash, like those
// of the kernels on disk. An entry that is read while another thread replaces it may give a plan of another key, so
// that the reader compares the plan's own key before it uses the plan.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string_view>
#include <vector>

namespace ww::capi {

struct PlanKey {
  std::uint64_t low = 0, high = 0;
  bool operator==(const PlanKey&) const = default;
};

PlanKey key_of(const void* bytes, std::size_t count);

class PlanCache {
 public:
  ~PlanCache() { delete[] entries_.load(std::memory_order_relaxed); }

  /// Returns the handle kept for `key`; null if there is none.
  void* find(const PlanKey& key) const {
    const Entry* const entries = entries_.load(std::memory_order_acquire);
    if (entries == nullptr) return nullptr;
    for (std::size_t i = 0; i < kWays; ++i) {
      const Entry& entry = entries[place(key, i)];
      if (entry.low.load(std::memory_order_relaxed) == key.low &&
          entry.high.load(std::memory_order_relaxed) == key.high)
        return entry.handle.load(std::memory_order_acquire);
    }
    return nullptr;
  }

  /// Keeps `handle` under `key`, unless another thread was faster: then returns its handle. Stores the handle that had
  /// to go, or null, in `evicted`. Throws std::bad_alloc.
  void* add(const PlanKey& key, void* handle, void*& evicted);

  /// Returns all handles and forgets them.
  std::vector<void*> clear();

 private:
  static constexpr std::size_t kEntries = 16384, kWays = 8;
  struct Entry {
    std::atomic<std::uint64_t> low{0}, high{0};
    std::atomic<void*> handle{nullptr};
  };
  static std::size_t place(const PlanKey& key, std::size_t way) {
    return (key.low & (kEntries / kWays - 1)) * kWays + way;
  }

  std::mutex mutex_;  // of writers
  std::size_t turn_ = 0;
  std::atomic<Entry*> entries_{nullptr};  // made by the first add()
};

}  // namespace ww::capi
