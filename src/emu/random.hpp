// SPDX-License-Identifier: Apache-2.0
// The emulator's random numbers: splitmix64, one stream per cluster, seeded from (seed, cluster) and nothing else, so
// that a run can be repeated from its seed on any number of OS threads.
#pragma once

#include "warpwright/core/meta.hpp"

namespace ww::emu {

/// Returns a well-mixed 64-bit hash of a 64-bit value.
constexpr u64 mix(u64 x) {
  x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9ull;
  x = (x ^ (x >> 27)) * 0x94D049BB133111EBull;
  return x ^ (x >> 31);
}

class Random {
 public:
  explicit Random(u64 seed = 0) : state_(seed) {}
  u64 next() { return mix(state_ += 0x9E3779B97F4A7C15ull); }
  /// Returns a uniform value in [0, n), n >= 1 and below 2^32.
  u32 below(u32 n) { return static_cast<u32>(((next() >> 32) * n) >> 32); }
  /// Returns true once in `n` calls on average.
  bool one_in(u32 n) { return below(n) == 0; }

 private:
  u64 state_;
};

}  // namespace ww::emu
