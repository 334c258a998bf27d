// SPDX-License-Identifier: Apache-2.0
// Finds the cycle of a thread's states by Brent's method: one remembered state, renewed after 1, 2, 4, ... comparisons.
#include "emu/looking.hpp"

namespace ww::emu {

Look look_again(Looking& looking, u32 loads, u64 address, const void* from, u64 state) {
  if (looking.address != address || looking.from != from) {
    if (loads < looking.next) return Look::first;
    const bool clock_read = looking.clock_read;
    looking = {};
    looking.address = address;
    looking.from = from;
    looking.state = state;
    looking.limit = 1;
    looking.clock_read = clock_read;
    looking.next = 2 * loads;
    return Look::first;
  }
  looking.next = 2 * loads;
  ++looking.tries;
  if (looking.state == state) {
    looking.period = looking.tries;
    looking.tries = 0;
  } else if (looking.tries >= looking.period) {
    looking.period = 0;
    if (looking.tries >= looking.limit) {
      looking.state = state;
      looking.limit *= 2;
      looking.tries = 0;
    }
  }
  looking.idle = looking.period != 0 && !looking.clock_read;
  return looking.idle ? Look::idle : Look::moves;
}

// Not instrumented, because it reads the frames of others.
__attribute__((no_sanitize("address"))) u64 digest_of_stack(const void* low, const void* top) {
  u64 digest = reinterpret_cast<u64>(low);
  for (const u64* word = static_cast<const u64*>(low); word < top; ++word) {
    digest = (digest ^ *word) * 0x9E3779B97F4A7C15ull;
    digest ^= digest >> 32;
  }
  return digest;
}

}  // namespace ww::emu
