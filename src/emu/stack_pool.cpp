// SPDX-License-Identifier: Apache-2.0
// Maps slabs of stacks, protects the page below each, and keeps pools for the next launch.
#include "emu/stack_pool.hpp"

#include <sys/mman.h>

#include <atomic>
#include <cstdint>
#include <new>

#include "emu/idle_pool.hpp"
#include "warpwright/arch/common/emu_table.hpp"

namespace ww::emu {
namespace {

constexpr std::size_t kPage = 4096;
constexpr std::size_t kStacksPerSlab = 64;
// Each protected page splits a mapping, of which Linux allows a process 65530. So all pools together protect the stacks
// of that many slabs, and of the first slab of every pool, which each worker of a launch uses first: a kernel whose
// stack is too small finds the page below one of these.
constexpr int kGuardedSlabs = 192;
std::atomic<int> guarded_slabs = 0;
constexpr std::size_t kSlabBytes = arch::kStackBlock * kStacksPerSlab;

IdlePool<StackPool, 16>& idle_pools() {
  static IdlePool<StackPool, 16> pools;
  return pools;
}

void* map_slab(bool guarded) {
  // Maps one block more than needed and unmaps the partial blocks at both ends.
  void* mapped = mmap(nullptr, kSlabBytes + arch::kStackBlock, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (mapped == MAP_FAILED) throw std::bad_alloc();
  char* const first = static_cast<char*>(mapped);
  const std::size_t before = -reinterpret_cast<std::uintptr_t>(mapped) % arch::kStackBlock;
  char* const slab = first + before;
  if (before != 0) munmap(first, before);
  munmap(slab + kSlabBytes, arch::kStackBlock - before);
  for (std::size_t i = 0; guarded && i < kStacksPerSlab; ++i) {
    if (mprotect(slab + i * arch::kStackBlock, kPage, PROT_NONE) == 0) continue;
    munmap(slab, kSlabBytes);
    throw std::bad_alloc();
  }
  return slab;
}

}  // namespace

StackPool::~StackPool() {
  guarded_slabs -= guarded_;
  for (void* slab : slabs_) munmap(slab, kSlabBytes);
}

Stack StackPool::at(std::size_t index) {
  const std::size_t slab = index / kStacksPerSlab, place = index % kStacksPerSlab;
  while (slabs_.size() <= slab) add_slab();
  char* const block = static_cast<char*>(slabs_[slab]) + place * arch::kStackBlock;
  return {block + kPage, block + arch::stack_head_offset(reinterpret_cast<u64>(block))};
}

void StackPool::add_slab() {
  const bool guards = guarded_slabs.fetch_add(1) < kGuardedSlabs || slabs_.empty();
  if (guards) ++guarded_;
  else --guarded_slabs;
  slabs_.push_back(map_slab(guards));
}

std::unique_ptr<StackPool> borrow_stacks() { return idle_pools().borrow(); }
void give_back_stacks(std::unique_ptr<StackPool> pool) { idle_pools().give_back(std::move(pool)); }

}  // namespace ww::emu
