// SPDX-License-Identifier: Apache-2.0
// Tensor maps that change while the device runs. TMA reads them through a proxy and a cache of its own, so an ordinary
// store to one in global memory is neither enough nor ever seen for sure:
//   a warp:    copy_to_shared -> [one lane] replace_* on the copy -> warp::sync -> release: copy to global memory
//   then:      a barrier, or a release and an acquire at GPU scope, up to the CTA that uses it
//   consumer:  acquire -> tma::load, tma::store
// Every CTA acquires a map in global memory before it uses it, again after each change, and in every launch: which
// kernel or host copy wrote it last makes no difference. Parameters of the kernel need none of this.
// A map may be changed again once all that was issued with it is done: loads by their mbarrier, stores by wait_read.
// PTX ISA: tensormap.replace, tensormap.cp_fenceproxy, fence.proxy.tensormap.
#pragma once

#include "warpwright/arch/shared.hpp"
#include "warpwright/arch/tensor_map.hpp"

namespace ww::arch::tensor_map {

/// Size of a map and alignment of its copy in shared memory; of one in global memory that is written here, too.
inline constexpr u32 kBytes = 128;

/// Copies a map, a parameter for one, to `copy`: the 32 lanes of a warp, a word each. warp::sync() before its use.
WW_DEVICE void copy_to_shared(const TensorMap& from, SharedAddress copy) {
  const u32 lane = lane_index();
  shared::store(copy + 4 * lane, reinterpret_cast<const u32*>(&from)[lane]);
}

#if defined(__CUDACC__)
inline namespace ptx {
/// One thread; `address` is a multiple of 16.
WW_DEVICE void replace_address(SharedAddress copy, const void* address) {
  asm volatile("tensormap.replace.tile.global_address.shared::cta.b1024.b64 [%0], %1;" ::"r"(copy.value), "l"(address)
               : "memory");
}
/// One thread; `extent` of dimension kDimension, at least 1.
template <int kDimension>
requires(kDimension >= 0 && kDimension < 5) WW_DEVICE void replace_extent(SharedAddress copy, u32 extent) {
  asm volatile("tensormap.replace.tile.global_dim.shared::cta.b1024.b32 [%0], %1, %2;" ::"r"(copy.value),
               "n"(kDimension), "r"(extent)
               : "memory");
}
/// One thread; stride of dimension kDimension in bytes, a multiple of 16 below 2^40.
template <int kDimension>
requires(kDimension >= 1 && kDimension < 5) WW_DEVICE void replace_stride(SharedAddress copy, u64 bytes) {
#if __CUDACC_VER_MAJOR__ > 12 || (__CUDACC_VER_MAJOR__ == 12 && __CUDACC_VER_MINOR__ >= 5)
  const u64 stride = bytes;
#else
  const u64 stride = bytes >> 4;  // why: assemblers before 12.5 take units of 16 bytes
#endif
  asm volatile("tensormap.replace.tile.global_stride.shared::cta.b1024.b64 [%0], %1, %2;" ::"r"(copy.value),
               "n"(kDimension - 1), "l"(stride)
               : "memory");
}
/// Writes the copy over `map` and makes it visible to TMA at GPU scope; the 32 lanes of a warp, converged.
WW_DEVICE void release(TensorMap* map, SharedAddress copy) {
  asm volatile(
      "tensormap.cp_fenceproxy.global.shared::cta.tensormap::generic.release.gpu.sync.aligned [%0], [%1], 128;" ::"l"(
          map),
      "r"(copy.value)
      : "memory");
}
/// What this thread knows to have been released, it and its CTA's threads that are ordered after it may use.
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
