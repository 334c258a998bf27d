// SPDX-License-Identifier: Apache-2.0
// Who pays for a compile, and whether its file is still there.
#include "jit/memory_cache.hpp"

namespace ww::jit {
namespace {

// A user may empty the cache directory under a running process.
bool still_there(const Compiled& compiled) {
  std::error_code ignored;
  return compiled.path.empty() || std::filesystem::exists(compiled.path, ignored);
}

}  // namespace

Result<Compiled> MemoryCache::get(const std::string& key, const std::function<Result<Compiled>()>& produce) {
  bool mine = false;
  Result<Compiled> result = compiled_.get(
      key,
      [&] {
        mine = true;
        return produce();
      },
      still_there);
  if (result && !mine) result->compile_seconds = 0;
  return result;
}

MemoryCache& MemoryCache::of_process() {
  static MemoryCache& cache = *new MemoryCache;  // never destroyed, because threads may outlive static destructors
  return cache;
}

}  // namespace ww::jit
