// SPDX-License-Identifier: Apache-2.0
// A fiber is a context of execution that can be left and resumed: the scheduler's own stack or that of one emulated
// thread. Boost.Context switches (5 ns bare); under AddressSanitizer every switch is announced to it.
// A fiber that fails is abandoned, not unwound, because kernel code and the emulator's frames on it own nothing.
#pragma once

#include <boost/context/detail/fcontext.hpp>

#include "emu/stack_pool.hpp"
#include "warpwright/core/meta.hpp"

#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>
#endif

namespace ww::emu {

struct Fiber {
  boost::context::detail::fcontext_t context = nullptr;
  Stack stack;                   // empty for the scheduler's
  void* shadow_stack = nullptr;  // AddressSanitizer's
};

/// Local variables that nothing has set, such as accumulators, hold this in a checked run: a NaN that nothing computes.
inline constexpr u32 kUnsetBits = 0x7FFFDEAE;

/// Prepares `fiber` to run `entry` on `stack` at the first switch to it; `entry` must call `arrived` first.
void prepare(Fiber& fiber, Stack stack, void (*entry)(boost::context::detail::transfer_t));

/// Completes a switch on its far side: notes where the fiber that was left will resume.
inline void arrived(boost::context::detail::transfer_t from) { static_cast<Fiber*>(from.data)->context = from.fctx; }

/// Leaves `from` and resumes `to`; returns when another fiber switches back.
inline void switch_fiber(Fiber& from, Fiber& to) {
#if defined(__SANITIZE_ADDRESS__)
  __sanitizer_start_switch_fiber(&from.shadow_stack, to.stack.bottom, to.stack.top - to.stack.bottom);
#endif
  arrived(boost::context::detail::jump_fcontext(to.context, &from));
#if defined(__SANITIZE_ADDRESS__)
  __sanitizer_finish_switch_fiber(from.shadow_stack, nullptr, nullptr);
#endif
}

}  // namespace ww::emu
