// SPDX-License-Identifier: Apache-2.0
// A map of shared futures: the caller that inserts a future produces the value, all others wait for it.
#include "jit/memory_cache.hpp"

#include <exception>

namespace ww::jit {
namespace {

Result<Compiled> without_exceptions(const std::function<Result<Compiled>()>& produce) {
  try {
    return produce();
  } catch (const std::exception& error) {  // out of memory, at worst
    return failure(ErrorCode::could_not_finish, {}, {}, {}, error.what());
  }
}

// A user may empty the cache directory under a running process.
bool still_there(const Compiled& compiled) {
  std::error_code ignored;
  return compiled.path.empty() || std::filesystem::exists(compiled.path, ignored);
}

}  // namespace

Result<Compiled> MemoryCache::get(const std::string& key, const std::function<Result<Compiled>()>& produce) {
  std::promise<Result<Compiled>> promise;
  Shared mine = promise.get_future().share();
  for (;;) {
    Shared other;
    {
      std::lock_guard lock(mutex_);
      const auto [at, inserted] = entries_.try_emplace(key, mine);
      if (inserted) break;
      other = at->second;
    }
    Result<Compiled> result = other.get();
    if (!result) return result;
    if (still_there(*result)) {
      result->compile_seconds = 0;
      return result;
    }
    std::lock_guard lock(mutex_);
    const auto at = entries_.find(key);
    if (at != entries_.end() && at->second.wait_for(std::chrono::seconds(0)) == std::future_status::ready)
      entries_.erase(at);
  }
  Result<Compiled> result = without_exceptions(produce);
  if (!result) {
    std::lock_guard lock(mutex_);
    entries_.erase(key);
  }
  promise.set_value(result);
  return result;
}

void MemoryCache::clear() {
  std::lock_guard lock(mutex_);
  entries_.clear();
}

MemoryCache& MemoryCache::of_process() {
  static MemoryCache& cache = *new MemoryCache;  // never destroyed, because threads may outlive static destructors
  return cache;
}

}  // namespace ww::jit
