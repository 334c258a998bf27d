// SPDX-License-Identifier: Apache-2.0
// Values by key, each made once: the first caller of a key makes the value, callers of the same key wait for it, and
// callers of other keys do not. A failure or an exception goes to all that waited and is then forgotten, so that the
// next call tries again. Nothing is ever evicted: programs have few kernels, and modules must stay loaded while
// launches are in flight. A process that forks while a value is made cannot have it made in the child.
#pragma once

#include <cstdint>
#include <exception>
#include <future>
#include <map>
#include <mutex>
#include <optional>

#include "warpwright/host/result.hpp"

namespace ww {

template <class Key, class Value> class SingleFlight {
 public:
  /// Returns the value of `key`. Without one, make() makes it; a value that is not usable(value) is made again. Both
  /// run without a lock held and may ask for other keys. An exception becomes could_not_finish.
  template <class Make, class Usable> Result<Value> get(const Key& key, Make&& make, Usable&& usable) {
    std::uint64_t worn = 0;  // number of the entry whose value is not usable
    for (;;) {
      std::unique_lock lock(mutex_);
      Entry& entry = entries_[key];
      if (entry.number == 0 || (entry.number == worn && entry.value)) return made(lock, entry, key, make);
      if (!entry.value) {
        const Flight flight = entry.flight;
        lock.unlock();
        return flight.get();
      }
      Value value = *entry.value;
      worn = entry.number;
      lock.unlock();
      if (usable(value)) return value;
    }
  }
  template <class Make> Result<Value> get(const Key& key, Make&& make) {
    return get(key, make, [](const Value&) { return true; });
  }

  /// Returns whether get() would find a value.
  bool contains(const Key& key) const {
    const std::lock_guard lock(mutex_);
    const auto at = entries_.find(key);
    return at != entries_.end() && at->second.value.has_value();
  }

  /// Forgets all values. One that is being made goes to those that wait for it and is not kept.
  void clear() {
    const std::lock_guard lock(mutex_);
    entries_.clear();
  }

 private:
  using Flight = std::shared_future<Result<Value>>;
  struct Entry {
    std::uint64_t number = 0;    // of the flight that makes or made the value; 0: none has begun
    std::optional<Value> value;  // empty while it is being made
    Flight flight;
  };

  /// Makes the value of `entry`. `lock` is held at the call.
  template <class Make>
  Result<Value> made(std::unique_lock<std::mutex>& lock, Entry& entry, const Key& key, Make& make) {
    std::promise<Result<Value>> promise;
    const std::uint64_t number = entry.number = ++flights_;
    entry.value.reset();
    entry.flight = promise.get_future().share();
    lock.unlock();
    Result<Value> result = without_exceptions(make);
    lock.lock();
    const auto at = entries_.find(key);  // clear() may have removed it, and another flight may be there
    if (at != entries_.end() && at->second.number == number) {
      if (result) at->second.value = *result, at->second.flight = {};
      else entries_.erase(at);
    }
    lock.unlock();
    promise.set_value(result);
    return result;
  }

  template <class Make> static Result<Value> without_exceptions(Make& make) {
    try {
      return make();
    } catch (const std::exception& error) {  // out of memory, at worst
      return failure(ErrorCode::could_not_finish, {}, {}, {}, error.what());
    }
  }

  mutable std::mutex mutex_;
  std::map<Key, Entry> entries_;
  std::uint64_t flights_ = 0;
};

}  // namespace ww
