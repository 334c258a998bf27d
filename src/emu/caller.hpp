// SPDX-License-Identifier: Apache-2.0
// The thread that calls an operation of a table, with the address of its call noted: by it reports find the kernel's
// own line. The macros are used in the functions of a table themselves, whose return address is the call.
#pragma once

#include "emu/machine.hpp"
#include "emu/watch.hpp"

namespace ww::emu {

/// Notes a call with an effect that other threads see.
inline Thread& called_from(const void* address) {
  Thread& thread = *current_thread;
  thread.call = address;
  if (&thread == endless_thread) [[unlikely]]
    stop_endless(thread);
  thread.loads = 0;
  return thread;
}
#define WW_CALLER ::ww::emu::called_from(__builtin_return_address(0))

/// Notes a call without an effect on others, which a thread may repeat while it waits.
inline Thread& noted_from(const void* address) {
  Thread& thread = *current_thread;
  thread.call = address;
  if (&thread == endless_thread) [[unlikely]]
    stop_endless(thread);
  return thread;
}
#define WW_LOOKER ::ww::emu::noted_from(__builtin_return_address(0))

}  // namespace ww::emu
