// SPDX-License-Identifier: Apache-2.0
// Stacks for fibers, 60 KiB or more each, in slabs:
//   slab:  | edge | stack 0 | head | edge | stack 1 | head | ...      one in each block of arch::kStackBlock bytes
// Above each stack is its arch::StackHead; tops are staggered (arch::stack_head_offset). The edge is
//   a protected page: a kernel that overflows its stack faults at once instead of writing into its neighbour, or,
//   where hundreds of stacks take turns at random, a mark that is looked at when the thread ends. Such stacks lie on
//   huge pages, which have no protected parts: a page for each stack is more than TLBs hold, a tenth of the time of a
//   check. Only the bottom of a slab is protected then; endless recursion gets there without a switch.
#pragma once

#include <cstddef>
#include <memory>
#include <vector>

namespace ww::emu {

struct Stack {
  char* bottom = nullptr;
  char* top = nullptr;  // 64-byte aligned; the head begins here
};

enum class StackEdge { protected_page, mark };

/// Not shared between OS threads; a launch borrows one for each of its workers and gives it back.
class StackPool {
 public:
  explicit StackPool(StackEdge edge) : edge_(edge) {}
  StackPool(const StackPool&) = delete;
  StackPool& operator=(const StackPool&) = delete;
  ~StackPool();

  /// The `index`-th stack, mapped on first use. Throws std::bad_alloc when the system has no more memory or mappings.
  Stack at(std::size_t index);
  StackEdge edge() const { return edge_; }
  /// Whether something has been written below `stack`. Always false where it would have faulted.
  bool overflowed(const Stack& stack) const;
  /// Marks all edges anew.
  void mark_edges();

 private:
  StackEdge edge_;
  std::vector<void*> slabs_;
};

/// Pools outlive launches, since mapping some hundred stacks costs as much as running a small kernel.
std::unique_ptr<StackPool> borrow_stacks(StackEdge edge);
void give_back_stacks(std::unique_ptr<StackPool> pool);

}  // namespace ww::emu
