// SPDX-License-Identifier: Apache-2.0
// Maps slabs of stacks, protects or marks the edge below each, and keeps pools for the next launch.
#include "emu/stack_pool.hpp"

#include <sys/mman.h>

#include <algorithm>
#include <cstdint>
#include <mutex>
#include <new>

#include "warpwright/arch/emu_table.hpp"

namespace ww::emu {
namespace {

constexpr std::size_t kPage = 4096, kHugePage = 2 << 20;
constexpr std::size_t kStacksPerSlab = 64;
constexpr std::size_t kSlabBytes = arch::kStackBlock * kStacksPerSlab;
constexpr std::size_t kPoolsKept = 16;
constexpr u64 kMark = 0x5AB0DE57AC4ED6E5ull;
constexpr std::size_t kMarks = 8;  // words right below a stack

std::mutex pools_mutex;
std::vector<std::unique_ptr<StackPool>>& idle_pools(StackEdge edge) {
  static std::vector<std::unique_ptr<StackPool>> pools[2];
  return pools[edge == StackEdge::mark];
}

u64* marks_below(char* bottom) { return reinterpret_cast<u64*>(bottom) - kMarks; }

/// A slab aligned to `alignment`, a multiple of the page, above a protected page.
char* map_aligned(std::size_t alignment) {
  // more than needed, of which the ends go back
  const std::size_t bytes = kPage + kSlabBytes + alignment;
  void* mapped = mmap(nullptr, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (mapped == MAP_FAILED) throw std::bad_alloc();
  char* const first = static_cast<char*>(mapped);
  const std::size_t before = kPage + -(reinterpret_cast<std::uintptr_t>(mapped) + kPage) % alignment;
  char* const slab = first + before;
  if (before > kPage) munmap(first, before - kPage);
  munmap(slab + kSlabBytes, bytes - before - kSlabBytes);
  if (mprotect(slab, kSlabBytes, PROT_READ | PROT_WRITE) == 0) return slab;
  munmap(slab - kPage, kPage + kSlabBytes);
  throw std::bad_alloc();
}

void* map_slab(StackEdge edge) {
  if (edge == StackEdge::mark) {
    char* const slab = map_aligned(kHugePage);
    madvise(slab, kSlabBytes, MADV_HUGEPAGE);  // a wish: without it they are ordinary pages
    return slab;
  }
  char* const slab = map_aligned(arch::kStackBlock);
  for (std::size_t i = 0; i < kStacksPerSlab; ++i) {
    if (mprotect(slab + i * arch::kStackBlock, kPage, PROT_NONE) == 0) continue;
    munmap(slab - kPage, kPage + kSlabBytes);
    throw std::bad_alloc();
  }
  return slab;
}

void mark(void* slab) {
  for (std::size_t i = 0; i < kStacksPerSlab; ++i) {
    u64* const marks = marks_below(static_cast<char*>(slab) + i * arch::kStackBlock + kPage);
    std::fill(marks, marks + kMarks, kMark);
  }
}

}  // namespace

StackPool::~StackPool() {
  for (void* slab : slabs_) munmap(static_cast<char*>(slab) - kPage, kPage + kSlabBytes);
}

bool StackPool::overflowed(const Stack& stack) const {
  if (edge_ == StackEdge::protected_page) return false;
  const u64* const marks = marks_below(stack.bottom);
  return std::any_of(marks, marks + kMarks, [](u64 word) { return word != kMark; });
}

void StackPool::mark_edges() {
  if (edge_ == StackEdge::mark)
    for (void* slab : slabs_) mark(slab);
}

Stack StackPool::at(std::size_t index) {
  const std::size_t slab = index / kStacksPerSlab, place = index % kStacksPerSlab;
  while (slabs_.size() <= slab) {
    slabs_.push_back(map_slab(edge_));
    if (edge_ == StackEdge::mark) mark(slabs_.back());
  }
  char* const block = static_cast<char*>(slabs_[slab]) + place * arch::kStackBlock;
  return {block + kPage, block + arch::stack_head_offset(reinterpret_cast<u64>(block))};
}

std::unique_ptr<StackPool> borrow_stacks(StackEdge edge) {
  const std::lock_guard lock(pools_mutex);
  auto& pools = idle_pools(edge);
  if (pools.empty()) return std::make_unique<StackPool>(edge);
  auto pool = std::move(pools.back());
  pools.pop_back();
  return pool;
}

void give_back_stacks(std::unique_ptr<StackPool> pool) {
  const std::lock_guard lock(pools_mutex);
  auto& pools = idle_pools(pool->edge());
  if (pools.size() < kPoolsKept) pools.push_back(std::move(pool));
}

}  // namespace ww::emu
