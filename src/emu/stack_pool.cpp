// SPDX-License-Identifier: Apache-2.0
// Maps slabs of stacks, protects the page below each, and keeps pools for the next launch.
#include "emu/stack_pool.hpp"

#include <sys/mman.h>

#include <mutex>
#include <new>

namespace ww::emu {
namespace {

constexpr std::size_t kPage = 4096;
constexpr std::size_t kStackBytes = 64 * 1024;
constexpr std::size_t kStride = kStackBytes + kPage;
constexpr std::size_t kStacksPerSlab = 64;
constexpr std::size_t kPoolsKept = 16;

std::mutex pools_mutex;
std::vector<std::unique_ptr<StackPool>>& idle_pools() {
  static std::vector<std::unique_ptr<StackPool>> pools;
  return pools;
}

void* map_slab() {
  void* slab = mmap(nullptr, kStride * kStacksPerSlab, PROT_READ | PROT_WRITE,
                    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (slab == MAP_FAILED) throw std::bad_alloc();
  for (std::size_t i = 0; i < kStacksPerSlab; ++i) {
    if (mprotect(static_cast<char*>(slab) + i * kStride, kPage, PROT_NONE) == 0) continue;
    munmap(slab, kStride * kStacksPerSlab);
    throw std::bad_alloc();
  }
  return slab;
}

}  // namespace

StackPool::~StackPool() {
  for (void* slab : slabs_) munmap(slab, kStride * kStacksPerSlab);
}

Stack StackPool::at(std::size_t index) {
  const std::size_t slab = index / kStacksPerSlab, place = index % kStacksPerSlab;
  while (slabs_.size() <= slab) slabs_.push_back(map_slab());
  char* bottom = static_cast<char*>(slabs_[slab]) + place * kStride + kPage;
  return {bottom, bottom + kStackBytes - place * 64};
}

std::unique_ptr<StackPool> borrow_stacks() {
  const std::lock_guard lock(pools_mutex);
  if (idle_pools().empty()) return std::make_unique<StackPool>();
  auto pool = std::move(idle_pools().back());
  idle_pools().pop_back();
  return pool;
}

void give_back_stacks(std::unique_ptr<StackPool> pool) {
  const std::lock_guard lock(pools_mutex);
  if (idle_pools().size() < kPoolsKept) idle_pools().push_back(std::move(pool));
}

}  // namespace ww::emu
