// SPDX-License-Identifier: Apache-2.0
// A loop over independent items on every core. Results do not depend on which thread takes which item.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <system_error>
#include <thread>
#include <vector>

namespace ww::ref {

/// Calls `body(i)` once for each i < count. If fewer threads can be started, the calling thread does the rest.
template <class Body> void parallel_for(std::int64_t count, const Body& body) {
  std::atomic<std::int64_t> next{0};
  const auto work = [&] {
    for (std::int64_t i; (i = next.fetch_add(1, std::memory_order_relaxed)) < count;) body(i);
  };
  const std::int64_t cores = std::max(1u, std::thread::hardware_concurrency());
  std::vector<std::thread> threads;
  try {
    for (std::int64_t i = 1; i < std::min(cores, count); ++i) threads.emplace_back(work);
  } catch (const std::system_error&) {  // a limit on threads costs time, not the result
  }
  work();
  for (std::thread& thread : threads) thread.join();
}

}  // namespace ww::ref
