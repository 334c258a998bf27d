// SPDX-License-Identifier: Apache-2.0
// The loops over whole clocks, in two versions: eight components at a time where the CPU supports it, four on every
// x86-64.
#include "emu/check/clock.hpp"

namespace ww::emu {
namespace {

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

}  // namespace

void raise_components(u32* to, const u32* from, std::size_t count) {
  wide() ? raise_wide(to, from, count) : raise_each(to, from, count);
}

Missing join_components(u32* to, const u32* a, const u32* b, std::size_t count) {
  return wide() ? join_wide(to, a, b, count) : join_each(to, a, b, count);
}

}  // namespace ww::emu
