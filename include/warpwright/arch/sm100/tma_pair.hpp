// SPDX-License-Identifier: Apache-2.0
// TMA loads of a pair of CTAs (cta_group::2): each CTA of the pair loads its own part, and the bytes of both are
// counted on a barrier of one of them.
// `full` is a barrier of either CTA of the pair; leader() names that of the even rank. With a mask, each CTA of it gets
// the box at the same offset, and its bytes are counted in its own pair, at the CTA whose rank has the parity that bit
// 24 of the barrier names.
// PTX ISA: cp.async.bulk.tensor.
#pragma once

#include "warpwright/arch/common/tma.hpp"
#include "warpwright/arch/sm100/installed.hpp"

namespace ww::arch {

/// Returns the barrier of the same offset in the CTA of even rank of this CTA's pair: without bit 24, the lowest of the
/// rank.
WW_HOST_DEVICE constexpr MBarrier leader(MBarrier barrier) { return {{barrier.address.value & 0xfeffffff}}; }

namespace tma {

#if defined(__CUDACC__)
inline namespace ptx {

WW_DEVICE void load_pair_2d(const TensorMap& map, MBarrier full, SharedAddress destination, int x, int y,
                            CachePolicy policy = CachePolicy::evict_normal) {
  asm volatile(
      "cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes.cta_group::2.L2::cache_hint [%0], "
      "[%1, {%3, %4}], [%2], %5;" ::"r"(destination.value),
      "l"(&map), "r"(full.address.value), "r"(x), "r"(y), "l"(policy)
      : "memory");
}
WW_DEVICE void load_pair_3d(const TensorMap& map, MBarrier full, SharedAddress destination, int x, int y, int z,
                            CachePolicy policy = CachePolicy::evict_normal) {
  asm volatile(
      "cp.async.bulk.tensor.3d.shared::cluster.global.mbarrier::complete_tx::bytes.cta_group::2.L2::cache_hint [%0], "
      "[%1, {%3, %4, %5}], [%2], %6;" ::"r"(destination.value),
      "l"(&map), "r"(full.address.value), "r"(x), "r"(y), "r"(z), "l"(policy)
      : "memory");
}
WW_DEVICE void load_pair_multicast_2d(const TensorMap& map, MBarrier full, SharedAddress destination, u16 mask, int x,
                                      int y, CachePolicy policy = CachePolicy::evict_normal) {
  asm volatile(
      "cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster.cta_group::2."
      "L2::cache_hint [%0], [%1, {%4, %5}], [%2], %3, %6;" ::"r"(destination.value),
      "l"(&map), "r"(full.address.value), "h"(mask), "r"(x), "r"(y), "l"(policy)
      : "memory");
}
WW_DEVICE void load_pair_multicast_3d(const TensorMap& map, MBarrier full, SharedAddress destination, u16 mask, int x,
                                      int y, int z, CachePolicy policy = CachePolicy::evict_normal) {
  asm volatile(
      "cp.async.bulk.tensor.3d.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster.cta_group::2."
      "L2::cache_hint [%0], [%1, {%4, %5, %6}], [%2], %3, %7;" ::"r"(destination.value),
      "l"(&map), "r"(full.address.value), "h"(mask), "r"(x), "r"(y), "r"(z), "l"(policy)
      : "memory");
}

}  // namespace ptx
#else
inline namespace emu {

WW_DEVICE void load_pair_2d(const TensorMap& map, MBarrier full, SharedAddress destination, int x, int y,
                            CachePolicy = CachePolicy::evict_normal WW_SITE) {
  sm100_table->load_pair(&map, 2, full.address.value, destination.value, {{x, y}}, 0, site);
}
WW_DEVICE void load_pair_3d(const TensorMap& map, MBarrier full, SharedAddress destination, int x, int y, int z,
                            CachePolicy = CachePolicy::evict_normal WW_SITE) {
  sm100_table->load_pair(&map, 3, full.address.value, destination.value, {{x, y, z}}, 0, site);
}
WW_DEVICE void load_pair_multicast_2d(const TensorMap& map, MBarrier full, SharedAddress destination, u16 mask, int x,
                                      int y, CachePolicy = CachePolicy::evict_normal WW_SITE) {
  sm100_table->load_pair(&map, 2, full.address.value, destination.value, {{x, y}}, mask | kMulticast, site);
}
WW_DEVICE void load_pair_multicast_3d(const TensorMap& map, MBarrier full, SharedAddress destination, u16 mask, int x,
                                      int y, int z, CachePolicy = CachePolicy::evict_normal WW_SITE) {
  sm100_table->load_pair(&map, 3, full.address.value, destination.value, {{x, y, z}}, mask | kMulticast, site);
}

}  // namespace emu
#endif

}  // namespace tma
}  // namespace ww::arch
