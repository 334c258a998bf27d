// SPDX-License-Identifier: Apache-2.0
// Tensor maps that change while the device runs. TMA reads them through its own proxy and cache, so an ordinary store
// to one in global memory is not sure to be seen:
//   a warp:    copy_to_shared -> [one lane] replace_* on the copy -> warp::sync -> release: copy to global memory
//   then:      a barrier, or a release and an acquire at GPU scope, up to the CTA that uses it
//   consumer:  acquire -> tma::load, tma::store
// Every CTA acquires a map in global memory before using it, again after each change, and in every launch, whichever
// kernel or host copy wrote it last. Kernel parameters need none of this.
// A map may be changed again once everything issued with it has completed: loads by their mbarrier, stores by
// wait_read.
// PTX ISA: tensormap.replace, tensormap.cp_fenceproxy, fence.proxy.tensormap.
#pragma once

#include "warpwright/arch/common/shared.hpp"
#include "warpwright/arch/common/tensor_map.hpp"

namespace ww::arch::tensor_map {

/// Size of a map, and alignment of its copy in shared memory and of a map in global memory that is written here.
inline constexpr u32 kBytes = 128;

/// Copies a map, for example a parameter, to `copy`; each of the 32 lanes of a warp copies 4 bytes. warp::sync() must
/// precede its use.
WW_DEVICE void copy_to_shared(const TensorMap& from, SharedAddress copy) {
  const u32 lane = lane_index();
  shared::store(copy + 4 * lane, reinterpret_cast<const u32*>(&from)[lane]);
}

#if defined(__CUDACC__)
inline namespace ptx {
/// Called by one thread; `address` is a multiple of 16.
WW_DEVICE void replace_address(SharedAddress copy, const void* address) {
  asm volatile("tensormap.replace.tile.global_address.shared::cta.b1024.b64 [%0], %1;" ::"r"(copy.value), "l"(address)
               : "memory");
}
/// Called by one thread; `extent` of dimension kDimension is at least 1.
template <int kDimension>
requires(kDimension >= 0 && kDimension < 5) WW_DEVICE void replace_extent(SharedAddress copy, u32 extent) {
  asm volatile("tensormap.replace.tile.global_dim.shared::cta.b1024.b32 [%0], %1, %2;" ::"r"(copy.value),
               "n"(kDimension), "r"(extent)
               : "memory");
}
/// Called by one thread; `bytes`, the stride of dimension kDimension, is a multiple of 16 below 2^40.
template <int kDimension>
requires(kDimension >= 1 && kDimension < 5) WW_DEVICE void replace_stride(SharedAddress copy, u64 bytes) {
#if __CUDACC_VER_MAJOR__ > 12 || (__CUDACC_VER_MAJOR__ == 12 && __CUDACC_VER_MINOR__ >= 5)
  const u64 stride = bytes;
#else
  const u64 stride = bytes >> 4;  // assemblers before 12.5 take units of 16 bytes
#endif
  asm volatile("tensormap.replace.tile.global_stride.shared::cta.b1024.b64 [%0], %1, %2;" ::"r"(copy.value),
               "n"(kDimension - 1), "l"(stride)
               : "memory");
}
/// Writes the copy over `map` and makes it visible to TMA at GPU scope. All 32 lanes of a warp call it, converged.
WW_DEVICE void release(TensorMap* map, SharedAddress copy) {
  asm volatile(
      "tensormap.cp_fenceproxy.global.shared::cta.tensormap::generic.release.gpu.sync.aligned [%0], [%1], 128;" ::"l"(
          map),
      "r"(copy.value)
      : "memory");
}
/// Makes a map usable by this thread, and by threads of its CTA that are ordered after it, if its release is visible to
/// this thread.
WW_DEVICE void acquire(const TensorMap& map) {
  asm volatile("fence.proxy.tensormap::generic.acquire.gpu [%0], 128;" ::"l"(&map) : "memory");
}
}  // namespace ptx
#else
inline namespace emu {
WW_DEVICE void replace_address(SharedAddress copy, const void* address WW_SITE) {
  table->tensor_map_replace(copy.value, TensorMapField::address, 0, reinterpret_cast<u64>(address), site);
}
template <int kDimension>
requires(kDimension >= 0 && kDimension < 5) WW_DEVICE void replace_extent(SharedAddress copy, u32 extent WW_SITE) {
  table->tensor_map_replace(copy.value, TensorMapField::extent, kDimension, extent, site);
}
template <int kDimension>
requires(kDimension >= 1 && kDimension < 5) WW_DEVICE void replace_stride(SharedAddress copy, u64 bytes WW_SITE) {
  table->tensor_map_replace(copy.value, TensorMapField::stride, kDimension, bytes, site);
}
WW_DEVICE void release(TensorMap* map, SharedAddress copy WW_SITE) { table->tensor_map_release(map, copy.value, site); }
WW_DEVICE void acquire(const TensorMap& map WW_SITE) { table->tensor_map_acquire(&map, site); }
}  // namespace emu
#endif

}  // namespace ww::arch::tensor_map
