// SPDX-License-Identifier: Apache-2.0
// Changes of the cache of plans.
#include "capi/plan_cache.hpp"

#define XXH_INLINE_ALL
#include <xxhash.h>

namespace ww::capi {

PlanKey key_of(const void* bytes, std::size_t count) {
  const XXH128_hash_t hash = XXH3_128bits(bytes, count);
  return {hash.low64, hash.high64};
}

void* PlanCache::add(const PlanKey& key, void* handle, void*& evicted) {
  evicted = nullptr;
  const std::lock_guard lock(mutex_);
  if (entries_.load(std::memory_order_relaxed) == nullptr)
    entries_.store(new Entry[kEntries], std::memory_order_release);
  if (void* const present = find(key)) return present;
  Entry* chosen = nullptr;
  for (std::size_t i = 0; i < kWays && chosen == nullptr; ++i) {
    Entry& entry = entries_.load(std::memory_order_relaxed)[place(key, i)];
    if (entry.handle.load(std::memory_order_relaxed) == nullptr) chosen = &entry;
  }
  if (chosen == nullptr) {
    chosen = &entries_.load(std::memory_order_relaxed)[place(key, turn_++ % kWays)];
    evicted = chosen->handle.load(std::memory_order_relaxed);
  }
  chosen->handle.store(nullptr, std::memory_order_relaxed);
  chosen->low.store(key.low, std::memory_order_relaxed);
  chosen->high.store(key.high, std::memory_order_relaxed);
  chosen->handle.store(handle, std::memory_order_release);
  return handle;
}

std::vector<void*> PlanCache::clear() {
  const std::lock_guard lock(mutex_);
  std::vector<void*> handles;
  Entry* const entries = entries_.load(std::memory_order_relaxed);
  for (std::size_t i = 0; entries != nullptr && i < kEntries; ++i)
    if (void* const handle = entries[i].handle.exchange(nullptr)) handles.push_back(handle);
  return handles;
}

}  // namespace ww::capi
