// SPDX-License-Identifier: Apache-2.0
// The memory cache in front of the compiler: one slot for each key, filled by the first thread that asks. Others that
// need the same key wait; those that need another continue. A failure fills nothing, so the next call tries again.
// Nothing is ever evicted, because a program has few kernels, and modules must stay loaded while launches are in
// flight.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <string>

#include "host/kernel_launch.hpp"
#include "warpwright/host/result.hpp"

namespace ww::runtime {

/// Returns the key of a kernel among those of a device.
inline std::string key_of(const KernelSource& source) { return source.name + '\n' + source.text; }

template <class Value> class KernelCache {
 public:
  template <class Make> Result<std::shared_ptr<const Value>> get(const std::string& key, Make&& make) {
    const std::shared_ptr<Slot> slot = find(key);
    const std::lock_guard lock(slot->mutex);
    if (!slot->value) {
      Result<std::shared_ptr<const Value>> made = make();
      if (!made) return made;
      slot->value = std::move(*made);
    }
    return slot->value;
  }

  /// Returns whether get() would return at once.
  bool contains(const std::string& key) {
    const std::shared_ptr<Slot> slot = find(key);
    const std::unique_lock lock(slot->mutex, std::try_to_lock);
    return lock.owns_lock() && slot->value != nullptr;
  }

 private:
  struct Slot {
    std::mutex mutex;
    std::shared_ptr<const Value> value;
  };

  std::shared_ptr<Slot> find(const std::string& key) {
    const std::lock_guard lock(mutex_);
    std::shared_ptr<Slot>& slot = slots_[key];
    if (!slot) slot = std::make_shared<Slot>();
    return slot;
  }

  std::mutex mutex_;
  std::map<std::string, std::shared_ptr<Slot>> slots_;
};

}  // namespace ww::runtime
