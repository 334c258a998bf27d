// SPDX-License-Identifier: Apache-2.0
// Vector clocks that hundreds of threads share. An agent (a thread, a warp's tensor core, an mbarrier's copies, a
// thread's bulk stores) has a slot and counts epochs; (slot, e) happened before the owner of a clock iff e <= h[slot].
// - h: happens-before
// - s: the same through synchronisation of sufficient scope
// - v: made visible to the async proxy in shared memory
// - g: the same in global memory
// A thread's clock is a shared, frozen base plus its own two counters. So 256 threads that leave one barrier share one
// vector, and its join with another is computed once.
#pragma once

#include <algorithm>
#include <array>
#include <cstring>
#include <memory>
#include <utility>
#include <vector>

#include "warpwright/core/meta.hpp"

namespace ww::emu {

class ClockPool;

/// Leaves elements that resize() adds uninitialised, because a join writes all of them at once.
struct Unset : std::allocator<u32> {
  template <class> struct rebind { using other = Unset; };
  void construct(u32* place) { ::new (static_cast<void*>(place)) u32; }
  template <class... Values> void construct(u32* place, Values... values) {
    ::new (static_cast<void*>(place)) u32(values...);
  }
};
using Epochs = std::vector<u32, Unset>;
/// Appends what `to` lacks of `from`. insert() is not used, because with a custom allocator it copies one by one.
inline void append_rest(Epochs& to, const Epochs& from) {
  const std::size_t first = to.size();
  if (from.size() <= first) return;
  to.resize(from.size());
  std::memcpy(to.data() + first, from.data() + first, (from.size() - first) * sizeof(u32));
}

struct Clock {
  ClockPool* pool = nullptr;
  u32 references = 0;
  Epochs h, s, v, g;  // as long as needed; missing components are zero

  static u32 at(const Epochs& values, u32 slot) { return slot < values.size() ? values[slot] : 0; }
  static void raise(Epochs& values, u32 slot, u32 epoch) {
    if (epoch == 0) return;  // missing components are zero, and most clocks know of few fences
    if (slot >= values.size()) values.resize(slot + 1, 0);
    values[slot] = max(values[slot], epoch);
  }
};

/// Computes to = max(to, from), component by component.
void raise_components(u32* to, const u32* from, std::size_t count);
/// Computes to = max(a, b), and returns which of the two lacks something of the other.
struct Missing {
  bool in_a, in_b;
};
Missing join_components(u32* to, const u32* a, const u32* b, std::size_t count);

/// A counted reference; null is the clock that knows nothing.
class ClockRef {
 public:
  ClockRef() = default;
  explicit ClockRef(Clock* clock) : clock_(clock) { ++clock_->references; }
  ClockRef(const ClockRef& other) : clock_(other.clock_) {
    if (clock_) ++clock_->references;
  }
  ClockRef(ClockRef&& other) noexcept : clock_(std::exchange(other.clock_, nullptr)) {}
  ClockRef& operator=(ClockRef other) noexcept {
    std::swap(clock_, other.clock_);
    return *this;
  }
  inline ~ClockRef();
  Clock* get() const { return clock_; }
  Clock* operator->() const { return clock_; }
  explicit operator bool() const { return clock_ != nullptr; }
  bool operator==(const ClockRef& other) const { return clock_ == other.clock_; }

 private:
  Clock* clock_ = nullptr;
};

class ClockPool {
 public:
  ClockRef fresh() {
    if (idle_.empty()) {
      all_.push_back(std::make_unique<Clock>());
      idle_.push_back(all_.back().get());
    }
    Clock* clock = idle_.back();
    idle_.pop_back();
    clock->h.clear();
    clock->s.clear();
    clock->v.clear();
    clock->g.clear();
    clock->pool = this;
    return ClockRef(clock);
  }
  void give_back(Clock* clock) { idle_.push_back(clock); }

  /// Returns the join of two frozen clocks; one of them if it knows all that the other does.
  ClockRef join(const ClockRef& a, const ClockRef& b) {
    if (!b || a == b) return a;
    if (!a) return b;
    Memo& memo = memo_[slot_of(a.get(), reinterpret_cast<u64>(b.get()))];
    if (memo.a == a && memo.b == b && memo.result) return memo.result;
    ClockRef result = fresh();
    bool is_a = true, is_b = true;
    join_into(result->h, a->h, b->h, is_a, is_b);
    join_into(result->s, a->s, b->s, is_a, is_b);
    join_into(result->v, a->v, b->v, is_a, is_b);
    join_into(result->g, a->g, b->g, is_a, is_b);
    if (is_a) result = a;
    else if (is_b) result = b;
    memo = {a, b, 0, 0, result};
    return result;
  }

  /// Returns `a` with the knowledge that `slot` has reached `epoch`.
  ClockRef raise(const ClockRef& a, u32 slot, u32 epoch) {
    if (epoch == 0 || (a && Clock::at(a->h, slot) >= epoch)) return a;
    Memo& memo = memo_[slot_of(a.get(), u64{slot} << 32 | epoch)];
    if (memo.a == a && !memo.b && memo.slot == slot && memo.epoch == epoch && memo.result) return memo.result;
    ClockRef result = copy(a);
    Clock::raise(result->h, slot, epoch);
    memo = {a, {}, slot, epoch, result};
    return result;
  }

  ClockRef copy(const ClockRef& a) {
    ClockRef result = fresh();
    if (a) {
      append_rest(result->h, a->h);
      append_rest(result->s, a->s);
      append_rest(result->v, a->v);
      append_rest(result->g, a->g);
    }
    return result;
  }

