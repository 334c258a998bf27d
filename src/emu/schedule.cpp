// SPDX-License-Identifier: Apache-2.0
// The two schedules that search for bugs systematically.
// PCT: Burckhardt et al., "A Randomized Scheduler with Probabilistic Guarantees of Finding Bugs", ASPLOS 2010. n agents
// of random priority and d - 1 moments at which the leader becomes the last find a bug of depth d with probability at
// least 1 / (n k^(d-1)) in a run of k steps. k is not known beforehand, so each seed draws its magnitude.
#include "emu/schedule.hpp"

#include <algorithm>

#include "emu/cta.hpp"

namespace ww {

const char* name_of(EmuSchedule schedule) {
  switch (schedule) {
    case EmuSchedule::fifo: return "fifo";
    case EmuSchedule::random: return "random";
    case EmuSchedule::pct: return "pct";
    case EmuSchedule::adversarial: return "adversarial";
  }
  return "unknown";
}

}  // namespace ww

namespace ww::emu {
namespace {

constexpr u64 kHighest = ~0ull >> 1;
constexpr u64 kLowEnd = 1ull << 40;  // priorities below it belong to threads that were demoted or yielded

u64 agent_of(const Thread& thread) { return u64{thread.cta->index} * 64 + thread.index / kWarpSize; }
u64 agent_of(const Operation& operation) {
  return (u64{static_cast<u8>(operation.kind)} + 1) << 48 | operation.cta->index;
}
u64 random_key(u64 x) { return kLowEnd + mix(x) % (kHighest - kLowEnd); }

}  // namespace

void Schedule::reset(const EmuOptions& options, u64 seed, u32 warps, u32 ctas) {
  kind_ = options.schedule;
  random_ = Random(seed);
  temper_ = static_cast<Temper>(random_.below(3));
  threads_.clear();
  guess_ = guessed_from_ = 0;
  operations_.clear();
  queue_.clear();
  front_ = 0;
  heap_.clear();
  ranked_.clear();
  idle_places_.clear();
  demoted_.clear();
  change_points_.clear();
  yielded_.clear();
  late_threads_.clear();
  late_operations_.clear();
  next_low_ = kLowEnd - 1;
  pops_ = 0;
  if (kind_ == EmuSchedule::pct) {
    priority_seed_ = random_.next();
    rank_engines_ = random_.below(2) == 0;
    draw_change_points(options.pct_depth);
  } else if (kind_ == EmuSchedule::adversarial) {
    victim_ = static_cast<Victim>(random_.below(kVictims));
    victim_warp_ = random_.below(max(1u, warps));
    victim_lane_ = random_.below(kWarpSize);
    victim_rank_ = random_.below(max(1u, ctas));
  }
}

void Schedule::draw_change_points(int depth) {
  const u32 steps = 1u << (8 + random_.below(13));  // 256 to 2^20
  for (int i = 1; i < depth; ++i) change_points_.push_back(random_.below(steps));
  std::sort(change_points_.rbegin(), change_points_.rend());
}

void Schedule::push_chosen(const Ready& ready) {
  if (kind_ == EmuSchedule::pct) push_ranked({ready, nullptr}, key_of(*ready.thread));
  else if (is_victim(*ready.thread)) late_threads_.push_back(ready.thread);
  else threads_.push_back(ready);
}

void Schedule::push_chosen(Operation& operation) {
  if (kind_ == EmuSchedule::pct) return push_ranked({{}, &operation}, key_of(operation));
  static_assert(static_cast<int>(Victim::store_async) == static_cast<int>(Operation::Kind::store_async));
  const bool late = victim_ == static_cast<Victim>(operation.kind);
  (late ? late_operations_ : operations_).push_back(&operation);
}

bool Schedule::is_victim(const Thread& thread) const {
  if (victim_ < Victim::warp || thread.cta->rank != victim_rank_) return false;
  if (victim_ == Victim::cta) return true;
  return thread.index / kWarpSize == victim_warp_ && (victim_ == Victim::warp || thread.lane() == victim_lane_);
}

void Schedule::push_ranked(const Waiting& waiting, u64 key) {
  u32 place = static_cast<u32>(ranked_.size());
  if (idle_places_.empty()) {
    ranked_.push_back(waiting);
  } else {
    place = idle_places_.back();
    idle_places_.pop_back();
    ranked_[place] = waiting;
  }
  heap_.push(key, place);
}

u64 Schedule::key_of(const Thread& thread) const {
  const u64 agent = agent_of(thread);
  for (const Demoted& demoted : demoted_)
    if (demoted.agent == agent) return demoted.key;
  // Lanes of a warp are neighbours, in a random order.
  return (random_key(priority_seed_ + agent) & ~0xFFull) | (mix(priority_seed_ + thread.index) & 0xFF);
}

u64 Schedule::key_of(const Operation& operation) {
  if (!rank_engines_) return random_key(random_.next());
  const u64 agent = agent_of(operation);
  for (const Demoted& demoted : demoted_)
    if (demoted.agent == agent) return demoted.key;
  return random_key(priority_seed_ + agent);
}

Next Schedule::pop_ranked() {
  if (heap_.empty()) return {};
  Ranked first = heap_.pop();
  ++pops_;
  if (!change_points_.empty() && pops_ > change_points_.back()) {
    change_points_.pop_back();
    const Next leader = ranked_[first.place()].next();
    const u64 agent = leader.thread ? agent_of(*leader.thread) : agent_of(*leader.operation);
    first.key = next_low_--;
    demoted_.push_back({agent, first.key});
    heap_.push_again(first);
    first = heap_.pop();
  }
  const Next next = ranked_[first.place()].next();
  idle_places_.push_back(first.place());
  if (!heap_.empty()) fetch_ahead(ranked_[heap_.front().place()].ready);
  return next;
}

Next Schedule::pop_adversarial() {
  if (!threads_.empty() || !operations_.empty()) return pop_random();
  const bool victim_waits = !late_threads_.empty() || !late_operations_.empty();
  // A random choice, because a polling thread may wait for the victim or for another polling thread.
  if (!yielded_.empty() && (!victim_waits || random_.below(2) == 0)) return {take(yielded_), nullptr};
  if (!late_operations_.empty()) return {nullptr, take(late_operations_)};
  return {late_threads_.empty() ? nullptr : take(late_threads_), nullptr};
}

}  // namespace ww::emu
