// SPDX-License-Identifier: Apache-2.0
// Compiled kernels of this process by key. Threads that ask for the same key at once share one compile.
#pragma once

#include <functional>
#include <string>

#include "host/single_flight.hpp"
#include "jit/jit.hpp"

namespace ww::jit {

class MemoryCache {
 public:
  /// compile_seconds is that of `produce` for the caller that ran it, and 0 for all others. A file that is gone is made
  /// again.
  Result<Compiled> get(const std::string& key, const std::function<Result<Compiled>()>& produce);
  void clear() { compiled_.clear(); }

  static MemoryCache& of_process();

 private:
  SingleFlight<std::string, Compiled> compiled_;
};

}  // namespace ww::jit
