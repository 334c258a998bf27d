// SPDX-License-Identifier: Apache-2.0
// TMA: copies of a box of a global tensor to or from shared memory, issued by one thread, executed by the async proxy.
// - load: copies a box to shared memory of this CTA, or of every CTA in `mask`, at the same offset. Its bytes are
//   counted on the barrier of the same offset there, including those out of bounds, which read as zero.
// - prefetch_3d: hints that a box should be in L2. Nobody learns when it is; the emulator, which has no L2, moves
//   nothing.
// - store: copies shared memory to a box, clipped at the tensor's edge; complete per bulk group of the issuing thread.
//   Rows are clipped at 16 bytes of memory: when the innermost extent ends between, the bytes up to there are
//   overwritten.
// Coordinates are element indices, innermost first. The innermost times the element size must be a multiple of 16
// bytes, and those of a store must not be negative; both are illegal instructions otherwise.
// PTX ISA: cp.async.bulk.tensor, cp.async.bulk.prefetch.tensor, cp.async.bulk.commit_group / wait_group,
// prefetch.tensormap.
#pragma once

#include "warpwright/arch/common/mbarrier.hpp"
#include "warpwright/arch/common/tensor_map.hpp"

namespace ww::arch {

/// The L2 eviction priority of a copy (the 64-bit policies that createpolicy makes for whole accesses).
enum class CachePolicy : u64 {
  evict_normal = 0x1000000000000000,
  evict_first = 0x12F0000000000000,
  evict_last = 0x14F0000000000000,
};

namespace tma {

#if defined(__CUDACC__)
inline namespace ptx {

WW_DEVICE void prefetch(const TensorMap& map) { asm volatile("prefetch.tensormap [%0];" ::"l"(&map) : "memory"); }
WW_DEVICE void prefetch_3d(const TensorMap& map, int x, int y, int z) {
  asm volatile("cp.async.bulk.prefetch.tensor.3d.L2.global.tile [%0, {%1, %2, %3}];" ::"l"(&map), "r"(x), "r"(y), "r"(z)
               : "memory");
}
WW_DEVICE void load_1d(const TensorMap& map, MBarrier full, SharedAddress destination, int x,
                       CachePolicy policy = CachePolicy::evict_normal) {
  asm volatile(
      "cp.async.bulk.tensor.1d.shared::cluster.global.mbarrier::complete_tx::bytes.L2::cache_hint [%0], [%1, {%3}], "
      "[%2], %4;" ::"r"(destination.value),
      "l"(&map), "r"(full.address.value), "r"(x), "l"(policy)
      : "memory");
}
WW_DEVICE void load_2d(const TensorMap& map, MBarrier full, SharedAddress destination, int x, int y,
                       CachePolicy policy = CachePolicy::evict_normal) {
  asm volatile(
      "cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes.L2::cache_hint [%0], [%1, {%3, "
      "%4}], [%2], %5;" ::"r"(destination.value),
      "l"(&map), "r"(full.address.value), "r"(x), "r"(y), "l"(policy)
      : "memory");
}
WW_DEVICE void load_3d(const TensorMap& map, MBarrier full, SharedAddress destination, int x, int y, int z,
                       CachePolicy policy = CachePolicy::evict_normal) {
  asm volatile(
      "cp.async.bulk.tensor.3d.shared::cluster.global.mbarrier::complete_tx::bytes.L2::cache_hint [%0], [%1, {%3, %4, "
      "%5}], [%2], %6;" ::"r"(destination.value),
      "l"(&map), "r"(full.address.value), "r"(x), "r"(y), "r"(z), "l"(policy)
      : "memory");
}
WW_DEVICE void load_multicast_1d(const TensorMap& map, MBarrier full, SharedAddress destination, u16 mask, int x,
                                 CachePolicy policy = CachePolicy::evict_normal) {
  asm volatile(
      "cp.async.bulk.tensor.1d.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster.L2::cache_hint "
      "[%0], [%1, {%4}], [%2], %3, %5;" ::"r"(destination.value),
      "l"(&map), "r"(full.address.value), "h"(mask), "r"(x), "l"(policy)
      : "memory");
}
WW_DEVICE void load_multicast_2d(const TensorMap& map, MBarrier full, SharedAddress destination, u16 mask, int x, int y,
                                 CachePolicy policy = CachePolicy::evict_normal) {
  asm volatile(
      "cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster.L2::cache_hint "
      "[%0], [%1, {%4, %5}], [%2], %3, %6;" ::"r"(destination.value),
      "l"(&map), "r"(full.address.value), "h"(mask), "r"(x), "r"(y), "l"(policy)
      : "memory");
}
WW_DEVICE void load_multicast_3d(const TensorMap& map, MBarrier full, SharedAddress destination, u16 mask, int x, int y,
                                 int z, CachePolicy policy = CachePolicy::evict_normal) {
  asm volatile(
      "cp.async.bulk.tensor.3d.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster.L2::cache_hint "
      "[%0], [%1, {%4, %5, %6}], [%2], %3, %7;" ::"r"(destination.value),
      "l"(&map), "r"(full.address.value), "h"(mask), "r"(x), "r"(y), "r"(z), "l"(policy)
      : "memory");
}
WW_DEVICE void store_1d(const TensorMap& map, SharedAddress source, int x) {
  asm volatile("cp.async.bulk.tensor.1d.global.shared::cta.bulk_group [%0, {%2}], [%1];" ::"l"(&map), "r"(source.value),
               "r"(x)
               : "memory");
}
WW_DEVICE void store_2d(const TensorMap& map, SharedAddress source, int x, int y) {
  asm volatile("cp.async.bulk.tensor.2d.global.shared::cta.bulk_group [%0, {%2, %3}], [%1];" ::"l"(&map),
               "r"(source.value), "r"(x), "r"(y)
               : "memory");
}
WW_DEVICE void store_3d(const TensorMap& map, SharedAddress source, int x, int y, int z) {
  asm volatile("cp.async.bulk.tensor.3d.global.shared::cta.bulk_group [%0, {%2, %3, %4}], [%1];" ::"l"(&map),
               "r"(source.value), "r"(x), "r"(y), "r"(z)
               : "memory");
}
/// Closes this thread's bulk group.
WW_DEVICE void commit() { asm volatile("cp.async.bulk.commit_group;" ::: "memory"); }
/// Waits until all but the newest `kPending` groups of this thread have read their shared memory.
template <int kPending> WW_DEVICE void wait_read() {
  asm volatile("cp.async.bulk.wait_group.read %0;" ::"n"(kPending) : "memory");
}
/// Waits until all but the newest `kPending` groups of this thread are visible in global memory.
template <int kPending> WW_DEVICE void wait() {
  asm volatile("cp.async.bulk.wait_group %0;" ::"n"(kPending) : "memory");
}

}  // namespace ptx
#else
inline namespace emu {

WW_DEVICE void prefetch(const TensorMap& map WW_SITE) { table->tma_prefetch_map(&map, site); }
WW_DEVICE void prefetch_3d(const TensorMap& map, int, int, int WW_SITE) { table->tma_prefetch_map(&map, site); }
WW_DEVICE void load_1d(const TensorMap& map, MBarrier full, SharedAddress destination, int x,
                       CachePolicy = CachePolicy::evict_normal WW_SITE) {
  table->tma_load(&map, 1, full.address.value, destination.value, {{x}}, 0, site);
}
WW_DEVICE void load_2d(const TensorMap& map, MBarrier full, SharedAddress destination, int x, int y,
                       CachePolicy = CachePolicy::evict_normal WW_SITE) {
  table->tma_load(&map, 2, full.address.value, destination.value, {{x, y}}, 0, site);
}
WW_DEVICE void load_3d(const TensorMap& map, MBarrier full, SharedAddress destination, int x, int y, int z,
                       CachePolicy = CachePolicy::evict_normal WW_SITE) {
  table->tma_load(&map, 3, full.address.value, destination.value, {{x, y, z}}, 0, site);
}
WW_DEVICE void load_multicast_1d(const TensorMap& map, MBarrier full, SharedAddress destination, u16 mask, int x,
                                 CachePolicy = CachePolicy::evict_normal WW_SITE) {
  table->tma_load(&map, 1, full.address.value, destination.value, {{x}}, mask | kMulticast, site);
}
WW_DEVICE void load_multicast_2d(const TensorMap& map, MBarrier full, SharedAddress destination, u16 mask, int x, int y,
                                 CachePolicy = CachePolicy::evict_normal WW_SITE) {
  table->tma_load(&map, 2, full.address.value, destination.value, {{x, y}}, mask | kMulticast, site);
}
WW_DEVICE void load_multicast_3d(const TensorMap& map, MBarrier full, SharedAddress destination, u16 mask, int x, int y,
                                 int z, CachePolicy = CachePolicy::evict_normal WW_SITE) {
  table->tma_load(&map, 3, full.address.value, destination.value, {{x, y, z}}, mask | kMulticast, site);
}
WW_DEVICE void store_1d(const TensorMap& map, SharedAddress source, int x WW_SITE) {
  table->tma_store(&map, 1, source.value, {{x}}, site);
}
WW_DEVICE void store_2d(const TensorMap& map, SharedAddress source, int x, int y WW_SITE) {
  table->tma_store(&map, 2, source.value, {{x, y}}, site);
}
WW_DEVICE void store_3d(const TensorMap& map, SharedAddress source, int x, int y, int z WW_SITE) {
  table->tma_store(&map, 3, source.value, {{x, y, z}}, site);
}
WW_DEVICE void commit(WW_SITE_ONLY) { table->bulk_commit(site); }
template <int kPending> WW_DEVICE void wait_read(WW_SITE_ONLY) { table->bulk_wait(kPending, true, site); }
template <int kPending> WW_DEVICE void wait(WW_SITE_ONLY) { table->bulk_wait(kPending, false, site); }

}  // namespace emu
#endif

}  // namespace tma
}  // namespace ww::arch
