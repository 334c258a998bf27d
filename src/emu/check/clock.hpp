// SPDX-License-Identifier: Apache-2.0
// Vector clocks that hundreds of threads share. An agent (a thread, a warp's tensor core, an mbarrier's copies, a
// thread's bulk stores) has a slot and counts epochs; (slot, e) happened before the owner of a clock iff e <= h[slot].
// - s: happens-before, in causality order: through synchronisation of sufficient scope
// - h: the same with every scope taken for the widest; kept only where it differs from s
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

/// Epochs by slot, as long as needed from the first slot on; the others are zero. A CTA's slots are neighbours, so that
/// what knows one CTA of many is short.
class Epochs {
 public:
  u32 at(u32 slot) const {
    const u32 place = slot - first_;
    return place < values_.size() ? values_[place] : 0;
  }
  [[gnu::always_inline]] void raise(u32 slot, u32 epoch) {
    if (epoch == 0) return;  // missing components are zero, and most clocks know of few fences
    u32 place = slot - first_;
    if (place >= values_.size()) {
      cover(slot, slot + 1);
      place = slot - first_;
    }
    values_[place] = max(values_[place], epoch);
  }
  void clear() { values_.clear(); }
  bool empty() const { return values_.empty(); }
  /// Computes this = max(this, from).
  void join(const Epochs& from);
  /// Computes this = max(a, b); says which of the two lacks something of the other. This is empty before.
  void set_joined(const Epochs& a, const Epochs& b, bool& is_a, bool& is_b);
  void set_copy(const Epochs& from) {
    first_ = from.first_;
    values_.resize(from.values_.size());
    if (!values_.empty()) std::memcpy(values_.data(), from.values_.data(), values_.size() * sizeof(u32));
  }

 private:
  u32 end() const { return first_ + static_cast<u32>(values_.size()); }
  /// Extends the range to hold [first, end).
  void cover(u32 first, u32 end);

  u32 first_ = 0;
  std::vector<u32, Unset> values_;
};

struct Clock {
  ClockPool* pool = nullptr;
  u32 references = 0;
  Epochs s, v, g, h;
  bool split = false;  // h differs from s and is kept
  // A wait for the kernels before happened before, in causality order. It is no agent, because a clock would then be as
  // long as from that agent to the threads of the newest cluster.
  bool waited = false;

  const Epochs& executed() const { return split ? h : s; }
  Epochs& executed_apart() {
    if (!split) h.set_copy(s), split = true;
    return h;
  }
};

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
    clock->split = clock->waited = false;
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
    result->s.set_joined(a->s, b->s, is_a, is_b);
    result->v.set_joined(a->v, b->v, is_a, is_b);
    result->g.set_joined(a->g, b->g, is_a, is_b);
    if (a->split || b->split) [[unlikely]] {
      result->split = true;
      result->h.set_joined(a->executed(), b->executed(), is_a, is_b);
    }
    result->waited = a->waited || b->waited;
    if (is_a && result->waited == a->waited) result = a;
    else if (is_b && result->waited == b->waited) result = b;
    memo = {a, b, 0, 0, result};
    return result;
  }

  /// Returns `a` with the knowledge that the kernels before have ended.
  ClockRef after_wait(const ClockRef& a) {
    if (a && a->waited) return a;
    ClockRef result = copy(a);
    result->waited = true;
    return result;
  }

  /// Returns `a` with the knowledge that `slot` has reached `epoch`.
  ClockRef raise(const ClockRef& a, u32 slot, u32 epoch) {
    if (epoch == 0 || (a && a->s.at(slot) >= epoch)) return a;
    Memo& memo = memo_[slot_of(a.get(), u64{slot} << 32 | epoch)];
    if (memo.a == a && !memo.b && memo.slot == slot && memo.epoch == epoch && memo.result) return memo.result;
    ClockRef result = copy(a);
    result->s.raise(slot, epoch);
    if (result->split) result->h.raise(slot, epoch);
    memo = {a, {}, slot, epoch, result};
    return result;
  }

  ClockRef copy(const ClockRef& a) {
    ClockRef result = fresh();
    if (a) {
      result->s.set_copy(a->s);
      result->v.set_copy(a->v);
      result->g.set_copy(a->g);
      result->waited = a->waited;
      result->split = a->split;
      if (a->split) result->h.set_copy(a->h);
    }
    return result;
  }

  /// Returns `a` as after a proxy fence that covers all it knows, in shared memory, global memory or both.
  ClockRef all_visible(const ClockRef& a, bool shared, bool global) {
    if (!a) return a;
    ClockRef result = copy(a);
    if (shared) result->v.join(a->executed());
    if (global) result->g.join(a->executed());
    return result;
  }

  /// Returns what `a` knows with every scope taken for the widest, without anything in causality order.
  ClockRef executed_only(const ClockRef& a) {
    ClockRef result = fresh();
    result->split = true;
    result->h.set_copy(a->executed());
    result->v.set_copy(a->v);
    result->g.set_copy(a->g);
    return result;
  }

  void forget() {
    for (Memo& memo : memo_) memo = {};
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
  /// Adds a thread's clock, of a release whose scope reaches as far as the barrier.
  void add(ClockPool& pool, const ThreadClock& thread, u32 slot) {
    if (!clock_) clock_ = pool.fresh();
    if (thread.base && !has_joined(thread.base, false)) {
      clock_->v.join(thread.base->v);
      clock_->g.join(thread.base->g);
      clock_->waited |= thread.base->waited;
      if (thread.base->split) [[unlikely]]
        clock_->executed_apart().join(thread.base->h);
      else if (clock_->split) clock_->h.join(thread.base->s);
      clock_->s.join(thread.base->s);
    }
    clock_->v.raise(slot, thread.visible);
    clock_->g.raise(slot, thread.visible_global);
    if (clock_->split) clock_->h.raise(slot, thread.epoch);
    clock_->s.raise(slot, thread.epoch);
  }
  /// Adds what a thread releases with any scope, and what of it with a scope that reaches as far as the barrier; either
  /// may be null. Proxy fences count whatever the scope: what is out of scope is reported as that.
  void add_narrow(ClockPool& pool, u32 slot, const ThreadClock* released, const ThreadClock* scoped) {
    if (!released) return;
    if (!clock_) clock_ = pool.fresh();
    Epochs& executed = clock_->executed_apart();
    if (released->base && !has_joined(released->base, true)) {
      executed.join(released->base->executed());
      clock_->v.join(released->base->v);
      clock_->g.join(released->base->g);
    }
    executed.raise(slot, released->epoch);
    clock_->v.raise(slot, released->visible);
    clock_->g.raise(slot, released->visible_global);
    if (!scoped) return;
    if (scoped->base) {
      clock_->s.join(scoped->base->s);
      clock_->waited |= scoped->base->waited;
    }
    clock_->s.raise(slot, scoped->epoch);
  }
  void add_agent(ClockPool& pool, u32 slot, u32 epoch) {
    if (!clock_) clock_ = pool.fresh();
    clock_->s.raise(slot, epoch);
    if (clock_->split) clock_->h.raise(slot, epoch);
  }
  /// Adds the knowledge that the kernels before have ended.
  void add_wait(ClockPool& pool) {
    if (!clock_) clock_ = pool.fresh();
    clock_->waited = true;
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
