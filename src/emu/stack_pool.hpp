// SPDX-License-Identifier: Apache-2.0
// Stacks for fibers: 64 KiB each, with an unmapped page below, so that a kernel that overflows its stack faults at once
// instead of writing into its neighbour.
//   slab:  | guard | stack 0 | guard | stack 1 | ...      68 KiB apart
// why: 68 KiB is odd in pages, and tops are staggered by 64 B, so that the hot ends of hundreds of stacks spread over
// all cache sets.
#pragma once

#include <cstddef>
#include <memory>
#include <vector>

namespace ww::emu {

struct Stack {
  char* bottom = nullptr;
  char* top = nullptr;  // 64-byte aligned, staggered
};

/// Not shared between OS threads; a launch borrows one for each of its workers and gives it back.
class StackPool {
 public:
  StackPool() = default;
  StackPool(const StackPool&) = delete;
  StackPool& operator=(const StackPool&) = delete;
  ~StackPool();

  /// The `index`-th stack, mapped on first use. Throws std::bad_alloc when the system has no more memory or mappings.
  Stack at(std::size_t index);

 private:
  std::vector<void*> slabs_;
};

/// Pools outlive launches, since mapping some hundred stacks costs as much as running a small kernel.
std::unique_ptr<StackPool> borrow_stacks();
void give_back_stacks(std::unique_ptr<StackPool> pool);

}  // namespace ww::emu
