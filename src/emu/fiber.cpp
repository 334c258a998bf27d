// SPDX-License-Identifier: Apache-2.0
// Lays out a fresh fiber.
#include "emu/fiber.hpp"

namespace ww::emu {

void prepare(Fiber& fiber, Stack stack, void (*entry)(boost::context::detail::transfer_t)) {
#if defined(__SANITIZE_ADDRESS__)
  // An earlier fiber may have been abandoned here with its frames still marked.
  ASAN_UNPOISON_MEMORY_REGION(stack.bottom, stack.top - stack.bottom);
#endif
  fiber.stack = stack;
  fiber.shadow_stack = nullptr;
  fiber.context = boost::context::detail::make_fcontext(stack.top, stack.top - stack.bottom, entry);
}

}  // namespace ww::emu
