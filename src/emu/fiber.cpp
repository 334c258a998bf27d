// SPDX-License-Identifier: Apache-2.0
// Lays out a fresh fiber.
#include "emu/fiber.hpp"

#include <algorithm>

namespace ww::emu {

namespace {
constexpr std::size_t kUnsetBytes = 2048;  // more would take caches: it is done for every thread
}

void prepare(Fiber& fiber, Stack stack, void (*entry)(boost::context::detail::transfer_t), bool unset) {
#if defined(__SANITIZE_ADDRESS__)
  // An earlier fiber may have been abandoned here with its frames still marked.
  ASAN_UNPOISON_MEMORY_REGION(stack.bottom, stack.top - stack.bottom);
#endif
  if (unset) std::fill_n(reinterpret_cast<u32*>(stack.top - kUnsetBytes), kUnsetBytes / sizeof(u32), kUnsetBits);
  fiber.stack = stack;
  fiber.shadow_stack = nullptr;
  fiber.context = boost::context::detail::make_fcontext(stack.top, stack.top - stack.bottom, entry);
}

}  // namespace ww::emu
