// SPDX-License-Identifier: Apache-2.0
// Detects a thread that only polls: it loads repeatedly and changes nothing that others see. Kernels wait like that in
// a plain loop, so such a thread is made to yield after a while. If it returns to an earlier state, with the same
// registers and the same stack, it will poll for ever unless memory changes.
//   loads without an effect between them -> the same load again -> in the same state: idle; otherwise it makes progress
// A loop that counts while it polls differs by its counter. So no number of loads decides, only a repeated state.
#pragma once

#include "warpwright/core/meta.hpp"

namespace ww::emu {

struct Thread;

/// The number of loads without an effect that is no waiting yet: a row of scales, a few flags.
inline constexpr u32 kLooksAtOnce = 64;

struct Looking {
  u32 next = 0;     // number of the load that becomes the awaited one unless the awaited one comes again first
  u64 address = 0;  // the awaited load: its address, and its location in the module
  const void* from = nullptr;
  u64 state = 0;             // of the thread at an earlier such load
  u32 tries = 0, limit = 0;  // loads compared with `state`, and how many are allowed before it is renewed
  u32 period = 0;            // of the states, once one was repeated; otherwise 0
  bool clock_read = false;   // time is not memory: a thread that reads it may continue by itself
  bool idle = false;         // the result of the last comparison
};

enum class Look { first, moves, idle };

/// Compares load number `loads`, with the thread's state. Returns first if it is not the awaited load, moves if the
/// state is new, and idle if the state was seen before.
Look look_again(Looking& looking, u32 loads, u64 address, const void* from, u64 state);

/// Returns a digest of the live part of a stack from `low` on. Below a frame that holds all callee-saved registers,
/// this is the whole state of a kernel's thread, because everything else is dead across a call.
u64 digest_of_stack(const void* low, const void* top);

/// The start of the saved registers in the frame of a function that calls __builtin_unwind_init, which saves them all.
/// It is null where the layout of frames is unknown; then no thread is ever idle.
#if defined(__x86_64__)
#define WW_SAVED_REGISTERS (static_cast<const char*>(__builtin_frame_address(0)) - 5 * sizeof(::ww::u64))
#else
#define WW_SAVED_REGISTERS static_cast<const char*>(nullptr)
#endif

}  // namespace ww::emu
