// SPDX-License-Identifier: Apache-2.0
// Chooses what happens next: one of the runnable threads or one of the operations in flight.
//   fifo:        the one that became ready first
//   random:      any, by a seeded generator
//   pct:         the one of highest priority; priorities are random, and the leader drops to the last place a few times
//   adversarial: delays one victim (an engine, warp, lane or CTA) until nothing else can make progress
// Under random each cluster draws a bias: engines as likely as threads, more likely, or less likely, because slow and
// fast engines uncover different bugs. Everything depends on (options, seed, shape of the launch) alone.
#pragma once

#include <vector>

#include "emu/operation.hpp"
#include "emu/priority_heap.hpp"
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
  /// Resets for a run. `warps` is the warps of a CTA and `ctas` the CTAs of a cluster, from which the adversarial
  /// scheduler draws its victim.
  void reset(const EmuOptions& options, u64 seed, u32 warps, u32 ctas);

  /// The cache lines of its stack that a thread touches first: those of the emulator's waits, and of the kernel that
  /// called.
  static constexpr int kFrames = 12;

  bool is_random() const { return kind_ != EmuSchedule::fifo; }
  /// Returns whether priorities decide who is slow; a thread that yielded at random would lose its own.
  bool keeps_priorities() const { return kind_ == EmuSchedule::pct; }
  Random& random() { return random_; }

  void push(const Ready& ready) {
    if (kind_ == EmuSchedule::random) threads_.push_back(ready);
    else if (kind_ == EmuSchedule::fifo) queue_.push_back({ready, nullptr});
    else push_chosen(ready);
  }
  void push(Operation& operation) {
    if (kind_ == EmuSchedule::random) operations_.push_back(&operation);
    else if (kind_ == EmuSchedule::fifo) queue_.push_back({{}, &operation});
    else push_chosen(operation);
  }
  /// Adds a thread that resumes after others had a chance to run.
  void push_yielded(const Ready& ready) {
    if (kind_ == EmuSchedule::pct) push_ranked({ready, nullptr}, next_low_--);
    else if (kind_ == EmuSchedule::adversarial) yielded_.push_back(ready.thread);
    else push(ready);
  }

  Next pop() {
    if (kind_ == EmuSchedule::random) return pop_random();
    if (kind_ == EmuSchedule::fifo) return pop_front();
    return kind_ == EmuSchedule::pct ? pop_ranked() : pop_adversarial();
  }

 private:
  enum class Temper { even, eager, lazy };
  enum class Victim { tma_load, store_read, store_write, engine, remote_arrive, store_async, warp, lane, cta };
  static constexpr u32 kVictims = static_cast<u32>(Victim::cta) + 1;

  struct Waiting {
    Ready ready;
    Operation* operation;
    Next next() const { return {ready.thread, operation}; }
  };
  struct Demoted {
    u64 agent, key;
  };

  /// Prefetches a thread's state. Hundreds of threads run in random order, so that a thread's state has left the caches
  /// since it last ran; prefetched while another thread runs, it arrives in time. A wrong guess costs little.
  static void fetch_ahead(const Ready& ready) {
    if (!ready.thread) return;
    const auto fetch = [](const void* from, int lines) {
      for (int i = 0; i < lines; ++i) __builtin_prefetch(static_cast<const char*>(from) + 64 * i, 1);
    };
    fetch(ready.thread, 3);
    fetch(ready.context, kFrames);
    if (ready.check_state) fetch(ready.check_state, 3);
  }

  Next pop_random() {
    if (!operations_.empty() && (threads_.empty() || operation_next())) return {nullptr, take(operations_)};
    return {threads_.empty() ? nullptr : take_thread(), nullptr};
  }

  /// Removes a uniformly chosen runnable thread; the one that may be next is drawn early.
  Thread* take_thread() {
    const u32 count = static_cast<u32>(threads_.size());
    u32 index = guess_;
    if (guessed_from_ != count) {  // threads that came since are as likely
      const u32 drawn = random_.below(count);
      if (drawn >= guessed_from_) index = drawn;
    }
    Thread* const taken = threads_[index].thread;
    threads_[index] = threads_.back();
    threads_.pop_back();
    guessed_from_ = count - 1;
    if (count > 1) {
      guess_ = random_.below(count - 1);
      fetch_ahead(threads_[guess_]);
    }
    return taken;
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
    const Next next = queue_[front_++].next();
    if (front_ != queue_.size()) fetch_ahead(queue_[front_].ready);
    if (front_ == queue_.size() || front_ == 65536) {
      queue_.erase(queue_.begin(), queue_.begin() + static_cast<std::ptrdiff_t>(front_));
      front_ = 0;
    }
    return next;
  }

  void push_chosen(const Ready& ready);
  void push_chosen(Operation& operation);
  void push_ranked(const Waiting& waiting, u64 key);
  u64 key_of(const Thread& thread) const;
  u64 key_of(const Operation& operation);
  bool is_victim(const Thread& thread) const;
  void draw_change_points(int depth);
  Next pop_ranked();
  Next pop_adversarial();

  EmuSchedule kind_ = EmuSchedule::random;
  Temper temper_ = Temper::even;
  Random random_;
  std::vector<Ready> threads_;
  u32 guess_ = 0, guessed_from_ = 0;  // drawn among the first guessed_from_ of threads_
  std::vector<Operation*> operations_;
  std::vector<Waiting> queue_;
  std::size_t front_ = 0;

  // pct
  u64 priority_seed_ = 0, next_low_ = 0, pops_ = 0;
  bool rank_engines_ = false;  // each engine has one priority; otherwise each operation has its own
  PriorityHeap heap_;
  std::vector<Waiting> ranked_;     // by place
  std::vector<u32> idle_places_;    // of ranked_
  std::vector<u64> change_points_;  // numbers of pops, the largest first
  std::vector<Demoted> demoted_;

  // adversarial
  Victim victim_{};
  u32 victim_warp_ = 0, victim_lane_ = 0, victim_rank_ = 0;
  std::vector<Thread*> yielded_, late_threads_;
  std::vector<Operation*> late_operations_;
};

}  // namespace ww::emu
