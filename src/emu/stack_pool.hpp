// SPDX-License-Identifier: Apache-2.0
// Stacks for fibers: 60 KiB or more each. The first ones have a protected page below, so that a kernel that overflows
// its stack faults at once instead of writing into its neighbour.
//   slab:  | guard | stack 0 | head | guard | stack 1 | head | ...      one in each block of arch::kStackBlock bytes
// Above each stack is its arch::StackHead; tops are staggered (arch::stack_head_offset).
#pragma once

#include <cstddef>
#include <memory>
#include <vector>

namespace ww::emu {

struct Stack {
  char* bottom = nullptr;
  char* top = nullptr;  // 64-byte aligned; the head begins here
};

/// Not shared between OS threads; a launch borrows one for each of its workers and returns it.
class StackPool {
 public:
  StackPool() = default;
  StackPool(const StackPool&) = delete;
  StackPool& operator=(const StackPool&) = delete;
  ~StackPool();

  /// Returns the `index`-th stack, mapped on first use. Throws std::bad_alloc when the system has no more memory or
  /// mappings.
  Stack at(std::size_t index);

 private:
  void add_slab();

  std::vector<void*> slabs_;
  int guarded_ = 0;  // slabs whose pages are protected
};

/// Pools outlive launches, because mapping some hundred stacks costs as much as running a small kernel.
std::unique_ptr<StackPool> borrow_stacks();
void give_back_stacks(std::unique_ptr<StackPool> pool);

}  // namespace ww::emu
