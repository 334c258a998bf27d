// SPDX-License-Identifier: Apache-2.0
// The loops over whole clocks, in two versions: eight components at a time where the CPU supports it, four on every
// x86-64.
#include "emu/check/clock.hpp"

namespace ww::emu {
namespace {

struct Missing {
  bool in_a, in_b;
};

#define WW_ALWAYS_INLINE __attribute__((always_inline)) inline

WW_ALWAYS_INLINE void raise_each(u32* to, const u32* from, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) to[i] = max(to[i], from[i]);
}

WW_ALWAYS_INLINE Missing join_each(u32* __restrict to, const u32* a, const u32* b, std::size_t count) {
  u32 in_a = 0, in_b = 0;
  for (std::size_t i = 0; i < count; ++i) {
    const u32 joined = max(a[i], b[i]);
    in_a |= joined ^ a[i];
    in_b |= joined ^ b[i];
    to[i] = joined;
  }
  return {in_a != 0, in_b != 0};
}

#if defined(__x86_64__)
bool wide() {
  static const bool avx2 = __builtin_cpu_supports("avx2");
  return avx2;
}
__attribute__((target("avx2"))) void raise_wide(u32* to, const u32* from, std::size_t count) {
  raise_each(to, from, count);
}
__attribute__((target("avx2"))) Missing join_wide(u32* to, const u32* a, const u32* b, std::size_t count) {
  return join_each(to, a, b, count);
}
#else
bool wide() { return false; }
void raise_wide(u32* to, const u32* from, std::size_t count) { raise_each(to, from, count); }
Missing join_wide(u32* to, const u32* a, const u32* b, std::size_t count) { return join_each(to, a, b, count); }
#endif

/// Computes to = max(to, from), component by component.
void raise_components(u32* to, const u32* from, std::size_t count) {
  wide() ? raise_wide(to, from, count) : raise_each(to, from, count);
}

/// Computes to = max(a, b), and returns which of the two lacks something of the other.
Missing join_components(u32* to, const u32* a, const u32* b, std::size_t count) {
  return wide() ? join_wide(to, a, b, count) : join_each(to, a, b, count);
}

/// Copies, and returns whether any component is not zero.
bool copy_components(u32* to, const u32* from, std::size_t count) {
  u32 any = 0;
  for (std::size_t i = 0; i < count; ++i) any |= to[i] = from[i];
  return any != 0;
}

}  // namespace

void Epochs::cover(u32 first, u32 last) {
  constexpr u32 kStep = 32;  // a round of threads that arrive from the last to the first moves the values rarely
  if (values_.empty()) first_ = first / kStep * kStep;
  if (first < first_) {
    const u32 begin = first / kStep * kStep, old = static_cast<u32>(values_.size()), more = first_ - begin;
    values_.resize(old + more);
    std::memmove(values_.data() + more, values_.data(), old * sizeof(u32));
    std::memset(values_.data(), 0, more * sizeof(u32));
    first_ = begin;
  }
  if (last > end()) {
    const std::size_t old = values_.size();
    values_.resize(last - first_);
    std::memset(values_.data() + old, 0, (values_.size() - old) * sizeof(u32));
  }
}

void Epochs::join(const Epochs& from) {
  if (from.empty()) return;
  if (empty()) return set_copy(from);
  if (from.first_ < first_ || from.end() > end()) cover(from.first_, from.end());
  raise_components(values_.data() + (from.first_ - first_), from.values_.data(), from.values_.size());
}

void Epochs::set_joined(const Epochs& a, const Epochs& b, bool& is_a, bool& is_b) {
  if (a.empty() || b.empty()) {
    set_copy(a.empty() ? b : a);
    bool any = false;
    for (const u32 value : values_) any = any || value != 0;
    (a.empty() ? is_a : is_b) &= !any;
    return;
  }
  first_ = std::min(a.first_, b.first_);
  const u32 last = std::max(a.end(), b.end());
  values_.resize(last - first_);
  // Up to where both begin, where both are, from where one has ended on. A gap between the two is zero.
  const u32 begin = std::max(a.first_, b.first_), close = std::min(a.end(), b.end());
  const Epochs &early = a.first_ < b.first_ ? a : b, &late = a.end() > b.end() ? a : b;
  bool &early_only = a.first_ < b.first_ ? is_b : is_a, &late_only = a.end() > b.end() ? is_b : is_a;
  const auto copy = [&](const Epochs& from, u32 from_slot, u32 to_slot, bool& other) {
    if (from_slot >= to_slot) return;
    if (copy_components(&values_[from_slot - first_], &from.values_[from_slot - from.first_], to_slot - from_slot))
      other = false;
  };
  copy(early, first_, std::min(begin, early.end()), early_only);
  if (close < begin) std::memset(&values_[close - first_], 0, (begin - close) * sizeof(u32));
  if (close > begin) {
    const Missing missing = join_components(&values_[begin - first_], &a.values_[begin - a.first_],
                                            &b.values_[begin - b.first_], close - begin);
    is_a = is_a && !missing.in_a;
    is_b = is_b && !missing.in_b;
  }
  copy(late, std::max(close, late.first_), last, late_only);
}

}  // namespace ww::emu
