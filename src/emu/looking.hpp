// SPDX-License-Identifier: Apache-2.0
// A thread that does nothing but look: it loads and loads and changes nothing that others see. Kernels wait like that
// with a bare loop, so after a while such a thread lets others run; and when it stands where it stood before, with the
// same registers and the same stack, it will do the same for ever unless memory changes.
//   loads without an effect between them -> the same load again -> in the same state: idle; else it gets on by itself
// A counting loop over one word differs by its counter: no number of loads decides, only a state that came back.
#pragma once

#include "warpwright/core/meta.hpp"

namespace ww::emu {

struct Thread;

/// Loads without an effect between them that are no waiting: a row of scales, a few flags.
inline constexpr u32 kLooksAtOnce = 64;

struct Looking {
  u32 next = 0;     // number of the load that becomes the awaited one unless the awaited one comes again before
  u64 address = 0;  // the awaited load: of what, and from where in the module
  const void* from = nullptr;
  u64 state = 0;             // of the thread at an earlier such load
  u32 tries = 0, limit = 0;  // loads compared with `state`, and how many may be before it is renewed
  u32 period = 0;            // of the states, once one came back; else 0
  bool clock_read = false;   // time is no memory: who reads it may go on by itself
  bool idle = false;         // what the last look found
};

enum class Look { first, moves, idle };

/// Load number `loads`, the thread's state with it. first: not the awaited one; moves: in another state; idle: as
/// before.
Look look_again(Looking& looking, u32 loads, u64 address, const void* from, u64 state);

/// A digest of what lives on a stack from `low` on. Below a frame that holds all callee-saved registers this is all
/// that a thread of a kernel has: what else it kept is dead across a call.
u64 digest_of_stack(const void* low, const void* top);

/// Where the saved registers begin in the frame of a function that calls __builtin_unwind_init, which saves them all;
/// null where the layout of frames is not known, and then no thread is ever idle.
#if defined(__x86_64__)
#define WW_SAVED_REGISTERS (static_cast<const char*>(__builtin_frame_address(0)) - 5 * sizeof(::ww::u64))
#else
#define WW_SAVED_REGISTERS static_cast<const char*>(nullptr)
#endif

}  // namespace ww::emu
