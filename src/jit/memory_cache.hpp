// SPDX-License-Identifier: Apache-2.0
// Compiled kernels of this process by key. Threads that ask for the same key at once share one compile.
// Failures are returned to all that waited and then forgotten, so that a later call tries again.
#pragma once

#include <functional>
#include <future>
#include <mutex>
#include <string>
#include <unordered_map>

#include "jit/jit.hpp"

namespace ww::jit {

class MemoryCache {
 public:
  /// compile_seconds is that of `produce` for the caller that ran it, and 0 for all others.
  Result<Compiled> get(const std::string& key, const std::function<Result<Compiled>()>& produce);
  void clear();

  static MemoryCache& of_process();

 private:
  using Shared = std::shared_future<Result<Compiled>>;
  std::mutex mutex_;
  std::unordered_map<std::string, Shared> entries_;
};

}  // namespace ww::jit
