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

#include "warpwright/host/result.hpp"

namespace ww::runtime {

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
