// SPDX-License-Identifier: Apache-2.0
// Objects that a launch borrows and returns, because making them costs as much as running a small kernel.
#pragma once

#include <memory>
#include <mutex>
#include <vector>

namespace ww::emu {

template <class T, std::size_t kKept> class IdlePool {
 public:
  /// Returns an object that nobody uses, or a new one.
  std::unique_ptr<T> borrow() {
    {
      const std::lock_guard lock(mutex_);
      if (!idle_.empty()) {
        std::unique_ptr<T> taken = std::move(idle_.back());
        idle_.pop_back();
        return taken;
      }
    }
    return std::make_unique<T>();
  }
  /// Keeps the object for the next launch, or frees it if there are kKept.
  void give_back(std::unique_ptr<T> object) {
    const std::lock_guard lock(mutex_);
    if (idle_.size() < kKept) idle_.push_back(std::move(object));
  }

 private:
  std::mutex mutex_;
  std::vector<std::unique_ptr<T>> idle_;
};

}  // namespace ww::emu
