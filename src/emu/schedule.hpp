// SPDX-License-Identifier: Apache-2.0
// What happens next: one of the runnable threads or one of the operations in flight.
//   fifo:   the one that became ready first
//   random: any, by a seeded generator
// Under random each cluster draws a temper: engines as likely as threads, eager, or lazy; a slow engine and a fast one
// uncover different mistakes.
#pragma once

#include <vector>

#include "emu/operation.hpp"
#include "emu/random.hpp"
#include "emu/thread.hpp"
#include "warpwright/host/device.hpp"

namespace ww::emu {

/// At most one of the two is set; none when nothing can move.
struct Next {
  Thread* thread = nullptr;
  Operation* operation = nullptr;
};

class Schedule {
 public:
  void reset(EmuSchedule kind, u64 seed) {
    random_order_ = kind == EmuSchedule::random;
    random_ = Random(seed);
    temper_ = static_cast<Temper>(random_.below(3));
    threads_.clear();
    operations_.clear();
    queue_.clear();
    front_ = 0;
  }

  bool is_random() const { return random_order_; }
  Random& random() { return random_; }

  void push(Thread& thread) {
    if (random_order_) threads_.push_back(&thread);
    else queue_.push_back({&thread, nullptr});
  }
  void push(Operation& operation) {
    if (random_order_) operations_.push_back(&operation);
    else queue_.push_back({nullptr, &operation});
  }

  Next pop() { return random_order_ ? pop_random() : pop_front(); }

 private:
  enum class Temper { even, eager, lazy };

  Next pop_random() {
    if (!operations_.empty() && (threads_.empty() || operation_next())) return {nullptr, take(operations_)};
    return {threads_.empty() ? nullptr : take(threads_), nullptr};
  }

  bool operation_next() {
    const u32 operations = static_cast<u32>(operations_.size()), threads = static_cast<u32>(threads_.size());
    if (temper_ == Temper::even) return random_.below(operations + threads) < operations;
    return random_.below(64) < (temper_ == Temper::eager ? 48u : 1u);
  }

  template <class T> T* take(std::vector<T*>& from) {
    const u32 index = random_.below(static_cast<u32>(from.size()));
    T* taken = from[index];
    from[index] = from.back();
    from.pop_back();
    return taken;
  }

  Next pop_front() {
    if (front_ == queue_.size()) return {};
    const Next next = queue_[front_++];
    if (front_ == queue_.size() || front_ == 65536) {
      queue_.erase(queue_.begin(), queue_.begin() + static_cast<std::ptrdiff_t>(front_));
      front_ = 0;
    }
    return next;
  }

  bool random_order_ = true;
  Temper temper_ = Temper::even;
  Random random_;
  std::vector<Thread*> threads_;
  std::vector<Operation*> operations_;
  std::vector<Next> queue_;
  std::size_t front_ = 0;
};

}  // namespace ww::emu