  /// Returns `a` as after a proxy fence that covers all it knows, in shared memory, global memory or both.
  ClockRef all_visible(const ClockRef& a, bool shared, bool global) {
    if (!a) return a;
    ClockRef result = copy(a);
    if (shared) join_one(result->v, a->h);
    if (global) join_one(result->g, a->h);
    return result;
  }

  void forget() {
    for (Memo& memo : memo_) memo = {};
  }

  static void join_one(Epochs& to, const Epochs& from) {
    const std::size_t common = std::min(to.size(), from.size());
    raise_components(to.data(), from.data(), common);
    append_rest(to, from);
  }

 private:
  struct Memo {
    ClockRef a, b;
    u32 slot = 0, epoch = 0;
    ClockRef result;
  };

  static u32 slot_of(const Clock* a, u64 b) {
    return static_cast<u32>(((reinterpret_cast<u64>(a) >> 4) * 0x9E3779B97F4A7C15ull + b * 0xD1342543DE82EF95ull) >>
                            56);
  }
  static void join_into(Epochs& to, const Epochs& a, const Epochs& b, bool& is_a, bool& is_b) {
    const std::size_t common = std::min(a.size(), b.size());
    to.resize(std::max(a.size(), b.size()));
    const Missing missing = join_components(to.data(), a.data(), b.data(), common);
    u32 more_than_a = missing.in_a, more_than_b = missing.in_b;
    for (std::size_t i = common; i < a.size(); ++i) more_than_b |= to[i] = a[i];
    for (std::size_t i = common; i < b.size(); ++i) more_than_a |= to[i] = b[i];
    is_a = is_a && more_than_a == 0;
    is_b = is_b && more_than_b == 0;
  }

  std::vector<std::unique_ptr<Clock>> all_;
  std::vector<Clock*> idle_;
  std::array<Memo, 256> memo_;
};

inline ClockRef::~ClockRef() {
  if (clock_ && --clock_->references == 0) clock_->pool->give_back(clock_);
}

/// A thread's knowledge and own progress.
struct ThreadClock {
  ClockRef base;
  u32 epoch = 1;  // of its current actions
  // Its own accesses up to these epochs have crossed its last proxy fence of shared and of global memory.
  u32 visible = 0, visible_global = 0;
};

/// Collects the clocks that arrive at a barrier until the phase is over.
class Gathering {
 public:
  /// Adds a thread's clock. With `narrow`, the release does not reach as far as the barrier, and only what `fenced`
  /// holds counts as properly scoped. Proxy fences count whatever the scope: what is out of scope is reported as that.
  void add(ClockPool& pool, const ThreadClock& thread, u32 slot, bool narrow, const ThreadClock* fenced = nullptr) {
    if (!clock_) clock_ = pool.fresh();
    if (thread.base && !has_joined(thread.base, narrow)) {
      ClockPool::join_one(clock_->h, thread.base->h);
      ClockPool::join_one(clock_->v, thread.base->v);
      ClockPool::join_one(clock_->g, thread.base->g);
      if (!narrow) ClockPool::join_one(clock_->s, thread.base->s);
    }
    Clock::raise(clock_->h, slot, thread.epoch);
    Clock::raise(clock_->v, slot, thread.visible);
    Clock::raise(clock_->g, slot, thread.visible_global);
    const ThreadClock* scoped = narrow ? fenced : &thread;
    if (!scoped) return;
    if (narrow && scoped->base) ClockPool::join_one(clock_->s, scoped->base->s);
    Clock::raise(clock_->s, slot, scoped->epoch);
  }
  void add_agent(ClockPool& pool, u32 slot, u32 epoch) {
    if (!clock_) clock_ = pool.fresh();
    Clock::raise(clock_->h, slot, epoch);
  }
  /// Ends the round and returns its clock.
  ClockRef take() {
    for (u32 i = 0; i < min(joined_count_, kJoined); ++i) joined_[i].base = {};
    joined_count_ = 0;
    return std::exchange(clock_, ClockRef{});
  }

 private:
  /// Returns whether `base` is one of the last few added. The warps of a CTA come in any order, each with one clock for
  /// its lanes.
  bool has_joined(const ClockRef& base, bool narrow) {
    for (u32 i = 0; i < min(joined_count_, kJoined); ++i)
      if (joined_[i].base == base && joined_[i].narrow == narrow) return true;
    joined_[joined_count_++ % kJoined] = {base, narrow};
    return false;
  }

  struct Joined {
    ClockRef base;
    bool narrow = false;
  };
  static constexpr u32 kJoined = 8;
  ClockRef clock_;
  Joined joined_[kJoined];
  u32 joined_count_ = 0;
};

/// A barrier's current gathering, and the releases of its last rounds.
struct Rounds {
  Gathering open;
  ClockRef released[4];
  u32 round = 0;

  void complete() { released[round++ % 4] = open.take(); }
  /// Returns the release of round `which`; the newest if that is too long ago.
  const ClockRef& of(u32 which) const { return released[(round - which <= 4 ? which : round - 1) % 4]; }
  /// Returns the knowledge of a thread that took part in round `which` with all of `base` and has waited for it since.
  /// No join is needed, because the round's release includes `base`; half of all joins would be these.
  ClockRef after(ClockPool& pool, u32 which, const ClockRef& base) const {
    return round - which <= 4 ? released[which % 4] : pool.join(base, of(which));
  }
};

}  // namespace ww::emu
